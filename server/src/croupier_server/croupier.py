"""The croupier: drives one game between seats. It knows no socket and no database."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

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
from croupier_common.rules import Rules
from croupier_common.state_text import StateWriter
from croupier_common.verdict import Fault, Phase, Verdict
from croupier_server.clock import MAX_STALL_MS, Bank
from croupier_server.errors import ServerFault
from croupier_server.guard import Guard
from croupier_server.seats import Answer, Call, NoAnswer, Seat
from croupier_server.settings import Clocks
from croupier_server.turn_call import TurnCall, event_entries

__all__ = ["Croupier", "EventSink", "GameReport", "Table"]

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
class GameReport:
    """How a game went, by players' names.

    Attributes:
        ranking: names first to last, as groups of equals.
        faults: why each ejected player was.
    """

    game: str
    outcome: Outcome
    players: Mapping[Color, str]
    faults: Mapping[str, Fault]
    plies: int

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

    def write(self, events: Sequence[tuple[NumberedEvent, Mapping[str, Any]]]) -> None:
        """Write events, each with what was observed of it."""
        ...


class Croupier:
    """Plays the game at one table; use once."""

    def __init__(self, table: Table, clocks: Clocks, sink: EventSink) -> None:
        self._table = table
        self._clocks = clocks
        self._sink = sink
        self._game = Game(table.game, table.board, list(table.seats), table.rules)
        self._faults: dict[Color, Fault] = {}
        self._last: dict[Color, LastAnswer] = {}
        bank = Bank(clocks.bank_ms, clocks.increment_ms)
        self._banks = dict.fromkeys(table.seats, bank)
        self._has_banks = bool(clocks.bank_ms or clocks.increment_ms)
        self._stalled_ms = 0
        self._writer = StateWriter()
        self._started = 0.0

    async def play(self) -> GameReport:
        """Play the game to its end.

        Raises:
            ServerFault: a seat kept us waiting past all clocks.
        """
        self._started = time.monotonic()
        try:
            faults = await self._start()
            await self._happened(self._game.begin(faults), {})
            await self._take_turns()
        except Exception:
            await self._say_interrupted()
            raise
        outcome = self._game.outcome
        assert outcome is not None
        await self._say_end(outcome)
        seats = self._table.seats
        return GameReport(
            game=self._table.game,
            outcome=outcome,
            players={color: seat.name for color, seat in seats.items()},
            faults={seats[color].name: fault for color, fault in self._game.faults.items()},
            plies=sum(event.event.kind in {"place", "move"} for event in self._game.events),
        )

    # -- the start

    async def _start(self) -> dict[Color, Fault]:
        """Tell everybody that the game starts; who does not answer with true has failed."""
        async with asyncio.TaskGroup() as group:
            asked = {
                color: group.create_task(self._ask_to_start(color, seat), name=f"start {color}")
                for color, seat in self._table.seats.items()
            }
        faults = {color: task.result() for color, task in asked.items()}
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
                while request is not None:
                    await self._turn(request, guard)
                    request = self._game.request
        except TimeoutError:
            if request is None or not guard.fired:
                raise
            raise not_back(request.id, self._table.seats[request.color]) from None

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
        limit_ms = None if seat.name in clocks.no_clock else budget_ms + bank.left_ms
        guard.begin(guard_s(limit_ms, clocks))
        answer = await seat.ask(call, limit_ms)
        guard.end()
        self._took(request.color, answer, budget_ms)
        if isinstance(answer, Answer):
            events = self._game.reply(answer.result)
        else:
            fault = Fault(answer.verdict, request.phase, answer.detail, answer.sent)
            events = self._game.fault(request.color, fault)
        await self._happened(events, timing_of(answer))

    def _took(self, color: Color, answer: Answer | NoAnswer, budget_ms: int) -> None:
        """Keep account of the time that an answer took, the player's and ours."""
        last: LastAnswer = {
            "think_ms": answer.think_ms,
            "stall_ms": answer.stall_ms,
            "verdict": "ok",
        }
        if answer.rtt_ms is not None:
            last["rtt_ms"] = answer.rtt_ms
        self._last[color] = last
        if self._has_banks:
            charged_ms = max(0, answer.think_ms - answer.stall_ms)
            allowance_ms = self._clocks.latency_allowance_ms
            self._banks[color] = self._banks[color].after(charged_ms, budget_ms, allowance_ms)
        self._stalled_ms += answer.stall_ms
        if self._stalled_ms > MAX_STALL_MS:
            raise ServerFault(
                f"game {self._table.game}: the server could not run for {self._stalled_ms} ms "
                "of its turns"
            )

    # -- what happened

    async def _happened(self, events: Sequence[NumberedEvent], observed: Mapping[str, Any]) -> None:
        """Write what happened, then tell it."""
        if not events:
            return
        t_ms = int((time.monotonic() - self._started) * 1000)
        self._sink.write([(event, self._observed(event, t_ms, observed)) for event in events])
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
        log.info(
            "player ejected",
            game=self._table.game,
            player=seat.name,
            verdict=fault.verdict.value,
            detail=fault.detail,
        )
        await seat.tell(Ejection(params=EjectionParams(game=self._table.game, **fault.to_json())))
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


def told_budget(seat: Seat, budget_ms: int, clocks: Clocks) -> int:
    """The budget that a request shows to a seat."""
    return NO_CLOCK_MS if seat.name in clocks.no_clock else budget_ms


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
    limit_ms = None if seat.name in clocks.no_clock else budget_ms
    try:
        async with asyncio.timeout(None if limit_ms is None else guard_s(limit_ms, clocks)):
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
