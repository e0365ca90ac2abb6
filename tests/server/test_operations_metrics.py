"""Metrics: what is counted, and how Prometheus gets it."""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from croupier_common.game import NumberedEvent
from croupier_common.verdict import Fault, Phase, Verdict
from croupier_server.croupier import EventSink, GameReport
from croupier_server.operations.metrics import Metrics
from croupier_server.operations.news import count
from croupier_server.operations.tally import Distribution, Gauges, Tally
from croupier_server.tournament.ledger import Book, NoLedger, unplayed
from croupier_server.tournament.manager import Manager
from croupier_server.tournament.model import Pairing, ResultKind
from croupier_server.tournament.progress import GameOver, PlayerOut
from support.local_seat import LocalSeat
from support.wire import quick_settings

NO_GAUGES = Gauges()


async def samples(tally: Tally, gauges: Gauges = NO_GAUGES) -> dict[str, float]:
    """What is told, by name and labels as they are written."""
    text, _ = await Metrics(tally, lambda: gauges).text()
    lines = [line for line in text.decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


class Failing(NoLedger):
    """Fails at each game's second event, as often as it is told to."""

    def __init__(self, failures: int) -> None:
        self.failures = failures

    async def open(self, book: Book) -> EventSink:
        return self

    async def write(
        self,
        events: Sequence[tuple[NumberedEvent, Mapping[str, Any]]],
        report: GameReport | None = None,
    ) -> None:
        if self.failures and any(event.seq == 2 for event, _ in events):
            self.failures -= 1
            raise OSError(28, "No space left on device")


async def played(failures: int = 0) -> Tally:
    tally = Tally()
    seats = [LocalSeat(name) for name in "ab"]
    ledger = Failing(failures)
    await Manager(quick_settings(), seats, 7, ledger, lambda n: count(tally, n), tally=tally).run()
    return tally


def test_distribution_counts_a_bound_with_those_below_it() -> None:
    spread = Distribution((1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 3.0):
        spread.add(value)
    assert spread.counts == [2, 1, 1]
    assert spread.total == 6.0


async def test_game_is_counted_with_its_turns_and_nothing_runs_afterwards() -> None:
    found = await samples(await played())
    assert found["croupier_games_started_total"] == 1
    assert found['croupier_games_ended_total{how="played"}'] == 1
    assert found["croupier_games_running"] == 0
    turns = found['croupier_turns_total{seat="remote"}']
    assert turns > 10
    assert found['croupier_think_seconds_count{seat="remote"}'] == turns
    assert found["croupier_turn_overhead_seconds_count"] == turns
    assert 0 < found["croupier_turn_overhead_seconds_sum"] < 1


async def test_game_that_fails_for_our_fault_is_interrupted_and_then_void() -> None:
    found = await samples(await played(failures=2))
    assert found["croupier_games_started_total"] == 2
    assert found['croupier_games_ended_total{how="interrupted"}'] == 2
    assert found['croupier_games_ended_total{how="void"}'] == 1
    assert found['croupier_games_ended_total{how="played"}'] == 0
    assert found["croupier_games_running"] == 0


@pytest.mark.parametrize(("kind", "counted"), [("forfeit", 1), ("bye", 0)])
async def test_pairing_without_a_game_is_counted_if_it_is_a_forfeit(
    kind: ResultKind, counted: int
) -> None:
    tally, pairing = Tally(), Pairing("1.1", ("a", "b"), 1, "1.1")
    count(tally, GameOver(pairing, unplayed(pairing, {}, kind), None))
    assert (await samples(tally))['croupier_games_ended_total{how="forfeit"}'] == counted


async def test_verdict_outside_of_games_is_counted_once_and_by_phase() -> None:
    tally = Tally()
    for phase in (Phase.TOURNAMENT_START, Phase.PLACEMENT):  # the croupier counts the second
        count(tally, PlayerOut("a", Fault(Verdict.TIMEOUT, phase, "late")))
    found = await samples(tally)
    verdicts = {name: value for name, value in found.items() if "verdicts" in name}
    assert verdicts == {'croupier_verdicts_total{phase="tournament_start",verdict="timeout"}': 1}


async def test_histogram_is_cumulative_and_ends_with_all() -> None:
    tally = Tally()
    for lag in (0.0005, 0.003, 0.003, 60.0):
        tally.lag.add(lag)
    found = await samples(tally)
    steps = [
        value for name, value in found.items() if name.startswith("croupier_loop_lag_seconds_b")
    ]
    assert steps == sorted(steps)
    assert found['croupier_loop_lag_seconds_bucket{le="0.001"}'] == 1
    assert found['croupier_loop_lag_seconds_bucket{le="0.005"}'] == 3
    assert found['croupier_loop_lag_seconds_bucket{le="+Inf"}'] == 4
    assert math.isclose(found["croupier_loop_lag_seconds_sum"], 60.0065)


async def test_gauges_are_looked_at_for_each_text_in_the_loop() -> None:
    seen: list[int] = []

    def look() -> Gauges:
        seen.append(threading.get_ident())
        return Gauges(waiting=len(seen), connections={"websocket": 3}, viewers=2, is_draining=True)

    metrics = Metrics(Tally(), look)
    await metrics.text()
    text = (await metrics.text())[0].decode()
    assert set(seen) == {threading.get_ident()}
    for line in (
        "croupier_games_waiting 2.0",
        'croupier_connections{kind="websocket"} 3.0',
        "croupier_viewers 2.0",
        "croupier_draining 1.0",
    ):
        assert line in text.splitlines()


async def test_text_is_what_a_parser_takes_by_the_conventions() -> None:
    text, kind = await Metrics(await played(), Gauges).text()
    assert kind.startswith("text/plain")
    families = {family.name: family for family in text_string_to_metric_families(text.decode())}
    ours = {name: family for name, family in families.items() if name.startswith("croupier_")}
    assert len(ours) >= 15
    for name, family in ours.items():
        assert re.fullmatch(r"[a-z_]+", name)
        assert family.documentation.endswith(".")
        assert (family.type == "histogram") == name.endswith("_seconds")
        labels = {label for sample in family.samples for label in sample.labels}
        assert labels <= {"version", "how", "seat", "verdict", "phase", "kind", "le"}
    assert "process_resident_memory_bytes" in families or not families.keys() & {"process_max_fds"}


async def test_openmetrics_is_given_to_who_asks_for_it() -> None:
    text, kind = await Metrics(Tally(), Gauges).text("application/openmetrics-text; version=1.0.0")
    assert kind.startswith("application/openmetrics-text")
    assert text.endswith(b"# EOF\n")
