"""A cluster of processes, as an operator starts them, and its players; all of them are killable."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

from sqlalchemy import Connection

from croupier_server.storage.database import Database
from support.front import Front
from support.killed import PATIENCE_S, PLAYER, SETTINGS, Kept, written

T = TypeVar("T")

READY_S: Final = 40.0

ROLES: Final = (sys.executable, "-m", "croupier_server")
PLAYERS: Final = (sys.executable, "-m", "croupier_client")


@dataclass(frozen=True, slots=True)
class Place:
    """Where processes run: at what address others reach them, and how they get there.

    Attributes:
        env: by what addresses they reach others, where those are not the fleet's.
        before: the command that starts a command there.
    """

    address: str = "127.0.0.1"
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    before: Sequence[str] = ()


HERE: Final = Place()


@dataclass(eq=False)
class Running:
    """A process of the fleet, and the lines that it has written on standard output."""

    name: str
    process: Process
    log: Path
    lines: list[str] = field(default_factory=list[str])
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _reading: asyncio.Task[None] | None = None

    def read(self) -> None:
        """Take the lines that it writes from now on."""
        self._reading = asyncio.create_task(self._read(), name=f"lines of {self.name}")

    async def _read(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            self.lines.append(line.decode().rstrip())
            self._news.set()

    async def says(self, text: str, within_s: float = READY_S) -> str:
        """Wait for a line with that in it; gives it."""
        async with asyncio.timeout(within_s):
            while True:
                for line in self.lines:
                    if text in line:
                        return line
                assert self.process.returncode is None, self.told()
                self._news.clear()
                await self._news.wait()

    async def logs(self, text: str, within_s: float = READY_S, before: int = 0) -> None:
        """Wait until it has logged something with that in it, more often than `before`."""
        async with asyncio.timeout(within_s):
            while await asyncio.to_thread(self.logged, text) <= before:  # noqa: ASYNC110 - another process writes
                await asyncio.sleep(0.05)

    def logged(self, text: str) -> int:
        """How often it has logged that."""
        return self.log.read_text(encoding="utf-8").count(text)

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self.process.returncode is None

    def told(self) -> str:
        """All that it has said, for who wonders."""
        return "\n".join([self.name, *self.lines, self.log.read_text(encoding="utf-8")])

    async def kill(self, signum: int = signal.SIGKILL) -> None:
        """End it, and wait until it has ended."""
        if self.is_running:
            self.process.send_signal(signum)
        await self.process.wait()
        if self._reading is not None:
            await self._reading

    def signal(self, signum: int) -> None:
        """Send it a signal."""
        self.process.send_signal(signum)

    async def ended(self, within_s: float = PATIENCE_S) -> int:
        """Wait for its end; gives its exit status."""
        async with asyncio.timeout(within_s):
            status = await self.process.wait()
            if self._reading is not None:
                await self._reading
        return status


class Fleet:
    """The processes of one cluster; players know the address of `front` only.

    Args:
        folder: for the tournament's file and all logs.
        nats: the URL of NATS; ``database`` that of PostgreSQL.
    """

    def __init__(self, folder: Path, nats: str, database: str, front: Front) -> None:
        self.folder = folder
        self.nats = nats
        self.database = database
        self.front = front
        self.running: list[Running] = []

    async def start(
        self,
        name: str,
        command: Sequence[str],
        env: Mapping[str, str] | None = None,
        before: Sequence[str] = ROLES,
        at: Place = HERE,
    ) -> Running:
        """Start a process.

        Args:
            before: what runs the command.
        """
        log = self.folder / f"{name}.log"
        variables = {
            **os.environ,
            "CROUPIER_CLUSTER__NATS": self.nats,
            "CROUPIER_STORAGE__URL": self.database,
            "CROUPIER_CLUSTER__LOST_MS": "2000",
            **at.env,
            **(env or {}),
        }
        with log.open("ab") as errors:
            process = await asyncio.create_subprocess_exec(
                *at.before, *before, *command, stdout=PIPE, stderr=errors, env=variables
            )
        running = Running(name, process, log)
        running.read()
        self.running.append(running)
        return running

    async def gateway(
        self, name: str, env: Mapping[str, str] | None = None, at: Place = HERE
    ) -> Running:
        """Start a gateway, and let players in by it."""
        config = ["--config", str(self.folder / "t.toml"), "--host", at.address, "--port", "0"]
        running = await self.start(name, ["gateway", *config], env, at=at)
        port = int((await running.says("listening")).rpartition(":")[2])
        self.front.add(at.address, port)
        return running

    async def worker(
        self, name: str, env: Mapping[str, str] | None = None, at: Place = HERE
    ) -> Running:
        """Start a worker."""
        return await self.start(name, ["worker"], env, at=at)

    async def manager(
        self, name: str, env: Mapping[str, str] | None = None, at: Place = HERE
    ) -> Running:
        """Start a manager; it says whether it is active."""
        config = ["--config", str(self.folder / "t.toml")]
        return await self.start(name, ["manager", *config], env, at=at)

    async def join(self, names: Sequence[str]) -> list[Running]:
        """Players that come one after another, and come back whenever they lose their gateway."""
        players: list[Running] = []
        for age, name in enumerate(names, 10):
            url = f"ws://127.0.0.1:{self.front.port}"
            command = ["join", url, str(self.folder / "slow.py"), "--name", name, "--age", str(age)]
            player = await self.start(name, command, before=PLAYERS)
            await player.says("joined")
            players.append(player)
        return players

    async def plays_on(self, lines: int = 1) -> None:
        """Wait until some more lines are written."""
        async with asyncio.timeout(READY_S), await Database.look(self.database) as database:
            until = await database.read(written) + lines
            while await database.read(written) < until:  # noqa: ASYNC110 - another process writes
                await asyncio.sleep(0.05)

    async def look(self, work: Callable[[Connection], T]) -> T:
        """What some work finds in the database."""
        async with await Database.look(self.database) as database:
            return await database.read(work)

    async def kept(self) -> Kept:
        """What the database has of the tournament."""
        return await self.look(Kept)

    async def close(self) -> None:
        """End all that runs."""
        for running in self.running:
            await running.kill()


@asynccontextmanager
async def fleet(folder: Path, nats: str, database: str, **values: object) -> AsyncGenerator[Fleet]:
    """A cluster without processes so far, with the settings of a tournament."""
    await asyncio.to_thread(_prepare, folder, values)
    async with AsyncExitStack() as stack:
        front = await stack.enter_async_context(Front())
        cluster = Fleet(folder, nats, database, front)
        stack.push_async_callback(cluster.close)
        yield cluster


def _prepare(folder: Path, values: Mapping[str, object]) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "slow.py").write_text(PLAYER.format(**values), encoding="utf-8")
    (folder / "t.toml").write_text(SETTINGS.format(**values), encoding="utf-8")
