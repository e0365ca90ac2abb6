"""PostgreSQL, by URL: one connection, on an event loop of the writer's own thread.

The games' loop is never held by it: neither by the rows of a large insert nor by a slow network.

Who manages holds an advisory lock, which belongs to this very connection: whoever has lost the
lock has lost the connection too, and can't write.
"""

from __future__ import annotations

import asyncio
import os
import platform
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
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

TRY_S: Final = 0.5
"""How often one that stands by tries whether it is its turn."""

LOCK_KEY: Final = int.from_bytes(b"croupier", "big") >> 1
"""The advisory lock of who plays on a database."""

SCHEMES: Final = frozenset({"postgresql", "postgres"})

_SESSION: Final[Mapping[str, str]] = {
    "synchronous_commit": "on",
    "default_transaction_isolation": "read committed",  # each statement sees what was committed
    # Of a client that is cut off without a word the server hears nothing: it looks for it when it
    # was idle for 4 s, and then every 2 s, three times; what it has sent is to be acknowledged in
    # 10 s. So its locks are free after 10 s. On a Unix socket there is nothing to set.
    "tcp_keepalives_idle": "4",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "10000",
    # A process that stands still in the middle of a transaction must not hold up the others for
    # as long as they wait: COMMAND_S.
    "idle_in_transaction_session_timeout": "30000",
    # The path of a turn looks up by key what was written a moment ago. Else a plan that was made
    # for a small table reads all of it, for as long as the server has not counted its rows again.
    "random_page_cost": "1.1",
}

_INSERT: Final = (
    "WITH held AS (SELECT id, epoch FROM games WHERE id = ANY($1::bigint[]) ORDER BY id FOR SHARE) "
    "INSERT INTO journal (game_id, seq, line) "
    "SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[]) "
    "WHERE NOT EXISTS (SELECT FROM held "
    "WHERE epoch <> COALESCE(($5::bigint[])[array_position($4::bigint[], id)], 0))"
)
"""Insert all the lines, or none if a game has another epoch than it is said to: $5 where $4 names
it, else 0. (To join each line with its game's epoch takes twice as long.)

The rows of the games are locked first, in their order: who raises an epoch waits until the lines
are there to be read, or has them refused. The lock that the foreign key takes would let it pass.
"""

_NOTHING: Final = "INSERT 0 0"

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
        is_server: whether it is opened to manage what is played on it, by one program alone; else
            beside that one: to play its games, for a look, for short writes.
        stands_by: called once with who manages now, if another does, which is then waited for.

    Raises:
        UserError: the URL is none.
    """

    def __init__(
        self, url: str, *, is_server: bool, stands_by: Callable[[str], None] | None = None
    ) -> None:
        self._url = url
        self._place = _shown(url)
        self._is_server = is_server
        self._stands_by = stands_by
        self._is_given_up = threading.Event()
        self._runner: asyncio.Runner | None = None
        self._connection: AsyncConnection | None = None
        self._driver: asyncpg.Connection | None = None

    @property
    def place(self) -> str:
        """See :class:`~.writer.Backend`."""
        return self._place

    @property
    def is_in_memory(self) -> bool:
        """See :class:`~.writer.Backend`."""
        return False

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

    def give_up(self) -> None:
        """See :class:`~.writer.Backend`."""
        self._is_given_up.set()

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
            server_settings={"application_name": _application(), **_SESSION},
        )

    async def _take_lock(self) -> None:
        assert self._driver is not None
        stands_by = self._stands_by
        while not await self._driver.fetchval("SELECT pg_try_advisory_lock($1)", LOCK_KEY):
            who = await self._driver.fetchval(_HOLDER, LOCK_KEY)
            if self._stands_by is None or self._is_given_up.is_set():
                told = f" ({who})" if who else ""
                raise UserError(f"{self._place}: another croupier server{told} uses this database")
            if stands_by is not None:
                stands_by(who or "another croupier server")
                stands_by = None
            self._is_given_up.wait(TRY_S)  # nothing else is to be done in this thread

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
            for _, some in groupby(jobs, type):
                group = list(some)
                await self._append([job for job in group if isinstance(job, Append)])
                for job in group:
                    if isinstance(job, Work):
                        await self._work(job)
        except Exception as problem:
            raise StorageFailed(f"{self._place}: {_reason(problem)}") from problem

    async def _append(self, jobs: Sequence[Append]) -> None:
        """Insert lines by one statement, which is a transaction by itself; each job's on its own
        where one's can't be, and that one is refused.
        """
        try:
            await self._insert(jobs)
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

    async def _insert(self, jobs: Sequence[Append]) -> None:
        """Insert all lines.

        Raises:
            Fenced: another took a game over, and none is inserted.
        """
        assert self._driver is not None
        rows = [(job.game, seq, line) for job in jobs for seq, line in job.lines]
        if not rows:
            return
        epochs = {job.game: job.epoch for job in jobs}
        if any(epochs[job.game] != job.epoch for job in jobs):  # one of the two is to be refused
            raise jobs[0].fenced()
        raised = {game: epoch for game, epoch in epochs.items() if epoch}
        columns = map(list, (*zip(*rows, strict=True), raised, raised.values()))
        if await self._driver.execute(_INSERT, *columns) == _NOTHING:
            raise jobs[0].fenced()

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


def _application() -> str:
    """What the server shows of this program to people."""
    return f"croupier, process {os.getpid()} on {platform.node()}"


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
