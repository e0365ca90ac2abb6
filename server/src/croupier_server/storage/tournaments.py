"""The tournaments in the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from sqlalchemy import Connection, insert, update
from sqlalchemy.exc import IntegrityError

from croupier_server.errors import UserError
from croupier_server.storage.rows import as_rows, now_ms, select_rows
from croupier_server.storage.schema import tournaments as table

__all__ = [
    "TournamentRow",
    "TournamentStatus",
    "create_tournament",
    "find_tournament",
    "set_config",
    "set_status",
    "tournament_by_id",
    "tournaments",
]

TournamentStatus = Literal["gathering", "running", "paused", "stopped", "finished", "failed"]

_ENDS: Final = frozenset({"stopped", "finished", "failed"})


@dataclass(frozen=True, slots=True)
class TournamentRow:
    """A tournament.

    Attributes:
        config: what it was made with, as JSON.
        result: its final table, as JSON, once it has one.
    """

    id: int
    name: str
    format: str
    status: TournamentStatus
    seed: int
    config: Mapping[str, Any]
    created_ms: int
    started_ms: int | None
    ended_ms: int | None
    result: Any


def create_tournament(
    connection: Connection, name: str, format_name: str, seed: int, config: Mapping[str, Any]
) -> TournamentRow:
    """A new tournament, which gathers players.

    Raises:
        UserError: there is one of that name.
    """
    values = {
        "name": name,
        "format": format_name,
        "status": "gathering",
        "seed": seed,
        "config": config,
        "created_ms": now_ms(),
    }
    try:
        with connection.begin_nested():
            connection.execute(insert(table).values(values))
    except IntegrityError:
        raise UserError(f"there is a tournament {name!r:.80} already") from None
    found = find_tournament(connection, name)
    assert found is not None
    return found


def find_tournament(connection: Connection, name: str) -> TournamentRow | None:
    """The tournament of that name, if there is one."""
    query = select_rows(table, TournamentRow).where(table.c.name == name)
    return next(iter(as_rows(connection, query, TournamentRow)), None)


def tournament_by_id(connection: Connection, tournament: int) -> TournamentRow | None:
    """The tournament of that row, if there is one."""
    query = select_rows(table, TournamentRow).where(table.c.id == tournament)
    return next(iter(as_rows(connection, query, TournamentRow)), None)


def tournaments(connection: Connection) -> Sequence[TournamentRow]:
    """All of them, oldest first."""
    query = select_rows(table, TournamentRow).order_by(table.c.id)
    return as_rows(connection, query, TournamentRow)


def set_config(
    connection: Connection,
    tournament: int,
    config: Mapping[str, Any],
    format_name: str,
    seed: int,
) -> None:
    """Put other settings in the place of those that a tournament was made with."""
    values = {"config": config, "format": format_name, "seed": seed}
    connection.execute(update(table).where(table.c.id == tournament).values(values))


def set_status(
    connection: Connection, tournament: int, status: TournamentStatus, result: object = None
) -> None:
    """Say what has become of a tournament; the first start and the last end are kept with it.

    Args:
        result: its final table, as JSON; None leaves what is there.
    """
    values: dict[str, Any] = {"status": status, "ended_ms": None}
    if status in _ENDS:
        values["ended_ms"] = now_ms()
    if result is not None:
        values["result"] = result
    of_it = table.c.id == tournament
    connection.execute(update(table).where(of_it).values(values))
    if status == "running":
        first = update(table).where(of_it, table.c.started_ms.is_(None))
        connection.execute(first.values(started_ms=now_ms()))
