"""The players that the active manager holds itself: programs, and clients of the course's protocol.

Workers ask them as they ask those whom gateways hold, each on a subject of its own. Its key follows
from the tournament, the name and the kind, so that nobody has to be told it, and each manager's is
the same. What a manager holds dies with it: the next one starts programs anew, and answers for all
who can't come back that they are absent.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import structlog

from croupier_common.errors import NotAMessage
from croupier_common.messages import ServerCall, parse_from_server
from croupier_common.verdict import Fault
from croupier_server.cluster.answering import MOVED, REMEMBERED, Answering, RawCall, cut, game_of
from croupier_server.cluster.link import Link, Served
from croupier_server.cluster.remote_seat import seat_subject
from croupier_server.cluster.wire import Message, WireError
from croupier_server.gateway.course_tcp import CourseGateway
from croupier_server.gateway.stdio_seat import StdioSeat
from croupier_server.rooms import Rooms
from croupier_server.seats import Answer, AwaySeat, Kind, NoAnswer, Seat
from croupier_server.settings import Settings

if TYPE_CHECKING:
    from croupier_server.operations.spans import Traces

__all__ = ["LOCAL", "LocalSeats", "local_key"]

log = structlog.get_logger(__name__)

LOCAL: Final[frozenset[Kind]] = frozenset({"program", "course"})
"""The kinds of players that a manager holds itself."""

_OK: Final = Message({"re": "ok"})
_ANEW: Final = Message({"re": "anew"})


def local_key(tournament: str, name: str, kind: Kind) -> str:
    """What a player that a manager holds has in place of a session's key.

    No session has it: tokens are hashed as UTF-8, in which there is no such first byte.
    """
    told = json.dumps([tournament, name, kind]).encode()
    return hashlib.sha256(b"\xff" + told).hexdigest()


class LocalSeats:
    """Serves the players that a manager holds, from when they are seated to :meth:`close`.

    Args:
        traces: follows the requests of games that are traced, if any are.
    """

    def __init__(self, link: Link, settings: Settings, traces: Traces | None = None) -> None:
        self._link = link
        self._settings = settings
        self._traces = traces
        self._services: dict[str, _Service] = {}
        self._course: CourseGateway | None = None

    @property
    def course_clients(self) -> int:
        """How many clients of the course's protocol are connected."""
        return 0 if self._course is None else self._course.connections

    @property
    def is_needed(self) -> bool:
        """Whether it holds anybody who can be asked."""
        return any(not isinstance(one.seat, AwaySeat) for one in self._services.values())

    async def open(self, doors: Rooms, tell: Callable[[str], None]) -> None:
        """Let clients of the course's protocol in, where the settings have a port for them.

        Raises:
            UserError: it can't be listened on, or these clients can't play by the settings.
        """
        port = self._settings.server.course_port
        if port is None:
            return

        def leave(seat: Seat) -> None:
            if doors.leave(seat):
                self._forget(seat)

        self._course = CourseGateway(self._settings, port, doors.admit, leave)
        await self._course.start()
        host = self._settings.server.host
        tell(f"clients of the course's protocol: {host} port {self._course.port}")

    def seat(self, tournament: str, name: str, seat: Seat) -> None:
        """See :class:`~croupier_server.room.Seating`; it takes the place of one of that name.

        Who is not back has an :class:`~croupier_server.seats.AwaySeat`.
        """
        key = local_key(tournament, name, seat.kind)
        before = self._services.get(key)
        if before is not None:
            self._end(before)
        service = _Service(self._link, key, tournament, seat, self._traces)
        self._services[key] = service
        _ = self._link.hold(service.start())

    async def clear(self, tournament: str) -> None:
        """See :class:`~croupier_server.room.Seating`; workers wait for the next manager."""
        ended = {key: one for key, one in self._services.items() if one.tournament == tournament}
        for key, service in ended.items():
            service.end()
            del self._services[key]
        for service in ended.values():
            await service.stop()

    async def close(self) -> None:
        """Serve nobody any more, and let no clients in; may be called twice."""
        for tournament in {service.tournament for service in self._services.values()}:
            await self.clear(tournament)
        if self._course is not None:
            await self._course.stop()

    def _forget(self, seat: Seat) -> None:
        for key, service in list(self._services.items()):
            if service.seat is seat:
                del self._services[key]
                self._end(service)

    def _end(self, service: _Service) -> None:
        service.end()
        _ = self._link.hold(service.stop())


class _Service:
    """Serves one player's subject."""

    def __init__(
        self, link: Link, key: str, tournament: str, seat: Seat, traces: Traces | None
    ) -> None:
        self.tournament = tournament
        self.seat = seat
        self._is_over = False
        self._link = link
        self._subject = seat_subject(link.root, key)
        self._answering = Answering(_Held(seat), traces)
        self._served: Served | None = None
        self._games: dict[str, None] = {}  # that began with this very player, the newest

    async def start(self) -> None:
        """Serve, if that was not ended meanwhile."""
        self._served = await self._link.serve(self._subject, self._handle)
        if self._is_over:
            await self.stop()

    def end(self) -> None:
        """Answer nothing any more, whatever becomes of the player; let workers ask again."""
        self._is_over = True
        self._answering.end()

    async def stop(self) -> None:
        """Serve no more; may be called twice."""
        self.end()
        served, self._served = self._served, None
        if served is not None:
            await served.stop()

    async def _handle(self, message: Message) -> Message | None:
        if self._is_over:
            return MOVED
        op = message.text("op")
        if op == "ping":
            return Message({"re": "here", "is_here": not isinstance(self.seat, AwaySeat)})
        if op == "ask" and not self._is_known(message):
            return _ANEW
        if op == "tell" and message.text("game") not in self._games:
            return _OK  # it is none of its games
        return await self._answering.answer(message)

    def _is_known(self, message: Message) -> bool:
        """Whether the player knows the game of a request, since it was asked to start it.

        Who was started after that, by another manager, does not. For one who is absent it is all
        the same.
        """
        game = game_of(message.text("id"))
        if message.text("method") == "game_start":
            self._games[game] = None
            cut(self._games, REMEMBERED)
        return game in self._games or isinstance(self.seat, AwaySeat)


class _Held:
    """A seat, for messages that come as texts; see :class:`Held`."""

    def __init__(self, seat: Seat) -> None:
        self._seat = seat
        self.kind: Kind = seat.kind
        self.max_games = seat.max_games
        self.is_flooding = False

    def put(self, call: RawCall, budget_ms: int | None) -> asyncio.Future[Answer | NoAnswer]:
        return asyncio.create_task(self._ask(call, budget_ms), name=f"ask {call.id}")

    async def _ask(self, call: RawCall, budget_ms: int | None) -> Answer | NoAnswer:
        seat = self._seat
        if isinstance(seat, StdioSeat):  # a program gets the very text
            return await seat.ask(call, budget_ms)
        return await seat.ask(_parsed(call), budget_ms)

    def tell_text(self, game: str, last: int | None, text: str) -> None:  # noqa: ARG002 - Held's
        if isinstance(self._seat, StdioSeat):  # the course's protocol tells nothing
            self._seat.tell_text(text)

    async def pardon(self) -> bool:
        plays_on = await self._seat.pardon()
        self.is_flooding = not plays_on
        return plays_on

    def dismiss(self, fault: Fault | None) -> None:
        self._seat.dismiss(fault)


def _parsed(call: RawCall) -> ServerCall:
    """A request as a model, for who is not sent its text."""
    try:
        message = parse_from_server(call.body)
    except NotAMessage as problem:
        raise WireError(f"no request: {problem}") from None
    if not isinstance(message, ServerCall):
        raise WireError(f"no request, but {type(message).__name__}")
    return message
