"""A program that runs for us: its pipes on the event loop, its log, and its certain end.

Nothing here knows the protocol. What the program writes on standard output is handed on as it is
read; what it writes on standard error goes into its log, up to a cap, and is always read, so that
the program never waits for it; what it does not read stays in a buffer, so that we never wait for
it either.

On POSIX the program gets a session of its own, so that all that it starts can be killed with it,
but for what moves into yet another session (a daemon's way); that is for the sandbox that a grader
puts around it. On Windows the tree of its processes is ended by their parents' ids: what was
started by a process that has ended since is not found.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Lock, Thread
from typing import BinaryIO, Final, Protocol, cast

import structlog

from croupier_common.programs import (
    PATIENCE,
    CappedLog,
    Patience,
    end_text,
    friendly_variables,
    start_problem,
)
from croupier_server.errors import UserError

__all__ = ["Child", "Listener", "environment"]

log = structlog.get_logger(__name__)

_PASSED_ON: Final = (
    *("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"),
    # without these, hardly a program starts on Windows
    *("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE"),
    *("APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "NUMBER_OF_PROCESSORS"),
)
_TOGETHER_S: Final = 0.25
"""A program's end is seen in its exit and at its pipes; how long we wait for the rest of that."""

_KILL_S: Final = 5.0
"""A killed process is gone by then, unless the system itself is stuck."""


def environment(extra: Mapping[str, str]) -> dict[str, str]:
    """The variables that a program gets: the few that every program needs, and `extra`.

    Settings and tokens of the server are not among them.
    """
    passed = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {**friendly_variables(extra), **passed, **extra}


class Listener(Protocol):
    """Whoever a program runs for."""

    def received(self, data: bytes) -> None:
        """The program wrote this on its standard output."""
        ...

    def gone(self, detail: str) -> None:
        """The program has ended, or closed its standard input or output: nothing comes any more.

        Called once, after the last of what was written; `detail` says which, and how.
        """
        ...


class Child(asyncio.SubprocessProtocol):
    """A running program; made by :meth:`launch`, and to be ended by :meth:`end`."""

    def __init__(self, listener: Listener, log_file: BinaryIO | None) -> None:
        self._listener = listener
        self._log_file = log_file
        self._log = CappedLog()
        self._loop = asyncio.get_running_loop()
        self._process: subprocess.Popen[bytes] | asyncio.SubprocessTransport | None = None
        self._status: int | None = None
        self._ending = Lock()  # held while the process is looked at, killed and forgotten
        self._stdin: asyncio.WriteTransport | None = None
        self._outputs: dict[int, asyncio.ReadTransport] = {}
        self._open = {1, 2}  # which of standard output and error are
        self._exited = asyncio.Event()
        self._quiet = asyncio.Event()  # it has exited, and its pipes are at their ends
        self._waits: asyncio.TimerHandle | None = None
        self._is_gone = False
        self._ignores = False
        self._ends = False
        self._is_closed = False

    @classmethod
    async def launch(
        cls,
        command: Sequence[str],
        listener: Listener,
        *,
        cwd: Path | None = None,
        env: Mapping[str, str],
        log_path: Path | None = None,
    ) -> Child:
        """Start a program.

        Args:
            command: the program and its arguments; no shell reads it.
            cwd: the folder that it runs in, and from which a path to it is looked at.
            env: all the variables that it gets.
            log_path: where its standard error goes.

        Raises:
            UserError: it can't be started, or its log can't be written.
        """
        path = _find(command[0], cwd, env)
        child = cls(listener, _open_log(log_path))
        try:
            await child._start([path, *command[1:]], cwd, env)
        except OSError as problem:
            child._close()
            raise UserError(start_problem(command[0], problem)) from None
        except BaseException:
            child._kill()
            child._close()
            raise
        return child

    # -- for whoever it runs for

    @property
    def unread(self) -> int:
        """How many bytes are waiting for the program to make room in its standard input."""
        return 0 if self._stdin is None else self._stdin.get_write_buffer_size()

    @property
    def is_leaving(self) -> bool:
        """Whether it has ended, or closed one of its pipes; its last words may be to come."""
        return self._waits is not None or self._is_gone

    def write(self, data: bytes) -> None:
        """Put something into its standard input; never waits, and does nothing if that is shut."""
        if self._stdin is not None and not self._stdin.is_closing():
            self._stdin.write(data)

    def ignore(self) -> None:
        """Read no more of its standard output; when the pipe is full, it has to wait."""
        if 1 in self._outputs and not self._ignores:
            self._ignores = True
            with suppress(RuntimeError):  # the pipe is at its end
                self._outputs[1].pause_reading()

    def why_gone(self) -> str:
        """How it has left us, in words, with the last line of its standard error."""
        shut = "output" if 1 not in self._open else "input"
        told = f"the program closed its standard {shut}, and runs on"
        if self._status is not None:
            told = f"the program {end_text(self._status)}"
        for line in self._log.last_lines(1):
            told += f"; the last line on its standard error: {line}"
        return told

    async def end(self, patience: Patience = PATIENCE) -> None:
        """Close its standard input, which is the sign to end, and see to it that it does.

        A program that does not end in time gets SIGTERM, then it is killed, and in any case all
        that it has started. If this is cancelled, that happens at once.
        """
        if self._is_closed:
            return
        self._ends = True
        if self._stdin is not None:
            self._stdin.close()
        try:
            if not await _within(patience.close_s, self._exited):
                self._terminate()
                await _within(patience.term_s, self._exited)
        finally:
            if not self._exited.is_set():
                self._kill()
            if not await _within(_KILL_S, self._exited):
                log.error("program can't be killed", process=repr(self._process))
            await _within(_TOGETHER_S, self._quiet)
            self._close()

    # -- from the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It runs, on Windows."""
        self._process = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """It wrote something."""
        if fd == 1:
            self._listener.received(data)
        else:
            self._write_log(self._log.feed(data))

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002
        """One of its pipes is at its end."""
        # a transport that has lost its pipe must not be touched any more
        if fd == 0:
            self._stdin = None
        else:
            self._outputs.pop(fd, None)
            self._open.discard(fd)
        # closing standard error is no sign of leaving, nor is our closing of standard input
        if fd == 1 or (fd == 0 and not self._ends) or self._exited.is_set():
            self._leaves()

    def process_exited(self) -> None:
        """It has ended, on Windows."""
        if isinstance(self._process, asyncio.SubprocessTransport):
            self._has_ended(self._process.get_returncode())

    # -- within

    async def _start(self, command: list[str], cwd: Path | None, env: Mapping[str, str]) -> None:
        if sys.platform == "win32":
            await self._start_on_windows(command, cwd, env)
            return
        # With uvloop, a process that the loop itself starts has sockets in place of pipes, so that
        # it can't open /dev/stderr, and has each of them twice, so that it can't close them.
        with ExitStack() as ends:
            theirs = [await self._connect(fd, ends) for fd in (0, 1, 2)]
            self._spawn(command, theirs, cwd, env)

    def _spawn(
        self, command: list[str], pipes: Sequence[int], cwd: Path | None, env: Mapping[str, str]
    ) -> None:
        """Start the process; it takes a millisecond or two, so that no thread is needed for it."""
        process = subprocess.Popen(
            command,
            stdin=pipes[0],
            stdout=pipes[1],
            stderr=pipes[2],
            cwd=cwd,
            env=env,
            start_new_session=True,
        )
        self._process = process
        Thread(
            target=self._watch, args=(process,), name=f"child {process.pid}", daemon=True
        ).start()

    async def _start_on_windows(
        self, command: list[str], cwd: Path | None, env: Mapping[str, str]
    ) -> None:
        transport, _ = await self._loop.subprocess_exec(lambda: self, *command, cwd=cwd, env=env)
        self._stdin = cast("asyncio.WriteTransport", transport.get_pipe_transport(0))
        for fd in (1, 2):
            output = transport.get_pipe_transport(fd)
            self._outputs[fd] = cast("asyncio.ReadTransport", output)

    async def _connect(self, fd: int, ends: ExitStack) -> int:
        """Make a pipe and take our end of it; give the other end, which `ends` closes."""
        reads, writes = os.pipe()
        theirs, ours = (reads, writes) if fd == 0 else (writes, reads)
        ends.callback(os.close, theirs)
        file = os.fdopen(ours, "wb" if fd == 0 else "rb", buffering=0)
        if fd == 0:
            self._stdin, _ = await self._loop.connect_write_pipe(lambda: _Pipe(self, fd), file)
        else:
            connected = await self._loop.connect_read_pipe(lambda: _Pipe(self, fd), file)
            self._outputs[fd] = connected[0]
        return theirs

    def _leaves(self) -> None:
        """There is a sign that it has ended; wait a moment for the others."""
        if self._exited.is_set() and not self._open:
            self._quiet.set()
            self._say_gone()
        elif self._waits is None and not self._is_gone:
            self._waits = self._loop.call_later(_TOGETHER_S, self._say_gone)

    def _say_gone(self) -> None:
        if self._waits is not None:
            self._waits.cancel()
        if not self._is_gone:
            self._is_gone = True
            self._listener.gone(self.why_gone())

    def _watch(self, process: subprocess.Popen[bytes]) -> None:
        """In a thread: wait for the program's end, and kill whatever it has left behind.

        That is done before the process is forgotten, as long as its id can be nobody else's.
        """
        if hasattr(os, "waitid"):
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        else:
            process.wait()
        with self._ending:
            _signal_group(process.pid, signal.SIGKILL)
            status = process.wait()
        with suppress(RuntimeError):  # the loop is closed: nobody asks any more
            self._loop.call_soon_threadsafe(self._has_ended, status)

    def _has_ended(self, status: int | None) -> None:
        self._status = status
        self._exited.set()
        if self._ignores:  # the end of that pipe is never seen
            self._open.discard(1)
        self._leaves()

    def _terminate(self) -> None:
        """Ask all of its processes to end; Windows has nothing for that."""
        if isinstance(self._process, subprocess.Popen):
            self._signal(self._process, signal.SIGTERM)

    def _kill(self) -> None:
        """Kill all of its processes."""
        if isinstance(self._process, subprocess.Popen):
            self._signal(self._process, signal.SIGKILL)
        elif self._process is not None:
            tree = ["taskkill", "/T", "/F", "/PID", str(self._process.get_pid())]
            subprocess.run(tree, capture_output=True, check=False)

    def _signal(self, process: subprocess.Popen[bytes], signum: signal.Signals) -> None:
        with self._ending:
            if process.returncode is None:
                _signal_group(process.pid, signum)

    def _close(self) -> None:
        if self._waits is not None:
            self._waits.cancel()
        self._is_gone = self._is_closed = True
        if self._stdin is not None:
            self._stdin.abort()
        for transport in self._outputs.values():
            transport.close()
        if isinstance(self._process, asyncio.SubprocessTransport):
            self._process.close()
        if self._log_file is not None:
            self._write_log(self._log.end())
            self._log_file.close()
            self._log_file = None

    def _write_log(self, data: bytes) -> None:
        if self._log_file is None or not data:
            return
        try:
            self._log_file.write(data)
        except OSError as problem:  # a full disk is no fault of the program's
            log.warning(
                "log of a program is cut off", file=self._log_file.name, reason=str(problem)
            )
            self._log_file.close()
            self._log_file = None


class _Pipe(asyncio.Protocol):
    """Our end of a pipe: tells the child's protocol what a subprocess transport would tell it."""

    def __init__(self, child: Child, fd: int) -> None:
        self._child = child
        self._fd = fd

    def data_received(self, data: bytes) -> None:
        self._child.pipe_data_received(self._fd, data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._child.pipe_connection_lost(self._fd, exc)


def _signal_group(group: int, signum: signal.Signals) -> None:
    if sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signum)


async def _within(seconds: float, event: asyncio.Event) -> bool:
    """Wait for an event; whether it came in time."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True


def _find(program: str, cwd: Path | None, env: Mapping[str, str]) -> str:
    """The path of a program: looked for as a shell would, from the folder that it runs in.

    Raises:
        UserError: there is none.
    """
    folder = Path.cwd() if cwd is None else cwd.absolute()
    if not folder.is_dir():
        raise UserError(f"can't start {program}: no folder {folder}")
    if Path(program).name == program:
        found = shutil.which(program, path=env.get("PATH", os.defpath))
        if found is None:
            here = " (for one in this folder, write ./)" if (folder / program).is_file() else ""
            raise UserError(f"can't start {program}: no such program{here}")
        return found
    path = folder / program
    if not path.exists():
        raise UserError(f"can't start {program}: no such file in {folder}")
    return str(path)


def _open_log(path: Path | None) -> BinaryIO | None:
    if path is None:
        return None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("wb", buffering=0)
    except OSError as problem:
        raise UserError(f"can't write {path}: {problem.strerror}") from None
