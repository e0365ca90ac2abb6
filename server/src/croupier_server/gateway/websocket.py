"""Players over WebSocket: the listening socket, the connections, and the seats they become."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Final

import structlog
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from croupier_common.messages import (
    PROTOCOL,
    ErrorCode,
    Joined,
    JoinParams,
    JoinResult,
    Refusal,
    RefusalBody,
    Rejected,
    ServerNotification,
)
from croupier_common.session import Answered, CloseCode, JoinAsked, Misbehaved, Session
from croupier_common.verdict import Fault, Verdict
from croupier_server import __version__
from croupier_server.errors import Refused, UserError
from croupier_server.seats import Answer, Call, NoAnswer, Seat
from croupier_server.settings import Settings

__all__ = ["WebSocketGateway", "WebSocketSeat"]

log = structlog.get_logger(__name__)

_SECOND_LOOK_S: Final = 0.002
"""After a timer fired, how long the loop gets to read what already lies in the socket."""

Admit = Callable[[JoinParams, Seat], tuple[str, int | None]]
Leave = Callable[[Seat], None]


class WebSocketSeat:
    """A player on a WebSocket connection.

    What arrives is read by the connection's handler and given to :meth:`received`; a request that
    waits for it is a future by its id.
    """

    def __init__(self, connection: ServerConnection, settings: Settings) -> None:
        self.session = Session()
        self.name = ""
        self.age: int | None = None
        self.wants_events = False
        self.wants_legal_actions = False
        self.max_games = 1
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._allowance_ms = settings.clocks.latency_allowance_ms
        self._max_unread = settings.limits.max_unread
        self._waiting: dict[str, asyncio.Future[Answer | NoAnswer]] = {}
        self._asked_at: dict[str, float] = {}
        self._kept: NoAnswer | None = None  # a fault out of turn; it decides when next asked
        self._closing: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        return f"<WebSocketSeat {self.name!r} {self.session.state}>"

    # -- for the croupier

    async def ask(self, call: Call, budget_ms: int) -> Answer | NoAnswer:
        """See :meth:`croupier_server.seats.Seat.ask`."""
        if self._kept is not None:
            return self._kept
        waiting: asyncio.Future[Answer | NoAnswer] = self._loop.create_future()
        request_id = call.id
        self._waiting[request_id] = waiting
        self.session.asked(request_id)
        self._asked_at[request_id] = started = self._loop.time()
        seconds = (budget_ms + self._allowance_ms) / 1000
        timer = self._loop.call_at(started + seconds, self._expired, request_id, budget_ms)
        try:
            await self._send(call.text())
            return await waiting
        finally:
            timer.cancel()
            self._forget(request_id)

    async def tell(self, message: ServerNotification) -> None:
        """See :meth:`croupier_server.seats.Seat.tell`."""
        await self._send(message.text())

    def dismiss(self, fault: Fault | None) -> None:
        """See :meth:`croupier_server.seats.Seat.dismiss`."""
        if self._closing is None:
            code, reason = CloseCode.DONE, ""
            if fault is not None:
                code, reason = CloseCode.EJECTED, fault.verdict.value
            self._closing = self._loop.create_task(
                self._connection.close(code, reason), name=f"close {self.name}"
            )

    # -- for the connection's handler

    def joined(self, params: JoinParams, name: str, age: int | None) -> None:
        """Take over what the player says of itself, and what of it counts."""
        self.name, self.age = name, age
        self.wants_events = params.events
        self.wants_legal_actions = params.legal_actions
        self.max_games = params.max_games
        self.session.joined()

    def received(self, raw: str | bytes) -> None:
        """Take what arrived after the join."""
        arrived = self._loop.time()
        received = self.session.receive(raw)
        if isinstance(received, Answered):
            self._settle(received.id, self._answer(received, arrived))
        elif isinstance(received, Misbehaved):
            self._fault(NoAnswer(received.verdict, received.detail, sent=received.raw))
        else:
            log.info("reply dropped", player=self.name, id=getattr(received, "id", None))

    def gone(self, closed: ConnectionClosed) -> None:
        """The connection is closed, by whomever; what came before that still counts."""
        self.session.closed()
        self._fault(_why_closed(closed))

    async def finished(self) -> None:
        """Wait until a closing of ours has ended."""
        if self._closing is not None:
            await self._closing

    async def send_joined(self, asked: JoinAsked, result: JoinResult) -> None:
        """Answer the join."""
        await self._send(Joined(id=asked.id, result=result).model_dump_json())

    # -- within

    async def _send(self, text: str) -> None:
        unread = self._connection.transport.get_write_buffer_size()
        if unread > self._max_unread:
            log.warning("connection dropped: it does not read", player=self.name, unread=unread)
            self._connection.transport.abort()
            return
        try:  # suppress() takes its time, and every turn comes along here
            await self._connection.send(text)
        except ConnectionClosed:
            return  # the handler sees it too, after all that came before

    def _answer(self, received: Answered, arrived: float) -> Answer | NoAnswer:
        think_ms = int((arrived - self._asked_at[received.id]) * 1000)
        reply = received.reply
        if reply.error is None:
            return Answer(reply.result, think_ms)
        detail = f"error {reply.error.code}: {reply.error.message}"
        return NoAnswer(Verdict.ERROR_REPLY, detail[:400], received.raw[:400], think_ms)

    def _fault(self, fault: NoAnswer) -> None:
        """A fault that belongs to no request ends every open one, or is kept for the next."""
        if self._kept is None:
            self._kept = fault
        for request_id in list(self._waiting):
            self._settle(request_id, fault)

    def _expired(self, request_id: str, budget_ms: int) -> None:
        """The timer fired. That decides nothing yet: an answer may lie unread in the socket."""
        self._loop.call_later(_SECOND_LOOK_S, self._give_up, request_id, budget_ms)

    def _give_up(self, request_id: str, budget_ms: int) -> None:
        if request_id not in self._waiting:
            return
        think_ms = int((self._loop.time() - self._asked_at[request_id]) * 1000)
        detail = f"no answer within {budget_ms} ms (and {self._allowance_ms} ms for the network)"
        self._settle(request_id, NoAnswer(Verdict.TIMEOUT, detail, think_ms=think_ms))

    def _settle(self, request_id: str, answer: Answer | NoAnswer) -> None:
        waiting = self._waiting.get(request_id)
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)

    def _forget(self, request_id: str) -> None:
        del self._waiting[request_id], self._asked_at[request_id]
        self.session.given_up(request_id)


class WebSocketGateway:
    """Listens for players, has them join, and reads what they send.

    Args:
        admit: takes a seat with what its player says of itself, and gives its name and age as
            they count; or raises :class:`~croupier_server.errors.Refused`.
        leave: told when a player that was admitted has gone.
    """

    def __init__(self, settings: Settings, admit: Admit, leave: Leave) -> None:
        self._settings = settings
        self._admit = admit
        self._leave = leave
        self._server: Server | None = None
        self._seats: set[WebSocketSeat] = set()

    @property
    def port(self) -> int:
        """The port that it listens on."""
        if self._server is None:
            raise RuntimeError("the gateway has not started")
        return int(next(iter(self._server.sockets)).getsockname()[1])

    async def start(self) -> None:
        """Listen.

        Raises:
            UserError: the address can't be listened on.
        """
        where, limits = self._settings.server, self._settings.limits
        try:
            self._server = await serve(
                self._handle,
                where.host,
                where.port,
                compression=None,
                max_size=limits.max_message,
                max_queue=4,
                open_timeout=5,
                close_timeout=2,
                ping_timeout=None,  # a player that thinks long is dropped by its clock alone
                write_limit=2 * limits.max_unread,  # so that no send ever waits for a reader
                process_request=self._process_request,
                server_header=None,
            )
        except OSError as problem:
            raise UserError(
                f"can't listen on {where.host} port {where.port}: "
                f"{(problem.strerror or str(problem)).lower()}"
            ) from None

    async def stop(self) -> None:
        """Stop listening and close what is open; may be called twice, or before the start."""
        if self._server is None:
            return
        self._server.close(code=CloseCode.STOPPING, reason="the server stops")
        await self._server.wait_closed()

    def _process_request(self, connection: ServerConnection, request: Request) -> Response | None:
        if request.path == "/healthz":
            return connection.respond(HTTPStatus.OK, "ok\n")
        if len(self._seats) >= self._settings.limits.max_connections:
            return connection.respond(HTTPStatus.SERVICE_UNAVAILABLE, "too many connections\n")
        return None

    async def _handle(self, connection: ServerConnection) -> None:
        """A connection lives as long as this."""
        seat = WebSocketSeat(connection, self._settings)
        self._seats.add(seat)
        try:
            if await self._join(connection, seat):
                await self._read(connection, seat)
        finally:
            self._seats.discard(seat)

    async def _join(self, connection: ServerConnection, seat: WebSocketSeat) -> bool:
        """Have the player join; False if it did not, and the connection is closed."""
        join_ms = self._settings.clocks.join_ms
        try:
            async with asyncio.timeout(join_ms / 1000):
                raw = await connection.recv()
        except TimeoutError:
            rejected = Rejected(f"no join within {join_ms} ms", ErrorCode.INVALID_REQUEST)
            await self._refuse(connection, rejected)
            return False
        except ConnectionClosed:
            return False
        received = seat.session.receive(raw)
        if isinstance(received, Misbehaved):
            await self._refuse(connection, received.rejected)
            return False
        assert isinstance(received, JoinAsked)  # nothing else can be sent before
        try:
            seat.joined(received.params, *self._admit(received.params, seat))
        except Refused as refused:
            rejected = Rejected(str(refused), refused.code, received.id, refused.data)
            await self._refuse(connection, rejected)
            return False
        await seat.send_joined(received, self._welcome(seat))
        return True

    async def _read(self, connection: ServerConnection, seat: WebSocketSeat) -> None:
        try:
            while True:
                seat.received(await connection.recv())
        except ConnectionClosed as closed:
            seat.gone(closed)
        finally:
            self._leave(seat)
            await seat.finished()

    def _welcome(self, seat: WebSocketSeat) -> JoinResult:
        return JoinResult(
            protocol=PROTOCOL,
            server=f"croupier {__version__}",
            session=secrets.token_urlsafe(16),
            name=seat.name,
            max_message=self._settings.limits.max_message,
            budgets_ms=self._settings.clocks.budgets_ms(),
        )

    @staticmethod
    async def _refuse(connection: ServerConnection, rejected: Rejected) -> None:
        log.info("join refused", reason=str(rejected), code=rejected.code)
        error = RefusalBody(code=rejected.code, message=str(rejected), data=rejected.data)
        refusal = Refusal(id=rejected.id, error=error)
        with suppress(ConnectionClosed):
            await connection.send(refusal.model_dump_json())
            await connection.close(CloseCode.REFUSED, "join refused")


def _why_closed(closed: ConnectionClosed) -> NoAnswer:
    """What a closed connection says of the player, by the close code that we sent, if any."""
    sent = None if closed.rcvd_then_sent else closed.sent
    if sent is not None and sent.code == CloseCode.TOO_LARGE:
        return NoAnswer(Verdict.OVERSIZE, f"a message over the limit: {sent.reason}")
    if sent is not None and sent.code in {CloseCode.NOT_WEBSOCKET, CloseCode.NOT_UNICODE}:
        return NoAnswer(Verdict.MALFORMED, f"not WebSocket, or not UTF-8: {sent.reason}")
    if closed.rcvd is not None:
        detail = f"the connection was closed by the player (code {closed.rcvd.code})"
    else:
        detail = "the connection was lost"
    return NoAnswer(Verdict.DISCONNECTED, detail)
