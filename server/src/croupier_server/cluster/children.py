"""Processes of ours, kept alive together: started, heard, started again, and ended, all of them.

One is the leader: when it ends by itself, so do all. What another one dies of is mended by a new
one, up to so many times a minute; who has been told that a setting is wrong is not asked again.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from croupier_common.programs import end_text
from croupier_server.ending import to_its_end
from croupier_server.errors import CroupierError, UserError, first_of

__all__ = ["Allowance", "ChildFailed", "Part", "Supervisor"]

COMPLAINT: Final = "croupier: "
"""How the one line begins that a command says when it gives up."""

_USERS_MISTAKE: Final = 2
_GIVES_UP: Final = frozenset({1, _USERS_MISTAKE})
"""Exit statuses of a command that complains; without that, and at others, it has crashed."""

_PAUSES_S: Final = (0.1, 0.5, 1.0, 2.0, 4.0)
"""Before the first new start, the second...: what it needs may be about to come back, too."""

_KEPT_LINES: Final = 5
_LONGEST: Final = 1 << 20  # of a line, in bytes; a longer one is passed on in pieces
_OUTPUT_S: Final = 1.0  # for the last of a dead process's output; an heir may hold it open

_OWN_GROUP: Final[Mapping[str, Any]] = (
    {"creationflags": 0x00000200}  # CREATE_NEW_PROCESS_GROUP
    if sys.platform == "win32"
    else {"start_new_session": True}
)
"""A Ctrl-C is for us alone: who ends first is for us to say."""


class ChildFailed(CroupierError):
    """A process can't be kept alive, or the leader gave up: its last lines say why."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """How often something may fail: so many times within so many seconds.

    Attributes:
        pauses_s: how long to wait after the first failure of these, the second...
    """

    times: int = 5
    within_s: float = 60.0
    pauses_s: Sequence[float] = _PAUSES_S
    _taken: deque[float] = field(default_factory=deque[float], init=False, repr=False)

    def take(self, now: float) -> float | None:
        """Count a failure; how long to wait before the next try, None if there must be none."""
        while self._taken and now - self._taken[0] >= self.within_s:
            self._taken.popleft()
        if len(self._taken) >= self.times:
            return None
        self._taken.append(now)
        return self.pauses_s[min(len(self._taken), len(self.pauses_s)) - 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One of the processes.

    Attributes:
        name: what its lines on standard error are marked with: ``worker 1``.
        command: gives what to run; asked before each start.
        env: variables for it, beyond those of all.
        heard: told each line that it writes on standard output.
        is_ready: whether such a line says that it is ready.
        leads: whether it is the leader.
        follows: whether it is started only once the leader was ready.
        stays: whether it stays after the leader's good end, until all are told to end.
        patience_s: how long it may take to end when it is told to.
    """

    name: str
    command: Callable[[], Sequence[str]]
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    heard: Callable[[str], None] = lambda _: None
    is_ready: Callable[[str], bool] = lambda _: True
    leads: bool = False
    follows: bool = False
    stays: bool = False
    patience_s: float = 5.0


class _Child:
    """A part, and its process of the moment."""

    def __init__(self, part: Part, allowance: Allowance) -> None:
        self.part = part
        self.allowance = allowance
        self.may_start = asyncio.Event()
        self.was_ready = asyncio.Event()
        self.is_ready = False
        self.told = asyncio.Event()  # that it is to end
        self.lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self.process: Process | None = None
        if not part.follows:
            self.may_start.set()

    def tell(self) -> None:
        """It is to end, or not to begin."""
        self.told.set()
        self.may_start.set()

    def has_spoken(self, status: int) -> bool:
        """Whether its end is meant, and no crash.

        That a setting is wrong is not believed at a new start, before it is ready: it was right
        the first time, and what can't be reached now may come back.
        """
        if status == 0:
            return self.part.leads
        if self.complaint is None or status not in _GIVES_UP:
            return False
        if status == _USERS_MISTAKE:
            return self.is_ready or not self.was_ready.is_set()
        return self.part.leads

    @property
    def complaint(self) -> str | None:
        """The line with which it gave up, if it did."""
        found = [line for line in self.lines if line.startswith(COMPLAINT)]
        return found[-1].removeprefix(COMPLAINT) if found else None

    def last_words(self) -> str:
        """What it said in the end, for a message."""
        return self.complaint or (self.lines[-1].strip() if self.lines else "it said nothing")


class Supervisor:
    """Runs processes until their leader has ended, or one can't be kept alive.

    Args:
        parts: the processes; one of them leads.
        env: variables that all get; ours if None.
        ready: called once all were ready for the first time.
        log: told, with its name, each line of a part's standard error, and what becomes of it.
        allowance: gives how often each may die.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        *,
        env: Mapping[str, str] | None = None,
        ready: Callable[[], None] = lambda: None,
        log: Callable[[str, str], None],
        allowance: Callable[[], Allowance] = Allowance,
    ) -> None:
        self._children = [_Child(part, allowance()) for part in parts]
        (self._leader,) = (child for child in self._children if child.part.leads)
        self._env = dict(os.environ if env is None else env)
        self._ready = ready
        self._log = log
        self._over: asyncio.Future[int] | None = None

    @property
    def pids(self) -> Mapping[str, int]:
        """By the names of those that run, their process ids."""
        return {
            child.part.name: child.process.pid
            for child in self._children
            if child.process is not None and child.process.returncode is None
        }

    async def run(self) -> int:
        """Keep them alive; the leader's exit status. However this ends, so do they all.

        Returns:
            0, or, where the leader was told to end, what it then gave.

        Raises:
            UserError: one ended for a user's mistake.
            ChildFailed: one died too often, or the leader gave up.
        """
        self._over = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.TaskGroup() as group:
                for child in self._children:
                    group.create_task(self._keep(child), name=f"keep {child.part.name}")
                teller = group.create_task(self._tell_ready(), name="ready")
                try:
                    status = await self._over
                    await self._stay()
                finally:  # the keepers still listen to what is said in the end
                    teller.cancel()
                    await to_its_end(self._end_all())
        except BaseExceptionGroup as several:
            raise first_of(several) from None
        return status

    async def drain(self) -> None:
        """Tell the leader to end, and wait until it has, as long as its patience goes."""
        await self._end(self._leader)

    async def _stay(self) -> None:
        """After the leader's end, while there are some that stay: until we are cancelled."""
        if any(child.part.stays for child in self._children):
            leaving = [child for child in self._children if not child.part.stays]
            await asyncio.gather(*map(self._end, leaving))
            await asyncio.get_running_loop().create_future()

    async def _keep(self, child: _Child) -> None:
        status = 0
        await child.may_start.wait()
        while not child.told.is_set():
            status = await self._live(child)
            if child.told.is_set() or child.has_spoken(status):
                break
            if not await self._mourn(child, status):
                return
        self._judge(child, status)

    def _judge(self, child: _Child, status: int) -> None:
        """What it means for all that this one has ended for good."""
        if child.told.is_set() or status == 0:
            if child.part.leads:
                self._end_with(status)
        elif status == _USERS_MISTAKE:
            self._end_with(UserError(child.last_words()))
        else:
            self._end_with(ChildFailed(child.last_words()))

    def _end_with(self, result: int | CroupierError) -> None:
        assert self._over is not None
        if self._over.done():
            return
        if isinstance(result, int):
            self._over.set_result(result)
        else:
            self._over.set_exception(result)

    async def _live(self, child: _Child) -> int:
        """One life of a process; its exit status."""
        child.lines.clear()
        child.is_ready = False
        process = child.process = await asyncio.create_subprocess_exec(
            *child.part.command(),
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env={**self._env, **child.part.env},
            **_OWN_GROUP,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        async with asyncio.TaskGroup() as group:
            readers = (
                group.create_task(self._hear(child, process.stdout)),
                group.create_task(self._pass_on(child, process.stderr)),
            )
            if child.told.is_set():  # while it was being started
                await self._end(child)
            status = await process.wait()
            await asyncio.wait(readers, timeout=_OUTPUT_S)
            for reader in readers:
                reader.cancel()
        _hang_up(process)
        return status

    async def _mourn(self, child: _Child, status: int) -> bool:
        """Wait until it may be started again; False if it has died too often."""
        name, died = child.part.name, f"{end_text(status)} ({child.last_words()})"
        pause_s = child.allowance.take(time.monotonic())
        if pause_s is None:
            self._end_with(ChildFailed(f"{name} {died}, too often to be started again"))
            return False
        self._log(name, f"{died}; it is started again in {pause_s} s")
        with suppress(TimeoutError):
            async with asyncio.timeout(pause_s):
                await child.told.wait()
        return True

    async def _hear(self, child: _Child, stream: asyncio.StreamReader) -> None:
        async for line in _lines(stream):
            if child.part.is_ready(line):
                child.is_ready = True
                child.was_ready.set()
                self._let_followers_start(child)
            child.part.heard(line)

    def _let_followers_start(self, child: _Child) -> None:
        if child is self._leader:
            for other in self._children:
                other.may_start.set()

    async def _pass_on(self, child: _Child, stream: asyncio.StreamReader) -> None:
        async for line in _lines(stream):
            child.lines.append(line)
            if not line.startswith(COMPLAINT):  # of that we tell ourselves
                self._log(child.part.name, line)

    async def _tell_ready(self) -> None:
        for child in self._children:
            await child.was_ready.wait()
        self._ready()

    async def _end_all(self) -> None:
        """End the leader, which has something to write, and then all the others."""
        for child in self._children:
            child.tell()
        await self._end(self._leader)
        await asyncio.gather(*map(self._end, self._children))

    async def _end(self, child: _Child) -> None:
        """Tell it to end, and see to it that it does."""
        child.tell()
        process = child.process
        if process is None or process.returncode is not None:
            return
        _ask_to_end(process)
        try:
            async with asyncio.timeout(child.part.patience_s):
                await process.wait()
        except TimeoutError:
            self._log(child.part.name, f"ran on for {child.part.patience_s:g} s, and is killed")
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def _ask_to_end(process: Process) -> None:
    """SIGTERM, where there is such a thing; its cut lifeline has the same effect."""
    if sys.platform == "win32":
        _hang_up(process)
    else:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)


def _hang_up(process: Process) -> None:
    """Close its standard input, at whose end it ends."""
    assert process.stdin is not None
    process.stdin.close()


async def _lines(stream: asyncio.StreamReader) -> AsyncGenerator[str]:
    """The lines of a stream as they come; one without an end comes in pieces."""
    rest = b""
    while data := await stream.read(1 << 16):
        *whole, rest = (rest + data).split(b"\n")
        for line in whole:
            yield line.decode(errors="replace").rstrip("\r")
        if len(rest) > _LONGEST:
            yield rest.decode(errors="replace")
            rest = b""
    if rest:
        yield rest.decode(errors="replace")
