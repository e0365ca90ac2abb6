"""The players in examples/javascript, before a real server."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from websockets.asyncio.server import ServerConnection, serve

from croupier_server.settings import Settings
from croupier_server.tournament.progress import TournamentResult
from support.node import ready_to_run
from support.proxy import Proxy, proxy_to
from support.schemas import accepts
from support.scripted import Peer
from support.transcripts import HONEST, Line, be_server, read
from support.wire import Call, Script, Wire, answers, quick_settings, serving

FOLDER = Path(__file__).resolve().parent.parent.parent / "examples" / "javascript"
WAIT_S = 40


def settings_for(players: int, **game: object) -> Settings:
    lobby = {"min_players": players, "max_players": players, "wait_ms": 20_000}
    clocks = {"start_ms": 10_000, "place_ms": 5_000, "move_ms": 5_000, "ack_ms": 5_000}
    return quick_settings(
        lobby=lobby,
        clocks={**clocks, "grace_ms": 5_000},
        game=game,
        tournament={"seed": 1},
    )


async def run(command: Sequence[str], *arguments: str) -> tuple[int, str]:
    """Run a program to its end; gives its exit code and what it printed."""
    process = await asyncio.create_subprocess_exec(
        *command,
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        said, _ = await process.communicate()
    except asyncio.CancelledError:
        process.kill()
        await process.communicate()
        raise
    assert process.returncode is not None
    return process.returncode, said.decode()


async def tournament(
    settings: Settings, programs: Sequence[Sequence[str]], scripts: Sequence[Script]
) -> tuple[TournamentResult, list[tuple[int, str]]]:
    """Programs and scripted players in one tournament; gives its result, and how programs ended."""
    async with asyncio.timeout(WAIT_S), serving(settings) as (port, server):
        url = f"ws://127.0.0.1:{port}"
        async with asyncio.TaskGroup() as group:
            running = [
                group.create_task(run(command, url, f"js{n}")) for n, command in enumerate(programs)
            ]
            for script in scripts:
                group.create_task(script.play(port))
        return await server, [task.result() for task in running]


@pytest.mark.parametrize("rules", ["fish", "classic"])
async def test_player_plays_several_games_without_a_verdict(rules: str, tmp_path: Path) -> None:
    program = ready_to_run(FOLDER / "player.mjs", tmp_path)
    scripts = [Script(name) for name in "abcde"]
    result, ended = await tournament(
        settings_for(7, rules=rules, board="6x5,holes=3"), [program, program], scripts
    )
    assert result.faults == {}
    assert len(result.games) >= 3
    assert [code for code, _ in ended] == [0, 0], ended
    assert all("the winners: " in said for _, said in ended)


@pytest.mark.parametrize("rules", ["fish", "classic"])
async def test_player_beats_the_first_legal_action(rules: str, tmp_path: Path) -> None:
    program = ready_to_run(FOLDER / "player.mjs", tmp_path)
    settings = settings_for(2, rules=rules, board="6x5,holes=3")
    async with asyncio.timeout(WAIT_S), serving(settings) as (port, server):
        async with asyncio.TaskGroup() as group:
            joined = asyncio.Event()
            group.create_task(Script("a").play(port, joined))
            await joined.wait()
            group.create_task(run(program, f"ws://127.0.0.1:{port}", "js"))
        assert (await server).winners == ("js",)


async def test_player_copes_with_options_ejections_and_small_boards(tmp_path: Path) -> None:
    program = ready_to_run(FOLDER / "player.mjs", tmp_path)

    rules = {
        "placement": "any",
        "lift": "penguin",
        "last_tile": "owner",
        "tie_break": "tiles",
        "islands": "remove",
        "ejected": "leave_blocking",
        "turn_order": "given",
        "placement_order": "snake",
    }
    settings = settings_for(4, rules=rules, board="5x4")
    wrong = answers("move", '{"jsonrpc":"2.0","id":"ID","error":{"code":1,"message":"no"}}')
    result, ended = await tournament(
        settings, [program, program], [Script("fails", wrong), Script("stays")]
    )
    assert set(result.faults) == {"fails"}
    assert [code for code, _ in ended] == [0, 0], ended


async def test_player_comes_back_to_its_session(tmp_path: Path) -> None:
    program = ready_to_run(FOLDER / "player.mjs", tmp_path)
    proxies: list[Proxy] = []

    async def cuts(wire: Wire, call: Call) -> bool:
        if call["method"] in {"place", "move"} and len(wire.calls(call["method"])) % 2 == 0:
            proxies[0].cut()
        return False

    async with asyncio.timeout(WAIT_S), serving(settings_for(2)) as (port, server):
        async with proxy_to(port) as proxy, asyncio.TaskGroup() as group:
            proxies.append(proxy)
            running = group.create_task(run(program, f"ws://127.0.0.1:{proxy.port}", "js"))
            group.create_task(Script("cuts", cuts).play(port))
        code, said = running.result()
        result = await server
    assert result.faults == {}
    assert code == 0, said
    assert proxies[0].connections > 3
    assert said.count("back as js") == proxies[0].connections - 1


async def test_player_passes_the_check(tmp_path: Path) -> None:
    program = ready_to_run(FOLDER / "player.mjs", tmp_path)
    check = [sys.executable, "-m", "croupier_client", "check", "--port", "0"]
    async with asyncio.timeout(WAIT_S):
        code, said = await run([*check, "--", *program, "{url}", "js"])
    assert code == 0, said
    assert "0 warned, 0 failed" in said


async def test_player_tells_why_it_is_refused(tmp_path: Path) -> None:
    program = ready_to_run(FOLDER / "player.mjs", tmp_path)
    async with asyncio.timeout(WAIT_S), serving(settings_for(2)) as (port, _):
        code, said = await run(program, f"ws://127.0.0.1:{port}", "two\nlines")
    assert code == 1
    assert "refused: a name has" in said


async def test_beginner_plays_a_tournament(tmp_path: Path) -> None:
    program = ready_to_run(FOLDER / "beginner.mjs", tmp_path)
    result, ended = await tournament(
        settings_for(3, rules="classic"), [program, program], [Script("a")]
    )
    assert result.faults == {}
    for code, said in ended:
        assert code == 0
        assert '"method":"game_end"' in said
        assert "closed: 1000" in said


@pytest.mark.parametrize("name", HONEST)
async def test_player_answers_a_transcript(name: str, tmp_path: Path) -> None:
    program = ready_to_run(FOLDER / "player.mjs", tmp_path)
    lines = iter(read(name)[1:])
    problems: list[Exception] = []

    async def handle(connection: ServerConnection) -> None:
        try:
            await be_server(Peer(connection), lines, compare)
        except Exception as problem:
            problems.append(problem)
            raise

    async with asyncio.timeout(WAIT_S), serve(handle, "127.0.0.1", 0) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        code, said = await run(program, f"ws://127.0.0.1:{port}", "js")
    assert problems == []
    assert next(lines, None) is None
    assert code == 0, said


def compare(raw: str | bytes, wanted: Line) -> None:
    """The right id and form; another player may well choose another action."""
    said = json.loads(raw)
    if "method" in wanted:
        assert said["method"] == "join"
        assert said["params"].get("session") == wanted["params"].get("session")
        assert said["params"].get("last_event") == wanted["params"].get("last_event")
    else:
        forms = ("true-reply", "place-reply", "move-reply")
        assert said["id"] == wanted["id"]
        assert [accepts(form, said) for form in forms] == [accepts(form, wanted) for form in forms]


def test_packages_have_exact_versions_and_no_lock() -> None:
    packages = [FOLDER / "package.json", FOLDER.parent.parent / "tests" / "node" / "package.json"]
    for path in packages:
        wanted = json.loads(path.read_text(encoding="utf-8"))["dependencies"]
        assert wanted
        assert all(version.replace(".", "").isdecimal() for version in wanted.values())
