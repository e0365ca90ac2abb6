"""Traces: the tree of a game's spans, across processes too, and what an exporter may not cost."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanContext, StatusCode

from croupier_common.board_spec import BoardSpec
from croupier_common.game import NumberedEvent
from croupier_common.record import read_record
from croupier_common.verdict import Verdict
from croupier_server.croupier import Croupier, EventSink, GameReport, Table
from croupier_server.errors import UserError
from croupier_server.operations import span_export
from croupier_server.operations.span_export import Exporter, address_of, traces_to
from croupier_server.operations.spans import CLOSE_S, Traces, is_chosen
from croupier_server.operations.tally import Tally
from croupier_server.operations.traces import continued, current_traceparent, traced
from croupier_server.operations.watch import Watch
from croupier_server.seats import Answer, Call, NoAnswer, Seat
from croupier_server.settings import OperationsSettings
from croupier_server.tournament.ledger import Book, Ledger, NoLedger
from croupier_server.tournament.manager import Manager
from croupier_server.tournament.model import Pairing
from support.collector import collecting, hanging
from support.local_seat import LocalSeat
from support.recorded import recorded
from support.wire import Script, play, quick_settings, results

ROOT = Path(__file__).parent.parent.parent


class Spans:
    """Traces whose spans are kept here."""

    def __init__(self, share: float = 1.0) -> None:
        self._exporter = InMemorySpanExporter()
        self.traces = Traces(SimpleSpanProcessor(self._exporter), share)

    @property
    def all(self) -> Sequence[ReadableSpan]:
        """Those that have ended, in that order."""
        return self._exporter.get_finished_spans()

    def named(self, name: str) -> list[ReadableSpan]:
        """Those of a name."""
        return [span for span in self.all if span.name == name]


def attributes(span: ReadableSpan) -> dict[str, Any]:
    """What a span says of itself, without our prefix."""
    return {
        name.removeprefix("croupier."): value for name, value in (span.attributes or {}).items()
    }


def itself(span: ReadableSpan) -> SpanContext:
    """The ids of a span."""
    context = span.get_span_context()
    assert context is not None
    return context


def parents(spans: Sequence[ReadableSpan]) -> dict[int, ReadableSpan]:
    """By id."""
    return {itself(span).span_id: span for span in spans}


async def played(
    tally: Tally, seats: Sequence[Seat] | None = None, ledger: Ledger | None = None
) -> None:
    """Have a game played: the only one of its tournament."""
    seats = seats or [LocalSeat("ada"), LocalSeat("bob")]
    await Manager(quick_settings(), seats, 7, ledger or NoLedger(), tally=tally).run()


async def traced_game(seats: Sequence[Seat] | None = None, ledger: Ledger | None = None) -> Spans:
    spans, tally = Spans(), Tally()
    tally.traces = spans.traces
    await played(tally, seats, ledger)
    return spans


class Cheat(LocalSeat):
    """Answers some turns, and then stays where it is."""

    async def ask(self, call: Call, budget_ms: int | None) -> Answer | NoAnswer:
        if call.METHOD == "move" and len(self.asked) > 6:
            return Answer([[0, 0], [0, 0]], 12, 1, 5)
        return await super().ask(call, budget_ms)


class Failing(NoLedger):
    """Can't write a game's third event."""

    async def open(self, book: Book) -> EventSink:
        return self

    async def write(
        self,
        events: Sequence[tuple[NumberedEvent, Mapping[str, Any]]],
        report: GameReport | None = None,
    ) -> None:
        if any(event.seq == 3 for event, _ in events):
            raise OSError(28, "No space left on device")


# -- the tree


async def test_game_has_its_turns_with_what_each_waited_for() -> None:
    spans = await traced_game()
    by_id = parents(spans.all)
    (game,) = spans.named("game")
    assert game.parent is None
    turns = spans.named("turn")
    assert attributes(game) == {
        "game": "1.1",
        "tournament": "test",
        "players": 2,
        "resumed": False,
        "plies": len(turns),
    }
    assert [attributes(turn)["plies"] for turn in turns] == list(range(1, len(turns) + 1))
    first, last = attributes(turns[0]), attributes(turns[-1])
    assert (first["player"], first["seq"], first["method"]) == ("ada", 1, "place")
    assert (last["method"], last["verdict"]) == ("move", "ok")
    assert first.keys() >= {"think_ms", "stall_ms"}
    for turn in turns:
        assert turn.parent is not None
        assert by_id[turn.parent.span_id] is game
        steps = [span for span in spans.all if span.parent == itself(turn)]
        assert [step.name for step in steps] == ["ask", "write"]
        assert attributes(steps[0]) == {"seat": "remote"}
    assert {itself(span).trace_id for span in spans.all} == {itself(game).trace_id}


async def test_names_of_spans_are_few_whoever_plays() -> None:
    spans = await traced_game([LocalSeat("Zoë"), LocalSeat("x" * 40)])
    assert {span.name for span in spans.all} == {"game", "turn", "ask", "write"}


async def test_verdict_on_an_ejected_player_is_on_its_turn() -> None:
    spans = await traced_game([Cheat("ada"), LocalSeat("bob"), LocalSeat("cyd")])
    bad = [turn for turn in spans.named("turn") if attributes(turn)["verdict"] != "ok"]
    (turn,) = bad
    found = attributes(turn)
    assert (found["player"], found["verdict"]) == ("ada", Verdict.ILLEGAL_ACTION.value)
    assert (found["think_ms"], found["stall_ms"], found["rtt_ms"]) == (12, 1, 5)
    assert turn.status.status_code is StatusCode.UNSET  # it is no fault of ours
    (game,) = spans.named("game")
    assert attributes(game)["plies"] == len(spans.named("turn")) - 1


async def test_fault_of_ours_is_an_error_of_the_write_its_turn_and_its_game() -> None:
    spans = await traced_game(ledger=Failing())
    failed = [span for span in spans.all if span.status.status_code is StatusCode.ERROR]
    attempt = [span.name for span in failed]
    assert attempt == ["write", "turn", "game"] * 2  # it is tried once more
    assert [event.name for event in failed[0].events] == ["exception"]
    games = [attributes(span)["game"] for span in spans.named("game")]
    assert games == ["1.1", "1.1-2"]


async def test_game_that_goes_on_counts_the_plies_of_before() -> None:
    board = BoardSpec.from_text("5x5,fish=2")
    lines = recorded(3, board, plies=5, finish=False, names=("ada", "bob"))
    begun = read_record([line.encode() for line in lines], unfinished=True)
    header, spans, tally = begun.header, Spans(), Tally()
    tally.traces = spans.traces
    seats = {seat.color: LocalSeat(seat.name) for seat in header.players}
    table = Table(header.game, header.board, header.rules, seats)
    pairing = Pairing("1.1", ("ada", "bob"), 1, "1.1")
    sink = await NoLedger().open(Book(pairing, 1, table, 3, board, {}))
    report = await Croupier(table, quick_settings().clocks, sink, tally=tally).play(begun)
    (game,) = spans.named("game")
    assert attributes(game)["resumed"] is True
    assert attributes(game)["plies"] == report.plies == len(spans.named("turn")) + 5


# -- of which games


async def test_game_that_is_not_chosen_leaves_nothing() -> None:
    spans, tally = Spans(share=0.0), Tally()
    tally.traces = spans.traces
    seat = Remembering("ada")
    await played(tally, [seat, LocalSeat("bob")])
    assert not spans.all
    assert set(seat.parents) == {None}


def test_share_of_games_is_chosen_by_name_alone() -> None:
    games = [f"{number // 9}.{number % 9}" for number in range(2_000)]
    chosen = {game for game in games if is_chosen("cup", game, 0.25)}
    assert 400 < len(chosen) < 600
    assert chosen == {game for game in games if is_chosen("cup", game, 0.25)}
    assert chosen < {game for game in games if is_chosen("cup", game, 0.5)}
    assert chosen != {game for game in games if is_chosen("other", game, 0.25)}
    assert all(is_chosen("cup", game, 1.0) for game in games)


async def test_without_the_setting_nothing_is_imported() -> None:
    code = """
import asyncio, sys
from support.wire import Script, play, quick_settings
asyncio.run(play(quick_settings(), [Script("ada"), Script("bob")]))
from croupier_server.operations.traces import current_traceparent
assert current_traceparent() is None
found = [name for name in sys.modules if name.startswith("opentelemetry")]
sys.exit(f"imported: {found}" if found else 0)
"""
    variables = {k: v for k, v in os.environ.items() if not k.startswith("CROUPIER_")}
    await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", code],
        check=True,
        timeout=30,
        env={**variables, "PYTHONPATH": str(ROOT / "tests")},
    )


async def test_without_the_extra_the_user_is_told_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [one for one in sys.modules if one.startswith("opentelemetry")]:
        monkeypatch.setitem(sys.modules, name, None)
    for name in ("spans", "span_export"):
        monkeypatch.delitem(sys.modules, f"croupier_server.operations.{name}")
    settings = OperationsSettings(traces="http://127.0.0.1:4318")
    with pytest.raises(UserError, match=r"pip install 'croupier-server\[traces\]'"):
        async with traced(settings):
            pass


# -- across processes


class Remembering(LocalSeat):
    """Remembers the span that it was asked in."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.parents: list[str | None] = []

    async def ask(self, call: Call, budget_ms: int | None) -> Answer | NoAnswer:
        self.parents.append(current_traceparent())
        return await super().ask(call, budget_ms)


class Hop(LocalSeat):
    """Sits at a gateway in another process, to which a string is all that comes."""

    def __init__(self, name: str, gateway: Traces | None, sent: object = ...) -> None:
        super().__init__(name)
        self.gateway = gateway
        self.sent = sent
        self.inside: list[str | None] = []

    async def ask(self, call: Call, budget_ms: int | None) -> Answer | NoAnswer:
        head = current_traceparent() if self.sent is ... else self.sent
        with continued(self.gateway, head, "remote"):
            self.inside.append(current_traceparent())
            return await super().ask(call, budget_ms)


async def test_ask_at_a_gateway_is_part_of_the_workers_ask() -> None:
    gateway = Spans()
    seat = Hop("ada", gateway.traces)
    worker = await traced_game([seat, LocalSeat("bob")])
    by_id = parents(worker.all)
    far = gateway.named("gateway ask")
    # the tournament's start and end are part of no game
    assert len(far) == len(gateway.all) == len(seat.asked) - 2
    above: list[str] = []
    for span in far:
        assert span.parent is not None
        parent = by_id[span.parent.span_id]
        assert itself(span).trace_id == itself(parent).trace_id
        above.append(parent.name)
    turns = sum(attributes(span)["player"] == "ada" for span in worker.named("turn"))
    assert above.count("ask") == turns
    assert above.count("game") == 1  # asked whether it is ready
    assert len(set(seat.inside)) == len(far) + 1  # each has its own; None outside of games
    assert current_traceparent() is None


@pytest.mark.parametrize(
    "sent",
    [None, 7, "", "x" * 1_000, "00-" + "0" * 32 + "-" + "0" * 16 + "-01", "00-zz-zz-01"],
    ids=["none", "number", "empty", "long", "zeros", "letters"],
)
async def test_what_is_no_parent_is_not_traced_at_the_gateway(sent: object) -> None:
    gateway = Spans()
    await played(Tally(), [Hop("ada", gateway.traces, sent), LocalSeat("bob")])
    assert not gateway.all


async def test_gateway_without_traces_takes_what_a_worker_sends() -> None:
    seat = Hop("ada", None)
    spans = await traced_game([seat, LocalSeat("bob")])
    assert len(spans.named("game")) == 1
    assert None not in seat.inside[1:-1]


# -- to a collector


async def test_server_sends_its_games_to_a_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test")
    with collecting() as collector:
        settings = quick_settings(operations={"traces": collector.url})
        await play(settings, [Script("ada"), Script("bob", results("move", [[0, 0], [0, 0]]))])
        spans = list(collector.spans)
    assert set(collector.paths) == {"/v1/traces"}
    names = [span.name for span in spans]
    assert names.count("game") == 1
    assert names.count("turn") == names.count("ask") > 3
    resource = collector.resources[0]
    assert resource["service.name"] == "croupier"
    assert resource["deployment.environment"] == "test"
    verdicts = {
        one.value.string_value
        for span in spans
        for one in span.attributes
        if one.key == "croupier.verdict"
    }
    assert verdicts == {"ok", "illegal_action"}


async def test_dead_collectors_cost_no_turn_and_no_more_than_the_last_seconds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(span_export, "QUEUE", 100)
    with hanging() as silent:
        watches = [
            Watch(OperationsSettings(traces=address))
            for address in (silent, "http://127.0.0.1:1")  # nobody listens there
        ]
        began = time.monotonic()
        took = await asyncio.gather(*map(_watched, watches))
        whole_s = time.monotonic() - began
    assert max(took) < CLOSE_S  # a wait for a collector would be longer
    assert CLOSE_S <= whole_s < CLOSE_S + 3.0
    said = capsys.readouterr().err
    assert said.count("traces can't be exported") == 1  # the other has not even refused
    assert said.count("spans are dropped") == 2


async def _watched(watch: Watch) -> float:
    """How long games take in a process, with more spans than may wait."""
    async with watch.shown():
        began = time.monotonic()
        for _ in range(10):
            await played(watch.tally)
        return time.monotonic() - began


def test_outage_is_told_once_and_its_end_once(capsys: pytest.CaptureFixture[str]) -> None:
    spans = Spans()
    with spans.traces.game("1.1", 2):
        pass
    with collecting() as collector:
        exporter = Exporter(f"{collector.url}/v1/traces")
        answers: list[SpanExportResult] = []
        for collector.status in (400, 400, 200, 200, 404):
            answers.append(exporter.export(spans.all))
        exporter.shutdown()
        exporter.shutdown()
        assert exporter.export(spans.all) is SpanExportResult.FAILURE
    good, bad = SpanExportResult.SUCCESS, SpanExportResult.FAILURE
    assert answers == [bad, bad, good, good, bad]
    said = capsys.readouterr().err
    assert said.count("traces can't be exported") == 2
    assert said.count("traces are exported again") == 1
    assert said.count("code: 400") == 1


async def test_spans_of_many_games_all_come_through() -> None:
    with collecting() as collector:
        watch = Watch(OperationsSettings(traces=collector.url))
        async with watch.shown():
            for _ in range(20):
                await played(watch.tally)
        names = Counter(span.name for span in collector.spans)
    assert names["game"] == 20
    assert names["turn"] == names["ask"] == sum(watch.tally.think["remote"].counts)
    assert names["write"] >= names["turn"]


async def test_what_waits_is_exported_at_the_end() -> None:
    with collecting() as collector:
        traces = traces_to(collector.url, 1.0)
        with traces.game("1.1", 2):
            pass
        await traces.close()
        assert [span.name for span in collector.spans] == ["game"]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("http://here:4318", "http://here:4318/v1/traces"),
        ("http://here:4318/", "http://here:4318/v1/traces"),
        ("https://here/otlp/v1/traces", "https://here/otlp/v1/traces"),
    ],
    ids=["bare", "slash", "path"],
)
def test_address_without_a_path_gets_the_usual_one(given: str, meant: str) -> None:
    assert address_of(given) == meant


@pytest.mark.parametrize(
    "bad", [{"traces": "here:4318"}, {"traces_share": 1.5}], ids=["no-scheme", "too-much"]
)
def test_setting_that_can_not_be_is_refused(bad: dict[str, object]) -> None:
    with pytest.raises(UserError, match=r"operations\.traces"):
        quick_settings(operations=bad)


def test_empty_setting_is_none() -> None:
    assert quick_settings(operations={"traces": ""}).operations.traces is None
