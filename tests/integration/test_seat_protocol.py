"""The browser's seat, without a browser, before a real server: a client of `protocol.md` alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection, serve

import croupier_server.web
from croupier_server.settings import Settings
from support.node import ready_to_run
from support.proxy import proxy_to
from support.schemas import accepts
from support.scripted import Peer
from support.transcripts import HONEST, Line, be_server, read
from support.wire import quick_settings, serving

PROGRAM = Path(__file__).resolve().parent.parent / "node" / "seat" / "seat.mjs"
MODULE = Path(croupier_server.web.__file__).parent / "static" / "player-protocol.js"
WAIT_S = 40

Heard = dict[str, Any]


def practice(**clocks: int) -> Settings:
    return quick_settings(
        practice={"enabled": True},
        clocks={"place_ms": 2_000, "move_ms": 2_000, "grace_ms": 5_000, "ack_ms": 2_000, **clocks},
    )


async def seated(
    folder: Path, port: int, told: Callable[[Heard], None] = lambda _: None, **options: object
) -> list[Heard]:
    """Have the seat play; what it heard."""
    options = {"name": "Ada", "room": "practice:greedy", **options}
    process = await asyncio.create_subprocess_exec(
        *ready_to_run(PROGRAM, folder),
        str(MODULE),
        f"ws://127.0.0.1:{port}",
        json.dumps(options),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        limit=1 << 20,
    )
    heard: list[Heard] = []
    try:
        async with asyncio.timeout(WAIT_S):
            assert process.stdout is not None
            async for line in process.stdout:
                heard.append(json.loads(line))
                told(heard[-1])
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return heard


def kinds(heard: list[Heard]) -> list[str]:
    return [one["kind"] for one in heard]


def game_of(heard: list[Heard]) -> Any:
    """The game as it was kept; its events have come without a gap, and each once."""
    (kept,) = (one for one in heard if one["kind"] == "kept")
    game = kept["game"]
    assert [line["seq"] for line in game["lines"]] == [*range(1, len(game["lines"]) + 1)]
    told = [line for one in heard if one["kind"] == "events" for line in one["lines"]]
    assert told == game["lines"]
    return game


@pytest.mark.parametrize("rules", ["fish", "classic"])
async def test_seat_plays_a_game_to_its_end(rules: str, tmp_path: Path) -> None:
    async with serving(practice()) as (port, _):
        wish = f"practice:greedy,first;board=6x6,fish=1-3;rules={rules};clock=none"
        heard = await seated(tmp_path, port, room=wish)
    game = game_of(heard)
    assert game["isOver"]
    assert set(game["outcome"]["fish"]) == {"red", "white", "brown"}
    assert kinds(heard)[:3] == ["joined", "start", "game"]
    assert kinds(heard)[-3:] == ["end", "closed", "kept"]
    assert heard[-2]["code"] == 1000


@pytest.mark.parametrize("wait_ms", [0, 30])
async def test_seat_comes_back_and_misses_nothing(wait_ms: int, tmp_path: Path) -> None:
    async with serving(practice()) as (port, _), proxy_to(port) as proxy:

        def told(one: Heard) -> None:
            if one["kind"] == "turn":
                turns.append(one["id"])
                if len(turns) in {2, 5, 6, 8}:
                    proxy.cut()

        turns: list[str] = []
        heard = await seated(tmp_path, proxy.port, told, waitMs=wait_ms)
    assert game_of(heard)["isOver"]
    assert proxy.connections > 3
    assert kinds(heard).count("joined") == proxy.connections
    assert "ejected" not in kinds(heard)


async def test_seat_goes_on_with_what_it_has_kept(tmp_path: Path) -> None:
    async with serving(practice()) as (port, _):
        heard = await seated(tmp_path, port, reloadAt=6)
    assert game_of(heard)["isOver"]
    assert [one["isBack"] for one in heard if one["kind"] == "joined"] == [False, True]


async def test_who_gives_up_is_out_at_once(tmp_path: Path) -> None:
    async with serving(practice()) as (port, _):
        heard = await seated(tmp_path, port, resignAt=3)
    (out,) = (one for one in heard if one["kind"] == "ejected")
    assert out["verdict"] == "error_reply"
    assert "the player gives up" in out["detail"]
    assert [one["code"] for one in heard if one["kind"] == "closed"] == [4000]


async def test_refusal_is_told_in_the_servers_words(tmp_path: Path) -> None:
    async with serving(practice()) as (port, _):
        heard = await seated(tmp_path, port, room="practice:nobody")
    assert kinds(heard) == ["refused", "closed", "kept"]
    assert "there are greedy, first" in heard[0]["message"]


async def test_who_has_lost_its_place_before_the_start_joins_anew(tmp_path: Path) -> None:
    async with serving(practice()) as (port, _), proxy_to(port) as proxy:

        def told(one: Heard) -> None:
            if one["kind"] == "joined" and proxy.connections == 1:
                proxy.cut()
            elif one["kind"] == "joined" and not others:
                room = "practice:;table=T"
                others.append(group.create_task(seated(tmp_path, port, name="Bo", room=room)))

        others: list[asyncio.Task[list[Heard]]] = []
        async with asyncio.TaskGroup() as group:
            heard = await seated(tmp_path, proxy.port, told, room="practice:human;table=T")
        assert proxy.connections >= 3
    assert game_of(heard)["isOver"]
    assert game_of(others[0].result())["isOver"]


def asks_for_actions(name: str) -> bool:
    """Whether the player of a transcript asks for what is legal, as the seat always does."""
    joins = (
        line["message"] for line in read(name) if line["from"] == "player" and "message" in line
    )
    return bool(next(joins)["params"].get("legal_actions"))


@pytest.mark.parametrize("name", [name for name in HONEST if asks_for_actions(name)])
async def test_seat_answers_a_transcript(name: str, tmp_path: Path) -> None:
    lines = iter(read(name)[1:])
    problems: list[Exception] = []

    async def handle(connection: ServerConnection) -> None:
        try:
            await be_server(Peer(connection), lines, compare)
        except Exception as problem:
            problems.append(problem)
            raise

    async with serve(handle, "127.0.0.1", 0) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        await seated(tmp_path, port)
    assert problems == []
    assert next(lines, None) is None


def compare(raw: str | bytes, wanted: Line) -> None:
    """The right id and form; whoever sits here may well choose another action."""
    said = json.loads(raw)
    if "method" in wanted:
        assert accepts("join", said)
        for field in ("session", "last_event"):
            assert said["params"].get(field) == wanted["params"].get(field)
    else:
        forms = ("true-reply", "place-reply", "move-reply")
        assert said["id"] == wanted["id"]
        assert [accepts(form, said) for form in forms] == [accepts(form, wanted) for form in forms]
