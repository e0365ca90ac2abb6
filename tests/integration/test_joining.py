"""Joining over real sockets: who gets in, who is refused and why, who leaves again."""

from __future__ import annotations

import asyncio
import json
import os
import time
from typing import Any
from urllib.request import urlopen

import pytest
from websockets.asyncio.client import ClientConnection, connect

from croupier_server.app import App
from croupier_server.errors import NotEnoughPlayers, UserError
from croupier_server.gateway.course_tcp import CourseGateway
from croupier_server.lobby import Lobby
from croupier_server.settings import Settings
from support.hosts import anywhere as anywhere  # noqa: PLC0414 - a fixture
from support.viewers import soon
from support.wire import Script, quick_settings, serving

pytestmark = pytest.mark.usefixtures("anywhere")


async def first_answer(connection: ClientConnection, message: object) -> dict[str, Any]:
    await connection.send(message if isinstance(message, str | bytes) else json.dumps(message))
    answer: dict[str, Any] = json.loads(await connection.recv())
    return answer


def join(**params: object) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": "j",
        "method": "join",
        "params": {"protocol": 1, "name": "a", **params},
    }


def lobby(**values: object) -> Settings:
    return quick_settings(lobby={"min_players": 2, "max_players": 2, **values})


@pytest.mark.parametrize(
    ("message", "code", "told"),
    [
        (join(protocol=2), -32001, "protocol 2 is not spoken here; this server speaks protocol 1"),
        (join(protocol=2, nme="x"), -32001, "protocol 2"),
        (join(name=""), -32602, "name"),
        (join(name="x" * 33), -32602, "name"),
        (join(name="a\nb"), -32002, "printable"),
        (join(name="\u202eabc"), -32002, "printable"),
        (join(name=" a"), -32002, "space"),
        (join(age=True), -32602, "age"),
        (join(age=-1), -32602, "age"),
        (join(nickname="x"), -32602, "nickname"),
        (join(room="blue"), -32602, "no room 'blue'"),
        (join(session="abc"), -32004, "no such session"),
        ({"jsonrpc": "2.0", "id": "j", "result": True}, -32600, "the first message is join"),
        ({"jsonrpc": "2.0", "id": "j", "method": "hello"}, -32601, "no method 'hello'"),
        ("hello", -32700, "not JSON"),
        ("[" * 60_000, -32700, "not JSON"),
        (b"\x00", -32600, "binary"),
    ],
)
async def test_refused_join_names_the_reason(message: object, code: int, told: str) -> None:
    async with (
        serving(lobby()) as (port, _),
        connect(f"ws://127.0.0.1:{port}", compression=None) as connection,
    ):
        answer = await first_answer(connection, message)
        assert answer["error"]["code"] == code
        assert told in answer["error"]["message"]
        await connection.wait_closed()
        assert connection.close_code == 4001


async def test_version_refusal_names_both_versions_for_programs() -> None:
    async with (
        serving(lobby()) as (port, _),
        connect(f"ws://127.0.0.1:{port}", compression=None) as connection,
    ):
        answer = await first_answer(connection, join(protocol=7))
        assert answer["error"]["data"] == {"requested": 7, "supported": [1]}


async def test_joined_player_learns_name_session_and_budgets() -> None:
    async with (
        serving(lobby()) as (port, _),
        connect(f"ws://127.0.0.1:{port}", compression=None) as connection,
    ):
        result = (await first_answer(connection, join(name="Zoe\u0308")))["result"]
        assert result["name"] == "Zo\u00eb"
        assert result["protocol"] == 1
        assert len(result["session"]) >= 16
        assert result["budgets_ms"]["move"] == 300


@pytest.mark.parametrize("name", ["a", "A", "\uff41"])
async def test_name_that_is_taken_is_refused(name: str) -> None:
    async with (
        serving(lobby(max_players=3)) as (port, _),
        connect(f"ws://127.0.0.1:{port}", compression=None) as one,
        connect(f"ws://127.0.0.1:{port}", compression=None) as other,
    ):
        await first_answer(one, join(name="a"))
        answer = await first_answer(other, join(name=name))
        assert answer["error"]["code"] == -32002
        assert "taken" in answer["error"]["message"]


async def test_silent_connection_is_told_and_closed() -> None:
    settings = quick_settings(clocks={"join_ms": 50})
    async with (
        serving(settings) as (port, _),
        connect(f"ws://127.0.0.1:{port}", compression=None) as connection,
    ):
        answer = json.loads(await connection.recv())
        assert "no join within 50 ms" in answer["error"]["message"]


async def test_join_that_came_while_our_loop_stood_still_is_in_time() -> None:
    settings = quick_settings(clocks={"join_ms": 500}, lobby={"wait_ms": 20_000})
    async with (
        serving(settings) as (port, _),
        connect(f"ws://127.0.0.1:{port}", compression=None) as connection,
    ):
        loop = asyncio.get_running_loop()
        await asyncio.sleep(0.1)  # the server waits for the join by now
        raw = connection.transport.get_extra_info("socket")
        sent = loop.run_in_executor(None, _send_later, raw.fileno(), 0.3)
        time.sleep(1)  # noqa: ASYNC251 - that is the point
        await sent
        assert "result" in json.loads(await connection.recv())


def _send_later(file: int, seconds: float) -> None:
    time.sleep(seconds)
    payload = json.dumps(join()).encode()
    os.write(file, bytes([0x81, 0x80 | len(payload), 0, 0, 0, 0]) + payload)


async def test_name_that_came_while_our_loop_stood_still_is_in_time() -> None:
    given = quick_settings(clocks={"join_ms": 500})
    lobby = Lobby(given.lobby)
    gateway = CourseGateway(given, 0, lobby.admit, lobby.leave)
    await gateway.start()
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
        await soon(lambda: gateway.connections == 1)
        time.sleep(1)  # noqa: ASYNC251 - that is the point
        writer.write(b'"ann"')
        await soon(lambda: [seat.name for seat in lobby.seats] == ["ann"])
        writer.close()
        await writer.wait_closed()
    finally:
        await gateway.stop()


async def test_who_leaves_before_the_start_does_not_count() -> None:
    async with serving(lobby()) as (port, server):
        async with connect(f"ws://127.0.0.1:{port}", compression=None) as connection:
            await first_answer(connection, join(name="gone"))
        async with asyncio.TaskGroup() as group:
            for name in ("a", "b"):
                group.create_task(Script(name).play(port))
        result = await server
    assert {name for _, name in result.standings} == {"a", "b"}


async def test_late_player_is_told_that_sign_up_is_over() -> None:
    async with serving(lobby()) as (port, server):
        async with asyncio.TaskGroup() as group:
            start = asyncio.Event()

            async def when_started() -> None:
                await start.wait()
                async with connect(f"ws://127.0.0.1:{port}", compression=None) as late:
                    answer = await first_answer(late, join(name="late"))
                    assert answer["error"]["code"] == -32003

            async def habit(_wire: object, call: dict[str, Any]) -> bool:
                if call["method"] == "tournament_start":
                    start.set()
                return False

            group.create_task(Script("a", habit).play(port))
            group.create_task(Script("b").play(port))
            group.create_task(when_started())
        await server


async def test_too_few_players_after_all_waits_give_up(anywhere: str) -> None:
    settings = quick_settings(lobby={"min_players": 3, "wait_ms": 50, "periods": 2})
    async with serving(settings) as (port, server):
        wire = await Script("a").play(port)
        with pytest.raises(NotEnoughPlayers, match="1 of at least 3 players"):
            await server
    assert wire.close_code == (1001 if anywhere == "one process" else 1000)


async def test_enough_players_after_the_wait_start() -> None:
    settings = quick_settings(lobby={"min_players": 2, "max_players": 9, "wait_ms": 100})
    async with serving(settings) as (port, server):
        async with asyncio.TaskGroup() as group:
            for name in "abc":
                group.create_task(Script(name).play(port))
        assert len((await server).standings) == 3


async def test_health_check_answers_over_http() -> None:
    async with serving(lobby()) as (port, _):
        body = await asyncio.to_thread(
            lambda: urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5).read()
        )
    assert body == b"ok\n"


async def test_port_in_use_is_named() -> None:
    async with serving(lobby()) as (port, _):
        with pytest.raises(UserError, match=rf"can't listen on 127\.0\.0\.1 port {port}: .*in use"):
            await App(quick_settings(server={"port": port})).run()
