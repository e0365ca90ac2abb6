"""Players over WebSocket: the listening socket, who may connect, and the reading of connections."""

from __future__ import annotations

import asyncio
import socket as sockets
import ssl
import time
from asyncio import BaseTransport
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from typing import Any, Final

import structlog
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode
from websockets.http11 import Request, Response
from websockets.protocol import Event

from croupier_common.messages import (
    PROTOCOL,
    ErrorCode,
    JoinParams,
    JoinResult,
    Refusal,
    RefusalBody,
    Rejected,
)
from croupier_common.session import CloseCode, JoinAsked, Misbehaved
from croupier_server import __version__
from croupier_server.clock import GRAIN_S, TurnClock
from croupier_server.errors import NotNow, Refused, UserError
from croupier_server.gateway.origins import web_origins
from croupier_server.gateway.player import Connection, WebSocketSeat, session_key
from croupier_server.heartbeat import Heartbeat
from croupier_server.operations.tally import Tally
from croupier_server.seats import Admission, Admit, Leave, Seat
from croupier_server.settings import ServerSettings, Settings

__all__ = ["WebSocketGateway", "session_key"]

log = structlog.get_logger(__name__)

_PING_S: Final = 5.0
"""How often the round trip to an idle player is measured."""


_SILENT: Final = 8
"""For each connection that may be without a join, so many may be that have not asked for one yet.

A class that connects at the same moment is let through; who hoards open sockets is not.
"""


class _Socket(ServerConnection):
    """A connection that counts the pings that come; the library answers each by itself.

    ``max_pings`` a second are allowed; ``flooded`` tells that there were more.

    Args:
        silent: by address, how many have connected and sent no request so far.
        max_silent: more than that are dropped; any number if 0.
    """

    max_pings = 0
    flooded = False
    _pings = 0
    _second = 0

    def __init__(self, *args: Any, silent: Counter[str], max_silent: int, **options: Any) -> None:
        super().__init__(*args, **options)
        self._silent, self._max_silent = silent, max_silent
        self._from, self._is_silent = "", False

    def connection_made(self, transport: BaseTransport) -> None:
        super().connection_made(transport)
        self._from, self._is_silent = _address(self), True
        self._silent[self._from] += 1
        if 0 < self._max_silent < self._silent[self._from]:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.has_spoken()
        super().connection_lost(exc)

    def has_spoken(self) -> None:
        """It has sent its request, or is gone."""
        if not self._is_silent:
            return
        self._is_silent = False
        self._silent[self._from] -= 1
        if not self._silent[self._from]:
            del self._silent[self._from]

    def process_event(self, event: Event) -> None:
        if isinstance(event, Frame) and event.opcode is Opcode.PING:
            second = int(time.monotonic())
            self._pings = self._pings + 1 if second == self._second else 1
            self._second = second
            if self.max_pings and self._pings > self.max_pings and not self.flooded:
                self.flooded = True
                self.transport.abort()
        super().process_event(event)


class WebSocketGateway:
    """Listens for players, has them join, and reads what they send.

    Args:
        admit: takes a seat with what its player says of itself, and gives its name and age as
            they count; or raises :class:`~croupier_server.errors.Refused`.
        leave: told when a player that was admitted is away; True if nobody waits for it, so that
            it can't come back.
        tally: gets the loop's lag, and counts replies that are dropped.

    Attributes:
        origins: which web pages may connect; our own, once their port is put there.
    """

    def __init__(
        self, settings: Settings, admit: Admit, leave: Leave, tally: Tally | None = None
    ) -> None:
        self._tally = tally or Tally()
        self.origins = web_origins(settings)
        self._settings = settings
        self._admit = admit
        self._leave = leave
        self._server: Server | None = None
        self._heartbeat = Heartbeat(self._tally.lag)
        self._pinging: asyncio.Task[None] | None = None
        self._sessions: dict[str, WebSocketSeat] = {}
        self._connections = 0
        self._unjoined: Counter[str] = Counter()
        self._silent: Counter[str] = Counter()
        self._stays: Callable[[Seat], bool] | None = None  # all are turned away but who stays
        self._goodbye = (CloseCode.RESTARTING, "the server restarts")

    @property
    def port(self) -> int:
        """The port that it listens on."""
        if self._server is None:
            raise RuntimeError("the gateway has not started")
        return int(next(iter(self._server.sockets)).getsockname()[1])

    @property
    def is_listening(self) -> bool:
        """Whether players can connect."""
        return self._server is not None and self._server.is_serving()

    @property
    def connections(self) -> int:
        """How many connections there are, those too that have not joined."""
        return self._connections

    async def start(self) -> None:
        """Listen.

        Raises:
            UserError: the address can't be listened on.
        """
        where, limits = self._settings.server, self._settings.limits
        tls = _tls(where)
        made = partial(_Socket, silent=self._silent, max_silent=_SILENT * limits.max_unjoined)
        try:
            self._server = await serve(
                self._handle,
                where.host,
                where.port,
                compression="deflate" if limits.compression else None,
                max_size=limits.max_message,
                max_queue=4,
                open_timeout=5,
                close_timeout=2,
                ping_interval=None,  # the gateway's own pings measure round trips
                ping_timeout=None,  # a player that thinks long is dropped by its clock alone
                write_limit=2 * limits.max_unread,  # so that no send ever waits for a reader
                process_request=self._process_request,
                server_header=None,
                create_connection=made,  # type: ignore[arg-type]  # any factory will do
                ssl=tls,
            )
        except OSError as problem:
            raise UserError(
                f"can't listen on {where.host} port {where.port}: "
                f"{(problem.strerror or str(problem)).lower()}"
            ) from None
        self._heartbeat.start()
        self._pinging = asyncio.create_task(self._measure_round_trips(), name="pings")

    async def stop(
        self, code: CloseCode = CloseCode.STOPPING, reason: str = "the server stops"
    ) -> None:
        """Stop listening and close what is open; may be called twice, or before the start.

        Args:
            code: how connections are closed, with the reason.
        """
        self._heartbeat.stop()
        if self._pinging is not None:
            self._pinging.cancel()
            await asyncio.wait({self._pinging})
            self._pinging = None
        if self._server is not None:
            self._server.close(code=code, reason=reason)
            await self._server.wait_closed()

    def restore(
        self, key: str, params: JoinParams, admission: Admission, returned: Callable[[], None]
    ) -> WebSocketSeat:
        """The seat of a player that had joined before a restart of the server, and may come back.

        Args:
            key: what was kept of its session's token: see :func:`session_key`.
            returned: called when it is back.
        """
        seat = self._new_seat()
        seat.joined(params, admission)
        seat.session = key  # its token is known once it comes with it
        seat.on_return = returned
        self._sessions[key] = seat
        return seat

    async def here(self, seats: Sequence[Seat]) -> Sequence[str]:  # noqa: ARG002 - the protocol's
        """See :class:`~croupier_server.room.Gateway`: connections end with their process."""
        return ()

    def turn_away(self, stays: Callable[[Seat], bool], code: CloseCode, reason: str) -> None:
        """From now on nobody is let in, and nobody is kept, but who stays or is being asked.

        May be called again, to send away those who have come to an end meanwhile.

        Args:
            code: how the others are closed, with the reason.
        """
        self._stays, self._goodbye = stays, (code, reason)
        for seat in list(self._sessions.values()):
            if seat.is_idle and not stays(seat):
                seat.send_away(code, reason)

    def shut(self, code: CloseCode, reason: str) -> None:
        """Let nobody in any more; who is here stays until it is sent away.

        So nobody comes back to rooms that are closed already, and is told that it is not known.

        Args:
            code: how whoever is about to join is closed, with the reason.
        """
        self._stays, self._goodbye = _nobody, (code, reason)

    def reopen(self) -> None:
        """Let players in again."""
        self._stays = None

    def forget(self, seat: Seat) -> None:
        """A seat's player can't come back any more; one that is still here goes on until it leaves.

        A seat of another gateway is not known here.
        """
        if isinstance(seat, WebSocketSeat) and seat.connection is None:
            self._drop(seat)

    # -- who may connect

    def _process_request(self, connection: ServerConnection, request: Request) -> Response | None:
        limits = self._settings.limits
        assert isinstance(connection, _Socket)
        connection.has_spoken()
        if request.path == "/healthz":
            return connection.respond(HTTPStatus.OK, "ok\n")
        origins, hosts = (request.headers.get_all(name) for name in ("Origin", "Host"))
        if origins and not self.origins.allows(", ".join(origins), ", ".join(hosts)):
            text = "this web page may not connect here; see server.origins in the settings\n"
            return connection.respond(HTTPStatus.FORBIDDEN, text)
        if self._connections >= limits.max_connections:
            return connection.respond(HTTPStatus.SERVICE_UNAVAILABLE, "too many connections\n")
        if self._stays is not None and not self._is_awaiting(self._stays):
            # not let in to be sent away: who tries again does not count that as a visit
            text = "the server restarts; come back in a moment\n"
            return connection.respond(HTTPStatus.SERVICE_UNAVAILABLE, text)
        waiting = self._unjoined[_address(connection)]
        if limits.max_unjoined and waiting >= limits.max_unjoined:
            text = f"{waiting} connections from your address have not joined yet\n"
            return connection.respond(HTTPStatus.TOO_MANY_REQUESTS, text)
        return None

    def _is_awaiting(self, stays: Callable[[Seat], bool]) -> bool:
        """Whether somebody who stays has lost its connection."""
        return any(seat.connection is None and stays(seat) for seat in self._sessions.values())

    def _is_turned_away(self, asked: JoinAsked) -> bool:
        if self._stays is None:
            return False
        seat = self._sessions.get(session_key(asked.params.session or ""))
        return seat is None or not self._stays(seat)

    async def _handle(self, socket: ServerConnection) -> None:
        """A connection lives as long as this."""
        assert isinstance(socket, _Socket)
        socket.max_pings = self._settings.limits.max_pings
        _keep_alive(socket)
        connection = Connection(socket)
        self._connections += 1
        try:
            seat = await self._join(connection)
            if seat is not None:
                await self._read(connection, seat)
        finally:
            self._connections -= 1

    # -- joining

    async def _join(self, connection: Connection) -> WebSocketSeat | None:
        """The player's seat; None if it did not join, and the connection is closed."""
        address = _address(connection.socket)
        self._unjoined[address] += 1
        try:
            asked = await self._first_message(connection)
            if asked is not None and self._is_turned_away(asked):
                connection.close(*self._goodbye)
                await connection.closed()
                return None
            seat = None if asked is None else await self._seat_for(asked)
        except NotNow as problem:
            log.info("player sent away", reason=str(problem))
            connection.close(CloseCode.RESTARTING, str(problem))
            await connection.closed()
            return None
        except Rejected as rejected:
            await self._refuse(connection.socket, rejected)
            return None
        finally:
            self._unjoined[address] -= 1
            if not self._unjoined[address]:
                del self._unjoined[address]
        if asked is None or seat is None:
            return None
        seat.attach(connection, asked, self._welcome(seat))
        if seat.is_idle:  # one that is asked something may think before it answers a ping
            await self._ping(connection)
        return seat

    async def _first_message(self, connection: Connection) -> JoinAsked | None:
        """The join; None if the connection is closed before it."""
        try:
            raw = await self._first_text(connection.socket)
        except ConnectionClosed:
            return None
        received = connection.session.receive(raw)
        if isinstance(received, Misbehaved):
            raise received.rejected
        assert isinstance(received, JoinAsked)  # nothing else can be sent before
        return received

    async def _first_text(self, socket: ServerConnection) -> str | bytes:
        """What comes first, within the time to join; a stall of our loop is not part of that."""
        loop, meter = asyncio.get_running_loop(), self._heartbeat.meter
        join_ms = self._settings.clocks.join_ms
        clock = TurnClock(loop.time(), join_ms / 1000)
        while not clock.is_late(now := loop.time(), meter):
            with suppress(TimeoutError):  # it decides nothing: the loop may have been stalled
                async with asyncio.timeout(max(0.0, clock.left(now, meter)) + GRAIN_S):
                    return await socket.recv()
        raise Rejected(f"no join within {join_ms} ms", ErrorCode.INVALID_REQUEST)

    async def _seat_for(self, asked: JoinAsked) -> WebSocketSeat:
        """The seat of a session that is taken up again, or a new one."""
        params = asked.params
        try:
            if params.session is not None:
                seat = await self._find(params.session)
                seat.token = params.session
                log.info("player is back", player=seat.name)
                return seat
            seat = self._new_seat()
            seat.joined(params, await self._admitted(params, seat))
        except NotNow:
            raise
        except Refused as refused:
            raise Rejected(str(refused), refused.code, asked.id, refused.data) from None
        self._sessions[session_key(seat.token)] = seat
        return seat

    def _new_seat(self) -> WebSocketSeat:
        return WebSocketSeat(self._settings, self._heartbeat.meter, self._tally)

    # -- what others decide, at once where they are in this process

    async def _find(self, token: str) -> WebSocketSeat:
        """The seat of a session.

        Raises:
            Refused: there is none.
        """
        seat = self._sessions.get(session_key(token))
        if seat is None:
            raise Refused("no such session; join without one", ErrorCode.SESSION)
        return seat

    async def _admitted(self, params: JoinParams, seat: WebSocketSeat) -> Admission:
        """See :data:`~croupier_server.seats.Admit`."""
        return self._admit(params, seat)

    async def _left(self, seat: WebSocketSeat) -> bool:
        """See :data:`~croupier_server.seats.Leave`."""
        return self._leave(seat)

    def _welcome(self, seat: WebSocketSeat) -> JoinResult:
        return JoinResult(
            protocol=PROTOCOL,
            server=f"croupier {__version__}",
            session=seat.token,
            name=seat.name,
            max_message=self._settings.limits.max_message,
            budgets_ms=seat.clocks.budgets_ms(),
        )

    @staticmethod
    async def _refuse(socket: ServerConnection, rejected: Rejected) -> None:
        log.info("join refused", reason=str(rejected), code=rejected.code)
        error = RefusalBody(code=rejected.code, message=str(rejected), data=rejected.data)
        refusal = Refusal(id=rejected.id, error=error)
        with suppress(ConnectionClosed):
            await socket.send(refusal.model_dump_json())
            await socket.close(CloseCode.REFUSED, "join refused")

    # -- reading

    async def _read(self, connection: Connection, seat: WebSocketSeat) -> None:
        socket = connection.socket
        assert isinstance(socket, _Socket)
        try:
            while not connection.is_flooded:
                seat.received(connection, await socket.recv())
            await socket.wait_closed()  # unread, the flood is held up where it comes from
            raise socket.protocol.close_exc
        except ConnectionClosed as closed:
            if socket.flooded:
                seat.flooded(f"more than {socket.max_pings} pings in a second")
            seat.lost(connection, closed)
        finally:
            if seat.connection is None and await self._left(seat):
                self._drop(seat)
            await connection.closed()

    def _drop(self, seat: WebSocketSeat) -> None:
        """Nobody can come back to a seat any more."""
        key = session_key(seat.token)
        if self._sessions.get(key) is seat:
            del self._sessions[key]

    async def _measure_round_trips(self) -> None:
        """Ping whoever has nothing to answer, now and then."""
        while True:
            await asyncio.sleep(_PING_S)
            for seat in list(self._sessions.values()):
                if seat.is_idle and seat.connection is not None:
                    await self._ping(seat.connection)

    @staticmethod
    async def _ping(connection: Connection) -> None:
        def pong(answer: asyncio.Future[float]) -> None:
            if not answer.cancelled() and answer.exception() is None:
                connection.round_trips.append(answer.result())

        with suppress(ConnectionClosed):
            answer = await connection.socket.ping()
            asyncio.ensure_future(answer).add_done_callback(pong)


def _nobody(_: Seat) -> bool:
    return False


def _tls(where: ServerSettings) -> ssl.SSLContext | None:
    """The certificate to listen with, if there is one."""
    certificate, key = where.tls_certificate, where.tls_key
    if certificate is None:
        if key is not None:
            raise UserError("server.tls_key is set, and server.tls_certificate is not; set both")
        return None

    def pass_phrase() -> str:
        raise UserError(f"can't use {key or certificate}: its key has a pass phrase; remove that")

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key, pass_phrase)  # else openssl asks the terminal
    except OSError as problem:
        files = " and ".join(str(file) for file in (certificate, key) if file)
        raise UserError(f"can't use {files}: {_tls_problem(problem)}") from None
    return context


def _tls_problem(problem: OSError) -> str:
    if not isinstance(problem, ssl.SSLError):
        return problem.strerror or str(problem)
    if problem.reason == "KEY_VALUES_MISMATCH":
        return "the key is not the certificate's"
    return f"they must hold a certificate chain and its key, as PEM ({problem.reason or problem})"


def _address(connection: ServerConnection) -> str:
    remote = connection.remote_address
    return str(remote[0]) if remote else ""


def _keep_alive(socket: ServerConnection) -> None:
    """Have the system find out about a peer that is gone, for seats that no clock watches."""
    raw = socket.transport.get_extra_info("socket")
    if raw is not None:
        raw.setsockopt(sockets.SOL_SOCKET, sockets.SO_KEEPALIVE, 1)
