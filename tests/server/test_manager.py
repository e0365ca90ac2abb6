"""The manager when the fault is ours: a game is played again, then void, and ejects nobody."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from croupier_common.game import NumberedEvent
from croupier_common.messages import GameEnd
from croupier_server import croupier as croupier_module
from croupier_server.croupier import EventSink, GameReport
from croupier_server.seats import Answer, Call, NoAnswer
from croupier_server.tournament.ledger import Book, NoLedger
from croupier_server.tournament.manager import Manager
from croupier_server.tournament.progress import TournamentResult
from support.local_seat import LocalSeat
from support.wire import quick_settings


class FailingLedger(NoLedger):
    """Fails while the second event is written, as often as it is told to."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.opened: list[tuple[str, int]] = []

    async def open(self, book: Book) -> EventSink:
        self.opened.append((book.table.game, book.seed))
        return self

    async def write(
        self,
        events: Sequence[tuple[NumberedEvent, Mapping[str, Any]]],
        report: GameReport | None = None,
    ) -> None:
        if self.failures and any(event.seq == 2 for event, _ in events):
            self.failures -= 1
            raise OSError(28, "No space left on device")


async def run(ledger: NoLedger, players: int = 2) -> tuple[TournamentResult, list[LocalSeat]]:
    seats = [LocalSeat(name) for name in "abcdefgh"[:players]]
    return await Manager(quick_settings(), seats, 7, ledger).run(), seats


async def test_game_that_failed_for_our_fault_is_played_again_on_the_same_seed() -> None:
    ledger = FailingLedger(1)
    result, seats = await run(ledger)
    (first, seed), (again, seed_again) = ledger.opened
    assert (first, again) == ("1.1", "1.1-2")
    assert seed == seed_again
    undisturbed, _ = await run(NoLedger())
    assert result.to_json() == undisturbed.to_json()
    assert [seat.dismissed for seat in seats] == [[None], [None]]


async def test_players_are_told_that_a_game_was_interrupted() -> None:
    _, seats = await run(FailingLedger(1))
    for seat in seats:
        ends = [message.params for message in seat.told if isinstance(message, GameEnd)]
        assert [(end.game, end.outcome is None) for end in ends] == [
            ("1.1", True),
            ("1.1-2", False),
        ]


async def test_game_that_fails_twice_is_void_and_ejects_nobody() -> None:
    result, _ = await run(FailingLedger(2))
    ((_, told),) = result.games
    assert told.kind == "void"
    assert not result.faults
    assert result.winners == ("a", "b")


async def test_void_games_everywhere_still_end_the_tournament() -> None:
    result, _ = await run(FailingLedger(10_000), players=8)
    assert not result.faults
    assert {told.kind for _, told in result.games} == {"void"}


async def test_seat_that_never_comes_back_is_our_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stuck(LocalSeat):
        async def ask(self, call: Call, budget_ms: int | None) -> Answer | NoAnswer:
            if call.METHOD == "move":
                await asyncio.get_running_loop().create_future()
            return await super().ask(call, budget_ms)

    monkeypatch.setattr(croupier_module, "_GUARD_S", 0.05)
    result = await Manager(quick_settings(), [Stuck("a"), LocalSeat("b")], 7, NoLedger()).run()
    assert not result.faults
    assert result.games[0][1].kind == "void"


@pytest.mark.parametrize("method", ["tournament_start", "tournament_end"])
async def test_acknowledgement_that_never_comes_back_is_our_fault(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stuck(LocalSeat):
        async def ask(self, call: Call, budget_ms: int | None) -> Answer | NoAnswer:
            if method == call.METHOD:
                await asyncio.get_running_loop().create_future()
            return await super().ask(call, budget_ms)

    monkeypatch.setattr(croupier_module, "_GUARD_S", 0.05)
    settings = quick_settings(clocks={"ack_ms": 50})
    result = await Manager(settings, [Stuck("a"), LocalSeat("b")], 7, NoLedger()).run()
    undisturbed, _ = await run(NoLedger())
    assert result.to_json() == undisturbed.to_json()
