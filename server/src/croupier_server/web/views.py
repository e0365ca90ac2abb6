"""Tournaments as they stand, brought up to date by what is new instead of being read anew.

A large tournament has thousands of results, of which two changed since the last page. What an
order of the operator changes can be any of them, so after one all are read again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    exists,
    func,
    or_,
    select,
)

from croupier_server.commands.view import Plans, View
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
        through: how many pairings there are before the first one without a result.
        late: the rows of pairings behind that one that have results.
        numbers: by a pairing's row, its number.
        games: by their pairing's number, and by attempt.
        tallies: what all results come to.
        plans: how many games there are to be.
    """

    answered: int
    pairings: list[PairingRow] = field(default_factory=list["PairingRow"])
    results: dict[str, Result] = field(default_factory=dict[str, "Result"])
    through: int = 0
    late: set[int] = field(default_factory=set[int])
    numbers: dict[int, int] = field(default_factory=dict[int, int])
    games: dict[tuple[int, int], GameRow] = field(default_factory=dict[tuple[int, int], GameRow])
    tallies: Tallies = field(default_factory=lambda: tallied(()))
    plans: Plans = field(default_factory=Plans)

    def settle(self, late: set[int]) -> None:
        """Note who has results, and move on behind all before the first without one."""
        self.late = late
        while self.through < len(self.pairings) and self.pairings[self.through].id in late:
            late.discard(self.pairings[self.through].id)
            self.through += 1


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
    _renew_pairings(connection, row.id, known)
    # most games end in about the order of their pairings: the long list of those is not read
    last = known.pairings[known.through - 1].number if known.through else 0
    table = schema.pairings.c
    early = connection.scalar(_settled(func.count(), row.id, table.number <= last))
    late = set(connection.scalars(_settled(table.id, row.id, table.number > last)))
    if early != known.through or not known.late <= late:
        return False
    new = late - known.late
    fresh = [pairing for pairing in known.pairings[known.through :] if pairing.id in new]
    if fresh:
        results = catalogue.results(connection, row.id, fresh)
        known.results.update(results)
        tallied(results.values(), onto=known.tallies)
        known.settle(late)
    _renew_games(connection, row.id, known)
    return True


def _renew_pairings(connection: Connection, tournament: int, known: _Known) -> None:
    """Read what was paired since."""
    last = known.pairings[-1].number if known.pairings else 0
    new = catalogue.pairings(connection, tournament, after=last)
    known.pairings.extend(new)
    known.numbers.update((pairing.id, pairing.number) for pairing in new)


def _settled(what: ColumnElement[int], tournament: int, among: ColumnElement[bool]) -> Select[Any]:
    """A query for something of those pairings among some that have results."""
    table = schema.pairings
    has_result = exists().where(schema.results.c.pairing_id == table.c.id)
    query = select(what).select_from(table).where(table.c.tournament_id == tournament)
    return query.where(among, has_result)


def _renew_games(connection: Connection, tournament: int, known: _Known) -> None:
    """Read the games that began since, and again those that were running."""
    table, pairings = schema.games, schema.pairings
    running = [game.id for game in known.games.values() if game.status == "running"]
    changed = table.c.id > max((game.id for game in known.games.values()), default=0)
    if len(running) <= MAX_IN:
        changed = or_(changed, table.c.id.in_(running))
    query: Select[Any] = (
        select_rows(table, GameRow)
        .join(pairings, pairings.c.id == table.c.pairing_id)
        .where(pairings.c.tournament_id == tournament, changed)
    )
    for game in as_rows(connection, query, GameRow):
        known.games[known.numbers[game.pairing_id], game.attempt] = game


def _viewed(
    connection: Connection, row: TournamentRow, known: _Known, orders: Sequence[OrderRow]
) -> View:
    """The view of what is known."""
    view = View(
        row,
        catalogue.entrants(connection, row.id),
        tuple(known.pairings),
        dict(known.results),
        [known.games[place] for place in sorted(known.games)],
        orders,
    )
    view.take_over(known.tallies, known.plans)
    return view
