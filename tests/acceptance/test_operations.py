"""Real servers and signals: a drain, a backup in the middle of a tournament, logs to collect."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from shutil import which

import pytest

from croupier_server.storage import catalogue
from croupier_server.storage.once import look_once
from support.databases import execute, require_postgresql, url_of
from support.needs import require

PATIENCE_S = 50
PENGUIN = (sys.executable, "-m", "croupier_client")

SETTINGS = """
[server]
drain_ms = {drain_ms}
[lobby]
house = ["ada=first", "bo=random", "cleo=greedy"]
min_players = 3
max_players = 3
[clocks]
pace_ms = {pace_ms}
[tournament]
name = "cup"
format = "round-robin"
seed = 5
games_at_once = 1
[game]
board = "4x4"
"""


def croupier(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "croupier_server", *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=PATIENCE_S,
        check=False,
    )


@contextmanager
def serving(
    folder: Path, data: Path | str, *options: str, pace_ms: int = 20, drain_ms: int = 0
) -> Generator[subprocess.Popen[str]]:
    config = folder / "cup.toml"
    config.write_text(SETTINGS.format(pace_ms=pace_ms, drain_ms=drain_ms), encoding="utf-8")
    place = "--database" if isinstance(data, str) else "--data"
    command = ["serve", "--config", str(config), "--port", "0", place, str(data), *options]
    server = subprocess.Popen(
        [sys.executable, "-m", "croupier_server", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    try:
        yield server
    finally:
        if server.poll() is None:
            server.kill()
        server.communicate()


def games(data: Path | str) -> Sequence[catalogue.GameRow]:
    return look_once(data, lambda connection: catalogue.games(connection, 1))


def finished(data: Path | str) -> dict[str, str | None]:
    """The games that are over, each with the hash of its record."""
    return {game.name: game.chain for game in games(data) if game.status == "finished"}


def wait_until_told(server: subprocess.Popen[str], beginning: str) -> None:
    assert server.stdout is not None
    told = ""
    while not told.startswith(beginning):
        told = server.stdout.readline()
        assert told, server.communicate()


def test_backup_in_mid_tournament_is_played_on_elsewhere(tmp_path: Path) -> None:
    data, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    with serving(tmp_path, data) as server:
        wait_until_told(server, "game ")
        made = croupier("backup", data, tmp_path / "copy.db")
        assert made.returncode == 0, made.stderr
        assert server.poll() is None
    elsewhere.mkdir()
    (tmp_path / "copy.db").rename(elsewhere / "croupier.db")
    before = finished(elsewhere)
    assert before
    assert any(game.status == "running" for game in games(elsewhere))
    with serving(tmp_path, elsewhere, "--resume") as server:
        told, problems = server.communicate(timeout=PATIENCE_S)
    assert server.returncode == 0, told + problems
    after = finished(elsewhere)
    assert len(after) == 6
    assert before.items() <= after.items()
    verify("--data", elsewhere, tmp_path / "out")


def verify(option: str, place: Path | str, out: Path) -> None:
    """All records of a tournament are sound."""
    exported = croupier("export", option, place, "--out", out)
    assert exported.returncode == 0, exported.stderr
    verified = croupier("verify", *sorted((out / "records").iterdir()))
    assert verified.returncode == 0, verified.stdout + verified.stderr


@contextmanager
def databases() -> Generator[tuple[str, str]]:
    """Two empty databases of a PostgreSQL server."""
    server = require_postgresql()
    names = [f"croupier_{uuid.uuid4().hex}" for _ in range(2)]
    for name in names:
        asyncio.run(execute(server, f"CREATE DATABASE {name}"))
    first, second = (url_of(server, name) for name in names)
    try:
        yield first, second
    finally:
        for name in names:
            asyncio.run(execute(server, f"DROP DATABASE {name} WITH (FORCE)"))


def run(*command: str | Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr


def test_postgresql_is_dumped_and_restored_by_its_own_programs(tmp_path: Path) -> None:
    require("postgresql", which("pg_dump"), "pg_dump is not on the PATH")
    with databases() as (first, second):
        with serving(tmp_path, first) as server:
            wait_until_told(server, "game ")
            run("pg_dump", "--format=custom", f"--file={tmp_path / 'cup.dump'}", first)
            assert server.poll() is None
        run("pg_restore", "--no-owner", f"--dbname={second}", tmp_path / "cup.dump")
        before = finished(second)
        assert before
        with serving(tmp_path, second, "--resume") as server:
            told, problems = server.communicate(timeout=PATIENCE_S)
        assert server.returncode == 0, told + problems
        assert before.items() <= finished(second).items()
        assert len(finished(second)) == 6
        verify("--database", second, tmp_path / "out")


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGTERM")
def test_sigterm_with_a_drain_ends_the_running_games_and_a_restart_goes_on(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serving(tmp_path, data, drain_ms=30_000) as server:
        wait_until_told(server, "game ")
        server.send_signal(signal.SIGTERM)
        told, problems = server.communicate(timeout=PATIENCE_S)
    assert server.returncode == 128 + signal.SIGTERM, told + problems
    assert "no new games" in problems
    left = [game for game in games(data) if game.status != "finished"]
    assert not left
    assert 0 < len(finished(data)) < 6
    with serving(tmp_path, data) as server:
        told, problems = server.communicate(timeout=PATIENCE_S)
    assert server.returncode == 0, told + problems
    assert len(finished(data)) == 6


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGTERM")
def test_players_of_the_kit_come_through_a_drain_and_a_restart_unharmed(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    url = f"ws://127.0.0.1:{port}"
    remote = ("--port", port, "--min-players", "5", "--max-players", "5")
    with ExitStack() as stack:
        server = stack.enter_context(serving(tmp_path, data, *remote, drain_ms=30_000))
        wait_until_told(server, "listening")
        players = [
            stack.enter_context(
                subprocess.Popen(
                    [*PENGUIN, "join", url, "greedy", "--name", name],
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    text=True,
                    encoding="utf-8",
                )
            )
            for name in ("eva", "fritz")
        ]
        for player in players:
            stack.callback(player.kill)
        wait_until_told(server, "game ")
        server.send_signal(signal.SIGTERM)
        told, problems = server.communicate(timeout=PATIENCE_S)
        assert server.returncode == 128 + signal.SIGTERM, told + problems
        again = stack.enter_context(serving(tmp_path, data, *remote, pace_ms=0))
        told, problems = again.communicate(timeout=PATIENCE_S)
        assert again.returncode == 0, told + problems
        assert "Ejected" not in told
        for player in players:
            _, said = player.communicate(timeout=PATIENCE_S)
            assert player.returncode == 0, said
            assert "1012" in said
    assert len(finished(data)) == 20


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGTERM")
@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_second_signal_stops_a_drain_at_once(tmp_path: Path, second: signal.Signals) -> None:
    data = tmp_path / "data"
    # at this pace a game takes minutes
    with serving(tmp_path, data, pace_ms=10_000, drain_ms=600_000) as server:
        assert server.stderr is not None
        wait_until_told(server, "round ")
        server.send_signal(signal.SIGTERM)
        assert "no new games" in server.stderr.readline()
        began = time.monotonic()
        server.send_signal(second)
        server.communicate(timeout=PATIENCE_S)
        assert time.monotonic() - began < 10
    assert server.returncode == 128 + signal.SIGTERM


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGTERM")
def test_interrupt_and_the_default_stop_at_once(tmp_path: Path) -> None:
    for signum, drain_ms in ((signal.SIGINT, 600_000), (signal.SIGTERM, 0)):
        data = tmp_path / signum.name
        with serving(tmp_path, data, pace_ms=10_000, drain_ms=drain_ms) as server:
            wait_until_told(server, "round ")
            server.send_signal(signum)
            _, problems = server.communicate(timeout=PATIENCE_S)
        assert server.returncode == 128 + signum
        assert problems.startswith(f"stopped by {signum.name}")


def test_log_format_json_makes_every_log_line_an_object(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with serving(tmp_path, data, "--log-format", "json", "--verbose", pace_ms=0) as server:
        _, problems = server.communicate(timeout=PATIENCE_S)
    lines = [json.loads(line) for line in problems.splitlines()]
    assert server.returncode == 0
    assert any(line["event"] == "player joined" and line["player"] == "ada" for line in lines)
    assert all({"time", "level", "event"} <= line.keys() for line in lines)
