"""The croupier: drives one game between seats. It knows no socket and no database."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import structlog

from croupier_common.board import Board
from croupier_common.events import Ejected, Ended
from croupier_common.game import Game, NumberedEvent
from croupier_common.game import Request as TurnRequest
from croupier_common.jsontypes import as_json
from croupier_common.messages import (
    NO_CLOCK_MS,
    Ejection,
    EjectionParams,
    Events,
    EventsParams,
    GameEnd,
    GameEndParams,
    GameStart,
    GameStartParams,
    LastAnswer,
)
from croupier_common.outcome import Color, Outcome
from croupier_common.record import Record, walk
from croupier_common.rules import Rules
from croupier_common.state_text import StateWriter
from croupier_common.verdict import Fault, Phase, Verdict
from croupier_server.clock import MAX_STALL_MS, Bank
from croupier_server.errors import Fenced, ServerFault, StorageFailed, first_of
from croupier_server.guard import Guard
from croupier_server.names import name_key
from croupier_server.operations.tally import Tally
from croupier_server.seats import Answer, Call, NoAnswer, Seat
from croupier_server.settings import Clocks
from croupier_server.turn_call import TurnCall, event_entries

if TYPE_CHECKING:
    from croupier_server.operations.spans import GameTrace

__all__ = ["Croupier", "EventSink", "GameReport", "Sanction", "Table", "Thinking"]

log = structlog.get_logger(__name__)

_GUARD_S = 5.0 + MAX_STALL_MS / 1000
"""How long past its budget a seat may keep us waiting before that is a fault of ours.

A seat's own clock may stand still for as long as our loop was stalled, so that comes on top.
"""


@dataclass(frozen=True, slots=True)
class Table:
    """A game about to be played: the board, and the seats in turn order with their colours."""

    game: str
    board: Board
    rules: Rules
    seats: Mapping[Color, Seat]


@dataclass(frozen=True, slots=True)
class Thinking:
    """How long a player thought in a game: in how many turns, all together, and at most."""

    turns: int = 0
    total_ms: int = 0
    most_ms: int = 0

    def after(self, think_ms: int) -> Thinking:
        """With one more turn."""
        return Thinking(self.turns + 1, self.total_ms + think_ms, max(self.most_ms, think_ms))


@dataclass(frozen=True, slots=True)
class GameReport:
    """How a game went, by players' names.

    Attributes:
        ranking: names first to last, as groups of equals.
        faults: why each ejected player was.
        thinking: how long each player thought.
    """

    game: str
    outcome: Outcome
    players: Mapping[Color, str]
    faults: Mapping[str, Fault]
    plies: int
    thinking: Mapping[str, Thinking] = field(default_factory=dict[str, Thinking])

    @property
    def ranking(self) -> tuple[tuple[str, ...], ...]:
        """Names first to last, as groups of equals, without the ejected."""
        return tuple(
            tuple(self.players[color] for color in group) for group in self.outcome.ranking
        )

    @property
    def winners(self) -> tuple[str, ...]:
        """The names of those who won."""
        return self.ranking[0] if self.outcome.ranking else ()


class EventSink(Protocol):
    """Where a game's events are written before anybody is told."""

    async def write(
        self,
        events: Sequence[tuple[NumberedEvent, Mapping[str, Any]]],
        report: GameReport | None = None,
    ) -> None:
        """Write events, each with what was observed of it; they are safe when this returns.

        Args:
            report: how the game went, if it ends with these events: the two are written as one.
        """
        ...


Sanction = Callable[[str, Fault], Awaitable[bool]]
"""Told a player's name and fault; whether that puts it out of more than this game."""


class Croupier:
    """Plays the game at one table; use once.

    Args:
        sink: where events are written before anybody is told.
        sanction: decides what an ejection costs; more than this game if None.
        tally: counts turns and verdicts, and traces games.
    """

    def __init__(
        self,
        table: Table,
        clocks: Clocks,
        sink: EventSink,
        sanction: Sanction | None = None,
        tally: Tally | None = None,
    ) -> None:
        self._table = table
        self._clocks = clocks
        self._sink = sink
        self._sanction = sanction
        self._tally = tally or Tally()
        self._trace: GameTrace | None = None
        self._game = Game(table.game, table.board, list(table.seats), table.rules)
        self._faults: dict[Color, Fault] = {}
        self._last: dict[Color, LastAnswer] = {}
        bank = Bank(clocks.bank_ms, clocks.increment_ms)
        self._banks = dict.fromkeys(table.seats, bank)
        self._has_banks = bool(clocks.bank_ms or clocks.increment_ms)
        self._thinking = dict.fromkeys(table.seats, Thinking())
        self._waited_ms = 0  # for stalls of ours
        self._writer = StateWriter()
        self._started = 0.0
        self._next_turn = 0.0  # when it may be asked for, where games have a pace

    async def play(
        self, begun: Record | None = None, absent: Mapping[Color, Fault] | None = None
    ) -> GameReport:
        """Play the game to its end.

        Args:
            begun: how far it was played before a restart of the server; it goes on from there.
                The open request is asked again under its id, with the full budget and the bank
                of the last event, since nobody knows what of it was used.
            absent: who is not here to play.

        Raises:
            ServerFault: a seat kept us waiting past all clocks.
            RecordError: what was played before does not follow from the rules.
        """
        traces = self._tally.traces
        if traces is None:
            return await self._play(begun, absent or {})
        with traces.game(self._table.game, len(self._table.seats), begun) as self._trace:
            return await self._play(begun, absent or {})

    async def _play(self, begun: Record | None, absent: Mapping[Color, Fault]) -> GameReport:
        self._started = time.monotonic()
        try:
            if begun is None or len(begun.lines) == 1:
                faults = await self._start(absent)
                await self._happened(self._game.begin(faults), {})
            else:
                self._restore(begun)
                for color, fault in absent.items():
                    await self._happened(self._game.fault(color, fault), {})
            await self._take_turns()
        except (StorageFailed, Fenced):
            raise  # the game goes on, once it can be written down again, or with another
        except Exception:
            await self._say_interrupted()
            raise
        report = self._report()
        try:
            await self._say_end(report.outcome)
        except Exception:  # the result stands, whoever has not heard of it
            log.exception("the end of a game could not be told", game=self._table.game)
        return report

    def _report(self) -> GameReport:
        outcome, seats = self._game.outcome, self._table.seats
        assert outcome is not None
        return GameReport(
            game=self._table.game,
            outcome=outcome,
            players={color: seat.name for color, seat in seats.items()},
            faults={seats[color].name: fault for color, fault in self._game.faults.items()},
            plies=sum(event.event.kind in {"place", "move"} for event in self._game.events),
            thinking={seats[color].name: spent for color, spent in self._thinking.items()},
        )

    def _restore(self, begun: Record) -> None:
        """Take up a game where its record ends."""
        for self._game, _ in walk(begun):
            pass
        for line in begun.lines[1:]:
            color, obs = line.event.get("color"), line.obs
            if line.event["kind"] in {"place", "move"} and isinstance(color, str):
                think_ms, stall_ms = int(obs.get("think_ms", 0)), int(obs.get("stall_ms", 0))
                self._spend(Color(color), line.event["kind"], think_ms, stall_ms)
            self._started = time.monotonic() - int(obs.get("t_ms", 0)) / 1000

    # -- the start

    async def _start(self, absent: Mapping[Color, Fault]) -> dict[Color, Fault]:
        """Tell everybody that the game starts; who does not answer with true has failed."""
        try:
            async with asyncio.TaskGroup() as group:
                asked = {
                    color: group.create_task(self._ask_to_start(color, seat), name=f"start {color}")
                    for color, seat in self._table.seats.items()
                    if color not in absent
                }
        except BaseExceptionGroup as several:  # that another has the game now is told from faults
            raise first_of(several) from None
        faults = {color: absent.get(color) or asked[color].result() for color in self._table.seats}
        return {color: fault for color, fault in faults.items() if fault is not None}

    async def _ask_to_start(self, color: Color, seat: Seat) -> Fault | None:
        table, clocks = self._table, self._clocks
        params = GameStartParams(
            game=table.game,
            you=color.value,
            players=[{"color": c.value, "name": s.name} for c, s in table.seats.items()],
            rules=table.rules.to_json(),
            board=table.board.to_json(),
            budget_ms=told_budget(seat, clocks.start_ms, clocks),
            budgets_ms={"place": clocks.place_ms, "move": clocks.move_ms},
        )
        call = GameStart(id=f"{table.game}:0", params=params)
        answer = await ask_guarded(seat, call, clocks.start_ms, clocks)
        return fault_of_ack(answer, Phase.GAME_START)

    # -- a turn

    async def _take_turns(self) -> None:
        guard = Guard()
        request = self._game.request
        try:
            async with guard:
                take = self._turn if self._trace is None else self._traced_turn
                while request is not None:
                    await take(request, guard)
                    request = self._game.request
        except TimeoutError:
            if request is None or not guard.fired:
                raise
            raise not_back(request.id, self._table.seats[request.color]) from None

    async def _traced_turn(self, request: TurnRequest, guard: Guard) -> None:
        assert self._trace is not None
        color = request.color
        with self._trace.turn(request, self._table.seats[color].name):
            await self._turn(request, guard)
            self._trace.judged(self._last[color], self._game.faults.get(color))

    async def _turn(self, request: TurnRequest, guard: Guard) -> None:
        seat = self._table.seats[request.color]
        clocks = self._clocks
        budget_ms = clocks.place_ms if request.method == "place" else clocks.move_ms
        bank = self._banks[request.color]
        call = TurnCall(
            request,
            told_budget(seat, budget_ms, clocks),
            bank.left_ms if self._has_banks else None,
            self._last.get(request.color),
            seat.wants_legal_actions,
            self._writer,
        )
        limit_ms = None if has_no_clock(seat, clocks) else budget_ms + bank.left_ms
        if clocks.pace_ms:
            await self._keep_pace(clocks.pace_ms)
        guard.begin(guard_s(None if seat.is_far else limit_ms, clocks))
        asking = seat.ask(call, limit_ms)
        answer = await (asking if self._trace is None else self._trace.asked(seat.kind, asking))
        guard.end()
        answered = time.monotonic()
        self._took(request, answer)
        if answer.stall_ms and limit_ms is not None:
            self._count_waiting(answer, budget_ms + clocks.latency_allowance_ms)
        if isinstance(answer, Answer):
            events = self._game.reply(answer.result)
        else:
            fault = Fault(answer.verdict, request.phase, answer.detail, answer.sent)
            events = self._game.fault(request.color, fault)
        await self._happened(events, timing_of(answer))
        own_s = time.monotonic() - answered + answer.stall_ms / 1000
        self._tally.turn(seat.kind, answer.think_ms, own_s)

    async def _keep_pace(self, pace_ms: int) -> None:
        """Wait until the audience has seen the last turn; before a player's clock starts."""
        now = time.monotonic()
        self._next_turn = max(self._next_turn, now)
        await asyncio.sleep(self._next_turn - now)
        self._next_turn += pace_ms / 1000

    def _took(self, request: TurnRequest, answer: Answer | NoAnswer) -> None:
        """Keep account of the time that an answer took, the player's and ours."""
        color = request.color
        last: LastAnswer = {
            "think_ms": answer.think_ms,
            "stall_ms": answer.stall_ms,
            "verdict": "ok",
        }
        if answer.rtt_ms is not None:
            last["rtt_ms"] = answer.rtt_ms
        self._last[color] = last
        self._spend(color, request.method, answer.think_ms, answer.stall_ms)

    def _count_waiting(self, answer: Answer | NoAnswer, budget_ms: int) -> None:
        """Count for how long a request was open beyond its budget because our loop was stalled.

        A stall within the budget has changed nothing. On a busy server there are many short ones,
        and what they add up to while somebody thinks is no reason to interrupt the game.
        """
        self._waited_ms += max(0, min(answer.stall_ms, answer.think_ms - budget_ms))
        if self._waited_ms > MAX_STALL_MS:
            raise ServerFault(
                f"game {self._table.game}: it has waited {self._waited_ms} ms for a server that "
                "could not run"
            )

    def _spend(self, color: Color, method: str, think_ms: int, stall_ms: int) -> None:
        self._thinking[color] = self._thinking[color].after(think_ms)
        if self._has_banks:
            clocks = self._clocks
            budget_ms = clocks.place_ms if method == "place" else clocks.move_ms
            charged_ms = max(0, think_ms - stall_ms)
            bank = self._banks[color]
            self._banks[color] = bank.after(charged_ms, budget_ms, clocks.latency_allowance_ms)

    # -- what happened

    async def _happened(self, events: Sequence[NumberedEvent], observed: Mapping[str, Any]) -> None:
        """Write what happened, then tell it."""
        if not events:
            return
        t_ms = int((time.monotonic() - self._started) * 1000)
        report = None if self._game.outcome is None else self._report()
        entries = [(event, self._observed(event, t_ms, observed)) for event in events]
        writing = self._sink.write(entries, report)
        await (writing if self._trace is None else self._trace.written(writing))
        for seat in self._table.seats.values():
            if seat.wants_events:
                params = EventsParams(game=self._table.game, events=event_entries(events))
                await seat.tell(Events(params=params))
        for numbered in events:
            if isinstance(numbered.event, Ejected):
                await self._dismiss(numbered.event.color)

    def _observed(
        self, numbered: NumberedEvent, t_ms: int, observed: Mapping[str, Any]
    ) -> dict[str, Any]:
        event = numbered.event
        if isinstance(event, Ejected):
            fault = self._game.faults[event.color]
            told = {"t_ms": t_ms, "detail": fault.detail}
            if fault.sent is not None:
                told["sent"] = fault.sent
            return told
        if event.kind in {"place", "move"}:
            return {"t_ms": t_ms, **observed}
        return {"t_ms": t_ms}

    async def _dismiss(self, color: Color) -> None:
        seat, fault = self._table.seats[color], self._game.faults[color]
        self._tally.verdict(fault)
        log.info(
            "player ejected",
            game=self._table.game,
            player=seat.name,
            verdict=fault.verdict.value,
            detail=fault.detail,
        )
        is_out = self._sanction is None or await self._sanction(seat.name, fault)
        params = EjectionParams(
            game=self._table.game, plays_on=None if is_out else True, **fault.to_json()
        )
        await seat.tell(Ejection(params=params))
        if is_out:
            seat.dismiss(fault)

    async def _say_end(self, outcome: Outcome) -> None:
        last_turn = dict.fromkeys(self._table.seats, 0)
        for numbered in self._game.events:
            color = getattr(numbered.event, "color", None)
            if color is not None and numbered.event.kind in {"place", "move"}:
                last_turn[color] = numbered.seq
        for color, seat in self._table.seats.items():
            if color in self._game.faults:
                continue
            since = [
                event
                for event in self._game.events[last_turn[color] :]
                if not isinstance(event.event, Ended)
            ]
            params = GameEndParams(
                game=self._table.game, outcome=outcome.to_json(), events=event_entries(since)
            )
            await seat.tell(GameEnd(params=params))

    async def _say_interrupted(self) -> None:
        """Tell those who play on that this game is no more, so that none waits for it."""
        for color, seat in self._table.seats.items():
            if color not in self._game.faults:
                await seat.tell(GameEnd(params=GameEndParams(game=self._table.game, events=[])))


def has_no_clock(seat: Seat, clocks: Clocks) -> bool:
    """Whether a seat may take as long as it likes."""
    if seat.kind == "house":
        return True
    return bool(clocks.no_clock) and name_key(seat.name) in map(name_key, clocks.no_clock)


def told_budget(seat: Seat, budget_ms: int, clocks: Clocks) -> int:
    """The budget that a request shows to a seat."""
    return NO_CLOCK_MS if has_no_clock(seat, clocks) else budget_ms


def timing_of(answer: Answer | NoAnswer) -> dict[str, int]:
    """What was measured of an answer, as a record keeps it."""
    timing = {"think_ms": answer.think_ms, "stall_ms": answer.stall_ms}
    if answer.rtt_ms is not None:
        timing["rtt_ms"] = answer.rtt_ms
    return timing


def guard_s(limit_ms: int | None, clocks: Clocks) -> float:
    """How many seconds a seat may take to come back with anything."""
    if limit_ms is None:
        return math.inf
    return (limit_ms + clocks.latency_allowance_ms + clocks.grace_ms) / 1000 + _GUARD_S


def not_back(call_id: str, seat: Seat) -> ServerFault:
    """The fault of ours that a seat did not come back."""
    return ServerFault(f"{call_id}: the seat of {seat.name} did not come back")


async def ask_guarded(seat: Seat, call: Call, budget_ms: int, clocks: Clocks) -> Answer | NoAnswer:
    """Ask a seat, and take it for a fault of ours if even its own clock doesn't end that.

    Raises:
        ServerFault: there is no answer long after its budget.
    """
    limit_ms = None if has_no_clock(seat, clocks) else budget_ms
    try:
        is_watched = limit_ms is not None and not seat.is_far
        async with asyncio.timeout(guard_s(limit_ms, clocks) if is_watched else None):
            return await seat.ask(call, limit_ms)
    except TimeoutError:
        raise not_back(call.id, seat) from None


def fault_of_ack(answer: Answer | NoAnswer, phase: Phase) -> Fault | None:
    """The fault in an answer that has to be true; None if it is."""
    if isinstance(answer, NoAnswer):
        verdict = answer.verdict
        if verdict is Verdict.TIMEOUT and phase is not Phase.TOURNAMENT_END:
            verdict = Verdict.NO_START
        return Fault(verdict, phase, answer.detail, answer.sent)
    if answer.result is True:
        return None
    sent = as_json(answer.result)
    return Fault(Verdict.MALFORMED, phase, f"the answer is true, not {sent}", sent=sent)
