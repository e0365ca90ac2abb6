"""Where large pages are made: in a process of its own.

A table of 500 players is a quarter of a second's work on thousands of small objects. In a thread
of the server it would be off the loop and still in its way, by the interpreter's lock and by
collecting garbage; so it is done by another process, which keeps what it has read.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import jinja2
from sqlalchemy import Connection

from croupier_server.errors import StorageFailed, UserError
from croupier_server.storage import catalogue
from croupier_server.web.filters import filters
from croupier_server.web.paging import Paging
from croupier_server.web.urls import Urls
from croupier_server.web.views import Views

if TYPE_CHECKING:
    from croupier_server.storage.database import Database

__all__ = ["HERE", "Desk", "DeskFailed", "Frame", "Job", "Page", "json_bytes", "templates"]

T = TypeVar("T")

HERE: Final = Path(__file__).parent

NICE: Final = 5
"""How far the process stands back behind the games, where the system knows that."""


COLLECT: Final = 50
"""After how many pages garbage is collected."""


class Page(Protocol):
    """What is in a page, as a value."""

    def to_json(self) -> Mapping[str, Any]:
        """The page's JSON twin."""
        ...


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands around a page: where others are, and which there are.

    Attributes:
        has_operator: whether somebody can sign in as the operator.
    """

    urls: Urls
    pages: frozenset[str]
    has_operator: bool = False

    def has(self, module: str) -> bool:
        """Whether the site has the pages of a module."""
        return module in self.pages


@dataclass(frozen=True, slots=True)
class Job:
    """A page that is to be made; can be pickled.

    Attributes:
        load: what is in it, by the connection and the tournaments' views: a page, or a text.
        template: of its HTML; None for a text, or for the JSON twin.
    """

    load: Callable[..., Page | str]
    template: str | None
    frame: Frame

    def render(self, page: Page | str) -> bytes:
        """The page as it is sent."""
        if isinstance(page, str):
            return page.encode()
        if self.template is None:
            return json_bytes(page.to_json())
        return templates().get_template(self.template).render(site=self.frame, page=page).encode()


class DeskFailed(Exception):
    """There is no process to make pages, nor can there be another."""


class Desk:
    """The process; it is started when it is first needed, or by :meth:`warm`."""

    def __init__(self, where: Path | str) -> None:
        self._where = where
        self._pool: ProcessPoolExecutor | None = None
        self._made = 0

    def warm(self) -> None:
        """Start the process, so that the first page does not wait for it."""
        self._running().submit(_ready)

    async def make(self, job: Job) -> bytes:
        """A page as it is sent.

        Raises:
            StorageFailed: the database can't be read now.
            DeskFailed: there is no process to make it.
            Exception: what the job raised.
        """
        loop = asyncio.get_running_loop()
        for _ in range(2):
            pool = self._running()
            try:
                page = await loop.run_in_executor(pool, _made, job)
            except BrokenProcessPool:  # it was ended from outside: another takes its place
                if self._pool is pool:
                    self.close()
            else:
                self._tidy(pool)
                return page
        raise DeskFailed("the process that makes pages ends again and again")

    def _tidy(self, pool: ProcessPoolExecutor) -> None:
        """Have garbage collected from time to time, when a page is done and not in one."""
        self._made += 1
        if self._made % COLLECT == 0:
            with suppress(BrokenProcessPool, RuntimeError):  # it has just been ended
                pool.submit(gc.collect)

    def close(self) -> None:
        """End the process, whatever it does; may be called twice."""
        pool, self._pool = self._pool, None
        if pool is not None:
            workers = list(getattr(pool, "_processes", {}).values())
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in workers:
                worker.kill()
            for worker in workers:
                worker.join()

    def _running(self) -> ProcessPoolExecutor:
        if self._pool is None:
            from multiprocessing import get_context

            self._pool = ProcessPoolExecutor(
                1, mp_context=get_context("spawn"), initializer=_begin, initargs=(self._where,)
            )
        return self._pool


@cache
def templates() -> jinja2.Environment:
    """The templates; all that is put into them is escaped."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters.update(filters())
    return environment


def json_bytes(value: object) -> bytes:
    """Compact JSON, in ASCII: whatever is in a name comes through."""
    return json.dumps(value, separators=(",", ":")).encode("ascii")


# -- in the process


class _Maker:
    """Makes pages, with a loop and a connection of its own."""

    def __init__(self, where: Path | str) -> None:
        self._where = where
        self._runner = asyncio.Runner()
        self._database: Database | None = None
        self._views = Views()

    def make(self, job: Job) -> bytes:
        return self._runner.run(self._make(job))

    def warm(self) -> None:
        """Make the standings of the newest tournament: most that pages need is loaded by that."""
        from croupier_server.web.pages.tournament import SIZE, load  # needs what is here

        for row in self._runner.run(self._read(catalogue.tournaments))[-1:]:
            found = partial(load, tournament=row.name, paging=Paging(1, SIZE), number=None)
            self.make(Job(found, "tournament.html", Frame(Urls(), frozenset())))

    async def _make(self, job: Job) -> bytes:
        page: Page | str = await self._read(lambda connection: job.load(connection, self._views))
        return job.render(page)

    async def _read(self, work: Callable[[Connection], T]) -> T:
        from croupier_server.storage.database import Database

        if self._database is None:
            self._database = await Database.look(self._where)
        try:
            return await self._database.read(work)
        except StorageFailed:
            database, self._database = self._database, None
            await database.close()
            raise


_makers: Final[list[_Maker]] = []


def _begin(where: Path | str) -> None:
    """Set up: end with the server, however that ends, and not by Ctrl-C; and stand back."""
    import signal
    import threading
    from multiprocessing import parent_process

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, name="watch the server", daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(NICE)
    _makers.append(_Maker(where))
    # A collection in the middle of a page would take as long as the page.
    gc.disable()


def _ready() -> None:
    """Load what pages need, and the newest tournament."""
    for name in ("tournament.html", "games.html", "player.html", "downloads.html"):
        templates().get_template(name)
    with suppress(StorageFailed, UserError):
        _makers[0].warm()
    gc.collect()
    gc.freeze()  # what is there by now stays, and need not be looked at again


def _made(job: Job) -> bytes:
    return _makers[0].make(job)
