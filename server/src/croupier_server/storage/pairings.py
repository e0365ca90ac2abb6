"""What was paired, as the database has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, bindparam, func, insert, select

from croupier_server.errors import ServerFault
from croupier_server.storage.rows import as_rows, select_rows
from croupier_server.storage.schema import pairings as table
from croupier_server.tournament.model import Pairing

__all__ = ["PairingRow", "find_pairing", "issue", "lock_pairing", "pairing_by_id", "pairings"]


@dataclass(frozen=True, slots=True)
class PairingRow:
    """A pairing; ``number`` is its place in the order in which they were issued, from 1."""

    id: int
    tournament_id: int
    number: int
    game: str
    round: int
    block: str
    players: tuple[str, ...]

    @property
    def pairing(self) -> Pairing:
        """As a format has it."""
        return Pairing(self.game, self.players, self.round, self.block)


# Made once, since to make a statement takes as long as to execute it, and a ladder has many.
_LAST: Final = select(func.max(table.c.number)).where(
    table.c.tournament_id == bindparam("tournament")
)
_ISSUE: Final = insert(table)
_ISSUED: Final = (
    select_rows(table, PairingRow)
    .where(table.c.tournament_id == bindparam("tournament"), table.c.number > bindparam("after"))
    .order_by(table.c.number)
)

# Not for update as such, which the foreign keys of results and games would have to wait for: who
# ends a game, and holds that, adds a result; who takes a game holds the pairing and needs the game.
_LOCK: Final = (
    select(table.c.id).where(table.c.id == bindparam("pairing")).with_for_update(key_share=True)
)


def lock_pairing(connection: Connection, pairing: int) -> None:
    """Keep others from taking a pairing, or setting its result aside, in this transaction's time.

    It comes before the locks of its games. SQLite has one writer at a time, and needs none.

    Raises:
        ServerFault: there is no such pairing.
    """
    if connection.scalar(_LOCK, {"pairing": pairing}) is None:
        raise ServerFault(f"pairing row {pairing} is not there")


def issue(
    connection: Connection, tournament: int, issued: Sequence[Pairing]
) -> Sequence[PairingRow]:
    """Keep pairings that a format gave, behind all before them; gives their rows."""
    last: int = connection.scalar(_LAST, {"tournament": tournament}) or 0
    rows = [
        {
            "tournament_id": tournament,
            "number": number,
            "game": pairing.game,
            "round": pairing.round,
            "block": pairing.block,
            "players": pairing.players,
        }
        for number, pairing in enumerate(issued, last + 1)
    ]
    if rows:
        connection.execute(_ISSUE, rows)
    return pairings(connection, tournament, after=last)


def pairings(connection: Connection, tournament: int, *, after: int = 0) -> Sequence[PairingRow]:
    """All pairings with a higher number than `after`, in the order in which they were issued."""
    given = {"tournament": tournament, "after": after}
    return as_rows(connection, _ISSUED, PairingRow, given)


def find_pairing(connection: Connection, tournament: int, game: str) -> PairingRow | None:
    """The pairing with that id of a game."""
    query = select_rows(table, PairingRow).where(_of(tournament), table.c.game == game)
    return next(iter(as_rows(connection, query, PairingRow)), None)


def pairing_by_id(connection: Connection, pairing: int) -> PairingRow | None:
    """The pairing of that row."""
    query = select_rows(table, PairingRow).where(table.c.id == pairing)
    return next(iter(as_rows(connection, query, PairingRow)), None)


def _of(tournament: int) -> Any:
    return table.c.tournament_id == tournament
