"""The manager when the fault is ours: a game is played again, then void, and ejects nobody."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from croupier_common.board_spec import BoardSpec
from croupier_common.game import NumberedEvent
from croupier_common.messages import GameEnd, ServerNotification
from croupier_common.notation import state_from_json
from croupier_common.strategies import make
from croupier_common.verdict import Fault
from croupier_server import croupier as croupier_module
from croupier_server.croupier import EventSink, Table
from croupier_server.seats import Answer, Call, NoAnswer
from croupier_server.storage.records import NoRecords
from croupier_server.tournament.manager import Manager, TournamentResult
from support.wire import quick_settings


@dataclass
class LocalSeat:
    """An honest player without a transport."""

    name: str
    age: int | None = None
    wants_events: bool = False
    wants_legal_actions: bool = False
    max_games: int = 1
    told: list[ServerNotification] = field(default_factory=list[ServerNotification])
    dismissed: list[Fault | None] = field(default_factory=list[Fault | None])

    async def ask(self, call: Call, budget_ms: int | None) -> Answer | NoAnswer:
        assert budget_ms is None or budget_ms > 0
        if call.METHOD not in {"place", "move"}:
            return Answer(True, 0)
        state = state_from_json(dict(getattr(call.params, "state")))  # noqa: B009
        return Answer(make("first", seed=0).choose(state).to_json(), 0)

    async def tell(self, message: ServerNotification) -> None:
        self.told.append(message)

    def dismiss(self, fault: Fault | None) -> None:
        self.dismissed.append(fault)


class FailingStore(NoRecords):
    """Fails while the second event is written, as often as it is told to."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.opened: list[tuple[str, int]] = []

    @contextmanager
    def open(self, table: Table, seed: int, spec: BoardSpec) -> Generator[EventSink]:
        self.opened.append((table.game, seed))
        yield FailingSink(self)


class FailingSink:
    def __init__(self, store: FailingStore) -> None:
        self._store = store

    def write(self, events: Sequence[tuple[NumberedEvent, Mapping[str, Any]]]) -> None:
        if self._store.failures and any(event.seq == 2 for event, _ in events):
            self._store.failures -= 1
            raise OSError(28, "No space left on device")


async def run(store: NoRecords, players: int = 2) -> tuple[TournamentResult, list[LocalSeat]]:
    seats = [LocalSeat(name) for name in "abcdefgh"[:players]]
    return await Manager(quick_settings(), seats, 7, store).run(), seats


async def test_game_that_failed_for_our_fault_is_played_again_on_the_same_seed() -> None:
    store = FailingStore(1)
    result, seats = await run(store)
    (first, seed), (again, seed_again) = store.opened
    assert (first, again) == ("1.1", "1.1-2")
    assert seed == seed_again
    undisturbed, _ = await run(NoRecords())
    assert result.to_json() == undisturbed.to_json()
    assert [seat.dismissed for seat in seats] == [[None], [None]]


async def test_players_are_told_that_a_game_was_interrupted() -> None:
    _, seats = await run(FailingStore(1))
    for seat in seats:
        ends = [message.params for message in seat.told if isinstance(message, GameEnd)]
        assert [(end.game, end.outcome is None) for end in ends] == [
            ("1.1", True),
            ("1.1-2", False),
        ]


async def test_game_that_fails_twice_is_void_and_ejects_nobody() -> None:
    result, _ = await run(FailingStore(2))
    ((_, report),) = result.games
    assert report is None
    assert not result.faults
    assert result.winners == ("a", "b")


async def test_void_games_everywhere_still_end_the_tournament() -> None:
    result, _ = await run(FailingStore(10_000), players=8)
    assert not result.faults
    assert {report for _, report in result.games} == {None}


async def test_seat_that_never_comes_back_is_our_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stuck(LocalSeat):
        async def ask(self, call: Call, budget_ms: int | None) -> Answer | NoAnswer:
            if call.METHOD == "move":
                await asyncio.get_running_loop().create_future()
            return await super().ask(call, budget_ms)

    monkeypatch.setattr(croupier_module, "_GUARD_S", 0.05)
    result = await Manager(quick_settings(), [Stuck("a"), LocalSeat("b")], 7, NoRecords()).run()
    assert not result.faults
    assert result.games[0][1] is None
