"""Tournaments whose servers are killed: their players, and what the database keeps of them."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

from sqlalchemy import Connection, func, select

from croupier_common.record import read_record, replay
from croupier_server.storage import catalogue
from croupier_server.storage.database import Database
from croupier_server.storage.schema import journal

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


def written(connection: Connection) -> int:
    """How many lines the journal has."""
    return connection.scalar(select(func.count()).select_from(journal)) or 0


class Kept:
    """What the database has of a tournament."""

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
def players(url: str, folder: Path, names: Sequence[str]) -> Generator[list[subprocess.Popen[str]]]:
    """Players that come one after another, and come back whenever they lose the server."""
    with ExitStack() as stack:
        playing: list[subprocess.Popen[str]] = []
        for age, name in enumerate(names, 10):  # whoever is killed while they sign up
            player = str(folder / "slow.py")
            command = ["join", url, player, "--name", name, "--age", str(age)]
            log = stack.enter_context((folder / f"{name}.log").open("w", encoding="utf-8"))
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
            before = await database.read(written)
            while not self.has_ended():
                if await database.read(written) != before:
                    break
                await asyncio.sleep(0.05)

    async def kept(self) -> Kept:
        async with await Database.look(self.where) as database:
            return await database.read(Kept)


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
        with players(server.url, folder, names):
            server.end()
    return asyncio.run(server.kept())
