"""Reads for the pages: never in the loop, one at a time, and not again while nothing has changed.

Beside a server it has a connection of its own, so that a game's writes never wait for a page. What
is kept of a page is good as long as the database stands where it stood when the page was made.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import structlog
from sqlalchemy import Connection, Executable, func, select

from croupier_server.commands.view import View
from croupier_server.errors import StorageFailed
from croupier_server.storage import schema
from croupier_server.storage.database import Database
from croupier_server.web.desk import Desk, DeskFailed, Job
from croupier_server.web.views import Views

__all__ = ["Position", "Reader", "Shown"]

log = structlog.get_logger(__name__)

T = TypeVar("T")

FRESH_S: Final = 0.2
"""For how long a page is shown again without asking whether anything has changed."""

MAX_PAGES: Final = 256
MAX_BYTES: Final = 64 * 1024 * 1024
"""How much is kept of pages, in number and in size."""


@dataclass(frozen=True, slots=True)
class Position:
    """Where the database stands.

    Attributes:
        journal: the last line of any game.
        catalogue: all else: equal as long as nobody came, left, or ended a game.
    """

    journal: int
    catalogue: tuple[Any, ...]

    @classmethod
    def of(cls, connection: Connection) -> Self:
        """Where it stands now."""
        counted, states = _position_queries()
        journal, *counts = connection.execute(counted).one()
        rows = [tuple(row) for row in connection.execute(states).all()]
        return cls(journal or 0, (*counts, *rows))


@cache
def _position_queries() -> tuple[Executable, Executable]:
    """What a position is read by; made once, as that takes as long as to answer it.

    Until a thread that makes a query lets go of the interpreter, the loop can't go on.
    """
    games, results, orders = schema.games.c, schema.results.c, schema.orders.c
    entrants, ratings = schema.entrants.c, schema.ratings.c
    # an order changes results without a change of their number; it is answered then
    counted = select(
        select(func.max(schema.journal.c.position)).scalar_subquery(),
        select(func.count(results.pairing_id)).scalar_subquery(),
        select(func.max(games.id)).scalar_subquery(),
        select(func.count(games.id)).where(games.status == "running").scalar_subquery(),
        select(func.max(schema.pairings.c.id)).scalar_subquery(),
        select(func.count(orders.id)).scalar_subquery(),
        select(func.count(orders.done_ms)).scalar_subquery(),
        select(func.count(ratings.name)).scalar_subquery(),
        select(func.max(ratings.at_ms)).scalar_subquery(),
        select(func.count(entrants.id)).scalar_subquery(),
        select(func.count(entrants.id)).where(entrants.status != "in").scalar_subquery(),
        select(func.sum(entrants.strikes)).scalar_subquery(),
    )
    table = schema.tournaments.c
    states = select(table.id, table.status, table.started_ms, table.ended_ms)
    return counted, states.order_by(table.id)


@dataclass(frozen=True, slots=True)
class Shown:
    """A page as it is sent; its `tag` tells it from any other content."""

    body: bytes
    tag: str

    @classmethod
    def of(cls, body: bytes) -> Self:
        """The page with this content."""
        return cls(body, f'"{sha256(body).hexdigest()[:24]}"')


@dataclass(slots=True)
class _Kept:
    shown: Shown
    position: Hashable
    seen: float


class Reader:
    """Reads for the pages; closed by whoever opened it.

    Args:
        where: the data directory or the database's URL, to look at beside a server; None if the
            database is in memory.
        database: that one, which is not closed by this.
        desk: where large pages are made, in a process of its own; here if None.
    """

    def __init__(
        self,
        where: Path | str | None,
        database: Database | None = None,
        desk: Desk | None = None,
    ) -> None:
        self._where = where
        self._database = database
        self._is_own = database is None
        self._opening = asyncio.Lock()
        self._pages: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._making: dict[Hashable, asyncio.Task[Shown]] = {}
        self._views = Views()
        self._desk = desk
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="croupier-pages")

    @classmethod
    async def open(cls, where: Path | str, desk: Desk | None = None) -> Self:
        """A reader that looks at a database, be a server playing on it or not.

        Raises:
            UserError: there is none, or it has another version's schema.
        """
        reader = cls(where, desk=desk)
        try:
            await reader._opened()
        except BaseException:
            await reader.close()
            raise
        return reader

    async def read(self, work: Callable[[Connection], T]) -> T:
        """What some work finds, in one moment of the database.

        Raises:
            StorageFailed: the database can't be read now.
            Exception: what `work` raised.
        """
        database = await self._opened()
        try:
            return await database.read(work)
        except StorageFailed:
            if not self._is_own:
                raise
        return await (await self._opened()).read(work)  # by a new connection: that one is done

    async def render(self, work: Callable[[], T]) -> T:
        """What some work gives, done in the pages' thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def show(
        self,
        key: Hashable,
        load: Callable[[Connection], T],
        render: Callable[[T], bytes],
        *,
        follows_moves: bool = False,
    ) -> Shown:
        """A page, made anew only if the database has changed; several who ask wait for one.

        Args:
            key: unlike that of any other page.
            load: gives what is in the page, in the database's thread.
            render: makes the page of that, in the pages' thread.
            follows_moves: whether each move changes the page; else only the catalogue does.

        Raises:
            StorageFailed: the database can't be read now.
            Exception: what `load` or `render` raised.
        """

        async def make() -> Shown:
            found = await self.read(load)
            return await self.render(lambda: Shown.of(render(found)))

        return await self._shown(key, make, follows_moves=follows_moves)

    async def show_apart(self, key: Hashable, job: Job, *, follows_moves: bool = False) -> Shown:
        """A page as :meth:`show` does it, made where that can hold up nothing of the loop's."""

        async def make() -> Shown:
            if self._desk is not None:
                try:
                    return Shown.of(await self._desk.make(job))
                except DeskFailed as problem:
                    log.warning("pages are made in the server's own process", reason=str(problem))
                    self._desk = None
            page = await self.read(lambda connection: job.load(connection, self._views))
            return await self.render(lambda: Shown.of(job.render(page)))

        return await self._shown(key, make, follows_moves=follows_moves)

    async def _shown(
        self,
        key: Hashable,
        make: Callable[[], Coroutine[Any, Any, Shown]],
        *,
        follows_moves: bool = False,
    ) -> Shown:
        """What is kept, if it is still good, or what is made now; only once for all who ask."""
        kept = self._pages.get(key)
        if kept is not None and time.monotonic() - kept.seen < FRESH_S:
            self._pages.move_to_end(key)
            return kept.shown
        task = self._making.get(key)
        if task is None:
            making = self._make(key, make, kept, follows_moves)
            task = asyncio.create_task(making, name=f"page {key!r:.80}")
            self._making[key] = task
            task.add_done_callback(lambda done: self._made(key, done))
        return await asyncio.shield(task)  # who goes away does not take it from the others

    def view(self, connection: Connection, name: str) -> View | None:
        """A tournament, or None if there is none of that name.

        For the work of :meth:`read` and :meth:`show` alone.
        """
        return self._views.view(connection, name)

    async def close(self) -> None:
        """End what is being made, and let go of the database; again changes nothing."""
        tasks = list(self._making.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._thread.shutdown(cancel_futures=True)
        if self._desk is not None:
            self._desk.close()
        if self._is_own and self._database is not None:
            await self._database.close()
            self._database = None

    async def _opened(self) -> Database:
        async with self._opening:
            database = self._database
            if database is not None and self._is_own and database.failed.is_set():
                self._database = None
                await database.close()
            if self._database is None:
                assert self._where is not None
                self._database = await Database.look(self._where)
            return self._database

    async def _make(
        self,
        key: Hashable,
        make: Callable[[], Coroutine[Any, Any, Shown]],
        kept: _Kept | None,
        follows_moves: bool,
    ) -> Shown:
        # Where it stands before the page is read: a page that is newer is made again, no more.
        now = await self.read(Position.of)
        position: Hashable = now if follows_moves else now.catalogue
        if kept is not None and kept.position == position:
            kept.seen = time.monotonic()
            return kept.shown
        shown = await make()
        self._keep(key, _Kept(shown, position, time.monotonic()))
        return shown

    def _made(self, key: Hashable, done: asyncio.Task[Shown]) -> None:
        del self._making[key]
        if not done.cancelled():
            done.exception()  # whoever waited has it; nobody may be left

    def _keep(self, key: Hashable, kept: _Kept) -> None:
        self._pages[key] = kept
        self._pages.move_to_end(key)
        size = sum(len(one.shown.body) for one in self._pages.values())
        while len(self._pages) > MAX_PAGES or (size > MAX_BYTES and len(self._pages) > 1):
            _, gone = self._pages.popitem(last=False)
            size -= len(gone.shown.body)
