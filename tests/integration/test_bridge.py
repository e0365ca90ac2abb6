"""Programs bridged to a WebSocket server: judged as if they spoke WebSocket, and told in words."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from croupier_client.bridge import Bridge
from croupier_client.ending import Ending, EndingKind
from croupier_client.errors import ProgramError
from croupier_client.joining import JoinOptions
from croupier_client.program import Sink
from croupier_common.verdict import Phase, Verdict
from croupier_server.settings import Settings
from support.needs import require
from support.proxy import Proxy, proxy_to
from support.stdio import QUICK, command, processes, processes_left
from support.wire import Script, quick_settings, serving

PRINT = "print anything else to standard error"
LEFT = "and the connection was closed"

FAILURES = {
    "silent": (Verdict.TIMEOUT, EndingKind.EJECTED, "timeout"),
    "garbage": (Verdict.MALFORMED, EndingKind.EJECTED, "I think I'll go north"),
    "prints": (Verdict.MALFORMED, EndingKind.EJECTED, "thinking about 1."),
    "number": (Verdict.MALFORMED, EndingKind.EJECTED, "no reply: 7"),
    "latin": (Verdict.MALFORMED, EndingKind.LOST, "a line that is not UTF-8"),
    "error": (Verdict.ERROR_REPLY, EndingKind.EJECTED, "no idea"),
    "oversize": (Verdict.OVERSIZE, EndingKind.LOST, "a line of more than 65536 bytes"),
    "crash": (Verdict.DISCONNECTED, EndingKind.LOST, "ZeroDivisionError: as it was told to"),
    "exit": (Verdict.DISCONNECTED, EndingKind.LOST, "your program ended with exit status 7"),
    "killed": (Verdict.DISCONNECTED, EndingKind.LOST, "was ended by signal SIGKILL"),
    "leaves": (Verdict.DISCONNECTED, EndingKind.LOST, "ended with exit status 0"),
    "unended and leaves": (Verdict.DISCONNECTED, EndingKind.LOST, "ended with exit status 0"),
    "cut off": (Verdict.DISCONNECTED, EndingKind.LOST, "your program's last line was cut off"),
    "closes stdout": (Verdict.DISCONNECTED, EndingKind.LOST, "closed its standard output"),
}
"""By the habit: the server's verdict, how the bridge says that it ended, and words that it says."""

HONEST = ("slow", "two replies", "blank lines", "crlf", "split", "noisy", "forks")


class Shown(Sink):
    """A sink whose last lines are to be told at the end."""

    where = "the log"


@dataclass
class Trip:
    """A program's visit over a bridge, and all that its author heard."""

    name: str
    command: Sequence[str]
    heard: list[str] = field(default_factory=list[str])
    joined: asyncio.Event = field(default_factory=asyncio.Event)

    async def go(self, port: int, **options: object) -> Ending:
        join = JoinOptions(name=self.name, **{"retry_s": 5, **options})  # type: ignore[arg-type]
        url = f"ws://127.0.0.1:{port}"
        bridge = Bridge(
            url,
            self.command,
            join,
            stderr=Shown(),
            tell=self._hear,
            warn=self._hear,
            patience=QUICK,
        )
        ending = await bridge.run()
        self.heard.append(ending.text)
        return ending

    def _hear(self, text: str) -> None:
        self.heard.append(text)
        if text.startswith("joined"):
            self.joined.set()

    @property
    def told(self) -> str:
        return "\n".join(self.heard)


@pytest.fixture(autouse=True)
def _noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require("posix", os.name == "posix", "processes are looked for by POSIX means")
    monkeypatch.setenv("PIDS", str(tmp_path / "all.pids"))


def lobby(players: int, **clocks: object) -> Settings:
    return quick_settings(
        lobby={"min_players": players, "max_players": players, "wait_ms": 20_000},
        clocks={"move_ms": 400, **clocks},
    )


async def test_bridged_programs_are_judged_as_if_they_spoke_websocket(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    trips = [Trip(habit, command(habit)) for habit in FAILURES]
    async with serving(lobby(len(trips) + 6)) as (port, server):
        going = {trip.name: asyncio.create_task(trip.go(port)) for trip in trips}
        honest = [asyncio.create_task(Script(name).play(port)) for name in "abcdef"]
        result = await server
        await asyncio.wait([*going.values(), *honest])
    for trip in trips:
        verdict, kind, told = FAILURES[trip.name]
        with subtests.test(trip.name):
            fault = result.faults[trip.name]
            assert (fault.verdict, fault.phase) == (verdict, Phase.MOVEMENT)
            assert going[trip.name].result().kind is kind
            assert told in trip.told
    assert set(result.faults) == set(FAILURES)
    assert PRINT in next(trip.told for trip in trips if trip.name == "garbage")
    assert processes_left(tmp_path) == []


async def test_bridged_programs_with_harmless_habits_play_to_the_end(tmp_path: Path) -> None:
    trips = [Trip(habit, command(habit)) for habit in HONEST]
    async with serving(lobby(len(trips), move_ms=1_000)) as (port, server):
        endings = await asyncio.gather(*(trip.go(port) for trip in trips))
        result = await server
    assert not result.faults
    assert {ending.kind for ending in endings} == {EndingKind.ENDED}
    assert {trip.name for trip, end in zip(trips, endings, strict=True) if end.won} == set(
        result.winners
    )
    assert processes_left(tmp_path) == []


async def test_request_that_comes_again_is_not_put_to_the_program_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASKED", str(tmp_path / "asked"))
    trip = Trip("unlucky", command("slow", "move", "0"))
    settings = lobby(2, place_ms=3_000, move_ms=3_000, grace_ms=10_000, ack_ms=3_000)
    async with serving(settings) as (port, server), proxy_to(port) as proxy:
        going = asyncio.create_task(trip.go(proxy.port))
        other = asyncio.create_task(Script("b").play(port))
        cutting = asyncio.create_task(_cut_while_it_thinks(proxy, tmp_path / "asked"))
        result = await server
        await asyncio.wait({going, other, cutting})
    assert not result.faults, trip.told
    assert going.result().kind is EndingKind.ENDED
    assert proxy.connections >= 2
    asked = Counter((tmp_path / "asked").read_text(encoding="ascii").split())
    assert set(asked.values()) == {1}


async def _cut_while_it_thinks(proxy: Proxy, asked: Path) -> None:
    """Cut the connection after two of its moves were asked for, each time before the answer."""
    for seen in (7, 8):  # hello, the tournament's and the game's start, four placements; moves
        while _lines(asked) <= seen:  # noqa: ASYNC110 - another process writes them
            await asyncio.sleep(0.005)
        proxy.cut()


def _lines(file: Path) -> int:
    return file.read_text(encoding="ascii").count("\n") if file.exists() else 0


async def test_options_come_from_the_command_line_and_from_the_program(tmp_path: Path) -> None:
    trip = Trip("a", command("all options", "hello", "0"))
    settings = lobby(2)
    settings = settings.model_copy(
        update={"lobby": settings.lobby.model_copy(update={"ages": "declared"})}
    )
    async with serving(settings) as (port, server):
        going = asyncio.create_task(trip.go(port))
        await trip.joined.wait()
        # younger than the program says that it is
        other = asyncio.create_task(Script("b", join={"age": 6}).play(port))
        result = await server
        await asyncio.wait({going, other})
    assert result.games[0][0].players == ("b", "a")


# -- what goes wrong before the server knows of it


@pytest.mark.parametrize(
    ("switches", "told"),
    [
        (("exit", "start"), "the program ended with exit status 7 before it had answered hello"),
        (
            ("garbage", "hello", "0"),
            f"no answer to hello: I think I'll go north: not JSON: .*{PRINT}",
        ),
        (("oversize", "hello", "0"), "no answer to hello: a line of more than 65536 bytes"),
        (("foreign id", "hello", "0"), "its id is not 'hello'"),
        (("error", "hello", "0"), "error -32000: no idea"),
        (("says true", "hello", "0"), "hello is answered with an object"),
        (("deaf", "start"), "did not answer hello within 0.3 s; it must end its answer with a new"),
    ],
)
async def test_program_that_does_not_answer_hello_is_not_taken_anywhere(
    switches: tuple[str, ...], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("croupier_client.bridge._HELLO_S", 0.3 if "deaf" in switches else 10)
    with pytest.raises(ProgramError, match=told):
        await Trip("a", command(*switches)).go(1)
    assert processes_left(tmp_path) == []


async def test_program_that_ends_before_it_has_joined_ends_the_waiting(tmp_path: Path) -> None:
    trip = Trip("a", command("leaves", "hello", "0"))
    async with asyncio.timeout(10):
        ending = await trip.go(1, retry_s=60)
    assert ending.kind is EndingKind.LOST
    assert "ended with exit status 0 before it had joined" in ending.text
    assert "it wrote nothing on standard error" in ending.text


async def test_refusal_ends_the_program(tmp_path: Path) -> None:
    trip = Trip("a", command())
    async with serving(lobby(2)) as (port, _):
        ending = await trip.go(port, room="blue")
    assert ending.kind is EndingKind.REFUSED
    assert "no room 'blue'" in ending.text
    assert processes_left(tmp_path) == []


async def test_server_that_stops_ends_the_program(tmp_path: Path) -> None:
    trip = Trip("a", command())
    async with serving(lobby(2)) as (port, _):
        going = asyncio.create_task(trip.go(port))
        await trip.joined.wait()
    ending = await going
    assert (ending.kind, ending.exit_code) == (EndingKind.LOST, 1)
    assert "the server stops" in ending.text
    assert processes_left(tmp_path) == []


# -- the command


def penguin(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "croupier_client", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def test_command_takes_programs_to_a_tournament_and_shows_what_they_print(tmp_path: Path) -> None:
    croupier = subprocess.Popen(
        [
            *(sys.executable, "-m", "croupier_server", "serve", "--port", "0", "--data", ""),
            *("--max-players", "3", "--move-time", "0.5"),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    log = tmp_path / "crash.log"
    with croupier:
        assert croupier.stdout is not None
        url = croupier.stdout.readline().split()[-1]
        noisy = penguin("bridge", url, "--name", "noisy", "--", *command("noisy", "place"))
        bad = penguin("bridge", url, "--name", "bad", "--", *command("garbage"))
        crash = penguin(
            *("bridge", url, "--name", "crash", "--log", str(log)), "--", *command("crash", "place")
        )
        told = {name: one.communicate() for name, one in (("n", noisy), ("b", bad), ("c", crash))}
        croupier.communicate()
    assert [one.returncode for one in (noisy, bad, crash, croupier)] == [0, 3, 1, 0]
    assert "winners: noisy" in told["n"][0]
    assert told["n"][1].count("noise") > 100_000  # the rest may be left out if we read too slowly
    assert told["n"][1].endswith("the end of the noise\n")
    assert "what to do: " in told["b"][1]
    assert f"the last lines of its standard error, which is in {log}:" in told["c"][1]
    assert told["c"][1].endswith("  ZeroDivisionError: as it was told to\n")
    assert log.read_text(encoding="utf-8").endswith("ZeroDivisionError: as it was told to\n")
    assert processes_left(tmp_path) == []


@pytest.mark.parametrize(
    ("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["INT", "TERM"]
)
def test_command_that_is_interrupted_ends_its_program(
    signum: signal.Signals, code: int, tmp_path: Path
) -> None:
    with penguin("bridge", "ws://127.0.0.1:1", "--name", "a", "--", *command()) as bridge:
        assert bridge.stderr is not None
        assert "trying for 30 s more" in bridge.stderr.readline()
        bridge.send_signal(signum)
        assert bridge.wait(20) == code
        assert "Traceback" not in bridge.stderr.read()
    assert processes(tmp_path)
    assert processes_left(tmp_path) == []
