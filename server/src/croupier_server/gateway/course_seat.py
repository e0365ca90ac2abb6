"""A player that speaks the course's protocol: bare JSON values over TCP, without ids or framing.

What the croupier and the manager ask becomes the course's calls, one at a time: ``start``,
``playing-as`` and ``playing-with``, ``setup``, ``take-turn``, ``end``. Notifications have no
counterpart there, so an ejected player sees its connection closed and nothing else.

Without ids an answer is known by its place alone: the first value that arrives while a call is open
answers it. Any other value is a fault, ``malformed``: it is kept, and decides when the player is
called next. So is what lies in the socket, or has begun to arrive, before a call is sent. A late
answer never meets the next call, since there is none: who is late is out.
"""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, replace
from typing import Final, Protocol, cast

import structlog

from croupier_common.messages import (
    GameStart,
    GameStartParams,
    ServerNotification,
    TournamentEnd,
    TournamentStart,
    TurnParams,
)
from croupier_common.verdict import Fault, Verdict
from croupier_server.clock import StallMeter, TurnClock
from croupier_server.course.framing import Broken, Splitter, Value
from croupier_server.course.protocol import VOID, actions_since, course_state, encode, is_name
from croupier_server.seats import Answer, Call, Kind, NoAnswer, out_of_it
from croupier_server.settings import Clocks, Settings

__all__ = ["CourseSeat", "CourseTimes", "Owner"]

log = structlog.get_logger(__name__)

_LAST_LOOK_S: Final = 0.002
"""After the time is over, how long the loop gets to read what already lies in the socket."""

_CLOSE_S: Final = 2.0
"""How long a closing connection may take until its peer has read all."""


@dataclass(frozen=True, slots=True)
class CourseTimes:
    """How long a client may take, in the course's protocol.

    The budget that a call comes with holds too, whichever is shorter: all players of a tournament
    are under its clocks.
    """

    name_ms: int = 10_000
    call_ms: int = 10_000
    first_turn_ms: int = 30_000
    ack_ms: int = 3_000

    def clocks(self) -> Clocks:
        """The clocks of a tournament of such clients only, which leave them all of their time."""
        return Clocks(
            join_ms=self.name_ms,
            start_ms=2 * self.call_ms,
            place_ms=self.call_ms,
            move_ms=max(self.call_ms, self.first_turn_ms),
            ack_ms=self.ack_ms,
        )


class Owner(Protocol):
    """Who has the connections: told what becomes of each."""

    def connected(self, seat: CourseSeat) -> None:
        """A client is there, without a name so far."""
        ...

    def named(self, seat: CourseSeat, name: str) -> None:
        """It has sent a valid name; it is signed up if `seat.name` is set afterwards."""
        ...

    def lost(self, seat: CourseSeat) -> None:
        """Its connection is gone."""
        ...


@dataclass(slots=True)
class _Open:
    """The call that waits for its answer."""

    name: str
    budget_ms: int | None
    clock: TurnClock
    answer: asyncio.Future[Answer | NoAnswer]


class CourseSeat(asyncio.Protocol):
    """A player on a TCP connection: the connection's protocol, and the croupier's seat.

    Attributes:
        name: empty until it is signed up.
        address: where it connected from.
        closed: set when the connection is gone.
    """

    kind: Kind = "course"

    def __init__(
        self, owner: Owner, settings: Settings, times: CourseTimes, meter: StallMeter
    ) -> None:
        self.name = ""
        self.age: int | None = None
        self.wants_events = False
        self.wants_legal_actions = False
        self.max_games = 1
        self.session: str | None = None
        self.is_far = False
        self.address = ""
        self.closed = asyncio.Event()
        self._owner = owner
        self._times = times
        self._meter = meter
        self._loop = asyncio.get_running_loop()
        self._name_ms = min(times.name_ms, settings.clocks.join_ms)
        self._allowance_ms = settings.clocks.latency_allowance_ms
        self._limits = settings.limits
        self._splitter = Splitter(settings.limits.max_message)
        self._transport: asyncio.Transport | None = None
        self._open: _Open | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._closing: asyncio.TimerHandle | None = None
        self._kept: NoAnswer | None = None  # a fault out of turn; it decides when next asked
        self._ignored = 0  # bytes that came after the fault
        self._has_moved = False
        self._owes = False  # whether a call was given up, whose answer may still come

    def __repr__(self) -> str:
        return f"<CourseSeat {self.name!r} at {self.address}>"

    # -- for the croupier

    async def ask(self, call: Call, budget_ms: int | None) -> Answer | NoAnswer:
        """See :meth:`croupier_server.seats.Seat.ask`."""
        times = self._times
        if isinstance(call, TournamentStart):
            return await self._acknowledge("start", True, _least(times.ack_ms, budget_ms))
        if isinstance(call, TournamentEnd):
            won = call.params.won
            return await self._acknowledge("end", won, _least(times.ack_ms, budget_ms))
        if isinstance(call, GameStart):
            return await self._begin_game(call.params, budget_ms)
        if call.METHOD == "place":
            return await self._place(call.params, budget_ms)
        return await self._move(call.params, budget_ms)

    async def tell(self, message: ServerNotification) -> None:
        """See :meth:`croupier_server.seats.Seat.tell`; the course's protocol tells nothing."""

    async def pardon(self) -> bool:
        """See :meth:`croupier_server.seats.Seat.pardon`.

        After a fault nothing is read any more; and an answer that is still owed would be taken for
        that to the next call, since calls have no ids here.
        """
        return self._kept is None and not self._owes

    def dismiss(self, fault: Fault | None) -> None:
        """See :meth:`croupier_server.seats.Seat.dismiss`; there is no way to say why."""
        if fault is not None:
            self._fault(out_of_it(fault))
        self.close()

    # -- the course's calls

    async def _begin_game(
        self, params: GameStartParams, budget_ms: int | None
    ) -> Answer | NoAnswer:
        """Two calls within the one budget."""
        self._has_moved = False
        call_ms = self._times.call_ms
        first = await self._acknowledge("playing-as", params.you, _least(call_ms, budget_ms))
        if isinstance(first, NoAnswer):
            return first
        left_ms = budget_ms
        if left_ms is not None:
            left_ms = max(1, left_ms - first.think_ms + first.stall_ms)
        others = [entry["color"] for entry in params.players if entry["color"] != params.you]
        second = await self._acknowledge("playing-with", others, _least(call_ms, left_ms))
        return replace(
            second,
            think_ms=first.think_ms + second.think_ms,
            stall_ms=first.stall_ms + second.stall_ms,
        )

    async def _place(self, params: TurnParams, budget_ms: int | None) -> Answer | NoAnswer:
        state = course_state(params.state, params.you)
        return await self._call("setup", [state], _least(self._times.call_ms, budget_ms))

    async def _move(self, params: TurnParams, budget_ms: int | None) -> Answer | NoAnswer:
        state = course_state(params.state, params.you)
        actions = actions_since(params.events) if self._has_moved else []
        time_ms = self._times.call_ms if self._has_moved else self._times.first_turn_ms
        self._has_moved = True
        return await self._call("take-turn", [state, actions], _least(time_ms, budget_ms))

    async def _acknowledge(
        self, name: str, argument: object, budget_ms: int | None
    ) -> Answer | NoAnswer:
        """Call the player for a ``"void"``, which counts as true."""
        answer = await self._call(name, [argument], budget_ms)
        if isinstance(answer, NoAnswer):
            return answer
        if answer.result == VOID:
            return replace(answer, result=True)
        sent = encode(answer.result).decode()
        detail = f'the answer to {name} is "{VOID}", not {sent[:100]}'
        return NoAnswer(Verdict.MALFORMED, detail, sent[:400], answer.think_ms, answer.stall_ms)

    async def _call(
        self, name: str, arguments: list[object], budget_ms: int | None
    ) -> Answer | NoAnswer:
        """Send a call and wait for its answer, or for what there is instead."""
        await self._read_what_is_there()
        if self._kept is not None:
            return self._kept
        seconds = math.inf if budget_ms is None else (budget_ms + self._allowance_ms) / 1000
        clock = TurnClock(self._loop.time(), seconds)
        opened = _Open(name, budget_ms, clock, self._loop.create_future())
        self._open = opened
        self._set_deadline(opened)
        try:
            self._write(encode([name, arguments]))
            return await opened.answer
        finally:
            self._set_timer(None)
            self._open = None

    async def _read_what_is_there(self) -> None:
        """Let all be read that was sent before a call is, so that it is not taken for the answer.

        The loop looks for readable sockets after the first of two passes, and reads in the second.
        """
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        pending = self._splitter.pending
        if pending:
            self._fault(_unasked(pending))

    # -- the clock of a call

    def _set_timer(self, timer: asyncio.TimerHandle | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = timer

    def _set_deadline(self, opened: _Open) -> None:
        left = opened.clock.left(self._loop.time(), self._meter)
        if left < math.inf:
            self._set_timer(self._loop.call_later(max(left, 0.0), self._expired, opened))

    def _expired(self, opened: _Open) -> None:
        """The timer fired. That decides nothing: our loop may have been stalled till just now.

        Then the call stays open for as long as that. Otherwise an answer may still lie in the
        socket, unread: the loop gets a last look, and two more passes in which it is read.
        """
        if opened.clock.left(self._loop.time(), self._meter) > 0:
            self._set_deadline(opened)
            return
        soon = self._loop.call_soon
        self._set_timer(
            self._loop.call_later(_LAST_LOOK_S, lambda: soon(soon, self._give_up, opened))
        )

    def _give_up(self, opened: _Open) -> None:
        if opened.answer.done():
            return
        if opened.clock.left(self._loop.time(), self._meter) > 0:
            self._set_deadline(opened)
            return
        pending = self._splitter.pending
        detail = self._too_late(opened)
        if pending:
            detail += f", only a part of one: {pending[:100]}"
        self._owes = True
        self._settle(opened, NoAnswer(Verdict.TIMEOUT, detail, pending or None))

    def _too_late(self, opened: _Open) -> str:
        return (
            f"no answer to {opened.name} within {opened.budget_ms} ms "
            f"(and {self._allowance_ms} ms for the network)"
        )

    # -- from the connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has connected; now it has to send its name."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is none by inheritance
        peer = transport.get_extra_info("peername")
        self.address = str(peer[0]) if peer else ""
        self._await_name(TurnClock(self._loop.time(), self._name_ms / 1000))
        self._owner.connected(self)

    def data_received(self, data: bytes) -> None:
        """Take bytes, and act on every value that is whole now."""
        if self._kept is None:
            self._splitter.receive(data)
            self._take_all()
            return
        self._ignored += len(data)
        if self._ignored > self._limits.max_message:
            self._drop("it goes on sending after a fault")

    def eof_received(self) -> None:
        """The client sends no more; what came before that still counts."""
        self._splitter.end()
        self._take_all()
        self._fault(self._gone("the connection was closed by the player"))

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone, by whomever."""
        why = "the connection was lost" + (f": {exc}" if exc is not None else "")
        self._fault(self._gone(why))
        self._set_timer(None)
        if self._closing is not None:
            self._closing.cancel()
        self.closed.set()
        self._owner.lost(self)

    def close(self) -> None:
        """Close the connection, by force if the client does not take what was sent to it."""
        if self._transport is not None and self._closing is None:
            self._transport.close()
            self._closing = self._loop.call_later(_CLOSE_S, self._transport.abort)

    # -- within

    def _take_all(self) -> None:
        while self._kept is None and (found := self._splitter.next()) is not None:
            if not self.name:
                self._take_name(found)
            elif isinstance(found, Broken):
                self._fault(NoAnswer(found.verdict, found.detail, found.raw))
            elif self._open is None or self._open.answer.done():
                self._fault(_unasked(found.raw))
            else:
                self._take_answer(self._open, found)

    def _take_name(self, found: Value | Broken) -> None:
        if isinstance(found, Value) and is_name(found.value):
            self._set_timer(None)
            self._owner.named(self, str(found.value))
        else:
            log.info("client dropped: no name", address=self.address, sent=found.raw[:40])
        if not self.name:
            self._kept = NoAnswer(Verdict.MALFORMED, "it has not signed up")
            self.close()

    def _await_name(self, clock: TurnClock) -> None:
        left = clock.left(self._loop.time(), self._meter)
        self._set_timer(self._loop.call_later(max(left, 0.0), self._nameless, clock))

    def _nameless(self, clock: TurnClock) -> None:
        if clock.left(self._loop.time(), self._meter) > 0:  # our loop was stalled
            self._await_name(clock)
            return
        pending = self._splitter.pending[:40]
        log.info("client dropped: no name in time", address=self.address, sent=pending)
        self.close()

    def _take_answer(self, opened: _Open, found: Value) -> None:
        if opened.clock.is_late(self._loop.time(), self._meter):
            self._settle(opened, NoAnswer(Verdict.TIMEOUT, self._too_late(opened), found.raw[:400]))
        else:
            self._settle(opened, Answer(found.value, 0))

    def _settle(self, opened: _Open, answer: Answer | NoAnswer) -> None:
        if opened.answer.done():
            return
        timing = opened.clock.timing(self._loop.time(), self._meter, None)
        opened.answer.set_result(
            replace(answer, think_ms=timing.think_ms, stall_ms=timing.stall_ms)
        )

    def _fault(self, fault: NoAnswer) -> None:
        """The first fault stands for the answer to the open call, or is kept for the next."""
        if self._kept is None:
            self._kept = fault
            if self._open is not None:
                self._settle(self._open, fault)

    def _gone(self, detail: str) -> NoAnswer:
        pending = self._splitter.pending
        if pending:
            detail += f", in the middle of a value: {pending[:100]}"
        return NoAnswer(Verdict.DISCONNECTED, detail, pending or None)

    def _write(self, data: bytes) -> None:
        assert self._transport is not None
        unread = self._transport.get_write_buffer_size()
        if unread > self._limits.max_unread:
            self._drop(f"it has left {unread} bytes unread")
        else:
            self._transport.write(data)

    def _drop(self, why: str) -> None:
        assert self._transport is not None
        log.warning("connection dropped", player=self.name, reason=why)
        self._transport.abort()


def _least(time_ms: int, budget_ms: int | None) -> int | None:
    """The shorter of the course's time and the tournament's; None for no clock at all."""
    return None if budget_ms is None else min(time_ms, budget_ms)


def _unasked(raw: str) -> NoAnswer:
    """The fault of a value that answers nothing."""
    detail = f"one answer to each call, and no call was open for {raw[:100]}"
    return NoAnswer(Verdict.MALFORMED, detail, raw[:400])
