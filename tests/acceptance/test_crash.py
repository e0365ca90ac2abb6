"""A server that is killed at any moment, again and again: nothing is lost, nobody is blamed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Self

import pytest
from sqlalchemy import Connection, func, select

from croupier_common.record import read_record, replay
from croupier_server.storage import catalogue
from croupier_server.storage.database import Database
from croupier_server.storage.schema import journal
from support.databases import where as where  # noqa: PLC0414 - a fixture
from support.needs import require

PATIENCE_S = 120

SETTINGS = """
[lobby]
house = ["ada=greedy", "bo=random", "cleo=minimax:1"]
min_players = {players}
max_players = {players}
ages = "declared"
[tournament]
name = "crash"
format = "{format}"
seed = 5
games_at_once = 4
[game]
board = "{board}"
[storage]
resume_wait_ms = 30_000
"""


PLAYER = """
import time
from croupier_client import Player
from croupier_common.strategies import make

class Slow(Player):
    choose = make("greedy").choose

    def place(self, view):
        time.sleep({think_s})
        return self.choose(view.state)

    move = place
"""


class Server:
    """A tournament in a database, on a port that stays the same, and the server that plays it."""

    def __init__(self, folder: Path, where: Path | str) -> None:
        self.folder = folder
        self.where = where
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.url = f"ws://127.0.0.1:{self.port}"
        self.log = folder / "server.log"
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        place = ["--data", str(self.where)] if isinstance(self.where, Path) else []
        place += ["--database", self.where] if isinstance(self.where, str) else []
        command = ["serve", "--config", str(self.folder / "t.toml"), "--port", str(self.port)]
        with self.log.open("a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "croupier_server", *command, *place],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                encoding="utf-8",
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("listening"), line + self.log.read_text(encoding="utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process is not None and self.process.poll() is None:
            self.kill()

    def kill(self, signum: signal.Signals = signal.SIGKILL) -> None:
        assert self.process is not None
        self.process.send_signal(signum)
        self.process.communicate()

    def end(self) -> str:
        """Wait for the tournament's end; gives what was printed."""
        assert self.process is not None
        told, _ = self.process.communicate(timeout=PATIENCE_S)
        assert self.process.returncode == 0, told + self.log.read_text(encoding="utf-8")
        return told

    def has_ended(self) -> bool:
        assert self.process is not None
        return self.process.poll() is not None

    async def plays_on(self) -> None:
        """Wait until something is written, or it ends."""
        async with await Database.look(self.where) as database:
            before = await database.read(_written)
            while not self.has_ended():
                if await database.read(_written) != before:
                    break
                await asyncio.sleep(0.05)

    async def kept(self) -> Kept:
        async with await Database.look(self.where) as database:
            return await database.run(Kept)


def _written(connection: Connection) -> int:
    return connection.scalar(select(func.count()).select_from(journal)) or 0


class Kept:
    """What the database has."""

    def __init__(self, connection: Connection) -> None:
        row = catalogue.find_tournament(connection, "crash")
        assert row is not None
        self.status = row.status
        self.result = row.result
        self.results = catalogue.results(connection, row.id)
        games = catalogue.games(connection, row.id)
        self.chains = {game.name: game.chain for game in games if game.status == "finished"}
        self.statuses = {game.status for game in games}
        self.digests: dict[str, str] = {}
        for game in games:
            if game.status == "finished":
                lines = catalogue.lines(connection, game.id)
                record = read_record(line.encode() for line in lines)
                assert record.chain == game.chain
                assert replay(record).outcome is not None
                self.digests[game.name] = record.digest


@contextmanager
def players(server: Server, names: Sequence[str]) -> Generator[list[subprocess.Popen[str]]]:
    """Players that come one after another, and come back whenever they lose the server."""
    with ExitStack() as stack:
        playing: list[subprocess.Popen[str]] = []
        for age, name in enumerate(names, 10):  # whoever is killed while they sign up
            player = str(server.folder / "slow.py")
            command = ["join", server.url, player, "--name", name, "--age", str(age)]
            log = stack.enter_context((server.folder / f"{name}.log").open("w", encoding="utf-8"))
            process = subprocess.Popen(
                [sys.executable, "-m", "croupier_client", *command],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                encoding="utf-8",
            )
            stack.callback(_end, process)
            assert process.stdout is not None
            assert "joined" in process.stdout.readline()
            playing.append(process)
        yield playing


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.kill()
    process.communicate()


def started(server: Server) -> Server:
    server.start()
    return server


def prepared(folder: Path, where: Path | str, **values: object) -> Server:
    folder.mkdir()
    text = SETTINGS.format(**values)
    (folder / "slow.py").write_text(PLAYER.format(**values), encoding="utf-8")
    (folder / "t.toml").write_text(text, encoding="utf-8")
    return Server(folder, where)


def undisturbed(folder: Path, names: Sequence[str], **values: object) -> Kept:
    with prepared(folder, folder / "data", **values) as server:
        server.start()
        with players(server, names):
            server.end()
    return asyncio.run(server.kept())


async def _killed_again_and_again(
    tmp_path: Path,
    where: Path | str,
    kills: int,
    *,
    signum: signal.Signals = signal.SIGKILL,
    **values: object,
) -> None:
    require("posix", os.name == "posix", "SIGKILL is not known here")
    names = ["eve", "finn"]
    values = {"players": 3 + len(names), **values}
    right = await asyncio.to_thread(undisturbed, tmp_path / "right", names, **values)
    random = Random(kills)
    server = prepared(tmp_path / "killed", where, **values)
    finished: dict[str, str | None] = {}
    done = 0
    with server, players(started(server), names) as playing:
        while done < kills:
            if random.random() < 0.7:  # once they play on, and else while they come back
                await server.plays_on()
            await asyncio.sleep(random.uniform(0.0, 0.5))
            if server.has_ended():
                break
            server.kill(signum)
            done += 1
            kept = await server.kept()
            for game, chain in finished.items():
                assert kept.chains[game] == chain
            finished = kept.chains
            print(f"kill {done}: {len(finished)} games over, {sorted(kept.statuses)}")  # noqa: T201
            server.start()
        told = server.end()
        for process in playing:
            out, _ = process.communicate(timeout=PATIENCE_S)
            assert process.returncode == 0, out
    kept = await server.kept()
    assert done == kills, f"the tournament was over after {done} kills"
    assert kept.status == "finished"
    assert "is out" not in told
    assert "ejected" not in told
    assert kept.statuses == {"finished"}
    assert kept.results == right.results
    assert kept.digests == right.digests
    assert kept.result["standings"] == right.result["standings"]
    assert not kept.result["faults"]
    assert json.dumps(kept.result["games"]) == json.dumps(right.result["games"])


@pytest.mark.timeout(180)
async def test_server_that_is_killed_goes_on_where_it_was(
    tmp_path: Path, where: Path | str
) -> None:
    await _killed_again_and_again(
        tmp_path, where, 3, format="round-robin", board="6x6,fish=1-5", think_s=0.03
    )


@pytest.mark.full
@pytest.mark.timeout(900)
async def test_server_that_is_killed_thirty_times_goes_on_where_it_was(
    tmp_path: Path, where: Path | str
) -> None:
    await _killed_again_and_again(
        tmp_path, where, 30, format="round-robin", board="9x9,fish=1-5", think_s=0.1
    )


@pytest.mark.timeout(180)
async def test_knock_out_that_is_killed_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    await _killed_again_and_again(
        tmp_path, tmp_path / "data", 2, format="knockout", board="9x9,fish=1-5", think_s=0.05
    )


@pytest.mark.timeout(180)
async def test_server_that_is_stopped_in_peace_goes_on_with_the_same_players(
    tmp_path: Path,
) -> None:
    await _killed_again_and_again(
        tmp_path,
        tmp_path / "data",
        2,
        signum=signal.SIGTERM,
        format="round-robin",
        board="6x6,fish=1-5",
        think_s=0.03,
    )
