"""Tournaments as they stand, brought up to date by what is new instead of being read anew.

A large tournament has thousands of results, of which two changed since the last page. What an
order of the operator changes can be any of them, so after one all are read again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, Select, or_, select

from croupier_server.commands.view import View
from croupier_server.storage import catalogue, schema
from croupier_server.storage.catalogue import GameRow
from croupier_server.storage.rows import as_rows, select_rows
from croupier_server.tournament.tally import Tallies, tallied

if TYPE_CHECKING:
    from croupier_server.storage.catalogue import OrderRow, PairingRow, TournamentRow
    from croupier_server.tournament.model import Result

__all__ = ["Views"]

MAX_VIEWS: Final = 4

MAX_IN: Final = 500
"""How many rows a query names."""


@dataclass(slots=True)
class _Known:
    """What was read of a tournament.

    Attributes:
        answered: how many of the operator's orders had been answered.
        settled: the rows of pairings with results.
        tallies: what all results come to.
    """

    answered: int
    pairings: list[PairingRow] = field(default_factory=list["PairingRow"])
    results: dict[str, Result] = field(default_factory=dict[str, "Result"])
    settled: set[int] = field(default_factory=set[int])
    games: dict[int, GameRow] = field(default_factory=dict[int, "GameRow"])
    tallies: Tallies = field(default_factory=lambda: tallied(()))


class Views:
    """Gives tournaments as they stand; for one thread."""

    def __init__(self) -> None:
        self._known: OrderedDict[int, _Known] = OrderedDict()

    def view(self, connection: Connection, name: str) -> View | None:
        """The tournament of that name, if there is one."""
        row = catalogue.find_tournament(connection, name)
        if row is None:
            return None
        orders = catalogue.orders(connection, row.id)
        answered = sum(order.done_ms is not None for order in orders)
        known = self._known.pop(row.id, None)
        if known is None or known.answered != answered or not _renew(connection, row, known):
            known = _Known(answered)
            _renew(connection, row, known)
        self._known[row.id] = known
        while len(self._known) > MAX_VIEWS:
            self._known.popitem(last=False)
        return _viewed(connection, row, known, orders)


def _renew(connection: Connection, row: TournamentRow, known: _Known) -> bool:
    """Read what is new; False if something is gone, so that all has to be read."""
    settled = _settled(connection, row.id)
    if not known.settled <= settled:
        return False
    last = known.pairings[-1].number if known.pairings else 0
    known.pairings.extend(catalogue.pairings(connection, row.id, after=last))
    new = settled - known.settled
    fresh = [pairing for pairing in known.pairings if pairing.id in new]
    if new:
        results = catalogue.results(connection, row.id, fresh)
        known.results.update(results)
        tallied(results.values(), onto=known.tallies)
        known.settled = settled
    _renew_games(connection, row.id, known)
    return True


def _settled(connection: Connection, tournament: int) -> set[int]:
    """The rows of all pairings that have results."""
    results, pairings = schema.results.c, schema.pairings.c
    query = (
        select(results.pairing_id)
        .join(schema.pairings, pairings.id == results.pairing_id)
        .where(pairings.tournament_id == tournament)
        .distinct()
    )
    return set(connection.scalars(query))


def _renew_games(connection: Connection, tournament: int, known: _Known) -> None:
    """Read the games that began since, and again those that were running."""
    table, pairings = schema.games, schema.pairings
    running = [game.id for game in known.games.values() if game.status == "running"]
    changed = table.c.id > max(known.games, default=0)
    if len(running) <= MAX_IN:
        changed = or_(changed, table.c.id.in_(running))
    query: Select[Any] = (
        select_rows(table, GameRow)
        .join(pairings, pairings.c.id == table.c.pairing_id)
        .where(pairings.c.tournament_id == tournament, changed)
    )
    known.games.update((game.id, game) for game in as_rows(connection, query, GameRow))


def _viewed(
    connection: Connection, row: TournamentRow, known: _Known, orders: Sequence[OrderRow]
) -> View:
    """The view of what is known."""
    numbers = {pairing.id: pairing.number for pairing in known.pairings}
    games = sorted(known.games.values(), key=lambda one: (numbers[one.pairing_id], one.attempt))
    view = View(
        row,
        catalogue.entrants(connection, row.id),
        tuple(known.pairings),
        dict(known.results),
        games,
        orders,
    )
    view.take_over(known.tallies)
    return view
