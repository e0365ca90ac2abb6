"""A player over WebSocket: the seat, which outlives its connections."""

from __future__ import annotations

import asyncio
import math
import secrets
from collections.abc import Callable, Sequence
from typing import Final

import structlog
from websockets.asyncio.server import broadcast
from websockets.exceptions import ConnectionClosed

from croupier_common.messages import Joined, JoinParams, JoinResult, ServerNotification
from croupier_common.session import Answered, CloseCode, Dropped, JoinAsked, Misbehaved
from croupier_common.verdict import Fault, Verdict
from croupier_server.clock import StallMeter, TurnClock
from croupier_server.gateway.connection import Connection, session_key, why_closed
from croupier_server.gateway.open_request import OpenRequest, Sendable
from croupier_server.gateway.seat_state import SeatState
from croupier_server.gateway.told import GAME_OVER, Told, about
from croupier_server.operations.tally import Tally
from croupier_server.seats import Admission, Answer, Kind, NoAnswer, out_of_it
from croupier_server.settings import Clocks, Settings

__all__ = ["Connection", "WebSocketSeat", "session_key"]

log = structlog.get_logger(__name__)

_LAST_LOOK_S: Final = 0.002
"""After the time is over, how long the loop gets to read what already lies in the socket."""


class WebSocketSeat:
    """A player, whichever connection it has at the time, or none.

    What arrives is read by the connection's handler and given to :meth:`received`. A request stays
    open while the player is away and its clock runs on; one that can't be delivered waits for its
    connection, from a grace that each game has once. So nobody gains time by leaving.

    Attributes:
        session: what is kept of its session: see :func:`session_key`.
        on_return: called whenever its player is here.
        is_given_up: whether another gateway holds the player now, so that this is none any more.
    """

    kind: Kind = "remote"
    is_far = False

    def __init__(self, settings: Settings, meter: StallMeter, tally: Tally | None = None) -> None:
        self._tally = tally or Tally()
        self.session: str | None = None
        self.token = secrets.token_urlsafe(16)
        self.is_given_up = False
        self.name = ""
        self.age: int | None = None
        self.wants_events = False
        self.wants_legal_actions = False
        self.max_games = 1
        self.on_return: Callable[[], None] = lambda: None
        self._loop = asyncio.get_running_loop()
        self._meter = meter
        self._clocks = settings.clocks
        self._limits = settings.limits
        self._connection: Connection | None = None
        self._open: dict[str, OpenRequest] = {}
        self._kept: NoAnswer | None = None  # a fault out of turn; it decides when next asked
        self._away = ""  # how the last connection was lost
        self._grace_s: dict[str, float] = {}
        self._ran_ms: dict[str, int] = {}  # by id, how long clocks had run at another gateway
        self._told = Told()
        self._surplus = 0
        self._dismissed: Fault | None = None
        self._is_dismissed = False

    def __repr__(self) -> str:
        return f"<WebSocketSeat {self.name!r} {'here' if self._connection else 'away'}>"

    @property
    def token(self) -> str:
        """Takes the session up again on another connection."""
        return self._token

    @token.setter
    def token(self, token: str) -> None:
        self._token = token
        self.session = session_key(token)

    # -- for the croupier

    async def ask(self, call: Sendable, budget_ms: int | None) -> Answer | NoAnswer:
        """See :meth:`croupier_server.seats.Seat.ask`."""
        if self._kept is not None:
            return self._kept
        request = self._begin(call, budget_ms)
        try:
            return await request.answer
        finally:
            self._end(request)

    def put(self, call: Sendable, budget_ms: int | None) -> asyncio.Future[Answer | NoAnswer]:
        """The same, for who does not wait here: it is sent at once, and given up if cancelled."""
        if self._kept is not None:
            kept: asyncio.Future[Answer | NoAnswer] = self._loop.create_future()
            kept.set_result(self._kept)
            return kept
        request = self._begin(call, budget_ms)
        request.answer.add_done_callback(lambda _: self._end(request))
        return request.answer

    async def tell(self, message: ServerNotification) -> None:
        """See :meth:`croupier_server.seats.Seat.tell`."""
        game, last = about(message)
        self.tell_text(game, last, message.text())

    def tell_text(self, game: str, last: int | None, text: str) -> None:
        """Send it a notification that is a text already.

        Args:
            last: the number of the last event that it tells of: see
                :func:`~croupier_server.gateway.told.about`.
        """
        self._told.add(game, last, text, self.max_games + 1)
        if last == GAME_OVER:
            self._grace_s.pop(game, None)
        if self._connection is None:
            self._told.missed.append(text)
        else:
            self._send(self._connection, text)

    async def pardon(self) -> bool:
        """See :meth:`croupier_server.seats.Seat.pardon`."""
        if self.is_flooding:
            return False  # nothing more is read from it
        self._kept = None
        return True

    def dismiss(self, fault: Fault | None) -> None:
        """See :meth:`croupier_server.seats.Seat.dismiss`."""
        self._is_dismissed = True
        self._dismissed = fault
        if fault is not None:
            self._kept = None
            self._fault(out_of_it(fault))
        if self._connection is not None:
            self._close_dismissed(self._connection)

    def send_away(self, code: CloseCode, reason: str) -> None:
        """Close its connection, if it is here, for a reason that is not its own."""
        if self._connection is not None:
            self._connection.close(code, reason)

    # -- for the gateway

    @property
    def is_idle(self) -> bool:
        """Whether it is here and has nothing to answer: then a ping tells of the network alone."""
        return self._connection is not None and not self._open

    @property
    def is_dismissed(self) -> bool:
        """Whether it was let go."""
        return self._is_dismissed

    @property
    def is_out(self) -> bool:
        """Whether it was let go for a fault."""
        return self._dismissed is not None

    @property
    def is_flooding(self) -> bool:
        """Whether it has sent so much that was not asked for that nothing more is read from it."""
        return self._surplus > self._limits.max_surplus

    @property
    def connection(self) -> Connection | None:
        """Its connection now, if it is here."""
        return self._connection

    @property
    def clocks(self) -> Clocks:
        """What it plays by."""
        return self._clocks

    def joined(self, params: JoinParams, admission: Admission) -> None:
        """Take over what the player says of itself, and what of it counts."""
        self.name, self.age = admission.name, admission.age
        self._clocks = admission.clocks or self._clocks
        self.wants_events = params.events
        self.wants_legal_actions = params.legal_actions
        self.max_games = params.max_games

    def attach(self, connection: Connection, asked: JoinAsked, result: JoinResult) -> None:
        """The player is here, for the first time or again; an older connection makes way.

        It hears what it missed and is asked again what is open, under the same ids; the clocks of
        requests that were delivered before have run on.
        """
        if self.is_given_up:  # while this one was on its way here
            connection.close(CloseCode.RESTARTING, "join again")
            return
        older, self._connection = self._connection, connection
        if older is not None:
            older.close(CloseCode.REPLACED, "a newer connection took this session over")
        connection.session.joined()
        self._send(connection, Joined(id=asked.id, result=result).model_dump_json())
        for text in self._told.take_missed(asked.params):
            self._send(connection, text)
        for request in self._open.values():
            self._deliver(request, connection)
        if self._is_dismissed:
            self._close_dismissed(connection)
        self.on_return()

    def received(self, connection: Connection, raw: str | bytes) -> None:
        """Take what arrived after the join; what comes on an older connection is too late."""
        if connection is not self._connection:
            return
        received = connection.session.receive(raw)
        if isinstance(received, Answered):
            self._answered(received)
        elif isinstance(received, Misbehaved):
            self._fault(NoAnswer(received.verdict, received.detail, sent=received.raw))
            self._count_surplus(connection)
        elif isinstance(received, Dropped):
            log.info("reply dropped", player=self.name, id=received.id)
            self._tally.dropped += 1
            self._count_surplus(connection)

    def lost(self, connection: Connection, closed: ConnectionClosed) -> None:
        """A connection is closed, by whomever; what came on it before still counts."""
        connection.session.closed()
        if connection is not self._connection:
            return
        self._connection = None
        why = why_closed(closed)
        self._away = connection.dropped or why.detail
        for request in self._open.values():
            if request.budget_ms is None:  # no clock of its own would ever end the waiting
                self._await_delivery(request)
        if why.verdict is not Verdict.DISCONNECTED:
            self._fault(why)

    def remember(self, game: str, told: Sequence[tuple[int, str]]) -> None:
        """Take over what was told of a game that was begun before the server's restart.

        Args:
            told: the texts of `events`, each with the number of the last event that it tells.
        """
        self._told.games[game] = list(told)

    # -- for another gateway

    def export(self) -> SeatState:
        """All of it that must outlast this gateway's hold on it; then it is to be given up."""
        for request in self._open.values():
            self._charge_grace(request)
        return SeatState(
            key=self.session or "",
            name=self.name,
            age=self.age,
            clocks=self._clocks,
            max_games=self.max_games,
            wants_events=self.wants_events,
            wants_legal_actions=self.wants_legal_actions,
            missed=tuple(self._told.missed),
            told={game: tuple(told) for game, told in self._told.games.items()},
            grace_ms={game: int(left * 1000) for game, left in self._grace_s.items()},
            surplus=self._surplus,
            kept=self._kept,
            away=self._away,
            is_dismissed=self._is_dismissed,
            dismissed=self._dismissed,
            ran_ms={request.id: self._has_run_ms(request) for request in self._open.values()},
        )

    def restore_from(self, state: SeatState) -> None:
        """Be what another gateway's seat was; before anything is asked or told here."""
        self.session = state.key
        self.name, self.age, self._clocks = state.name, state.age, state.clocks
        self.max_games = state.max_games
        self.wants_events = state.wants_events
        self.wants_legal_actions = state.wants_legal_actions
        self._told.restore(state.missed, state.told)
        self._grace_s = {game: left / 1000 for game, left in state.grace_ms.items()}
        self._surplus = state.surplus
        self._kept, self._away = state.kept, state.away
        self._is_dismissed, self._dismissed = state.is_dismissed, state.dismissed
        self._ran_ms = {key: ran for key, ran in state.ran_ms.items() if ran is not None}

    def give_up(self) -> None:
        """Another gateway holds the player now: nothing more is heard of it here."""
        self.is_given_up = True
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close(CloseCode.REPLACED, "a newer connection took this session over")

    def _has_run_ms(self, request: OpenRequest) -> int | None:
        if request.clock is None:
            return None
        now = self._loop.time()
        return request.clock.timing(now, self._meter, None).charged_ms

    def _resume(self, request: OpenRequest) -> None:
        """Let the clock of a request go on that was delivered by another gateway."""
        ran_ms = self._ran_ms.pop(request.id, None)
        if ran_ms is not None:
            now = self._loop.time()
            request.clock = TurnClock(now - ran_ms / 1000, self._limit_s(request))
            self._set_deadline(request, request.clock, now)

    # -- asking

    def _begin(self, call: Sendable, budget_ms: int | None) -> OpenRequest:
        request = OpenRequest(call, budget_ms, self._loop.create_future())
        self._open[request.id] = request
        self._resume(request)
        if self._connection is not None:
            self._deliver(request, self._connection)
        elif request.clock is None or request.budget_ms is None:
            self._await_delivery(request)
        return request

    def _end(self, request: OpenRequest) -> None:
        request.set_timer(None)
        if self._open.get(request.id) is request:
            del self._open[request.id]
        if self._connection is not None:
            self._connection.session.given_up(request.id)

    def _deliver(self, request: OpenRequest, connection: Connection) -> None:
        """Send a request; its clock starts when that is done for the first time."""
        connection.session.asked(request.id)
        if request.clock is not None and request.budget_ms is None:
            self._charge_grace(request)
            request.set_timer(None)
        if request.clock is None:
            self._charge_grace(request)
            now = self._loop.time()
            request.clock = TurnClock(now, self._limit_s(request))
            self._set_deadline(request, request.clock, now)
        self._send(connection, request.call.text())

    def _await_delivery(self, request: OpenRequest) -> None:
        """Wait for the player to come back, as long as the game's grace lasts."""
        left = self._grace_s.setdefault(request.game, self._clocks.grace_ms / 1000)
        request.away_since = self._loop.time()
        request.set_timer(self._loop.call_later(left, self._never_delivered, request))

    def _charge_grace(self, request: OpenRequest) -> None:
        if request.away_since:
            waited = self._loop.time() - request.away_since
            left = self._grace_s.get(request.game, 0.0)
            self._grace_s[request.game] = max(0.0, left - waited)
            request.away_since = 0.0

    def _never_delivered(self, request: OpenRequest) -> None:
        self._grace_s[request.game] = 0.0
        self._settle(request, NoAnswer(Verdict.DISCONNECTED, self._why_away()))

    def _limit_s(self, request: OpenRequest) -> float:
        if request.budget_ms is None:
            return math.inf
        return (request.budget_ms + self._clocks.latency_allowance_ms) / 1000

    def _set_deadline(self, request: OpenRequest, clock: TurnClock, now: float) -> None:
        left = clock.left(now, self._meter)
        if left < math.inf:
            request.set_timer(self._loop.call_later(max(left, 0.0), self._expired, request))

    def _expired(self, request: OpenRequest) -> None:
        """The timer fired. That decides nothing: our loop may have been stalled till just now.

        Then the same request stays open for as long as that. Otherwise an answer may still lie in
        the socket, unread: the loop gets a last look, and two more passes in which the reader runs.
        """
        assert request.clock is not None
        now = self._loop.time()
        if request.clock.left(now, self._meter) > 0:
            self._set_deadline(request, request.clock, now)
            return
        soon = self._loop.call_soon
        request.set_timer(
            self._loop.call_later(_LAST_LOOK_S, lambda: soon(soon, self._give_up, request))
        )

    def _give_up(self, request: OpenRequest) -> None:
        if request.answer.done():
            return
        assert request.clock is not None
        now = self._loop.time()
        if request.clock.left(now, self._meter) > 0:
            self._set_deadline(request, request.clock, now)
            return
        if self._connection is None:
            self._settle(request, self._timed(request, Verdict.DISCONNECTED, self._why_away()))
        else:
            self._settle(request, self._timed(request, Verdict.TIMEOUT, self._too_late(request)))

    # -- what comes back

    def _answered(self, received: Answered) -> None:
        request = self._open.get(received.id)
        if request is None or request.clock is None:
            return
        reply = received.reply
        if request.clock.is_late(self._loop.time(), self._meter):
            late = self._timed(request, Verdict.TIMEOUT, self._too_late(request), received.raw)
            self._settle(request, late)
        elif reply.error is not None:
            detail = f"error {reply.error.code}: {reply.error.message}"[:400]
            wrong = self._timed(request, Verdict.ERROR_REPLY, detail, received.raw)
            self._settle(request, wrong)
        else:
            timing = request.clock.timing(self._loop.time(), self._meter, self._round_trip())
            self._settle(
                request, Answer(reply.result, timing.think_ms, timing.stall_ms, timing.rtt_ms)
            )

    def _timed(
        self, request: OpenRequest, verdict: Verdict, detail: str, sent: str | None = None
    ) -> NoAnswer:
        assert request.clock is not None
        timing = request.clock.timing(self._loop.time(), self._meter, self._round_trip())
        cut = None if sent is None else sent[:400]
        return NoAnswer(verdict, detail, cut, timing.think_ms, timing.stall_ms, timing.rtt_ms)

    def _count_surplus(self, connection: Connection) -> None:
        """Count what answers nothing; with too much of it, nothing more is read from there."""
        self._surplus += 1
        if self.is_flooding:
            most = self._limits.max_surplus
            self.flooded(f"more than {most} messages that answer nothing that was open")
            connection.is_flooded = True

    def _fault(self, fault: NoAnswer) -> None:
        """A fault that belongs to no request ends every open one, or is kept for the next."""
        if self._kept is None:
            self._kept = fault
        for request in list(self._open.values()):
            self._settle(request, fault)

    def flooded(self, what: str) -> None:
        """The player sends more than is allowed; that decides when it is next asked."""
        self._fault(NoAnswer(Verdict.FLOOD, what))

    @staticmethod
    def _settle(request: OpenRequest, answer: Answer | NoAnswer) -> None:
        if not request.answer.done():
            request.answer.set_result(answer)

    # -- in words

    def _why_away(self) -> str:
        return f"{self._away}, and the player was not back in time"

    def _too_late(self, request: OpenRequest) -> str:
        allowance = self._clocks.latency_allowance_ms
        return f"no answer within {request.budget_ms} ms (and {allowance} ms for the network)"

    # -- the connection

    def _send(self, connection: Connection, text: str) -> None:
        """Send without a wait; one that is closed already gets nothing, which its handler sees."""
        socket = connection.socket
        unread = socket.transport.get_write_buffer_size()
        if unread > self._limits.max_unread:
            log.warning("connection dropped: it does not read", player=self.name, unread=unread)
            connection.dropped = f"the connection was dropped with {unread} bytes unread"
            socket.transport.abort()
            return
        broadcast((socket,), text)  # as socket.send, less what that needs to be able to wait

    def _round_trip(self) -> float | None:
        connection = self._connection
        return min(connection.round_trips, default=None) if connection is not None else None

    def _close_dismissed(self, connection: Connection) -> None:
        fault = self._dismissed
        if fault is None:
            connection.close(CloseCode.DONE, "")
        else:
            connection.close(CloseCode.EJECTED, fault.verdict.value)
