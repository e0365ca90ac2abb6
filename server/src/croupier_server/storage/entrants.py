"""Who takes part in a tournament, as the database has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, Literal

from sqlalchemy import Connection, bindparam, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from croupier_server.errors import UserError
from croupier_server.storage.rows import as_rows, now_ms, select_rows
from croupier_server.storage.schema import entrants as table
from croupier_server.storage.schema import tournaments
from croupier_server.storage.tournaments import TournamentRow

__all__ = [
    "EntrantKind",
    "EntrantRow",
    "EntrantStatus",
    "add_entrant",
    "entrants",
    "entrants_named",
    "find_key",
    "find_session",
    "set_entrant",
]

EntrantKind = Literal["remote", "program", "house", "course"]
EntrantStatus = Literal["in", "ejected", "withdrawn", "disqualified", "absent"]


@dataclass(frozen=True, slots=True)
class EntrantRow:
    """Somebody who takes part.

    Attributes:
        number: its place in the order of sign-up, from 1.
        options: what it joined with, as JSON.
        session: the SHA-256 of its session's token, in hex.
        reason: why it is no longer in, as JSON.
        strikes: how many ejections it has had.
    """

    id: int
    tournament_id: int
    number: int
    name: str
    kind: EntrantKind
    age: int | None
    options: Mapping[str, Any]
    session: str | None
    status: EntrantStatus
    reason: Any
    strikes: int
    joined_ms: int


# Made once, since to make a statement takes as long as to execute it, and each reconnect needs it.
_KEY: Final = (
    select_rows(tournaments, TournamentRow)
    .add_columns(*(table.c[field.name] for field in fields(EntrantRow)))
    .join(table, table.c.tournament_id == tournaments.c.id)
    .where(table.c.session == bindparam("key"), tournaments.c.status != "finished")
    .order_by(tournaments.c.id.desc())
    .limit(1)
)


def add_entrant(
    connection: Connection,
    tournament: int,
    name: str,
    kind: EntrantKind,
    *,
    age: int | None = None,
    options: Mapping[str, Any] | None = None,
    session: str | None = None,
) -> EntrantRow:
    """Enter somebody, behind all others.

    Raises:
        UserError: there is an entrant of that name.
    """
    last = connection.scalar(select(func.max(table.c.number)).where(_of(tournament)))
    values = {
        "tournament_id": tournament,
        "number": (last or 0) + 1,
        "name": name,
        "kind": kind,
        "age": age,
        "options": options or {},
        "session": session,
        "status": "in",
        "strikes": 0,
        "joined_ms": now_ms(),
    }
    try:
        with connection.begin_nested():
            connection.execute(insert(table).values(values))
    except IntegrityError as problem:
        if not _has_name(connection, tournament, name):
            raise
        raise UserError(f"there is an entrant {name!r:.80} already") from problem
    query = select_rows(table, EntrantRow).where(_of(tournament), table.c.name == name)
    return as_rows(connection, query, EntrantRow)[0]


def entrants(connection: Connection, tournament: int) -> Sequence[EntrantRow]:
    """All who ever were in a tournament, in the order of sign-up."""
    query = select_rows(table, EntrantRow).where(_of(tournament)).order_by(table.c.number)
    return as_rows(connection, query, EntrantRow)


def entrants_named(
    connection: Connection, tournament: int, names: Sequence[str]
) -> Sequence[EntrantRow]:
    """Some who are or were in a tournament; no order means anything."""
    query = select_rows(table, EntrantRow).where(_of(tournament), table.c.name.in_(list(names)))
    return as_rows(connection, query, EntrantRow)


def find_session(connection: Connection, tournament: int, session: str) -> EntrantRow | None:
    """The entrant whose session's token has that hash."""
    query = select_rows(table, EntrantRow).where(_of(tournament), table.c.session == session)
    return next(iter(as_rows(connection, query, EntrantRow)), None)


def find_key(connection: Connection, key: str) -> tuple[TournamentRow, EntrantRow] | None:
    """Whose session's token has that hash, in the newest tournament that is not finished."""
    found = connection.execute(_KEY, {"key": key}).first()
    if found is None:
        return None
    columns = len(fields(TournamentRow))
    return TournamentRow(*found[:columns]), EntrantRow(*found[columns:])


def set_entrant(
    connection: Connection,
    entrant: int,
    *,
    status: EntrantStatus | None = None,
    reason: object = None,
    strikes: int | None = None,
    session: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> None:
    """Change what is given of an entrant; who is in again has no reason any more."""
    given = {
        "status": status,
        "reason": reason,
        "strikes": strikes,
        "session": session,
        "options": options,
    }
    values = {name: value for name, value in given.items() if value is not None}
    if status == "in":
        values["reason"] = None
    if values:
        connection.execute(update(table).where(table.c.id == entrant).values(values))


def _of(tournament: int) -> Any:
    return table.c.tournament_id == tournament


def _has_name(connection: Connection, tournament: int, name: str) -> bool:
    query = select(table.c.id).where(_of(tournament), table.c.name == name)
    return connection.scalar(query) is not None
