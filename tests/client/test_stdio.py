"""The kit over standard input and output."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from croupier_client.ending import Ending, EndingKind
from croupier_client.house import Rogue
from croupier_client.joining import JoinOptions
from croupier_client.loader import Target, load
from croupier_client.player import Player
from croupier_client.stdio import StdioClient, Wires
from croupier_common.game import Request
from croupier_common.notation import state_to_json
from support.scripted import BOARD, COLORS, fresh_game

HELLO = {
    "jsonrpc": "2.0",
    "id": "hello",
    "method": "hello",
    "params": {"protocol": 1, "name": "Pingu"},
}


@dataclass
class Host:
    """The other end of a player's wires."""

    reads: asyncio.StreamReader
    writes: int
    heard: list[str] = field(default_factory=list[str])

    def send(self, message: object) -> None:
        text = message if isinstance(message, str) else json.dumps(message)
        os.write(self.writes, text.encode() + b"\n")

    async def ask(self, message: object) -> Any:
        self.send(message)
        return json.loads(await self.reads.readline())

    async def call(self, call_id: str, method: str, **params: object) -> Any:
        return await self.ask(_call(call_id, method, **params))


def _call(call_id: str, method: str, **params: object) -> dict[str, object]:
    params = {"budget_ms": 10_000, **params}
    return {"jsonrpc": "2.0", "id": call_id, "method": method, "params": params}


@asynccontextmanager
async def hosting(
    player: Callable[[], Player] | Target, **options: Any
) -> AsyncGenerator[tuple[Host, asyncio.Task[Ending]]]:
    """A player that is asked over pipes, and its host; its task ends when they are closed."""
    target = player if isinstance(player, Target) else Target("Tester", player)
    to_player, from_player = os.pipe(), os.pipe()
    reader = asyncio.StreamReader()
    pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(from_player[0], "rb", 0)
    )
    host = Host(reader, to_player[1])
    client = StdioClient(
        target,
        Wires(to_player[0], from_player[1]),
        JoinOptions(name="-", **options),
        tell=host.heard.append,
        warn=host.heard.append,
    )
    running = asyncio.create_task(client.run())
    try:
        yield host, running
    finally:
        os.close(to_player[1])
        async with asyncio.timeout(10):
            await asyncio.wait({running})
        os.close(to_player[0])
        os.close(from_player[1])
        pipe.close()


def _turn(request: Request) -> dict[str, object]:
    return {
        "game": request.game,
        "you": request.color.value,
        "state": state_to_json(request.state, whole=False),
        "events": [],
    }


async def test_hello_is_answered_with_the_options_that_are_not_the_defaults() -> None:
    async with hosting(load("first")) as (host, _):
        assert await host.ask(HELLO) == {"jsonrpc": "2.0", "id": "hello", "result": {"protocol": 1}}
        assert host.heard == ["playing as Pingu"]
    async with hosting(load("first"), age=7, max_games=2, events=True) as (host, _):
        answer = await host.ask(HELLO)
        assert answer["result"] == {"protocol": 1, "age": 7, "max_games": 2, "events": True}


async def test_hello_of_another_version_is_answered_with_an_error() -> None:
    async with hosting(load("first")) as (host, _):
        answer = await host.ask({**HELLO, "params": {"protocol": 2, "name": "Pingu"}})
    assert answer["error"]["message"] == "protocol 2 is not spoken here; this kit speaks 1"


async def test_game_is_played_and_the_end_is_told() -> None:
    game = fresh_game()
    async with hosting(load("first")) as (host, running):
        await host.ask(HELLO)
        players = [{"color": color, "name": f"the {color} one"} for color in COLORS]
        start = await host.call(
            "1.1:0",
            "game_start",
            game="1.1",
            you="red",
            players=players,
            rules="fish",
            board=BOARD.to_json(),
            budgets_ms={},
        )
        assert start["result"] is True
        request = game.request
        assert request is not None
        answer = await host.call(request.id, "place", **_turn(request))
        assert answer == {"jsonrpc": "2.0", "id": request.id, "result": [0, 0]}
        again = await host.call(request.id, "place", **_turn(request))
        assert again == answer
        end = await host.call("end", "tournament_end", tournament="t", won=True, winners=["Pingu"])
        assert end["result"] is True
    assert running.result() == Ending(
        EndingKind.ENDED, "you won the tournament; winners: Pingu", won=True
    )
    assert "game 1.1: you are red, against the white one (white)" in host.heard


async def test_ejection_is_told() -> None:
    async with hosting(load("first")) as (host, running):
        await host.ask(HELLO)
        params = {"verdict": "timeout", "phase": "movement", "detail": "d", "fix": "f", "link": "l"}
        host.send({"jsonrpc": "2.0", "method": "ejected", "params": {"game": "1.1", **params}})
    assert running.result().kind is EndingKind.EJECTED


async def test_standard_input_that_is_closed_ends_the_visit() -> None:
    async with hosting(load("first")) as (host, running):
        await host.ask(HELLO)
    assert (running.result().kind, running.result().exit_code) == (EndingKind.LOST, 1)


async def test_line_that_is_none_is_passed_over() -> None:
    async with hosting(load("first")) as (host, _):
        os.write(host.writes, b"\xff\n\n")
        host.send("not JSON")
        assert (await host.ask(HELLO))["id"] == "hello"
    assert any("the host sent a line that is not UTF-8" in line for line in host.heard)


async def test_rogue_that_vanishes_ends_at_once() -> None:
    async with hosting(lambda: Rogue("vanish", 0)) as (host, running):
        await host.ask(HELLO)
        host.send(
            _call(
                "1.1:0",
                "game_start",
                game="1.1",
                you="red",
                players=[{"color": color, "name": color} for color in COLORS],
                rules="fish",
                board=BOARD.to_json(),
                budgets_ms={},
            )
        )
        async with asyncio.timeout(5):
            await asyncio.wait({running})
        assert running.done()


# -- as a process

PRINTS = """
import os
from croupier_client import Player, serve_stdio

class Prints(Player):
    def place(self, view):
        print("print")
        os.write(1, b"write\\n")
        os.system("echo echo")
        try:
            input()
        except EOFError:
            print("nothing to read")
        return view.placements[0]

    def move(self, view):
        return view.moves[0]

if __name__ == "__main__":
    serve_stdio(Prints, events=True)
"""


def _ask(command: list[str], folder: Path, *messages: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        input="".join(json.dumps(message) + "\n" for message in messages),
        capture_output=True,
        encoding="utf-8",
        cwd=folder,
        timeout=30,
        check=False,
    )


@pytest.mark.parametrize(
    "command",
    [["prints.py"], ["-m", "croupier_client", "stdio", "prints.py", "--events"]],
    ids=["python prints.py", "penguin stdio"],
)
def test_whatever_is_printed_goes_to_standard_error(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "prints.py").write_text(PRINTS, encoding="utf-8")
    request = fresh_game().request
    assert request is not None
    end = _call("end", "tournament_end", tournament="t", won=False, winners=[])
    done = _ask(command, tmp_path, HELLO, _call(request.id, "place", **_turn(request)), end)
    replies = [json.loads(line) for line in done.stdout.splitlines()]
    assert [reply["result"] for reply in replies] == [{"protocol": 1, "events": True}, [0, 0], True]
    lines = done.stderr.splitlines()
    assert [line for line in lines if line in {"print", "write", "echo", "nothing to read"}] == [
        "print",
        "write",
        "echo",
        "nothing to read",
    ]
    assert lines[-1] == "the tournament is over; winners: nobody"
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["-m", "croupier_client", "stdio", "gredy"], "no module 'gredy'"),
        (["broken.py"], "Broken() failed: ZeroDivisionError: division by zero (broken.py, line 4)"),
    ],
)
def test_player_that_cannot_be_made_is_one_line_and_exit_code_2(
    command: list[str], told: str, tmp_path: Path
) -> None:
    (tmp_path / "broken.py").write_text(
        "from croupier_client import Player, serve_stdio\nclass Broken(Player):\n"
        "    def __init__(self):\n        1 / 0\n    def place(self, view): ...\n"
        "    def move(self, view): ...\nserve_stdio(Broken)\n",
        encoding="utf-8",
    )
    done = _ask(command, tmp_path, HELLO)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_requests_can_come_from_a_file(tmp_path: Path) -> None:
    """To try again what went wrong."""
    file = tmp_path / "requests.jsonl"
    file.write_text(json.dumps(HELLO) + "\n", encoding="utf-8")
    with file.open("rb") as requests:
        done = subprocess.run(
            [sys.executable, "-m", "croupier_client", "stdio", "first"],
            stdin=requests,
            capture_output=True,
            timeout=30,
            check=False,
        )
    assert json.loads(done.stdout)["id"] == "hello"
    assert done.returncode == 1
