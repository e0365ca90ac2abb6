"""A program that speaks JSON lines over its standard input and output, running here.

On POSIX it gets a session of its own, so that all that it starts can be ended with it, and Ctrl-C
does not reach it behind our back. On Windows the tree of its processes is ended by their parents'
ids: what was started by a process that has ended since is not found.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final, cast

from croupier_client.errors import ProgramError
from croupier_common.lines import BadLine, Line, LineSplitter, line_bytes
from croupier_common.programs import (
    PATIENCE,
    CappedLog,
    Patience,
    end_text,
    friendly_variables,
    start_problem,
)

__all__ = ["LogFile", "PassedOn", "Program", "Sink"]

_SECRETS: Final = ("PENGUIN_TOKEN",)
_MAX_UNREAD: Final = 1 << 20
_TOGETHER_S: Final = 0.25
"""A program's end is seen in its exit and at its pipes; how long we wait for the rest of that."""


class Sink:
    """Takes what a program writes on its standard error, and never makes it wait.

    Attributes:
        where: what to tell the program's author of it; empty if that was seen.
    """

    where = ""

    def __init__(self) -> None:
        self._log = CappedLog()

    def feed(self, data: bytes) -> None:
        """Take something."""
        self._log.feed(data)

    def close(self) -> None:
        """Nothing follows."""

    def last_lines(self, count: int) -> Sequence[str]:
        """The last lines that came."""
        return self._log.last_lines(count)


class LogFile(Sink):
    """Writes it into a file, up to a cap; of what is beyond that, the last part.

    Raises:
        ProgramError: the file can't be written.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.where = str(path)
        try:
            self._file: BinaryIO = path.open("wb", buffering=0)
        except OSError as problem:
            raise ProgramError(f"can't write {path}: {problem.strerror}") from None

    def feed(self, data: bytes) -> None:
        """Write it."""
        self._write(self._log.feed(data))

    def close(self) -> None:
        """Write the last part."""
        self._write(self._log.end())
        self._file.close()

    def _write(self, data: bytes) -> None:
        with suppress(OSError):  # a full disk is no reason to stop playing
            self._file.write(data)


class PassedOn(Sink):
    """Writes it to our own standard error, from a thread, since that may be a pipe that is full.

    Where its reader is too slow, the oldest of what waits is left out, and how much that was is
    said in its place: the last words of a program are those that its author needs.
    """

    def __init__(self, file: int) -> None:
        super().__init__()
        self._file = file
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._left_out = 0
        self._written = 0
        self._ends = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="standard error", daemon=True)
        self._thread.start()

    def feed(self, data: bytes) -> None:
        """Have it written, instead of what waits longest if that is too much."""
        self._log.feed(data)
        with self._changed:
            self._waiting.append(data)
            self._size += len(data)
            while self._size > _MAX_UNREAD and len(self._waiting) > 1:
                oldest = len(self._waiting.popleft())
                self._size -= oldest
                self._left_out += oldest
            self._changed.notify()

    def close(self) -> None:
        """Wait for what is still to be written, as long as somebody reads it."""
        with self._changed:
            self._ends = True
            self._changed.notify()
        written = -1
        while self._thread.is_alive() and written < self._written:
            written = self._written
            self._thread.join(1.0)

    def _work(self) -> None:
        while (data := self._next()) is not None:
            with suppress(OSError):
                while data:
                    size = os.write(self._file, data)
                    self._written += size
                    data = data[size:]

    def _next(self) -> bytes | None:
        with self._changed:
            while not self._waiting and not self._ends:
                self._changed.wait()
            if not self._waiting:
                return None
            data = self._waiting.popleft()
            self._size -= len(data)
            left_out, self._left_out = self._left_out, 0
        return b"\n[%d bytes left out]\n" % left_out + data if left_out else data


class _Protocol(asyncio.SubprocessProtocol):
    """Puts what comes into readers, and notes the signs of the end."""

    def __init__(self, stderr: Sink) -> None:
        self.stdout = asyncio.StreamReader()
        self.exited = asyncio.Event()
        self.quiet = asyncio.Event()
        self.left = asyncio.Event()
        self.unread = 0
        self._stderr = stderr
        self._open = {1, 2}
        self._transport: asyncio.SubprocessTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)
        output = cast("asyncio.ReadTransport", self._transport.get_pipe_transport(1))
        self.stdout.set_transport(output)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            self.stdout.feed_data(data)
        else:
            self._stderr.feed(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's
        self._open.discard(fd)
        if fd == 1:
            self.stdout.feed_eof()
            self.left.set()
        self._look()

    def process_exited(self) -> None:
        _kill(self._transport)  # at once, as long as its id is nobody else's
        self.exited.set()
        self.left.set()
        self._look()

    def _look(self) -> None:
        if self.exited.is_set() and not self._open:
            self.quiet.set()


class Program:
    """A running program; made by :meth:`start`, and to be ended by :meth:`end`.

    Attributes:
        splitter: makes the lines of what it writes on standard output.
        left: set when it has ended, or closed its standard output.
        exited: set when it has ended.
    """

    def __init__(
        self, transport: asyncio.SubprocessTransport, protocol: _Protocol, stderr: Sink
    ) -> None:
        self.splitter = LineSplitter()
        self.left = protocol.left
        self.exited = protocol.exited
        self.stderr = stderr
        self._transport = transport
        self._protocol = protocol
        self._stdin = cast("asyncio.WriteTransport", transport.get_pipe_transport(0))

    @classmethod
    async def start(
        cls, command: Sequence[str], stderr: Sink, variables: Mapping[str, str] | None = None
    ) -> Program:
        """Start a program, in this folder and with our environment but for tokens.

        Args:
            variables: what is set in its environment beside that.

        Raises:
            ProgramError: it can't be started, with the reason.
        """
        path = find_program(command[0])
        environment = {name: value for name, value in os.environ.items() if name not in _SECRETS}
        environment.update(friendly_variables(environment))
        environment.update(variables or {})
        try:
            transport, protocol = await asyncio.get_running_loop().subprocess_exec(
                lambda: _Protocol(stderr),
                path,
                *command[1:],
                env=environment,
                start_new_session=sys.platform != "win32",
            )
        except OSError as problem:
            raise ProgramError(start_problem(command[0], problem)) from None
        return cls(transport, protocol, stderr)

    async def lines(self) -> AsyncGenerator[Line | BadLine]:
        """The lines of its standard output until that is closed, or it has ended."""
        stdout = self._protocol.stdout
        while data := await stdout.read(1 << 16):
            for line in self.splitter.feed(data):
                yield line
        for line in self.splitter.end():
            yield line

    def send(self, text: str) -> bool:
        """Put a message into its standard input, without waiting; False if too much is unread."""
        if self._stdin.is_closing():
            return True  # it has ended, or is about to
        if self._stdin.get_write_buffer_size() > _MAX_UNREAD:
            return False
        self._stdin.write(line_bytes(text))
        return True

    @property
    def status(self) -> int | None:
        """Its return code when it has ended: negative for a signal."""
        return self._transport.get_returncode()

    async def obituary(self) -> str:
        """How it has left us, in words."""
        await _within(_TOGETHER_S, self._protocol.quiet)
        status = self._transport.get_returncode()
        if status is None:
            return "closed its standard output, and runs on"
        return end_text(status)

    async def end(self, patience: Patience = PATIENCE) -> None:
        """Close its standard input, which is the sign to end, and see to it that it does.

        A program that does not end in time gets SIGTERM, then it is killed, and in any case all
        that it has started. If this is cancelled, that happens at once.
        """
        exited = self._protocol.exited
        if not self._stdin.is_closing():
            self._stdin.close()
        try:
            if not await _within(patience.close_s, exited):
                _signal_group(self._transport, signal.SIGTERM)
                await _within(patience.term_s, exited)
        finally:
            if not exited.is_set():
                _kill(self._transport)
                await exited.wait()
            await _within(_TOGETHER_S, self._protocol.quiet)
            self._transport.close()
            self.stderr.close()


def find_program(program: str) -> str:
    """The path of a program, looked for as a shell would.

    Raises:
        ProgramError: there is none.
    """
    if Path(program).name == program:
        found = shutil.which(program)
        if found is None:
            here = " (for one in this folder, write ./)" if Path(program).is_file() else ""
            raise ProgramError(f"can't start {program}: no such program{here}")
        return found
    if not Path(program).exists():
        raise ProgramError(f"can't start {program}: no such file")
    return str(Path(program).absolute())


def _kill(transport: asyncio.SubprocessTransport | None) -> None:
    """Kill all of its processes."""
    if transport is None:
        return
    if sys.platform == "win32":
        tree = ["taskkill", "/T", "/F", "/PID", str(transport.get_pid())]
        subprocess.run(tree, capture_output=True, check=False)
    else:
        _signal_group(transport, signal.SIGKILL)


def _signal_group(transport: asyncio.SubprocessTransport, signum: signal.Signals) -> None:
    if sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(transport.get_pid(), signum)


async def _within(seconds: float, event: asyncio.Event) -> bool:
    """Wait for an event; whether it came in time."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True
