"""Retention: the records of tournaments that ended long ago are let go; their results stay.

A few games at a time, with pauses, so that no turn waits for it: a group of writes is at most a few
milliseconds longer.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

import structlog
from sqlalchemy import Connection, delete, exists, select

from croupier_server.ending import to_its_end
from croupier_server.errors import StorageFailed
from croupier_server.storage.rows import now_ms
from croupier_server.storage.schema import games, journal, pairings, tournaments

if TYPE_CHECKING:
    from croupier_server.storage.database import Database

__all__ = ["Retention", "kept_for", "let_go"]

log = structlog.get_logger(__name__)

DAY_MS: Final = 86_400_000
AT_ONCE: Final = 8
"""How many games' records are let go in one transaction."""

LOOKED_AT: Final = 1_000
"""How many games one look goes through; those whose records are gone already are many."""

PAUSE_S: Final = 0.02


class Retention:
    """Lets go of records, now and once a day.

    Args:
        keep_days: for how long records are kept after the end of their tournament.
    """

    def __init__(self, database: Database, keep_days: int) -> None:
        self._database = database
        self._keep_ms = keep_days * DAY_MS

    async def run(self) -> None:
        """Go on until cancelled; if it fails, the games go on, and it tries again the next day."""
        while True:
            try:
                await self.sweep()
            except StorageFailed:
                return  # the server stops for that by itself
            except Exception:  # tried again tomorrow; no game stops for it
                log.exception("records could not be let go")
            await asyncio.sleep(DAY_MS / 1000)

    async def sweep(self) -> int:
        """Let go of all that is old now; gives of how many games."""
        before_ms = now_ms() - self._keep_ms
        gone = 0
        for tournament in await self._database.read(partial(_ended, before_ms=before_ms)):
            gone += await self._sweep_one(tournament)
        if gone:
            log.info("records let go", games=gone)
        return gone

    async def _sweep_one(self, tournament: int) -> int:
        after, gone = 0, 0
        while True:
            found, after = await self._database.read(
                partial(_kept, tournament=tournament, after=after)
            )
            for first in range(0, len(found), AT_ONCE):
                some = found[first : first + AT_ONCE]
                await self._database.run(partial(let_go, some=some))
                gone += len(some)
                await asyncio.sleep(PAUSE_S)
            if not after:
                return gone
            await asyncio.sleep(PAUSE_S)


@asynccontextmanager
async def kept_for(database: Database, keep_days: int | None) -> AsyncGenerator[None]:
    """Keep records for so many days, as long as this is entered; None keeps them for ever."""
    if keep_days is None:
        yield
        return
    task = asyncio.create_task(Retention(database, keep_days).run(), name="retention")
    try:
        yield
    finally:
        await to_its_end(_cancelled(task))


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait({task})


def _ended(connection: Connection, before_ms: int) -> list[int]:
    """The tournaments that were over before some time."""
    table = tournaments.c
    old = select(table.id).where(table.status == "finished", table.ended_ms < before_ms)
    return list(connection.scalars(old.order_by(table.id)))


def _kept(connection: Connection, tournament: int, after: int) -> tuple[list[int], int]:
    """Games after one in a tournament that have records; and the last one that was looked at.

    That is 0 if there are no others.
    """
    looked = list(
        connection.scalars(
            select(games.c.id)
            .join(pairings, pairings.c.id == games.c.pairing_id)
            .where(pairings.c.tournament_id == tournament, games.c.id > after)
            .order_by(games.c.id)
            .limit(LOOKED_AT)
        )
    )
    has_lines = exists().where(journal.c.game_id == games.c.id)
    query = select(games.c.id).where(games.c.id.in_(looked), has_lines).order_by(games.c.id)
    return list(connection.scalars(query)), looked[-1] if looked else 0


def let_go(connection: Connection, some: list[int]) -> None:
    connection.execute(delete(journal).where(journal.c.game_id.in_(some)))
