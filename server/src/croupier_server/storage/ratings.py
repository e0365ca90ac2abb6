"""The ratings of a tournament's entrants, as the database has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select

from croupier_server.storage.rows import now_ms
from croupier_server.storage.schema import ratings as table

__all__ = ["RatingRow", "ratings", "set_ratings"]


@dataclass(frozen=True, slots=True)
class RatingRow:
    """A rating; it lies between `low` and `high`, after so many games."""

    name: str
    rating: float
    low: float
    high: float
    games: int


def set_ratings(connection: Connection, tournament: int, given: Sequence[RatingRow]) -> None:
    """Put ratings in the place of all that a tournament had."""
    connection.execute(delete(table).where(table.c.tournament_id == tournament))
    at_ms = now_ms()
    rows = [
        {
            "tournament_id": tournament,
            "name": row.name,
            "rating": row.rating,
            "low": row.low,
            "high": row.high,
            "games": row.games,
            "at_ms": at_ms,
        }
        for row in given
    ]
    if rows:
        connection.execute(insert(table), rows)


def ratings(connection: Connection, tournament: int) -> Sequence[RatingRow]:
    """A tournament's ratings, best first."""
    query = (
        select(table.c.name, table.c.rating, table.c.low, table.c.high, table.c.games)
        .where(table.c.tournament_id == tournament)
        .order_by(table.c.rating.desc(), table.c.name)
    )
    return [RatingRow(*found) for found in connection.execute(query)]
