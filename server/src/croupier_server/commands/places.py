"""Which tournament in which data directory a command is about."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from croupier_common.render import printable
from croupier_server.errors import UserError
from croupier_server.settings import StorageSettings, load_settings

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from croupier_server.storage.catalogue import TournamentRow

__all__ = ["Place", "chosen", "listed", "safe"]

T = TypeVar("T")

MAX_LISTED: Final = 12
"""How many tournaments a message names."""


class Place:
    """Where tournaments are kept.

    Raises:
        UserError: nowhere.
    """

    def __init__(self, storage: StorageSettings) -> None:
        if storage.where is None:
            raise UserError("--data '': nothing is kept there; give the data directory")
        self.where: Path | str = storage.where
        self._storage = storage

    @classmethod
    def given(cls, data: str | None, database: str | None) -> Place:
        """The place that a command's options say, or the environment, or the default."""
        return cls(load_settings(None, {"storage": {"data": data, "url": database}}).storage)

    def __str__(self) -> str:
        return self._storage.place

    def read(self, work: Callable[[Connection], T]) -> T:
        """What some work finds, in one moment of the database; a server plays on beside it.

        Raises:
            UserError: there is no database, or it has another version's schema.
        """
        from croupier_server.storage.database import Database

        async def look() -> T:
            async with await Database.look(self.where) as database:
                return await database.read(work)

        return asyncio.run(look())

    def tournament(self, name: str | None) -> TournamentRow:
        """The tournament of that name; without a name the only one, or the only unfinished one.

        Raises:
            UserError: there is none, or there are several; names those that there are.
        """
        from croupier_server.storage import catalogue

        return chosen(self.read(catalogue.tournaments), name, str(self))

    def server(self) -> int | None:
        """The process that seems to play here; None if none does, or a database doesn't tell."""
        if isinstance(self.where, str):
            return None
        try:
            number = int((self.where / "croupier.pid").read_text(encoding="ascii"))
        except (OSError, ValueError):
            return None
        return number if _is_there(number) else None


def _is_there(process: int) -> bool:
    """Whether a process runs, as far as the system says so; a killed server leaves its number."""
    if os.name != "posix":  # there, the signal 0 would end it
        return True
    try:
        os.kill(process, 0)
    except PermissionError:  # it is somebody else's
        return True
    except (OSError, OverflowError):
        return False
    return True


def chosen(rows: Sequence[TournamentRow], name: str | None, place: str) -> TournamentRow:
    """Which of some tournaments is meant.

    Raises:
        UserError: none, or it can't be told which.
    """
    if not rows:
        raise UserError(f"{place}: there is no tournament yet; `croupier run` begins one")
    named = rows if name is None else [row for row in rows if row.name == name]
    if not named:
        raise UserError(f"{place}: no tournament {safe(name or '')!r}; there are {listed(rows)}")
    going = [row for row in named if row.status != "finished"]
    if len(named) > 1 and len(going) != 1:
        raise UserError(f"{place}: which tournament? Give its name; there are {listed(rows)}")
    return named[0] if len(named) == 1 else going[0]


def listed(rows: Sequence[TournamentRow]) -> str:
    """The tournaments' names, the newest first."""
    names = [safe(row.name) for row in reversed(rows)]
    more = f" and {len(names) - MAX_LISTED:,} more" if len(names) > MAX_LISTED else ""
    return ", ".join(names[:MAX_LISTED]) + more


def safe(text: str, width: int = 60) -> str:
    """A text from outside as a terminal can show it: no control characters, and not too long."""
    return printable(text, width)
