"""All that the database has of a tournament, in one moment, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from croupier_common.jsontypes import is_array, is_object
from croupier_common.verdict import Fault, Phase, Verdict
from croupier_server.storage import catalogue
from croupier_server.tournament.cross_table import CrossTable, cross_table
from croupier_server.tournament.formats import FormatOptions, make_format
from croupier_server.tournament.knockout import Knockout
from croupier_server.tournament.model import Entrant, Field, Finished, Format, History
from croupier_server.tournament.standings import Table, standings
from croupier_server.tournament.tally import Tallies, tallied

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from croupier_server.ratings import Rating
    from croupier_server.storage.catalogue import EntrantRow, GameRow, OrderRow, TournamentRow
    from croupier_server.storage.pairings import PairingRow
    from croupier_server.tournament.model import Result

__all__ = ["Plans", "View", "format_of"]

_CHOSEN = ("table", "rounds", "max_games", "blocks_per_entrant")
"""What of the settings is an option of the format."""


Plans = dict[tuple[Format, tuple[Entrant, ...]], int | None]
"""By format and entrants, how many games there are in all; None where nobody can know."""


@dataclass(slots=True)
class _Known:
    """What was worked out from a view before."""

    tallies: dict[bool, Tallies] = field(default_factory=dict[bool, Tallies])
    ratings: tuple[Rating, ...] | None = None
    plans: Plans = field(default_factory=Plans)


@dataclass(frozen=True, slots=True)
class View:
    """A tournament as the database has it.

    Attributes:
        entrants: all who ever took part, in the tournament's order.
        results: by the pairing's id.
        games: all that ever began, by pairing and attempt.
    """

    row: TournamentRow
    entrants: Sequence[EntrantRow]
    pairings: Sequence[PairingRow]
    results: Mapping[str, Result]
    games: Sequence[GameRow]
    orders: Sequence[OrderRow]
    _known: _Known = field(default_factory=_Known, compare=False, repr=False)

    @classmethod
    def of(cls, connection: Connection, row: TournamentRow) -> View:
        """The view of a tournament as it is now."""
        again = catalogue.find_tournament(connection, row.name)
        return cls(
            row if again is None else again,
            catalogue.entrants(connection, row.id),
            catalogue.pairings(connection, row.id),
            catalogue.results(connection, row.id),
            catalogue.games(connection, row.id),
            catalogue.orders(connection, row.id),
        )

    @property
    def is_over(self) -> bool:
        """Whether all of it is played."""
        return self.row.status == "finished"

    @property
    def format(self) -> Format:
        """The format that it is played in."""
        return format_of(self.row)

    @property
    def field(self) -> Field:
        """Who takes part."""
        anchors = _anchors(self.row.config)
        return Field(
            tuple(
                Entrant(row.name, anchors.get(row.name), is_house=row.kind == "house")
                for row in self.entrants
            ),
            frozenset(row.name for row in self.entrants if row.status != "in"),
        )

    @property
    def history(self) -> History:
        """What has happened so far."""
        return History(tuple(row.pairing for row in self.pairings), self.results)

    def table(self, *, count_forfeits: bool = True) -> Table:
        """The standings after the results that there are."""
        tallies = self.tallies(count_forfeits=count_forfeits)
        known = History((), self.results)  # the tallies say it all: no need to go by the pairings
        return standings(self.field, known, self.format.tie_breaks, tallies=tallies)

    def cross_table(self, *, count_forfeits: bool = True) -> CrossTable:
        """Who scored what against whom, in the order of the standings."""
        table = self.table(count_forfeits=count_forfeits)
        names = tuple(row.name for row in [*table.rows, *table.out])
        tallies = self.tallies(count_forfeits=count_forfeits)
        return cross_table(self.field, History((), self.results), names, tallies=tallies)

    def tallies(self, *, count_forfeits: bool) -> Tallies:
        """What the results come to; they are many, so it is kept for the next table."""
        known = self._known.tallies
        if count_forfeits not in known:
            results = self.results.values()
            known[count_forfeits] = tallied(results, count_forfeits=count_forfeits)
        return known[count_forfeits]

    def planned(self) -> int | None:
        """How many games its format has in all; to count them, it may have to pair a round.

        Raises:
            UserError: it would not begin with so many entrants.
        """
        key = (self.format, self.field.entrants)
        plans = self._known.plans
        if key not in plans:
            plans.clear()
            plans[key] = key[0].plan(key[1]).games
        return plans[key]

    def take_over(self, tallies: Tallies, plans: Plans) -> None:
        """Keep what all results come to, forfeits too, where that is known already.

        Args:
            plans: what :meth:`planned` found before, and where it keeps what it finds.
        """
        self._known.tallies[True] = tallies
        self._known.plans = plans

    def ratings(self) -> tuple[Rating, ...]:
        """The ratings by all results that there are, alike whenever they are asked for."""
        if self._known.ratings is None:
            from croupier_server.ratings import rate

            self._known.ratings = rate(self.field, self.history, seed=self.row.seed)
        return self._known.ratings

    def winners(self) -> tuple[str, ...]:
        """Who has won, as the end was written down; nobody before that."""
        result = self.row.result if self.is_over else None
        named = result.get("winners") if is_object(result) else None
        return tuple(map(str, named)) if is_array(named) else ()

    def decided(self) -> tuple[str, ...]:
        """Who has won by the results that there are; who failed at the very end makes no way."""
        faults = self.faults()
        late = {name for name, fault in faults.items() if fault.phase is Phase.TOURNAMENT_END}
        there = replace(self.field, out=self.field.out - late)
        form = self.format
        if isinstance(form, Knockout):
            won = form.winners(there, self.history)
        else:
            rows = standings(there, self.history, form.tie_breaks).rows
            won = tuple(row.name for row in rows if row.place == 1)
        return tuple(name for name in won if name not in faults)

    def has_ended(self) -> bool:
        """Whether the format has nothing more to say, whatever the status is."""
        return isinstance(self.format.following(self.field, self.history), Finished)

    def faults(self) -> dict[str, Fault]:
        """By name, why those who are out are."""
        return {row.name: _fault(row) for row in self.entrants if row.status != "in"}

    def result_json(self) -> dict[str, Any]:
        """The result as the server writes it at the end, by the results that there are now."""
        from croupier_server.tournament.progress import TournamentResult

        table = self.table()
        return TournamentResult(
            name=self.row.name,
            seed=self.row.seed,
            winners=self.decided(),
            standings=tuple((row.place, row.name) for row in [*table.rows, *table.out]),
            faults=self.faults(),
            games=tuple(
                (row.pairing, self.results[row.game])
                for row in self.pairings
                if row.game in self.results
            ),
        ).to_json()


def _fault(row: EntrantRow) -> Fault:
    reason = row.reason if is_object(row.reason) else {}
    sent = reason.get("sent")
    return Fault(
        Verdict(str(reason.get("verdict", Verdict.WITHDRAWN))),
        Phase(str(reason.get("phase", Phase.GAME_START))),
        str(reason.get("detail", "")),
        None if sent is None else str(sent),
    )


def format_of(row: TournamentRow) -> Format:
    """The format that a tournament was begun with."""
    given = row.config.get("tournament", {})
    options = {name: given[name] for name in _CHOSEN if given.get(name) is not None}
    return make_format(row.format, FormatOptions(**options, seed=row.seed))


def _anchors(config: Mapping[str, Any]) -> dict[str, float]:
    """The ratings of house players that are known."""
    house = config.get("lobby", {}).get("house", [])
    return {one["name"]: one["rating"] for one in house if one.get("rating") is not None}
