"""The processes of a cluster benchmark: roles of `croupier`, NATS, a database, and their load.

All that is started here is ended here. PostgreSQL is the server of `CROUPIER_POSTGRESQL`; a
database is made in it and dropped. What it takes is that of the whole server, so nobody else should
use it.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import uuid
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

from sqlalchemy.engine import make_url

from benchmarks.cluster_role import ASKED
from benchmarks.cluster_usage import Meter, Source, parent_of, process, process_tree
from benchmarks.processes import ROOT, Failed, raise_open_files
from croupier_server.options import configure_logs

__all__ = ["Site", "database", "nats", "site", "toml"]

VARIABLE: Final = "CROUPIER_POSTGRESQL"

READY_S: Final = 60.0
ENDS_S: Final = 30.0

Settings = Mapping[str, Mapping[str, object]]
"""By section and name, as in a settings file."""


@asynccontextmanager
async def database() -> AsyncGenerator[tuple[str, Source | None]]:
    """A new PostgreSQL database: its URL, and what its server takes, where that runs here.

    Raises:
        Failed: no server is named.
    """
    import asyncpg

    server = os.environ.get(VARIABLE)
    if not server:
        raise Failed(
            f"a cluster needs PostgreSQL: set {VARIABLE} to the URL of a server in which databases "
            "may be created"
        )
    name = f"croupier_{uuid.uuid4().hex}"
    connection = await asyncpg.connect(server)
    try:
        backend: int = await connection.fetchval("SELECT pg_backend_pid()")
        await connection.execute(f"CREATE DATABASE {name}")
        postmaster = parent_of(backend)
        url = make_url(server).set(database=name).render_as_string(hide_password=False)
        try:
            yield url, None if postmaster is None else process_tree(postmaster)
        finally:
            await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
    finally:
        await connection.close()


class Site:
    """Processes that are started, heard, looked at, and ended.

    Args:
        folder: for settings and logs.

    Attributes:
        meter: what each role takes; a role can be several processes.
    """

    def __init__(self, folder: Path, meter: Meter) -> None:
        self.folder = folder
        self.meter = meter
        self._processes: dict[str, Process] = {}
        self._asked: list[Path] = []

    def write(self, name: str, settings: Settings) -> Path:
        """A settings file."""
        path = self.folder / f"{name}.toml"
        path.write_text(toml(settings), encoding="utf-8")
        return path

    async def role(self, name: str, *command: str | Path, ready: str, nats: str = "") -> str:
        """Start a command of `croupier`; gives the line by which it says that it is ready.

        Args:
            name: with a number where a role has several processes: ``worker 1``.
        """
        asked = self.folder / f"{name}.asked"
        self._asked.append(asked)
        env = {ASKED: str(asked), **({"CROUPIER_CLUSTER__NATS": nats} if nats else {})}
        await self.start(name, "benchmarks.cluster_role", *command, env=env)
        return await self.says(name, ready)

    async def start(
        self, name: str, module: str, *arguments: str | Path, env: Mapping[str, str] | None = None
    ) -> Process:
        """Start a module of ours."""
        with (self.folder / f"{name}.log").open("wb") as log:
            running = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", module, *map(str, arguments)),
                stdin=PIPE,
                stdout=PIPE,
                stderr=log,
                cwd=ROOT,
                env={**os.environ, **(env or {})},
                limit=1 << 26,
            )
        self._processes[name] = running
        self.meter.add(name.partition(" ")[0], process(running.pid))
        return running

    async def child(self, name: str, module: str, job: Mapping[str, Any]) -> Process:
        """Start a module of ours with a job."""
        return await self.start(name, module, json.dumps(job))

    async def says(self, name: str, text: str) -> str:
        """The next line of one of them with that in it.

        Raises:
            Failed: it ended, or took too long.
        """
        running = self._processes[name]
        assert running.stdout is not None
        with suppress(TimeoutError):
            async with asyncio.timeout(READY_S):
                while line := (await running.stdout.readline()).decode():
                    if text in line:
                        return line.strip()
        raise Failed(f"{name} did not say {text!r}: {self.log(name)}")

    def log(self, name: str) -> str:
        """The last lines that it has logged."""
        text = (self.folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")
        return "\n".join(deque(text.splitlines(), maxlen=5)) or "it logged nothing"

    async def load(self, url: str, seconds: float, *options: str) -> dict[str, Any]:
        """Run `croupier load` to its end; gives what it measured.

        Raises:
            Failed: something went wrong, a verdict as well.
        """
        running = await self.begin_load(url, *options)
        try:
            async with asyncio.timeout(seconds):
                return await self.loaded(running)
        except TimeoutError:
            raise Failed(f"the load took longer than {seconds:g} s") from None

    async def begin_load(self, url: str, *options: str) -> Process:
        """Start `croupier load`."""
        return await self.start("load", "croupier_server", "load", url, "--json", "-", *options)

    async def loaded(self, running: Process) -> dict[str, Any]:
        """What a load has measured, once it has ended."""
        assert running.stdout is not None
        told = await running.stdout.read()
        await running.wait()
        if not told:
            raise Failed(f"the load measured nothing: {self.log('load')}")
        found: dict[str, Any] = json.loads(told)
        if found["errors"]:
            raise Failed(f"the load met with errors: {found['errors']}")
        return found

    async def over(self, name: str) -> None:
        """Wait until one has ended by itself, as it does when its tournament is over."""
        try:
            async with asyncio.timeout(ENDS_S):
                await self._processes[name].wait()
        except TimeoutError:
            raise Failed(f"{name} goes on after its tournament: {self.log(name)}") from None

    async def stop(self) -> None:
        """End all, as an operator does: first who was started last."""
        for running in reversed(self._processes.values()):
            if running.returncode is not None:
                continue
            with suppress(ProcessLookupError):
                running.send_signal(signal.SIGTERM)
            try:
                async with asyncio.timeout(ENDS_S):
                    await running.wait()
            except TimeoutError:
                with suppress(ProcessLookupError):
                    running.kill()
                await running.wait()

    def asked_ms(self) -> list[float]:
        """How long players took to answer, as those saw it who play the games; after the stop."""
        found: list[float] = []
        for path in self._asked:
            if path.exists():
                found += json.loads(path.read_text(encoding="utf-8"))
        return found


@asynccontextmanager
async def site(folder: Path) -> AsyncGenerator[Site]:
    """A place for processes, all gone afterwards."""
    raise_open_files()
    configure_logs(verbose=False)
    async with Meter() as meter:
        here = Site(folder, meter)
        try:
            yield here
        finally:
            await here.stop()


@asynccontextmanager
async def nats(here: Site) -> AsyncGenerator[str]:
    """A NATS server; gives its URL."""
    from croupier_server.cluster.nats_server import NatsServer

    async with NatsServer(here.folder / "nats") as server:
        here.meter.add("NATS", process(server.pid))
        yield server.url


def toml(settings: Settings) -> str:
    """Settings as the text of a file; they are texts, numbers, truth values and lists of these."""
    lines: list[str] = []
    for section, values in settings.items():
        lines.append(f"[{section}]")
        lines += [f"{name} = {json.dumps(value)}" for name, value in values.items()]
    return "\n".join(lines) + "\n"
