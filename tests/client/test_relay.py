"""A WebSocket player as a program over standard input and output."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from croupier_client.errors import ProgramError
from croupier_client.program import Sink
from croupier_client.relay import BUDGETS_MS, Relay
from croupier_client.stdio import Wires
from croupier_common.errors import NotAMessage
from croupier_common.messages import MAX_MESSAGE, parse_from_player
from croupier_common.programs import Patience
from croupier_server.settings import Clocks
from support.needs import require
from support.node import ready_to_run

ROOT = Path(__file__).resolve().parent.parent.parent
HELLO = {"jsonrpc": "2.0", "id": "hello", "method": "hello", "params": {"protocol": 1, "name": "P"}}
QUICK = Patience(0.3, 0.2)

WAITS = (
    "import os, sys; print(sys.argv[1], os.environ['CROUPIER_URL'], flush=True); sys.stdin.read()"
)
"""A program that tells its address and ends when it is to; the test connects in its place."""


class Shown(Sink):
    """What a program wrote, and the address that it told."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self.told = asyncio.Event()

    def feed(self, data: bytes) -> None:
        self.text += data.decode()
        if "\n" in self.text:
            self.told.set()

    async def url(self) -> str:
        await self.told.wait()
        return self.text.split()[0]


class Host:
    """The relay's host, and what the relay has said to its player's author."""

    def __init__(self, reader: asyncio.StreamReader, writes: int, shown: Shown) -> None:
        self.reader = reader
        self.writes = writes
        self.shown = shown
        self.warned: list[str] = []
        self.running: asyncio.Task[int] | None = None

    def send(self, **message: object) -> None:
        os.write(self.writes, json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def ask(self, call_id: str, method: str = "move", **params: object) -> None:
        self.send(id=call_id, method=method, params={"game": "1.1", **params})

    async def line(self) -> str:
        return (await self.reader.readline()).decode()

    async def heard(self) -> Any:
        return json.loads(await self.line())

    async def told(self, what: str) -> None:
        while not any(what in line for line in self.warned):  # noqa: ASYNC110 - it is a list
            await asyncio.sleep(0.01)

    def close(self) -> None:
        if self.writes >= 0:
            os.close(self.writes)
            self.writes = -1

    async def status(self) -> int:
        assert self.running is not None
        return await self.running


@asynccontextmanager
async def relaying(*command: str, greets: bool = True) -> AsyncGenerator[Host]:
    """A relay in this process."""
    to_relay, from_relay = os.pipe(), os.pipe()
    reader = asyncio.StreamReader(limit=1 << 22)
    pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(from_relay[0], "rb", 0)
    )
    host = Host(reader, to_relay[1], Shown())
    wires = Wires(to_relay[0], from_relay[1])
    relay = Relay(
        command or (sys.executable, "-S", "-c", WAITS, "{url}"),
        wires,
        stderr=host.shown,
        warn=host.warned.append,
        patience=QUICK,
    )
    host.running = asyncio.create_task(relay.run())
    if greets:
        host.send(**HELLO)
    try:
        async with asyncio.timeout(20):
            yield host
            host.close()
            await asyncio.wait({host.running})
    finally:
        host.close()
        host.running.cancel()
        await asyncio.wait({host.running})
        pipe.close()
        os.close(from_relay[1])
        os.close(to_relay[0])


async def joined(url: str, **params: object) -> tuple[ClientConnection, Any]:
    """A connection on which a join was sent, and the answer to that."""
    socket = await connect(url, compression=None)
    params = {"protocol": 1, "name": "Pingu", **params}
    await socket.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "join", "params": params}))
    return socket, json.loads(await socket.recv())


async def received(socket: ClientConnection) -> Any:
    return json.loads(await socket.recv())


async def test_join_becomes_the_answer_to_hello() -> None:
    async with relaying() as host:
        url = await host.shown.url()
        assert host.shown.text == f"{url} {url}\n"
        socket, answer = await joined(url, age=7, legal_actions=True, token="secret")
        assert answer["result"]["name"] == "P"
        assert answer["result"]["max_message"] == MAX_MESSAGE
        said = await host.heard()
        assert said == {
            "jsonrpc": "2.0",
            "id": "hello",
            "result": {"protocol": 1, "age": 7, "legal_actions": True},
        }
        host.ask("1.1:1")
        assert (await received(socket))["id"] == "1.1:1"
        await socket.send('{\n  "jsonrpc": "2.0",\n  "id": "1.1:1", "result": [1,\n 2]}')
        assert (await host.heard())["result"] == [1, 2]
        await socket.close()


async def test_greeting_may_come_after_the_player() -> None:
    async with relaying(greets=False) as host:
        joining = asyncio.create_task(joined(await host.shown.url()))
        await asyncio.wait({joining}, timeout=0.1)
        assert not joining.done()
        host.send(**HELLO)
        assert (await host.heard())["id"] == "hello"
        assert (await joining)[1]["result"]["name"] == "P"


@pytest.mark.parametrize(
    ("join", "code"),
    [
        ({"params": {"protocol": 2, "name": "P"}}, -32001),
        ({"params": {"protocol": 1, "name": "P", "colour": "red"}}, -32602),
        ({"params": {"protocol": 1, "name": ""}}, -32602),
        ({"method": "play"}, -32601),
        ({"jsonrpc": "1.0"}, -32600),
    ],
)
async def test_refused_join_is_told_to_both_sides(join: dict[str, object], code: int) -> None:
    async with relaying() as host:
        async with connect(await host.shown.url()) as socket:
            message = {"jsonrpc": "2.0", "id": 1, "method": "join", **join}
            await socket.send(json.dumps(message))
            assert (await received(socket))["error"]["code"] == code
            with pytest.raises(ConnectionClosed):
                await socket.recv()
            assert socket.close_code == 4001
        said = await host.heard()
        assert (said["id"], said["error"]["code"]) == ("hello", code)
        assert "your program's join was refused" in host.warned[0]


async def test_unknown_session_is_refused_and_the_player_may_join_anew() -> None:
    async with relaying() as host:
        url = await host.shown.url()
        _, answer = await joined(url, session="stale")
        assert answer["error"]["code"] == -32004
        _, answer = await joined(url)
        assert answer["result"]["name"] == "P"
        _, answer = await joined(url)
        assert answer["error"]["code"] == -32003
        _, answer = await joined(url, session="é")
        assert answer["error"]["code"] == -32004


async def test_player_that_comes_back_is_asked_again_and_told_what_it_missed() -> None:
    async with relaying() as host:
        url = await host.shown.url()
        socket, answer = await joined(url)
        await host.heard()
        host.ask("1.1:1")
        await received(socket)
        host.ask("2.1:5", game="2.1")
        await received(socket)
        await socket.send('{"jsonrpc": "2.0", "id": "1.1:1", "result": true}')
        assert (await host.heard())["id"] == "1.1:1"
        socket.transport.abort()
        await socket.wait_closed()
        host.send(method="events", params={"game": "2.1", "events": []})
        host.send(method="game_end", params={"game": "1.1"})
        host.ask("3.1:0", "game_start", game="3.1")
        await host.told("may come back")
        session = answer["result"]["session"]
        socket, answer = await joined(url, session=session, last_event={"1.1": 1, "2.1": 4})
        assert answer["result"]["session"] == session
        came = sorted([str(await received(socket)) for _ in range(4)])
        assert ["events" in came[2], "game_end" in came[3]] == [True, True]
        assert ["2.1:5" in came[0], "3.1:0" in came[1]] == [True, True]
        await socket.send('{"jsonrpc": "2.0", "id": "2.1:5", "result": false}')
        assert (await host.heard())["id"] == "2.1:5"


async def test_newest_connection_counts() -> None:
    async with relaying() as host:
        url = await host.shown.url()
        older, answer = await joined(url)
        await host.heard()
        newer, _ = await joined(url, session=answer["result"]["session"])
        await older.wait_closed()
        assert older.close_code == 4002
        host.ask("1.1:1")
        assert (await received(newer))["id"] == "1.1:1"


async def test_frames_that_are_no_lines_are_judged_as_over_websocket() -> None:
    async with relaying() as host:
        socket, answer = await joined(await host.shown.url())
        await host.heard()
        frames: list[str | bytes] = [
            b'{"jsonrpc": "2.0", "id": "1.1:1", "result": 1}',
            "",
            "not\u2028JSON",
            "[1]",
        ]
        for frame in frames:
            await socket.send(frame)
            with pytest.raises(NotAMessage):
                parse_from_player(await host.line())
        await socket.send("x" * (MAX_MESSAGE + 1))
        assert len(await host.line()) == MAX_MESSAGE + 2
        await socket.send("x" * (1 << 20) + "x")
        assert len(await host.line()) > MAX_MESSAGE
        await socket.wait_closed()
        assert socket.close_code == 1009
        assert answer["result"]


@pytest.mark.parametrize(
    ("last", "code", "reason"),
    [
        ({"id": "t:end", "method": "tournament_end", "params": {}}, 1000, ""),
        ({"method": "ejected", "params": {"verdict": "timeout"}}, 4000, "timeout"),
        ({"method": "game_end", "params": {"game": "1.1"}}, 1001, "the host has closed"),
    ],
)
async def test_closed_standard_input_closes_the_connection_as_a_server_does(
    last: dict[str, object], code: int, reason: str
) -> None:
    async with relaying() as host:
        socket, _ = await joined(await host.shown.url())
        await host.heard()
        host.ask("1.1:1")
        host.send(**last)
        host.close()
        assert (await received(socket))["id"] == "1.1:1"
        assert (await received(socket))["method"] == last["method"]
        await socket.wait_closed()
        assert socket.close_code == code
        assert (socket.close_reason or "").startswith(reason)
        assert await host.status() == 0


ANSWERS_AND_ENDS = """
import json, os, sys
from websockets.sync.client import connect
socket = connect(os.environ["CROUPIER_URL"]).__enter__()
join = {"protocol": 1, "name": "P"}
socket.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "join", "params": join}))
socket.recv()
request = json.loads(socket.recv())
socket.send(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": "last words"}))
print("bye", flush=True)
os._exit(7)
"""


async def test_program_that_answers_and_ends_is_heard_and_its_status_is_ours() -> None:
    async with relaying(sys.executable, "-c", ANSWERS_AND_ENDS) as host:
        await host.heard()
        host.ask("1.1:1")
        assert (await host.heard())["result"] == "last words"
        assert await host.status() == 7
        assert host.shown.text == "bye\n"


@pytest.mark.parametrize(
    ("code", "status", "told"),
    [
        ("raise SystemExit(3)", 3, "ended with exit status 3, and had not joined"),
        ("import os; os.kill(os.getpid(), 9)", 137, "was ended by signal SIGKILL"),
    ],
)
async def test_program_that_never_joins_is_told(code: str, status: int, told: str) -> None:
    async with relaying(sys.executable, "-S", "-c", code) as host:
        assert await host.status() == status
        assert told in host.warned[0]


async def test_program_that_can_not_be_started_is_told() -> None:
    async with relaying("./nowhere") as host:
        with pytest.raises(ProgramError, match="nowhere"):
            await host.status()


async def test_program_that_ignores_everything_is_ended_in_time() -> None:
    code = (
        "import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        "print(sys.argv[1], flush=True); time.sleep(60)"
    )
    async with relaying(sys.executable, "-S", "-c", code, "{url}") as host:
        await joined(await host.shown.url())
        began = time.monotonic()
        host.close()
        await host.status()
        assert time.monotonic() - began < 2


async def test_host_that_does_not_read_can_still_end_the_program() -> None:
    async with relaying() as host:
        socket, _ = await joined(await host.shown.url())
        for _ in range(100):
            await socket.send("x" * 60_000)
        host.close()
        assert await host.status() == 0


async def test_processes_of_other_users_are_not_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    require("linux", sys.platform == "linux", "nobody tells whose a connection is")
    async with relaying() as host:
        url = await host.shown.url()
        own = os.getuid()
        monkeypatch.setattr(os, "getuid", lambda: own + 1)
        with pytest.raises((ConnectionClosed, InvalidHandshake, OSError)):
            await joined(url)
        monkeypatch.setattr(os, "getuid", lambda: own)
        _, answer = await joined(url)
        assert answer["result"]["name"] == "P"


def test_budgets_are_the_usual_ones() -> None:
    clocks = Clocks()
    assert {
        "tournament_start": clocks.ack_ms,
        "game_start": clocks.start_ms,
        "place": clocks.place_ms,
        "move": clocks.move_ms,
        "tournament_end": clocks.ack_ms,
    } == BUDGETS_MS


STEPS = ("connects", "game-from-seat-2", "tournament-end", "ejected")


def check(*command: str) -> str:
    only = [word for step in STEPS for word in ("--only", step)]
    penguin = [sys.executable, "-m", "croupier_client"]
    done = subprocess.run(
        [*penguin, "check", *only, "--", *penguin, "relay", "--", *command],
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_player_of_the_kit_passes_the_check_through_a_relay() -> None:
    kit = [sys.executable, "-m", "croupier_client", "join", "{url}", "greedy", "--name", "X"]
    assert "4 passed, 0 warned, 0 failed" in check(*kit, "--retry", "5", "--repro", "off")


def test_player_in_javascript_passes_the_check_through_a_relay(tmp_path: Path) -> None:
    player = ready_to_run(ROOT / "examples" / "javascript" / "player.mjs", tmp_path)
    assert "4 passed, 0 warned, 0 failed" in check(*player, "{url}", "Pingu")
