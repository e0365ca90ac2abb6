"""The one writer: a thread that commits everything that waits, as a group, in the order it came.

A commit has to reach the disk, which takes a thousand times as long as the insert. While one
group is on its way the next one gathers, so that many games share the wait; a group is handed over
when the loop has seen to all that was ready, so that turns which end together are written together.
Nobody is told that something is written before the commit is through.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Final, Protocol

import structlog
from sqlalchemy import Connection

from croupier_server.errors import Fenced, StorageFailed
from croupier_server.operations.tally import Store

__all__ = ["Append", "Backend", "Job", "Work", "Writer"]

log = structlog.get_logger(__name__)

MAX_GROUP: Final = 512
"""How many jobs are committed together at most, so that the first does not wait for long."""


@dataclass(slots=True, eq=False)
class Job:
    """Something to write, and what came of it.

    Attributes:
        future: woken when it is settled; None where nobody waits.
        is_settled: whether it is committed, or was refused alone.
    """

    future: asyncio.Future[Any] | None = None
    value: object = None
    error: Exception | None = None
    is_settled: bool = False


@dataclass(slots=True, eq=False)
class Append(Job):
    """Lines of a game, each with its number; refused if the game has another epoch by now."""

    game: int = 0
    lines: Sequence[tuple[int, str]] = ()
    epoch: int = 0

    def fenced(self) -> Fenced:
        """What it is refused with if the game has another epoch."""
        return Fenced(f"game row {self.game}: another took it over (not at epoch {self.epoch} now)")


@dataclass(slots=True, eq=False, kw_only=True)
class Work(Job):
    """A function that reads and writes; ``reads`` if it does not write."""

    work: Callable[[Connection], object]
    reads: bool = False


class Backend(Protocol):
    """A database, as the writer's thread knows it; nothing else calls it."""

    @property
    def place(self) -> str:
        """Where the database is, in words for people: no password."""
        ...

    @property
    def is_in_memory(self) -> bool:
        """Whether it ends with the process, so that nobody need wait for a commit."""
        ...

    def open(self) -> None:
        """Connect, and make sure of the schema.

        Raises:
            UserError: that can't be.
        """
        ...

    def give_up(self) -> None:
        """End the waiting in :meth:`open`, which then raises; called from another thread."""
        ...

    def commit(self, jobs: Sequence[Job]) -> None:
        """Do the jobs in order, durably; who fails alone gets its ``error``.

        Raises:
            StorageFailed: the jobs that are not settled are not known to be written.
        """
        ...

    def close(self) -> None:
        """Disconnect; valid in any state."""
        ...


class Writer:
    """The thread that owns a database.

    Args:
        tally: counts how its commits go.

    Attributes:
        failed: set when nothing can be written any more.
    """

    def __init__(self, backend: Backend, tally: Store | None = None) -> None:
        self.failed = asyncio.Event()
        self._backend = backend
        self._tally = tally or Store()
        self._loop = asyncio.get_running_loop()
        self._groups: SimpleQueue[Sequence[Job] | None] = SimpleQueue()
        self._waiting: deque[Job] = deque()
        self._is_busy = False  # whether a group is on its way, or is about to be
        self._failure: StorageFailed | None = None
        self._is_closing = False
        self._opened: asyncio.Future[None] = self._loop.create_future()
        self._closed: asyncio.Future[None] = self._loop.create_future()
        # A daemon, so that a program that dies without closing does not hang on it; the commits
        # that it may be cut off from are the ones that nobody was told of.
        self._thread = threading.Thread(target=self._run, name="croupier-writer", daemon=True)

    @property
    def is_alive(self) -> bool:
        """Whether it can still write."""
        return self._thread.is_alive() and self._failure is None

    async def start(self) -> None:
        """Open the database.

        Raises:
            UserError: that can't be.
        """
        self._thread.start()
        try:
            await self._opened
        except BaseException:
            self._backend.give_up()
            await self.close()  # who is told that it isn't open may open it again at once
            raise

    def submit(self, job: Job) -> None:
        """Have a job done after all those before it.

        Raises:
            StorageFailed: nothing can be written any more.
        """
        if self._failure is not None:
            raise StorageFailed(str(self._failure))
        if self._is_closing:
            raise RuntimeError(f"{self._backend.place}: the database is closed")
        self._waiting.append(job)
        if not self._is_busy:
            self._is_busy = True
            self._loop.call_soon(self._hand_over)

    async def settle(self, job: Job) -> Any:
        """Have a job done, and wait for it; gives its value.

        It is done even if the waiting is cancelled, and that goes on only then: nobody who was
        cancelled finds that what it wrote is half there.
        """
        job.future = self._loop.create_future()
        self.submit(job)
        try:
            return await job.future
        except asyncio.CancelledError:
            await self.flush()
            raise

    async def flush(self) -> None:
        """Wait until all that was submitted is settled, be it refused."""
        barrier = Append(self._loop.create_future())
        if self._failure is None and not self._is_closing:
            self.submit(barrier)
            assert barrier.future is not None
            await asyncio.wait([barrier.future])
            barrier.future.exception()

    async def close(self) -> None:
        """Settle what waits and end the thread; again changes nothing."""
        if not self._is_closing:
            self._is_closing = True
            if not self._is_busy:
                self._groups.put(None)
        await asyncio.shield(self._closed)
        self._thread.join()

    # -- in the thread

    def _run(self) -> None:
        try:
            if self._open():
                while (group := self._groups.get()) is not None:
                    self._commit(group)
        finally:
            try:
                self._backend.close()
            finally:
                self._tell(_set_result, self._closed, None)

    def _open(self) -> bool:
        try:
            self._backend.open()
        except Exception as problem:  # noqa: BLE001 - goes to who opens it
            self._tell(_set_exception, self._opened, problem)
            return False
        self._tell(_set_result, self._opened, None)
        return True

    def _commit(self, group: Sequence[Job]) -> None:
        if self._failure is None:
            began = time.perf_counter()
            try:
                self._backend.commit(group)
            except StorageFailed as problem:
                self._failure = problem
            except Exception as problem:
                log.exception("the writer failed")
                self._failure = StorageFailed(f"{self._backend.place}: {problem!r:.200}")
            self._count(group, time.perf_counter() - began)
        if (failure := self._failure) is not None:
            for job in group:
                if not job.is_settled:
                    job.error = StorageFailed(str(failure))
        self._tell(self._wake, group, failure is not None)

    def _count(self, group: Sequence[Job], took_s: float) -> None:
        if self._failure is not None:
            self._tally.failures += 1
        elif not all(isinstance(job, Work) and job.reads for job in group):
            self._tally.commits.add(took_s)

    def _tell(self, callback: Callable[..., object], *arguments: object) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody is left to be told
            self._loop.call_soon_threadsafe(callback, *arguments)

    # -- in the loop

    def _hand_over(self) -> None:
        """Give the thread what waits, up to a limit; when nothing does and it is over, an end."""
        waiting = self._waiting
        if waiting:
            self._groups.put([waiting.popleft() for _ in range(min(len(waiting), MAX_GROUP))])
            return
        self._is_busy = False
        if self._is_closing:
            self._groups.put(None)

    def _wake(self, group: Sequence[Job], has_failed: bool) -> None:
        if has_failed:
            self.failed.set()
        for job in group:
            if job.future is None:
                if job.error is not None:
                    log.error("lines were refused", reason=str(job.error))
            elif job.error is not None:
                _set_exception(job.future, job.error)
            else:
                _set_result(job.future, job.value)
        self._loop.call_soon(self._hand_over)  # behind those who go on now


def _set_result(future: asyncio.Future[Any], value: object) -> None:
    if not future.done():  # who waited may have been cancelled
        future.set_result(value)


def _set_exception(future: asyncio.Future[Any], problem: Exception) -> None:
    if not future.done():
        future.set_exception(problem)
