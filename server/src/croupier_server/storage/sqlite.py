"""SQLite, in a data directory or in memory: one connection, and one transaction for a group."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sqlalchemy import Connection, create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import StaticPool

from croupier_server.errors import StorageFailed, UserError
from croupier_server.storage import revision
from croupier_server.storage.writer import Append, Job, Work

if TYPE_CHECKING:
    from filelock import BaseFileLock

__all__ = ["SqliteFile", "SqliteMemory"]

FILE: Final = "croupier.db"
LOCK: Final = "croupier.lock"
PID: Final = "croupier.pid"

BUSY_MS: Final = 30_000
"""How long to wait for another program's write; one that takes longer stops the server."""

MAX_ROWS: Final = 256
"""How many lines one statement inserts."""

_PRAGMAS: Final = (
    f"PRAGMA busy_timeout = {BUSY_MS}",
    "PRAGMA foreign_keys = ON",
    "PRAGMA synchronous = FULL",
    "PRAGMA fullfsync = ON",  # macOS: through the drive's own cache too
)

_FATAL: Final = frozenset(
    {
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_NOTADB,
    }
)
"""The result codes that tell of the database and not of what was asked of it."""


class SqliteMemory:
    """A database in memory, which ends with the process."""

    def __init__(self, place: str = "memory") -> None:
        self._place = place
        self._raw: sqlite3.Connection | None = None
        self._connection: Connection | None = None
        self._is_reading = False

    @property
    def place(self) -> str:
        """See :class:`~.writer.Backend`."""
        return self._place

    @property
    def is_in_memory(self) -> bool:
        """See :class:`~.writer.Backend`."""
        return True

    def give_up(self) -> None:
        """See :class:`~.writer.Backend`; it never waits."""

    def open(self) -> None:
        """See :class:`~.writer.Backend`."""
        self._connect(":memory:")
        with self._transaction() as connection:
            revision.create(connection)

    def commit(self, jobs: Sequence[Job]) -> None:
        """See :class:`~.writer.Backend`."""
        try:
            if not all(isinstance(job, Append) for job in jobs) or not self._append(jobs):
                self._transact(jobs)
        except (sqlite3.Error, DBAPIError) as problem:
            raise StorageFailed(f"{self._place}: {_reason(problem)}") from problem

    def close(self) -> None:
        """See :class:`~.writer.Backend`."""
        if self._connection is not None:
            self._connection.close()
            self._connection.engine.dispose()
        if self._raw is not None:
            self._raw.close()
        self._connection = self._raw = None

    def _connect(self, database: str, *, uri: bool = False) -> None:
        raw = sqlite3.connect(
            database, isolation_level=None, cached_statements=2 * MAX_ROWS, uri=uri
        )
        self._raw = raw
        for pragma in _PRAGMAS:
            raw.execute(pragma)
        engine = create_engine("sqlite://", creator=lambda: raw, poolclass=StaticPool)
        self._connection = engine.connect()

    @contextmanager
    def _transaction(self) -> Generator[Connection]:
        """A transaction, which the driver, left in autocommit, does not begin by itself.

        No listener does either: with one, SQLAlchemy takes longer for whatever it executes.
        """
        assert self._raw is not None
        assert self._connection is not None
        with self._connection.begin():
            # At once as a writer: who becomes one in the middle may be refused without a wait.
            self._raw.execute("BEGIN" if self._is_reading else "BEGIN IMMEDIATE")
            yield self._connection

    # -- a group

    def _append(self, jobs: Sequence[Job]) -> bool:
        """Insert lines by one statement; False, and nothing done, where that can't be.

        The statement is a transaction by itself: it takes the interpreter's lock once, where
        BEGIN, INSERT and COMMIT take it three times, each against a busy event loop.
        """
        assert self._raw is not None
        rows = _rows(jobs)
        if len(rows) > MAX_ROWS:
            return False
        try:
            inserted = _insert(self._raw, rows)
        except sqlite3.IntegrityError:
            return False
        if inserted < len(rows):
            self._refuse_fenced(jobs)
        return True

    def _transact(self, jobs: Sequence[Job]) -> None:
        with self._transaction() as connection:
            for are_lines, some in groupby(jobs, lambda job: isinstance(job, Append)):
                if are_lines:
                    self._append_nested(list(some))
                else:
                    for job in some:
                        assert isinstance(job, Work)
                        self._work(job, connection)

    def _append_nested(self, jobs: Sequence[Job]) -> None:
        """Insert lines; where a job's can't be, each job on its own, and that one is refused."""
        assert self._raw is not None
        rows = _rows(jobs)
        try:
            with _savepoint(self._raw):
                parts = (rows[at : at + MAX_ROWS] for at in range(0, len(rows), MAX_ROWS))
                inserted = sum(_insert(self._raw, part) for part in parts)
        except sqlite3.IntegrityError as problem:
            if len(jobs) == 1:
                jobs[0].error = problem
                return
            for job in jobs:
                self._append_nested([job])
        else:
            if inserted < len(rows):
                self._refuse_fenced(jobs)

    def _refuse_fenced(self, jobs: Sequence[Job]) -> None:
        """Tell those whose lines were not inserted; no epoch has changed since, by nobody else."""
        assert self._raw is not None
        for job in jobs:
            if isinstance(job, Append) and job.lines:
                found = self._raw.execute("SELECT epoch FROM games WHERE id = ?", (job.game,))
                if found.fetchone() != (job.epoch,):
                    job.error = job.fenced()

    def _work(self, job: Work, connection: Connection) -> None:
        assert self._raw is not None
        try:
            with _savepoint(self._raw):
                job.value = job.work(connection)
        except Exception as problem:  # noqa: BLE001 - the caller's, if it isn't the database's
            self._check(problem)
            job.error = problem

    def _check(self, problem: Exception) -> None:
        """Stop if a job's exception says that the database is at fault.

        On some faults SQLite rolls the whole transaction back by itself; what is raised then is
        that a savepoint is gone, while another exception was handled: the fault.
        """
        assert self._raw is not None
        fault = next(filter(_is_fatal, _chain(problem)), None)
        if fault is not None or not self._raw.in_transaction:
            raise StorageFailed(f"{self._place}: {_reason(fault or problem)}") from problem


class SqliteFile(SqliteMemory):
    """A database in a data directory.

    Args:
        is_server: whether it is opened to play on, by one program alone; else for a look and for
            short writes beside the server, and it has to be there.
    """

    def __init__(self, directory: Path, *, is_server: bool) -> None:
        self._path = directory / FILE
        super().__init__(str(self._path))
        self._directory = directory
        self._is_server = is_server
        self._is_reading = not is_server
        self._lock: BaseFileLock | None = None

    @property
    def is_in_memory(self) -> bool:
        """See :class:`~.writer.Backend`."""
        return False

    def open(self) -> None:
        """See :class:`~.writer.Backend`."""
        try:
            if self._is_server:
                self._directory.mkdir(parents=True, exist_ok=True)
                self._take_lock()
            elif not self._path.exists():
                raise UserError(
                    f"{self._directory}: no {FILE} here; `croupier serve` makes it, and this has "
                    "to be its data directory"
                )
            self._open()
        except FileExistsError:
            raise UserError(f"{self._directory}: a file, and no directory") from None
        except OSError as problem:
            raise UserError(f"{self._directory}: {problem.strerror or problem}") from None
        except (sqlite3.Error, DBAPIError) as problem:
            raise UserError(f"{self._path}: {_told(problem)}") from None

    def commit(self, jobs: Sequence[Job]) -> None:
        """See :class:`~.writer.Backend`."""
        if self._is_server:
            super().commit(jobs)
            return
        for job in jobs:  # alone, so that the server's writes don't wait for what only reads
            self._is_reading = isinstance(job, Work) and job.reads
            super().commit([job])
            job.is_settled = True

    def close(self) -> None:
        """See :class:`~.writer.Backend`."""
        super().close()
        if self._lock is not None:
            (self._directory / PID).unlink(missing_ok=True)
            self._lock.release()
            self._lock = None

    def _open(self) -> None:
        self._connect(f"{self._path.absolute().as_uri()}?mode=rwc", uri=True)
        with self._transaction() as connection:
            if self._is_server:
                revision.migrate(connection, self._place)
            else:
                revision.check(connection, self._place)
        if self._is_server:
            assert self._raw is not None
            self._raw.execute("PRAGMA journal_mode = WAL")

    def _take_lock(self) -> None:
        from filelock import FileLock, Timeout

        lock = FileLock(self._directory / LOCK)
        pid = self._directory / PID
        try:
            lock.acquire(timeout=0)
        except Timeout:
            who = _read_number(pid)
            told = "" if who is None else f" (process {who})"
            raise UserError(
                f"{self._directory}: another croupier server{told} uses this data directory"
            ) from None
        self._lock = lock
        pid.write_text(f"{os.getpid()}\n", encoding="ascii")


@cache
def _insertion(rows: int) -> str:
    values = ",".join(["(?,?,?,?)"] * rows)
    return (
        "INSERT INTO journal (game_id, seq, line) "  # noqa: S608 - no data
        f"SELECT column1, column2, column3 FROM (VALUES {values}) LEFT JOIN games ON id = column1 "
        "WHERE epoch IS NULL OR epoch = column4"  # without a game the foreign key refuses it
    )


def _insert(raw: sqlite3.Connection, rows: Sequence[tuple[int, int, str, int]]) -> int:
    """Insert those lines whose game has their epoch; gives how many these are."""
    if not rows:
        return 0
    done = raw.execute(_insertion(len(rows)), [value for row in rows for value in row])
    return done.rowcount


@contextmanager
def _savepoint(raw: sqlite3.Connection) -> Generator[None]:
    """A part of a transaction that is undone if it raises; SQLAlchemy's takes 20 times as long."""
    raw.execute("SAVEPOINT part")
    try:
        yield
    except BaseException:
        raw.execute("ROLLBACK TO part")
        raise
    finally:
        raw.execute("RELEASE part")


def _rows(jobs: Sequence[Job]) -> list[tuple[int, int, str, int]]:
    return [
        (job.game, seq, line, job.epoch)
        for job in jobs
        if isinstance(job, Append)
        for seq, line in job.lines
    ]


def _chain(problem: BaseException | None) -> Iterator[BaseException]:
    """An exception, and those that were being handled when it was raised."""
    while problem is not None:
        yield problem
        problem = problem.__context__


def _is_fatal(problem: BaseException) -> bool:
    cause = problem.orig if isinstance(problem, DBAPIError) else problem
    return isinstance(cause, sqlite3.Error) and _code(cause) in _FATAL


def _code(problem: sqlite3.Error) -> int:
    """SQLite's primary result code."""
    return int(getattr(problem, "sqlite_errorcode", 0)) & 0xFF


def _reason(problem: BaseException) -> str:
    """The system's own words."""
    return str(problem.orig if isinstance(problem, DBAPIError) else problem)


def _told(problem: BaseException) -> str:
    """What is wrong with a database that can't be opened."""
    cause = problem.orig if isinstance(problem, DBAPIError) else problem
    code = _code(cause) if isinstance(cause, sqlite3.Error) else 0
    if code in {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT}:
        return f"no database, or a damaged one: {cause}"
    if code == sqlite3.SQLITE_READONLY:
        return f"can't be written: {cause}"
    return str(cause)


def _read_number(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
