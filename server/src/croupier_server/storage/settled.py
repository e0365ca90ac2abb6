"""Which pairings are over, for those who ask about many at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from sqlalchemy import BindParameter, Connection, bindparam, select

from croupier_server.storage.results import result_in
from croupier_server.storage.schema import games, pairings, results
from croupier_server.tournament.model import Pairing, Result

__all__ = ["Settled", "settled"]

MAX_ASKED: Final = 1_000
"""How many pairings a query names."""


@dataclass(frozen=True, slots=True)
class Settled:
    """How a pairing ended: with a result, or with an attempt that failed.

    Attributes:
        plies: how long its game was.
        interrupted: the number of its last attempt, where there is no result and that failed.
    """

    result: Result | None = None
    plies: int = 0
    interrupted: int | None = None


# Made once, since to make a statement takes as long as to execute it.
_ASKED: Final[BindParameter[Any]] = bindparam("asked", expanding=True)
_RESULTS: Final = (
    select(
        *(results.c.pairing_id, results.c.kind, results.c.name, results.c.place),
        *(results.c.fish, results.c.tiles, results.c.verdict),
        *(pairings.c.game, pairings.c.players, pairings.c.round, pairings.c.block),
        games.c.plies,
    )
    .outerjoin(games, games.c.id == results.c.game_id)
    .join(pairings, pairings.c.id == results.c.pairing_id)
    .where(results.c.pairing_id.in_(_ASKED))
    .order_by(results.c.pairing_id, results.c.standing)
)
_ATTEMPTS: Final = (
    select(games.c.pairing_id, games.c.attempt, games.c.status)
    .where(games.c.pairing_id.in_(_ASKED))
    .order_by(games.c.attempt)
)


def settled(connection: Connection, pairings: Sequence[int]) -> Mapping[int, Settled]:
    """Those of some pairings, by their rows' ids, that have a result or whose last attempt failed.

    What is not in it is being played, or was not begun.
    """
    found: dict[int, Settled] = {}
    for at in range(0, len(pairings), MAX_ASKED):
        asked = pairings[at : at + MAX_ASKED]
        # Results come last: of what ends between the two queries, the result is what counts.
        found.update(_interrupted(connection, asked))
        found.update(_with_result(connection, asked))
    return found


def _interrupted(connection: Connection, asked: Sequence[int]) -> Iterator[tuple[int, Settled]]:
    last = {
        pairing: (attempt, status)
        for pairing, attempt, status in connection.execute(_ATTEMPTS, {"asked": asked})
    }
    for pairing, (attempt, status) in last.items():
        if status == "interrupted":
            yield pairing, Settled(interrupted=attempt)


def _with_result(connection: Connection, asked: Sequence[int]) -> Iterator[tuple[int, Settled]]:
    rows = connection.execute(_RESULTS, {"asked": asked}).all()
    for number, some in groupby(rows, itemgetter(0)):
        of_it = list(some)
        result = result_in(Pairing(*of_it[0][7:11]), [row[:7] for row in of_it])
        yield number, Settled(result, of_it[0].plies or 0)
