"""Programs as local seats: each that fails gets the right verdict, and none outlives its seat."""

from __future__ import annotations

import asyncio
import math
import os
import re
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from croupier_common.events import Ejected, Event, Moved
from croupier_common.game import NumberedEvent
from croupier_common.messages import (
    Events,
    EventsParams,
    JoinParams,
    TournamentStart,
    TournamentStartParams,
)
from croupier_common.outcome import Color
from croupier_common.verdict import Phase, Verdict
from croupier_server.clock import StallMeter
from croupier_server.croupier import GameReport
from croupier_server.errors import ProgramFailed, UserError
from croupier_server.gateway.stdio import Program, StdioGateway, StdioSeat
from croupier_server.heartbeat import Heartbeat
from croupier_server.seats import Admission, Answer, NoAnswer, Seat
from croupier_server.settings import Settings
from croupier_server.tournament.ledger import NoLedger
from support.needs import require
from support.stdio import (
    QUICK,
    command,
    play,
    playing,
    processes,
    processes_left,
    program,
)
from support.wire import quick_settings

pytestmark = pytest.mark.usefixtures("_posix")

PRINT = "print anything else to standard error"

FAILURES = {
    "silent": (Verdict.TIMEOUT, "no answer within 400 ms"),
    "deaf": (Verdict.TIMEOUT, "no answer within 400 ms"),
    "foreign id": (Verdict.TIMEOUT, "no answer within 400 ms"),
    "unended": (Verdict.TIMEOUT, "a line was begun, and not ended by a newline"),
    "garbage": (Verdict.MALFORMED, PRINT),
    "prints": (Verdict.MALFORMED, PRINT),
    "number": (Verdict.MALFORMED, "a message is a JSON object"),
    "latin": (Verdict.MALFORMED, "not UTF-8"),
    "error": (Verdict.ERROR_REPLY, "error -32000: no idea"),
    "oversize": (Verdict.OVERSIZE, "a line of more than 65536 bytes"),
    "floods": (Verdict.FLOOD, "more than 256 lines"),
    "crash": (
        Verdict.DISCONNECTED,
        "exit status 1; the last line on its standard error: ZeroDivisionError: as it was told to",
    ),
    "exit": (Verdict.DISCONNECTED, "the program ended with exit status 7"),
    "killed": (Verdict.DISCONNECTED, "the program was ended by signal SIGKILL"),
    "leaves": (Verdict.DISCONNECTED, "ended with exit status 0"),
    "unended and leaves": (Verdict.DISCONNECTED, "ended with exit status 0"),
    "forks and leaves": (Verdict.DISCONNECTED, "ended with exit status 0"),
    "cut off": (Verdict.DISCONNECTED, "the last line on its standard output was cut off"),
    "closes stdout": (Verdict.DISCONNECTED, "closed its standard output, and runs on"),
    "closes stdin": (Verdict.DISCONNECTED, "closed its standard input, and runs on"),
}
"""By the habit that shows in the second move, the verdict, and what is told of it."""

HONEST = ("slow", "two replies", "blank lines", "crlf", "split", "noisy", "forks", "stubborn")


@pytest.fixture
def _posix() -> None:
    require("posix", os.name == "posix", "processes are looked for by POSIX means")


async def test_failing_programs_get_their_verdicts_and_are_gone(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    """All in one tournament, in which the honest ones play on."""
    bad = [program(habit, tmp_path, habit) for habit in FAILURES]
    honest = [program(name, tmp_path) for name in "abcdef"]
    outcome = await play([*bad, *honest], quick_settings(clocks={"move_ms": 400}))
    for habit, (verdict, told) in FAILURES.items():
        with subtests.test(habit):
            fault = outcome.result.faults[habit]
            assert (fault.verdict, fault.phase) == (verdict, Phase.MOVEMENT)
            assert told in fault.detail
    assert set(outcome.result.faults) == set(FAILURES)
    assert outcome.result.winners
    assert processes_left(tmp_path) == []


async def test_programs_with_harmless_habits_play_to_the_end(tmp_path: Path) -> None:
    programs = [program(habit, tmp_path, habit) for habit in HONEST]
    outcome = await play(programs, quick_settings(clocks={"move_ms": 1_000}))
    assert not outcome.result.faults
    assert processes_left(tmp_path) == []


class Listener(NoLedger):
    """Keeps all events."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    async def write(
        self,
        events: Sequence[tuple[NumberedEvent, Mapping[str, Any]]],
        report: GameReport | None = None,
    ) -> None:
        self.events += [numbered.event for numbered, _ in events]


@pytest.mark.parametrize("habit", ["leaves", "unended and leaves"])
async def test_answer_that_came_before_leaving_counts(habit: str, tmp_path: Path) -> None:
    ledger = Listener()
    programs = [program("a", tmp_path), program("bad", tmp_path, habit)]
    async with playing(programs, ledger=ledger) as (manager, _):
        await manager.run()
    events = ledger.events
    moves = [event for event in events if isinstance(event, Moved) and event.color is Color.WHITE]
    assert len(moves) == 2
    assert any(isinstance(event, Ejected) for event in events)


GREETINGS: dict[str, tuple[tuple[str, ...], Verdict, str]] = {
    "silent": (("silent", "hello", "0"), Verdict.NO_START, "hello: no answer within 500 ms"),
    "never reads": (("deaf", "start"), Verdict.NO_START, "must flush what it writes"),
    "exits at once": (("exit", "start"), Verdict.DISCONNECTED, "ended with exit status 7"),
    "garbage": (("garbage", "hello", "0"), Verdict.MALFORMED, PRINT),
    "prints first": (("prints", "start"), Verdict.MALFORMED, PRINT),
    "oversize": (("oversize", "hello", "0"), Verdict.OVERSIZE, "more than 65536 bytes"),
    "error": (("error", "hello", "0"), Verdict.ERROR_REPLY, "no idea"),
    "closes stdout": (("closes stdout", "start"), Verdict.DISCONNECTED, "closed its standard out"),
    "true": (("says true", "hello", "0"), Verdict.MALFORMED, "hello is answered with an object"),
}


async def test_programs_without_a_greeting_do_not_join(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    bad = [program(name, tmp_path, *switches) for name, (switches, _, _) in GREETINGS.items()]
    programs = [program("a", tmp_path), *bad, program("b", tmp_path)]
    outcome = await play(programs, quick_settings(clocks={"join_ms": 500}))
    failed = {problem.name: problem.fault for problem in outcome.failed}
    for name, (_, verdict, told) in GREETINGS.items():
        with subtests.test(name):
            assert (failed[name].verdict, failed[name].phase) == (verdict, Phase.JOIN)
            assert told in failed[name].detail
    assert len(failed) == len(GREETINGS)
    assert [name for _, name in outcome.result.standings] == ["a", "b"]
    assert processes_left(tmp_path) == []


async def test_greeting_after_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    outcome = await play([program("a", tmp_path), program("b", tmp_path, "bom", "hello", "0")])
    assert not outcome.failed


async def test_tournament_of_programs_only(tmp_path: Path) -> None:
    outcome = await play([program(name, tmp_path) for name in "abcdefghi"])
    assert not outcome.result.faults
    assert [pairing.players for pairing, _ in outcome.result.games[:3]] == [
        ("a", "b", "c", "d"),
        ("e", "f", "g"),
        ("h", "i"),
    ]
    assert processes_left(tmp_path) == []


# -- one seat


async def started(program: Program, settings: Settings | None = None) -> StdioSeat:
    """A seat whose loop is taken to run smoothly."""
    meter = StallMeter(math.inf)
    return await StdioSeat.start(program, settings or quick_settings(), meter, QUICK)


def python(script: str, **options: object) -> Program:
    return Program(name="p", command=[sys.executable, "-I", "-S", "-c", script], **options)  # type: ignore[arg-type]


async def test_options_are_those_of_the_greeting() -> None:
    script = """if True:
        import json, sys
        print(json.dumps({"jsonrpc": "2.0", "id": json.loads(input())["id"], "result":
            {"age": 7, "legal_actions": True, "events": True, "max_games": 3}}), flush=True)
        sys.stdin.read()"""
    seat = await started(python(script))
    assert (seat.age, seat.wants_legal_actions, seat.wants_events) == (7, True, True)
    assert seat.max_games == 3
    await seat.end()
    seat = await started(python(script, age=9))
    assert seat.age == 9
    await seat.end()


async def test_start_up_is_charged_to_the_greeting_alone(tmp_path: Path) -> None:
    script = f"""if True:
        import runpy, sys, time
        time.sleep(0.6)
        sys.argv = ["player"]
        runpy.run_path({command()[3]!r}, run_name="__main__")"""
    slow = replace(python(script), name="slow")
    assert not (await play([program("a", tmp_path), slow])).result.faults


async def test_program_has_few_variables_and_no_tokens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CROUPIER_SECRET", "x")
    monkeypatch.setenv("PENGUIN_TOKEN", "x")
    monkeypatch.setenv("LANG", "C.UTF-8")
    script = """if True:
        import json, os, sys
        json.dump(dict(os.environ), open(os.environ["OUT"], "w"))
        print('{"jsonrpc":"2.0","id":"hello","result":{}}', flush=True)
        sys.stdin.read()"""
    out = tmp_path / "out.json"
    seat = await started(python(script, env={"OUT": str(out)}, token="secret"))
    await seat.end()
    told = out.read_text(encoding="utf-8")
    assert "secret" not in told.lower()
    assert "TOKEN" not in told
    for name in ("PATH", "LANG", "PYTHONUNBUFFERED"):
        assert name in told


async def test_program_runs_in_its_folder_and_is_found_from_there(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    script = tmp_path / "here" / "player"
    script.write_text(
        "#!/bin/sh\nread hello\npwd > where\necho from a shell > /dev/stderr\n"
        'echo \'{"jsonrpc":"2.0","id":"hello","result":{}}\' > /dev/stdout\ncat < /dev/stdin\n',
        encoding="utf-8",
    )
    script.chmod(0o755)
    log = tmp_path / "p.log"
    seat = await started(Program(name="p", command=["./player"], cwd=tmp_path / "here", log=log))
    await seat.end()
    assert (tmp_path / "here" / "where").read_text().strip() == str((tmp_path / "here").resolve())
    assert log.read_text() == "from a shell\n"


@pytest.mark.parametrize(
    ("content", "mode", "told"),
    [
        (None, 0, "no such file"),
        ("#!/bin/sh\n", 0o644, "chmod +x"),
        ("#!/no/such/thing\n", 0o755, "does what its first line (#!) names exist"),
        ("#!/bin/sh\r\n", 0o755, "does that line end with LF alone"),
        ("hello", 0o755, "its first line must say what runs it"),
    ],
)
async def test_program_that_cannot_be_started_is_one_clear_line(
    content: str | None, mode: int, told: str, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / "p").write_bytes(content.encode())
        (tmp_path / "p").chmod(mode)
    with pytest.raises(UserError) as problem:
        await started(Program(name="p", command=["./p"], cwd=tmp_path))
    assert str(problem.value).startswith("can't start ./p: ")
    assert told in str(problem.value)
    assert "\n" not in str(problem.value)


async def test_other_reasons_not_to_start_are_named(tmp_path: Path) -> None:
    (tmp_path / "player.py").touch()
    for wrong, told in (
        (Program(name="p", command=["no-such-program"]), "no such program"),
        (Program(name="p", command=["player.py"], cwd=tmp_path), "for one in this folder"),
        (Program(name="p", command=["true"], cwd=tmp_path / "none"), "no folder"),
        (Program(name="p", command=["true"], log=tmp_path / "player.py" / "log"), "can't write"),
        (Program(name="a\nb", command=["true"]), "printable"),
    ):
        with pytest.raises(UserError, match=told):
            await started(wrong)


async def test_end_is_the_same_twice_and_after_a_dismissal(tmp_path: Path) -> None:
    seat = await started(program("a", tmp_path))
    seat.dismiss(None)
    await seat.end()
    await seat.end()
    assert processes_left(tmp_path) == []


async def test_end_that_is_cancelled_kills_at_once(tmp_path: Path) -> None:
    meter = StallMeter(math.inf)
    seat = await StdioSeat.start(program("a", tmp_path, "stubborn"), quick_settings(), meter)
    ending = asyncio.create_task(seat.end())
    await asyncio.sleep(0)
    began = time.monotonic()
    ending.cancel()
    await asyncio.wait({ending})
    assert time.monotonic() - began < 1
    assert processes_left(tmp_path) == []


async def test_start_that_is_cancelled_leaves_nothing(tmp_path: Path) -> None:
    starting = asyncio.create_task(started(program("a", tmp_path, "deaf", "start")))
    while not processes(tmp_path):  # noqa: ASYNC110 - another process tells it
        await asyncio.sleep(0.01)
    starting.cancel()
    await asyncio.wait({starting})
    assert processes_left(tmp_path) == []


async def test_program_that_reads_nothing_never_blocks_the_loop(tmp_path: Path) -> None:
    """What it leaves unread has a bound, beyond which it is taken for gone."""
    settings = quick_settings(limits={"max_unread": 65_536})
    deaf = program("a", tmp_path, "answers and is deaf", "hello", "0")
    seat = await started(deaf, settings)
    event = {"kind": "skip", "color": "red", "padding": "x" * 10_000}
    message = Events(params=EventsParams(game="1", events=[{"seq": 1, "event": event}]))
    began = time.monotonic()
    for _ in range(100):
        await seat.tell(message)
    answer = await seat.ask(acknowledge(300), 300)
    assert time.monotonic() - began < 1
    await seat.end()
    assert isinstance(answer, NoAnswer)
    assert answer.verdict is Verdict.DISCONNECTED
    assert "it does not read its standard input" in answer.detail
    assert processes_left(tmp_path) == []


# -- logs


async def test_what_goes_to_standard_error_is_in_the_log_up_to_a_cap(tmp_path: Path) -> None:
    await play([program("a", tmp_path), program("noisy", tmp_path, "noisy")])
    log = (tmp_path / "noisy.log").read_bytes()
    assert log.startswith(b"x" * 99 + b"\nnoise")
    assert log.endswith(b"the end of the noise\n")
    assert len(log) < (1 << 20) + 100
    assert re.search(rb"\n\[\d+ bytes left out\]\n", log)


async def test_logs_of_a_folder_have_names_that_files_can_have(tmp_path: Path) -> None:
    gateway = StdioGateway(
        quick_settings(), admitted, lambda _: None, logs=tmp_path, patience=QUICK
    )
    names = ["../up", ".. up", "Zoë", "zoë"]
    await gateway.start([Program(name=name, command=command()) for name in names])
    await gateway.stop()
    logs = {path.name for path in tmp_path.iterdir()}  # noqa: ASYNC240
    assert logs == {"___up.log", "___up-2.log", "Zoë.log", "zoë-2.log"}


def admitted(params: JoinParams, _seat: Seat) -> Admission:
    return Admission(params.name, params.age)


# -- the lobby


async def test_program_that_may_not_join_is_a_mistake_of_the_operator(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="player 'a' can't join: the name 'a' is taken"):
        await play([program("a", tmp_path), program("a", tmp_path)])
    assert processes_left(tmp_path) == []


async def test_lobby_hears_of_age_and_token_and_the_operators_age_wins(tmp_path: Path) -> None:
    heard: list[JoinParams] = []

    def admit(params: JoinParams, _seat: Seat) -> Admission:
        heard.append(params)
        return Admission(f"{params.name}#", None)

    seats: list[Seat] = []
    gateway = StdioGateway(quick_settings(), admit, seats.append, patience=QUICK)
    await gateway.start(
        [
            replace(program("a", tmp_path), age=5, token="t"),
            program("b", tmp_path, "exit", "tournament_start", "0"),
        ]
    )
    assert [(params.name, params.age, params.token) for params in heard] == [
        ("a", 5, "t"),
        ("b", None, None),
    ]
    assert seats == []
    await gateway.stop()
    assert processes_left(tmp_path) == []


async def test_lobby_hears_when_a_program_has_left(tmp_path: Path) -> None:
    left: asyncio.Queue[Seat] = asyncio.Queue()
    gateway = StdioGateway(quick_settings(), admitted, left.put_nowait, patience=QUICK)
    await gateway.start([program("a", tmp_path, "leaves", "hello", "0")])
    async with asyncio.timeout(5):
        assert (await left.get()).name == "a"
    await gateway.stop()


async def test_gateway_stops_before_its_start_and_twice() -> None:
    gateway = StdioGateway(quick_settings(), admitted, lambda _: None)
    await gateway.stop()
    await gateway.start([])
    await gateway.stop()
    await gateway.stop()


# -- clocks


def acknowledge(budget_ms: int) -> TournamentStart:
    params = TournamentStartParams(tournament="t", players=["a"], budget_ms=budget_ms)
    return TournamentStart(id="t:start", params=params)


async def test_stall_of_our_loop_is_not_charged(tmp_path: Path) -> None:
    heartbeat = Heartbeat()
    heartbeat.start()
    slow = program("a", tmp_path, "slow", "tournament_start", "0")
    seat = await StdioSeat.start(slow, quick_settings(), heartbeat.meter, QUICK)
    asking = asyncio.create_task(seat.ask(acknowledge(150), 150))
    await asyncio.sleep(0)
    time.sleep(0.5)  # noqa: ASYNC251 - the stall
    answer = await asking
    heartbeat.stop()
    await seat.end()
    assert isinstance(answer, Answer), answer
    assert answer.result is True
    assert answer.think_ms >= 450
    assert answer.stall_ms >= 400


async def test_think_time_goes_from_asking_to_the_answer(tmp_path: Path) -> None:
    seat = await started(program("a", tmp_path, "slow", "tournament_start", "0"))
    answer = await seat.ask(acknowledge(1_000), None)
    await seat.end()
    assert isinstance(answer, Answer)
    assert 100 <= answer.think_ms < 600


# -- players that are not made for tests


EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"

PRINTS = """
import os
from croupier_client import Player, serve_stdio

class Prints(Player):
    def place(self, view):
        print("placing")
        return view.placements[-1]

    def move(self, view):
        os.system("echo moving")
        return view.moves[-1]

if __name__ == "__main__":
    serve_stdio(Prints)
"""


async def test_example_and_players_of_the_kit_that_print(tmp_path: Path) -> None:
    (tmp_path / "prints.py").write_text(PRINTS, encoding="utf-8")
    kit = [sys.executable, "-m", "croupier_client", "stdio"]
    programs = [
        Program(name="plain", command=[sys.executable, str(EXAMPLES / "plain_stdio.py")]),
        Program(name="greedy", command=[*kit, "greedy"]),
        Program(name="kit", command=[*kit, "prints.py"], cwd=tmp_path, log=tmp_path / "kit.log"),
        Program(
            name="own",
            command=[sys.executable, "prints.py"],
            cwd=tmp_path,
            log=tmp_path / "own.log",
        ),
    ]
    settings = quick_settings(clocks={"join_ms": 10_000, "place_ms": 2_000, "move_ms": 2_000})
    outcome = await play(programs, settings)
    assert not outcome.failed
    assert not outcome.result.faults
    for name in ("kit", "own"):
        log = (tmp_path / f"{name}.log").read_text(encoding="utf-8").splitlines()
        assert log[0] == f"playing as {name}"
        assert log.count("placing") >= 2
        assert "moving" in log
        assert log[-1].endswith(f"winners: {', '.join(outcome.result.winners)}")


async def test_programs_in_a_row_leave_no_descriptors_and_no_threads(tmp_path: Path) -> None:
    require("linux", sys.platform == "linux", "needs /proc/self/fd")

    async def one_after_the_other(habits: Sequence[str]) -> tuple[int, int]:
        for habit in habits:
            with suppress(ProgramFailed):
                await (await started(program("a", tmp_path, habit, "hello", "0"))).end()
        with suppress(UserError):
            await started(Program(name="a", command=[str(tmp_path)]))
        return len(os.listdir("/proc/self/fd")), threading.active_count()  # noqa: PTH208

    before = await one_after_the_other(["honest"])
    habits = ["honest", "garbage", "exit", "closes stdout", "forks"]
    assert await one_after_the_other(habits) == before
    assert processes_left(tmp_path) == []
