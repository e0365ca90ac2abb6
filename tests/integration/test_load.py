"""The load generator against real servers: what it counts is so, and what goes wrong is told."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.http11 import Request, Response

from croupier_server.app import App
from croupier_server.load.figures import Figures
from croupier_server.load.generator import Generator as Load
from croupier_server.load.plan import Plan, Visitor, visitors
from croupier_server.roster import Roster
from support.needs import require
from support.wire import quick_settings, serving

PATIENCE_S = 40

SWISS = """
[server]
port = 0
[lobby]
min_players = 16
max_players = 16
[tournament]
name = "load"
format = "swiss"
rounds = 2
games_at_once = 16
[game]
board = "6x5,fish=1-5"
[records]
folder = "records"
"""


# -- as a user runs it


@contextmanager
def started(*args: str, cwd: Path) -> Generator[subprocess.Popen[str]]:
    """A `croupier`, which is gone afterwards."""
    process = subprocess.Popen(
        [sys.executable, "-m", "croupier_server", *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        cwd=cwd,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(PATIENCE_S)
        assert process.stdout is not None
        process.stdout.close()


def listening(server: subprocess.Popen[str]) -> str:
    assert server.stdout is not None
    for line in server.stdout:
        if line.startswith("listening on"):
            return line.split()[-1]
    raise AssertionError("the server has not started")


@contextmanager
def swiss(folder: Path) -> Generator[tuple[subprocess.Popen[str], str]]:
    """A server that waits for 16 players, and its address."""
    (folder / "swiss.toml").write_text(SWISS, encoding="utf-8")
    with started("serve", "--config", "swiss.toml", cwd=folder) as server:
        yield server, listening(server)


def ended(load: subprocess.Popen[str]) -> tuple[int, Any]:
    """The exit code and the figures of a load that writes JSON to standard output."""
    told, _ = load.communicate(timeout=PATIENCE_S)
    return load.returncode, json.loads(told)


def plies(folder: Path) -> int:
    """The turns in all records of a server."""
    lines = [
        json.loads(line)
        for file in folder.glob("*.jsonl")
        for line in file.read_text(encoding="utf-8").splitlines()
    ]
    return sum(line.get("event", {}).get("kind") in {"place", "move"} for line in lines)


@pytest.mark.parametrize("processes", ["1", "2"])
def test_whole_tournament_is_played_and_every_turn_counted(processes: str, tmp_path: Path) -> None:
    with swiss(tmp_path) as (server, url):
        options = ("--players", "16", "--processes", processes, "--json", "-")
        with started("load", url, *options, cwd=tmp_path) as load:
            code, told = ended(load)
        assert server.wait(PATIENCE_S) == 0
    assert (code, told["errors"], told["ended"]) == (0, {}, "all were done")
    assert told["turns"]["count"] == plies(tmp_path / "records" / "1") > 300
    assert told["games"] == {"begun": 32, "over": 32}
    assert told["ends"] == {"done": 16, "left": 0}
    assert told["joins"]["joined"] == told["durations_ms"]["join"]["count"] == 16
    # each player's last answer in each game is never heard of again
    assert told["durations_ms"]["charged"]["count"] == told["turns"]["count"] - 64
    between = told["durations_ms"]["between"]["count"]
    if processes == "1":
        assert between > 0.8 * told["turns"]["count"]
    assert 0 < between <= told["turns"]["count"] - 32


@pytest.mark.parametrize("processes", ["1", "2"])
def test_server_that_dies_in_the_middle_is_16_lost_connections(
    processes: str, tmp_path: Path
) -> None:
    with swiss(tmp_path) as (server, url):
        options = ("--think", "20-40", "--processes", processes, "--json", "-")
        with started("load", url, *options, cwd=tmp_path) as load:
            round_begun(server)
            server.kill()
            code, told = ended(load)
    assert (code, told["ended"]) == (1, "nobody was left")
    assert told["errors"] == {"closed 1006": {"count": 16, "example": "the connection was lost"}}
    assert told["joins"]["joined"] == 16
    assert told["games"]["over"] < 32


def round_begun(server: subprocess.Popen[str]) -> None:
    assert server.stdout is not None
    for line in server.stdout:
        if line.startswith("game "):
            return
    raise AssertionError("no game was played")


@pytest.mark.parametrize("processes", ["1", "2"])
def test_ctrl_c_gives_the_figures_so_far(processes: str, tmp_path: Path) -> None:
    require("posix", os.name == "posix", "signals are sent to processes")
    with swiss(tmp_path) as (server, url):
        options = ("--think", "20-40", "--processes", processes, "--json", "figures.json")
        with started("load", url, *options, cwd=tmp_path) as load:
            round_begun(server)
            load.send_signal(signal.SIGINT)
            text, _ = load.communicate(timeout=PATIENCE_S)
    told = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    assert (load.returncode, told["ended"], told["errors"]) == (0, "told to stop", {})
    assert told["ends"] == {"done": 0, "left": 16}
    assert told["turns"]["count"] > 0
    assert "ended: told to stop" in text
    assert max(map(len, text.splitlines())) <= 80


# -- in this process


async def loaded(plan: Plan) -> Figures:
    async with asyncio.timeout(PATIENCE_S):
        return await Load(plan).run(lambda: False, lambda _: None)


def plan(port: int, come: tuple[Visitor, ...], **how: Any) -> Plan:
    return Plan(f"ws://127.0.0.1:{port}", come, **how)


def lobby(players: int) -> Mapping[str, object]:
    return {"min_players": players, "max_players": players, "wait_ms": 20_000}


async def test_refusals_are_counted_by_kind_with_what_the_server_said() -> None:
    come = (Visitor("a"), Visitor("b", "nowhere"), Visitor("A"), Visitor("c", "nowhere"))
    async with serving(quick_settings(lobby=lobby(3))) as (port, _):
        figures = await loaded(plan(port, come, at_once=1, seconds=1))
    assert figures.errors == {"refused -32602": 2, "refused -32002": 1}
    assert "no room 'nowhere'" in figures.examples["refused -32602"]
    assert (figures.joined, figures.left, figures.is_timed_out) == (1, 1, True)


async def test_full_server_is_counted_by_its_http_status() -> None:
    settings = quick_settings(lobby=lobby(9), limits={"max_connections": 2})
    async with serving(settings) as (port, _):
        figures = await loaded(plan(port, visitors(4, 0, prefix="p"), at_once=1, seconds=1))
    assert figures.errors == {"HTTP 503": 2}
    assert figures.examples["HTTP 503"] == "too many connections"


async def test_server_that_sends_one_elsewhere_is_not_followed() -> None:
    def elsewhere(connection: ServerConnection, _request: Request) -> Response:
        response = connection.respond(HTTPStatus.FOUND, "")
        response.headers["Location"] = "ws://203.0.113.1"
        return response

    async with serve(_says_nothing, "127.0.0.1", 0, process_request=elsewhere) as server:
        figures = await loaded(plan(port_of(server), visitors(2, 0, prefix="p")))
    assert figures.errors == {"HTTP 302": 2}


@pytest.mark.parametrize(
    "said",
    [
        ["[]"],
        ["nonsense"],
        ['{"error": {"code": 1}}'],
        ['{"result": {}}', "5"],
        ['{"result": {}}', '{"method": "game_start", "id": 1, "params": {}}'],
        ['{"result": {}}', '{"method": "move", "id": 1, "params": {"game": "1.1"}}'],
    ],
    ids=str,
)
async def test_what_is_not_of_the_protocol_ends_that_player_alone(said: list[str]) -> None:
    async def babble(connection: ServerConnection) -> None:
        await connection.recv()
        for message in said:
            await connection.send(message)
        await connection.wait_closed()

    async with serve(babble, "127.0.0.1", 0) as server:
        figures = await loaded(plan(port_of(server), visitors(3, 0, prefix="p")))
    assert figures.errors == {"message not understood": 3}
    assert figures.examples["message not understood"]


async def _says_nothing(connection: ServerConnection) -> None:
    await connection.wait_closed()


def port_of(server: Server) -> int:
    return int(next(iter(server.sockets)).getsockname()[1])


async def test_players_join_at_the_rate_that_was_asked_for() -> None:
    async with serving(quick_settings(lobby=lobby(20))) as (port, _):
        come = visitors(0, 10, prefix="p")
        figures = await loaded(plan(port, come, rate=50, seconds=1))
    assert figures.joined == figures.left == 10
    assert figures.joins.seconds > 0.17
    assert figures.durations["ping"].count > 0


async def test_idle_players_wait_in_their_room_until_the_others_are_done() -> None:
    async with two_rooms() as port:
        come = visitors(4, 5, prefix="p", rooms=("first",), idle_room="second")
        figures = await loaded(plan(port, come))
    assert (figures.joined, figures.done, figures.left) == (9, 4, 5)
    assert (figures.idle_asked, figures.errors) == (0, {})


async def test_idle_players_in_a_tournament_that_begins_play_and_are_told_of() -> None:
    async with two_rooms() as port:
        come = visitors(2, 2, prefix="p", rooms=("first",))
        figures = await loaded(plan(port, come))
    assert figures.idle_asked > 0
    assert figures.errors == {}


@asynccontextmanager
async def two_rooms() -> AsyncGenerator[int]:
    """A server with a tournament for four and one that never begins; its port."""
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    rooms = [
        quick_settings(lobby=lobby(players), tournament={"name": name, "seed": 7})
        for name, players in (("first", 4), ("second", 100))
    ]
    task = asyncio.create_task(App(*rooms, listening=port.set_result).run())
    try:
        yield await port
    finally:
        task.cancel()
        await asyncio.wait({task})


@pytest.mark.alone
async def test_thinking_is_not_taken_for_what_the_server_charges() -> None:
    settings = quick_settings(lobby=lobby(2), game={"board": "4x3,fish=1"})
    async with serving(settings) as (port, server):
        figures = await loaded(plan(port, visitors(2, 0, prefix="p"), think_s=(0.04, 0.06)))
        assert not (await server).faults
    charged = figures.durations["charged"]
    assert charged.count > 0
    assert charged.quantile_ms(0.5) < 30
    assert figures.playing.seconds >= 0.04 * figures.turns


async def test_ejections_are_counted_by_verdict() -> None:
    settings = quick_settings(lobby=lobby(2), clocks={"place_ms": 30})
    async with serving(settings) as (port, server):
        figures = await loaded(plan(port, visitors(2, 0, prefix="p"), think_s=(0.2, 0.2)))
        faults = (await server).faults
    assert figures.errors == {"ejected timeout": len(faults)}
    assert figures.done == 2 - len(faults)


async def test_games_of_one_id_in_a_practice_room_are_several() -> None:
    settings = quick_settings(lobby=lobby(2), practice={"enabled": True, "stays": True})
    come = visitors(3, 0, prefix="p", rooms=("practice:first",))
    async with serving(settings) as (port, _):
        figures = await loaded(plan(port, come))
    assert (len(figures.begun), len(figures.over), figures.done) == (3, 3, 3)


async def test_entrants_of_a_roster_join_with_their_tokens(tmp_path: Path) -> None:
    roster = Roster(()).with_token("Ada", "one").with_token("Bo", "two")
    roster.write(tmp_path / "roster.toml")
    settings = quick_settings(lobby={**lobby(2), "roster": tmp_path / "roster.toml"})
    come = visitors(2, 0, prefix="p", tokens=(("Ada", "one"), ("Bo", "two")))
    async with serving(settings) as (port, server):
        figures = await loaded(plan(port, come))
        assert not (await server).faults
    assert (figures.done, figures.errors) == (2, {})


async def test_classic_rules_with_and_without_legal_actions() -> None:
    for listed in (False, True):
        settings = quick_settings(lobby=lobby(4), game={"rules": "classic", "board": "classic"})
        async with serving(settings) as (port, server):
            come = visitors(4, 0, prefix="p")
            figures = await loaded(plan(port, come, legal_actions=listed))
            assert not (await server).faults
        assert (figures.done, figures.errors) == (4, {})


async def test_ipv6_address_with_a_certificate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_ipv6():
        pytest.skip("this machine has no IPv6")
    cert, key = await asyncio.to_thread(certificate, tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(cert))
    settings = quick_settings(
        server={"host": "::1", "tls_certificate": cert, "tls_key": key}, lobby=lobby(2)
    )
    async with serving(settings) as (port, server):
        figures = await loaded(Plan(f"wss://[::1]:{port}", visitors(2, 0, prefix="p")))
        assert not (await server).faults
    assert (figures.done, figures.errors) == (2, {})


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for this machine, made here."""
    key, cert = folder / "key.pem", folder / "cert.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-keyout", str(key), "-out", str(cert), "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost,IP:::1"]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=30)
    except FileNotFoundError:
        require("openssl", None, "openssl is not on the PATH")
    return cert, key
