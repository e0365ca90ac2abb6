"""PostgreSQL, by URL: one connection, on an event loop of the writer's own thread.

The games' loop is never held by it: neither by the rows of a large insert nor by a slow network.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, TypeVar

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from croupier_server.errors import StorageFailed, UserError
from croupier_server.storage import revision
from croupier_server.storage.writer import Append, Job, Work

if TYPE_CHECKING:
    import asyncpg
    from sqlalchemy.ext.asyncio import AsyncConnection

__all__ = ["Postgresql"]

T = TypeVar("T")

CONNECT_S: Final = 10.0
COMMAND_S: Final = 60.0
"""How long a command may take: a server that is gone without a word must not be waited for."""

LOCK_KEY: Final = int.from_bytes(b"croupier", "big") >> 1
"""The advisory lock of who plays on a database."""

SCHEMES: Final = frozenset({"postgresql", "postgres"})

_INSERT: Final = (
    "INSERT INTO journal (game_id, seq, line) "
    "SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[])"
)

_HOLDER: Final = (
    "SELECT application_name FROM pg_stat_activity JOIN pg_locks USING (pid) "
    "WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database "
    "WHERE datname = current_database()) AND (classid::bigint << 32) + objid::bigint = $1"
)

_FATAL: Final = frozenset({"08", "53", "57", "58", "XX", "F0"})
"""The classes of errors that tell of the server and not of what was asked of it."""

_READ_ONLY: Final = "25006"


class Postgresql:
    """A PostgreSQL database.

    Args:
        is_server: whether it is opened to play on, by one program alone; else for a look and for
            short writes beside the server.

    Raises:
        UserError: the URL is none.
    """

    def __init__(self, url: str, *, is_server: bool) -> None:
        self._url = url
        self._place = _shown(url)
        self._is_server = is_server
        self._runner: asyncio.Runner | None = None
        self._connection: AsyncConnection | None = None
        self._driver: asyncpg.Connection | None = None

    @property
    def place(self) -> str:
        """See :class:`~.writer.Backend`."""
        return self._place

    def open(self) -> None:
        """See :class:`~.writer.Backend`."""
        self._runner = asyncio.Runner()
        try:
            self._run(self._open())
        except UserError:
            raise
        except OSError as problem:
            raise UserError(f"{self._place}: can't be reached: {_reason(problem)}") from None
        except Exception as problem:  # noqa: BLE001 - the driver raises all sorts
            raise UserError(f"{self._place}: {_reason(problem)}") from None

    def commit(self, jobs: Sequence[Job]) -> None:
        """See :class:`~.writer.Backend`."""
        self._run(self._commit(jobs))

    def close(self) -> None:
        """See :class:`~.writer.Backend`."""
        if self._runner is not None:
            self._run(self._close())
            self._runner.close()
            self._runner = None

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        assert self._runner is not None
        return self._runner.run(work)

    async def _open(self) -> None:
        from sqlalchemy.ext.asyncio import create_async_engine
        from sqlalchemy.pool import NullPool

        engine = create_async_engine(
            "postgresql+asyncpg://", async_creator=self._connect, poolclass=NullPool
        )
        self._connection = await engine.connect()
        self._driver = (await self._connection.get_raw_connection()).driver_connection
        if self._is_server:
            await self._take_lock()
        async with self._connection.begin():
            check = revision.migrate if self._is_server else revision.check
            await self._connection.run_sync(check, self._place)

    async def _connect(self) -> asyncpg.Connection:
        import asyncpg

        return await asyncpg.connect(
            self._url,
            timeout=CONNECT_S,
            command_timeout=COMMAND_S,
            server_settings={
                "application_name": f"croupier, process {os.getpid()}",
                "synchronous_commit": "on",
            },
        )

    async def _take_lock(self) -> None:
        assert self._driver is not None
        if await self._driver.fetchval("SELECT pg_try_advisory_lock($1)", LOCK_KEY):
            return
        who = await self._driver.fetchval(_HOLDER, LOCK_KEY)
        told = f" ({who})" if who else ""
        raise UserError(f"{self._place}: another croupier server{told} uses this database")

    async def _close(self) -> None:
        if self._connection is not None:
            try:
                await self._connection.close()
                await self._connection.engine.dispose()
            except Exception:  # noqa: BLE001, S110 - it is gone, as was wanted
                pass
            self._connection = self._driver = None

    # -- a group

    async def _commit(self, jobs: Sequence[Job]) -> None:
        try:
            for are_lines, some in groupby(jobs, lambda job: isinstance(job, Append)):
                if are_lines:
                    await self._append(list(some))
                else:
                    for job in some:
                        assert isinstance(job, Work)
                        await self._work(job)
        except Exception as problem:
            raise StorageFailed(f"{self._place}: {_reason(problem)}") from problem

    async def _append(self, jobs: Sequence[Job]) -> None:
        """Insert lines by one statement, which is a transaction by itself; each job's on its own
        where one's can't be, and that one is refused.
        """
        assert self._driver is not None
        rows = [
            (job.game, seq, line)
            for job in jobs
            if isinstance(job, Append)
            for seq, line in job.lines
        ]
        try:
            if rows:
                await self._driver.execute(_INSERT, *map(list, zip(*rows, strict=True)))
        except Exception as problem:
            if self._is_fatal(problem):
                raise
            if len(jobs) == 1:
                jobs[0].error = problem
                jobs[0].is_settled = True
                return
            for job in jobs:
                await self._append([job])
        for job in jobs:
            job.is_settled = True

    async def _work(self, job: Work) -> None:
        assert self._connection is not None
        try:
            async with self._connection.begin():
                job.value = await self._connection.run_sync(job.work)
        except Exception as problem:
            if self._is_fatal(problem):
                raise
            job.error = problem
        job.is_settled = True

    def _is_fatal(self, problem: BaseException) -> bool:
        assert self._driver is not None
        if self._driver.is_closed() or isinstance(problem, TimeoutError):
            return True
        cause = problem.orig if isinstance(problem, DBAPIError) else problem
        state = getattr(cause, "sqlstate", None) or ""
        return state[:2] in _FATAL or state == _READ_ONLY


def _shown(url: str) -> str:
    """A database's URL as it may be shown: without user, password and options.

    Raises:
        UserError: it is no URL of a PostgreSQL database.
    """
    allowed = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE, or a folder"
    try:
        parts = make_url(url)
    except (ArgumentError, ValueError):
        raise UserError(f"storage: no URL of a database; it is {allowed}") from None
    if parts.drivername not in SCHEMES:
        raise UserError(f"storage: {parts.drivername}:// is not known; it is {allowed}")
    port = "" if parts.port is None else f":{parts.port}"
    return f"postgresql://{parts.host or ''}{port}/{parts.database or ''}"


def _reason(problem: BaseException) -> str:
    """What the server or the system says, in one line."""
    cause = problem.orig if isinstance(problem, DBAPIError) else problem
    if isinstance(cause, TimeoutError):
        return "no answer in time"
    text = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
    if "cannot switch to state" in text:  # the driver's, when it is cut off in the middle
        return "the connection was lost"
    return " ".join(text.split())
