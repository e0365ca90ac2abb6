"""A copy of a data directory's database, taken while a server plays on it, and checked.

SQLite's own backup in one step: it reads one moment of the database, which in WAL mode holds up no
write, and it does not begin anew when something is written meanwhile.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from croupier_server.errors import UserError
from croupier_server.storage.revision import HEAD, VERSION_TABLE

__all__ = ["Backup", "back_up"]

DATABASE: Final = "croupier.db"
"""The file in the data directory."""

BUSY_MS: Final = 30_000


@dataclass(frozen=True, slots=True)
class Backup:
    """What a copy has in it.

    Attributes:
        size: in bytes.
    """

    path: Path
    size: int
    tournaments: int
    games: int
    lines: int


def back_up(data: Path, path: Path, *, is_replaced: bool = False) -> Backup:
    """Copy the database of a data directory into a file, whole and checked, or not at all.

    Args:
        is_replaced: whether a file that is there already makes way.

    Raises:
        UserError: there is no database, it can't be read or is damaged, or the file can't be
            written.
    """
    source = data / DATABASE
    if not source.is_file():
        raise UserError(f"{data}: no {DATABASE} here; give the data directory of a server")
    if path.is_dir():
        raise UserError(f"{path}: a directory; give the file that the copy is to be")
    if path.exists() and path.samefile(source):
        raise UserError(f"{path}: the database itself; give another file")
    if path.exists() and not is_replaced:
        raise UserError(f"{path}: there already; give another name, or --replace")
    try:
        return _copied(source, path)
    except OSError as problem:
        raise UserError(f"{problem.filename or path}: {problem.strerror or problem}") from None


def _copied(source: Path, path: Path) -> Backup:
    """Copy into a new file beside the wanted one, which then takes its place at once."""
    number, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    os.close(number)
    part = Path(name)
    try:
        _copy(source, part)
        found = _checked(part, source)
        _sync(part)
        part.replace(path)
        _sync(path.parent)
        tournaments, games, lines = found
        return Backup(path, path.stat().st_size, tournaments, games, lines)
    finally:
        part.unlink(missing_ok=True)


def _copy(source: Path, part: Path) -> None:
    try:
        with (
            closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=rw", uri=True)) as before,
            closing(sqlite3.connect(part)) as after,
        ):
            before.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
            before.backup(after)
            # a copy has no log beside it, so that it is one file whoever opens it
            after.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.Error as problem:
        raise UserError(f"{source}: can't be copied: {problem}") from None


def _checked(part: Path, source: Path) -> tuple[int, int, int]:
    """How many tournaments, games and lines of games a copy has, once it is known to be sound."""
    try:
        with closing(sqlite3.connect(part)) as copy:
            (told,) = copy.execute("PRAGMA integrity_check(1)").fetchone()
            if told != "ok":
                raise UserError(f"{source}: damaged: {told}")
            lost = copy.execute("PRAGMA foreign_key_check").fetchone()
            if lost is not None:
                raise UserError(f"{source}: damaged: rows of {lost[0]} belong to nothing")
            (revision,) = copy.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchone()  # noqa: S608
            if revision != HEAD:
                raise UserError(
                    f"{source}: schema {revision}, and this program knows {HEAD}; back it up with "
                    "the croupier that it is played by"
                )
            return (
                _count(copy, "tournaments"),
                _count(copy, "games"),
                _count(copy, "journal"),
            )
    except sqlite3.Error as problem:
        raise UserError(f"{source}: no croupier database, or a damaged one: {problem}") from None


def _count(copy: sqlite3.Connection, table: str) -> int:
    return int(copy.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608 - ours


def _sync(path: Path) -> None:
    """Have a file, or a directory's entries, reach the disk."""
    if os.name == "nt" and path.is_dir():
        return
    number = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(number)
    finally:
        os.close(number)
