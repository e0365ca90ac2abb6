"""Games as they are watched: what is written down of them, told to whoever looks on.

A game that is watched has one :class:`Tail`, however many watch it. The tails follow the journal by
reading it, so that a game never waits for anybody who watches, and so that it is the same beside a
server as within it. Each viewer gets what there is, then what follows, with nothing left out and
nothing twice; one that does not read is dropped, and may come back for what it has missed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final, Protocol, TypeVar

import structlog
from sqlalchemy import Connection

from croupier_server.errors import CroupierError
from croupier_server.storage import news
from croupier_server.tails import Audience, Frame, Tail, Wall

__all__ = ["Bell", "NotThere", "Reads", "Spectators"]

log = structlog.get_logger(__name__)

T = TypeVar("T")

LOOK_S: Final = 0.1
"""How often the journal is looked at; so a viewer gets no more than 10 frames a second."""

UNTOLD_S: Final = 0.5
"""How often it is looked at where a bell tells of news: one may be lost, and none tells that a game
begins."""

QUIET_S: Final = 15.0
"""How long a viewer is told nothing, before it is told that the connection still holds."""

BATCH: Final = 100
"""How many viewers are told before the loop's other work has its turn."""


class NotThere(CroupierError):
    """There is no such tournament, or no such game in it."""


class Reads(Protocol):
    """Where a database is read."""

    async def read(self, work: Callable[[Connection], T]) -> T:
        """What some work finds, in one moment of the database."""
        ...


class Bell(Protocol):
    """Says that games have something new, so that nobody has to look to see that there is none.

    Attributes:
        rung: set when one has.
    """

    rung: asyncio.Event

    async def follow(self, games: Collection[int]) -> None:
        """Ring for these games, by their rows, and for no others."""
        ...


class Spectators:
    """All who watch games.

    Args:
        finds: where games are looked up when somebody comes.
        where: the data directory or the database's URL; as long as somebody watches, it has a
            connection of its own there. None if the database is in memory, so that `finds` is all.
        stopping: set when all streams have to come to an end.
        bell: says when to look; without one, it is looked all the time.
    """

    def __init__(
        self,
        finds: Reads,
        where: Path | str | None,
        *,
        stopping: asyncio.Event | None = None,
        bell: Bell | None = None,
    ) -> None:
        self._finds = finds
        self._where = where
        self._stopping = stopping or asyncio.Event()
        self._bell = bell
        self._tails: dict[int, Tail] = {}
        self._walls: dict[int, Wall] = {}
        self._loading = asyncio.Lock()
        self._watching: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def watched(self) -> int:
        """How many games are followed at the moment."""
        return len(self._tails)

    @property
    def viewers(self) -> int:
        """How many watch: games, or a wall."""
        return sum(len(audience.outlets()) for audience in self._audiences())

    @property
    def is_watching(self) -> bool:
        """Whether the journal is looked at."""
        return self._watching is not None

    @asynccontextmanager
    async def game(self, tournament: str, game: str) -> AsyncGenerator[Tail]:
        """A game to be watched, for as long as this is entered.

        Raises:
            NotThere: there is none of that name.
            StorageFailed: the database can't be read now.
        """
        tail = await self._loaded(tournament, game)
        tail.holders += 1
        self._look()
        if self._bell is not None:
            self._bell.rung.set()  # so that it is followed from now on
        try:
            yield tail
        finally:
            tail.holders -= 1
            await self._stopped()

    @asynccontextmanager
    async def wall(self, tournament: str) -> AsyncGenerator[Wall]:
        """The running games of a tournament, for as long as this is entered.

        Raises:
            NotThere: there is none of that name.
            StorageFailed: the database can't be read now.
        """
        found = await self._finds.read(lambda c: news.find_place(c, tournament))
        if found is None:
            raise NotThere(f"there is no tournament {tournament}")
        wall = self._walls.setdefault(found, Wall(found))
        wall.holders += 1
        self._look()
        try:
            yield wall
        finally:
            wall.holders -= 1
            await self._stopped()

    async def close(self) -> None:
        """End all streams; again changes nothing."""
        self._stopping.set()
        if self._tasks:
            await asyncio.wait(self._tasks)

    # -- the looks

    async def _loaded(self, tournament: str, game: str) -> Tail:
        """The tail of a game, with what there is of it."""
        found = await self._finds.read(lambda c: news.find_game(c, tournament, game))
        if found is None:
            raise NotThere(f"tournament {tournament} has no game {game}")
        row, name = found
        async with self._loading:  # many who come at once have it read once
            tail = self._tails.get(row)
            if tail is None or tail.seq < 0:
                fresh, _ = await self._finds.read(lambda c: news.look(c, {row: -1}, ()))
                tail = self._tail(row, name)
                tail.take(fresh[0])
        return tail

    def _tail(self, game: int, name: str) -> Tail:
        """The tail of a game from now on."""
        return self._tails.setdefault(game, Tail(game, name))

    def _look(self) -> None:
        """Look at the journal from now on, as long as somebody watches."""
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch(), name="spectators")
            self._tasks.add(self._watching)
            self._watching.add_done_callback(self._tasks.discard)

    async def _watch(self) -> None:
        try:
            async with self._eyes() as reads:
                try:
                    while self._forget_unwatched() and not self._stopping.is_set():
                        await self._pause(after=await self._timed(reads))
                finally:
                    self._end()  # before the eyes close: who comes meanwhile opens others
        except CroupierError as problem:
            log.warning("games can't be watched now", reason=str(problem))
        except Exception:
            log.exception("games can't be watched for a fault of ours")
        finally:
            self._end()

    @asynccontextmanager
    async def _eyes(self) -> AsyncGenerator[Reads]:
        if self._where is None:
            yield self._finds
            return
        from croupier_server.storage.database import Database

        async with await Database.look(self._where) as database:
            yield database

    def _end(self) -> None:
        """End all streams, if this is still the task that tells them."""
        if self._watching is not asyncio.current_task():
            return
        self._watching = None
        for audience in self._audiences():
            audience.close()
        self._tails.clear()
        self._walls.clear()

    async def _timed(self, reads: Reads) -> float:
        """Look once; gives how long that took, in seconds."""
        began = time.monotonic()
        await self._step(reads)
        return time.monotonic() - began

    async def _pause(self, *, after: float) -> None:
        """Wait until it is time for the next look, or to stop."""
        await self._wait(self._stopping, max(0.0, LOOK_S - after))
        if self._bell is not None and not self._stopping.is_set():
            await self._bell.follow(set(self._tails))
            await self._wait(self._bell.rung, UNTOLD_S)
            self._bell.rung.clear()

    @staticmethod
    async def _wait(event: asyncio.Event, most_s: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(most_s):
                await event.wait()

    async def _stopped(self) -> None:
        """If all has to end, wait until it has: nothing is left behind by the last viewer."""
        if self._stopping.is_set():
            await self.close()

    def _forget_unwatched(self) -> bool:
        """Let go of what nobody watches; whether anything is left."""
        self._walls = {key: wall for key, wall in self._walls.items() if wall.holders}
        shown = {game for wall in self._walls.values() for game in wall.games}
        self._tails = {
            key: tail for key, tail in self._tails.items() if tail.holders or key in shown
        }
        return bool(self._tails or self._walls)

    def _audiences(self) -> Sequence[Audience]:
        tails = [tail.audience for tail in self._tails.values()]
        return tails + [wall.audience for wall in self._walls.values()]

    async def _step(self, reads: Reads) -> None:
        """Look once, and tell everybody what is new to them."""
        tails, walls = dict(self._tails), list(self._walls.values())
        known = {tail.game: tail.seq for tail in tails.values() if tail.end is None}
        if known or walls:
            places = [wall.tournament for wall in walls]
            found, running = await reads.read(lambda c: news.look(c, known, places))
            for one in found:
                await self._tell(tails[one.game].audience, tails[one.game].take(one))
            for wall in walls:
                await self._tell(wall.audience, wall.take(running[wall.tournament], self._tail))
        for tail in tails.values():
            if tail.end is not None:
                tail.audience.close()
        for wall in walls:
            if wall.is_over:
                wall.audience.close()
        await self._reassure()

    async def _tell(self, audience: Audience, frame: Frame | None) -> None:
        """Tell those who are there now; who comes meanwhile has it in what it begins with."""
        if frame is None:
            return
        audience.told = time.monotonic()
        outlets = audience.outlets()
        for first in range(0, len(outlets), BATCH):
            if first:
                await asyncio.sleep(0)
            for outlet in outlets[first : first + BATCH]:
                if not outlet.put(frame):
                    log.info("a viewer that does not read is dropped")
                    audience.drop(outlet)

    async def _reassure(self) -> None:
        """Tell those who have heard nothing for long that they are still connected."""
        for audience in self._audiences():
            if time.monotonic() - audience.told >= QUIET_S:
                await self._tell(audience, STILL_HERE)


STILL_HERE: Final = Frame.of(b": still here\n\n")
