"""How long games stand still: watched in the database, while all around them is hurt."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import Connection, func, select

from croupier_server.storage.database import Database
from croupier_server.storage.schema import games, journal

LOOK_S: Final = 0.2

_Lines = dict[str, int]


def _lines(connection: Connection) -> _Lines:
    """How many lines each running game has."""
    rows = connection.execute(
        select(games.c.name, func.count())
        .join(journal, journal.c.game_id == games.c.id)
        .where(games.c.status == "running")
        .group_by(games.c.name)
    )
    return {str(name): int(count) for name, count in rows}


@dataclass
class Stalls:
    """For how many seconds each game stood still at most, from its first line to its last.

    Attributes:
        longest_s: by game.
    """

    longest_s: dict[str, float] = field(default_factory=dict[str, float])
    _seen: dict[str, tuple[int, float]] = field(default_factory=dict[str, tuple[int, float]])

    def note(self, lines: _Lines) -> None:
        """Take what there is now."""
        now = time.monotonic()
        for game, count in lines.items():
            before, since = self._seen.get(game, (count, now))
            self.longest_s[game] = max(self.longest_s.get(game, 0.0), now - since)
            if before != count or game not in self._seen:
                self._seen[game] = (count, now)

    def beyond(self, seconds: float) -> dict[str, float]:
        """The games that stood still for longer."""
        return {game: round(s, 1) for game, s in self.longest_s.items() if s > seconds}


@asynccontextmanager
async def stalls(url: str) -> AsyncGenerator[Stalls]:
    """Watch the games of a database, once it has any."""
    found = Stalls()

    async def watch() -> None:
        async with await Database.look(url) as database:
            while True:
                found.note(await database.read(_lines))
                await asyncio.sleep(LOOK_S)

    task = asyncio.create_task(watch(), name="stalls")
    try:
        yield found
    finally:
        task.cancel()
        await asyncio.wait({task})
    assert task.cancelled(), task.exception()
