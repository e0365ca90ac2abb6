"""One look at a database, for a command that needs no more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection

from croupier_server.storage.database import Database

__all__ = ["look_once", "own_once"]

T = TypeVar("T")


def look_once(where: Path | str, work: Callable[[Connection], T]) -> T:
    """What some work finds, or leaves, in a database that a server may be playing on.

    Raises:
        UserError: there is none, or it has another version's schema.
    """

    async def look() -> T:
        async with await Database.look(where) as database:
            return await database.run(work)

    return asyncio.run(look())


def own_once(where: Path | str, work: Callable[[Connection], T]) -> T:
    """What some work does to a database on which no server may be playing.

    Raises:
        UserError: a server is, or it can't be used.
    """

    async def own() -> T:
        async with await Database.open(where) as database:
            return await database.run(work)

    return asyncio.run(own())
