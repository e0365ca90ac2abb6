"""A PostgreSQL server of the test's own, which may be killed."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import Final, Self

from support.needs import require

READY_S: Final = 30.0


def programs() -> Path | None:
    """The folder with the server's programs, the newest if there are several."""
    found = [Path(path) for path in sorted(Path("/usr/lib/postgresql").glob("*/bin"))]
    on_path = shutil.which("initdb")
    return found[-1] if found else None if on_path is None else Path(on_path).parent


class OwnPostgres:
    """A server in a temporary folder, on a free port of loopback; it trusts everybody there.

    Args:
        address: another one to listen at, on a network of which it trusts everybody.
    """

    def __init__(self, address: str | None = None) -> None:
        where = programs()
        require("postgresql", where is not None, "the programs of PostgreSQL are not installed")
        assert where is not None
        self._programs = where
        self._addresses = ["127.0.0.1", *([] if address is None else [address])]
        self._folder = Path(mkdtemp(prefix="croupier-pg-"))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = int(free.getsockname()[1])

    @property
    def url(self) -> str:
        """Where it is."""
        return self.url_at("127.0.0.1")

    def url_at(self, address: str, port: int | None = None) -> str:
        """Where it is for who reaches it by another address."""
        return f"postgresql://postgres@{address}:{port or self._port}/postgres"

    @property
    def port(self) -> int:
        """Its port."""
        return self._port

    async def __aenter__(self) -> Self:
        if _is_root():
            shutil.chown(self._folder, "postgres", "postgres")
        try:
            await self._run("initdb", "-D", self._data, "-U", "postgres", "-A", "trust", "-N")
            for address in self._addresses[1:]:
                with (Path(self._data) / "pg_hba.conf").open("a", encoding="utf-8") as rules:
                    rules.write(f"host all all {address}/24 trust\n")
            await self.start()
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._pid() is not None:
            await self._run("pg_ctl", "-D", self._data, "-m", "immediate", "stop")
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)

    async def start(self) -> None:
        """Start it, after a kill as well."""
        options = (
            f"-p {self._port} -c listen_addresses={','.join(self._addresses)} "
            f"-c unix_socket_directories={self._folder} -c max_connections=60"
        )
        log = str(self._folder / "log")
        await self._run("pg_ctl", "-D", self._data, "-o", options, "-l", log, "-w", "start")

    async def kill(self) -> None:
        """Kill it as a power failure would."""
        pid = self._pid()
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        async with asyncio.timeout(READY_S):
            while _is_there(pid) or await self._has_children():  # noqa: ASYNC110 - a process is watched
                await asyncio.sleep(0.05)

    @property
    def _data(self) -> str:
        return str(self._folder / "data")

    def _pid(self) -> int | None:
        try:
            lines = (Path(self._data) / "postmaster.pid").read_text(encoding="utf-8").split()
        except OSError:
            return None
        return int(lines[0])

    async def _has_children(self) -> bool:
        """Whether anything of it still holds its memory, so that it can't be started again."""
        try:
            async with asyncio.timeout(1):
                _, writer = await asyncio.open_connection("127.0.0.1", self._port)
        except (OSError, TimeoutError):
            return False
        writer.close()
        return True

    async def _run(self, program: str, *arguments: str) -> None:
        command: Sequence[str] = [str(self._programs / program), *arguments]
        if _is_root():
            command = ["runuser", "-u", "postgres", "--", *command]
        process = await asyncio.create_subprocess_exec(
            *command, stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE, cwd="/"
        )
        async with asyncio.timeout(READY_S):
            _, said = await process.communicate()
        assert process.returncode == 0, said.decode()


def _is_root() -> bool:
    return sys.platform != "win32" and os.geteuid() == 0


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
