"""The database: one for the journal of games and the catalogue, so that they never disagree."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeVar

from sqlalchemy import Connection

from croupier_server.errors import UserError
from croupier_server.operations.tally import Store
from croupier_server.storage.writer import Append, Backend, Work, Writer

__all__ = ["Database"]

T = TypeVar("T")

MAX_BUFFERED: Final = 1_000
"""How many appends to a database in memory wait for the next transaction."""


class Database:
    """Where a tournament is written down; opened by :meth:`open`, :meth:`join` or :meth:`look`.

    ::

        async with await Database.open(Path("data")) as database:
            rows = await database.run(catalogue.tournaments)
            await database.append(game, [(1, line)])
    """

    def __init__(self, writer: Writer, place: str, *, in_memory: bool) -> None:
        self.place: Final = place
        self._writer = writer
        self._in_memory = in_memory
        self._buffer: list[Append] = []

    @classmethod
    async def open(
        cls,
        where: Path | str | None,
        tally: Store | None = None,
        stands_by: Callable[[str], None] | None = None,
    ) -> Database:
        """A database to play on, by this server alone; made or brought up to date if need be.

        Args:
            where: a data directory, the URL of a PostgreSQL database, or None for memory: nothing
                of that is kept, and :meth:`append` does not wait.
            tally: counts how its commits go.
            stands_by: for one of several servers, which wait until the one that has the database
                is gone: called once with who has it, if one does. On PostgreSQL only.

        Raises:
            UserError: it can't be; says where and why.
        """
        if stands_by is None:
            return await cls._opened(_backend(where, is_server=True), tally)
        from croupier_server.storage.postgresql import Postgresql

        tell, loop = stands_by, asyncio.get_running_loop()
        backend = Postgresql(
            _shared(where),
            is_server=True,
            stands_by=lambda who: _call_in(loop, tell, who),
        )
        return await cls._opened(backend, tally)

    @classmethod
    async def join(cls, where: Path | str | None, tally: Store | None = None) -> Database:
        """A database to play on beside others, of whom one manages what is played.

        Raises:
            UserError: it is none that can be shared, nothing is there yet, or it has another
                version's schema.
        """
        return await cls._opened(_backend(_shared(where), is_server=False), tally)

    @classmethod
    async def look(cls, where: Path | str) -> Database:
        """A database beside the server that plays on it, to read and for an operator's orders.

        Raises:
            UserError: there is none, or it has another version's schema.
        """
        return await cls._opened(_backend(where, is_server=False))

    @classmethod
    async def _opened(cls, backend: Backend, tally: Store | None = None) -> Database:
        writer = Writer(backend, tally)
        await writer.start()
        return cls(writer, backend.place, in_memory=backend.is_in_memory)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    @property
    def failed(self) -> asyncio.Event:
        """Set when nothing can be written any more: the server has to stop."""
        return self._writer.failed

    @property
    def is_alive(self) -> bool:
        """Whether it can still be written."""
        return self._writer.is_alive

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Do some work in a transaction of its own, durably; gives its value.

        It comes after all that was appended or run before, and has happened when this returns,
        or raises :class:`asyncio.CancelledError`.

        Raises:
            StorageFailed: nothing can be written any more.
            Exception: what `work` raised; then nothing of it is done.
        """
        self._flush_buffer()
        found: T = await self._writer.settle(Work(work=work))
        return found

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Do some work that only reads, like :meth:`run`; beside a server it holds up nothing."""
        self._flush_buffer()
        found: T = await self._writer.settle(Work(work=work, reads=True))
        return found

    async def append(self, game: int, lines: Sequence[tuple[int, str]], epoch: int = 0) -> None:
        """Write lines of a game's record, each with its number; durable when this returns.

        Args:
            epoch: the game's, when it was begun or taken.

        Raises:
            Fenced: the game has another epoch, since another took it over.
            StorageFailed: nothing can be written any more.
            ValueError: a line can't be stored as it is.
        """
        for seq, line in lines:
            if "\0" in line or not (line.isascii() or _is_encodable(line)):
                raise ValueError(f"line {seq} of game {game} is no line of a record")
        job = Append(game=game, lines=tuple(lines), epoch=epoch)
        if not self._in_memory:
            await self._writer.settle(job)
            return
        self._buffer.append(job)
        if len(self._buffer) >= MAX_BUFFERED:
            self._flush_buffer()

    async def close(self) -> None:
        """Write what waits, and let go of it; again changes nothing."""
        self._flush_buffer()
        await self._writer.close()

    def _flush_buffer(self) -> None:
        for job in self._buffer:
            self._writer.submit(job)
        self._buffer.clear()


def _backend(where: Path | str | None, *, is_server: bool) -> Backend:
    if isinstance(where, str):
        from croupier_server.storage.postgresql import Postgresql

        return Postgresql(where, is_server=is_server)
    from croupier_server.storage.sqlite import SqliteFile, SqliteMemory

    return SqliteMemory() if where is None else SqliteFile(where, is_server=is_server)


def _shared(where: Path | str | None) -> str:
    """The URL of a database that several processes can play on.

    Raises:
        UserError: it is a folder, or nothing.
    """
    if isinstance(where, str):
        return where
    told = "memory" if where is None else where
    raise UserError(f"{told}: a cluster needs PostgreSQL; set storage.url")


def _call_in(loop: asyncio.AbstractEventLoop, tell: Callable[[str], None], who: str) -> None:
    with suppress(RuntimeError):  # the loop is closed: nobody is left to be told
        loop.call_soon_threadsafe(tell, who)


def _is_encodable(line: str) -> bool:
    try:
        line.encode()
    except UnicodeEncodeError:
        return False
    return True
