"""A tournament's page: standings, who is out and why, cross-table, bracket or rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from croupier_server.storage import catalogue
from croupier_server.tournament.cross_table import CrossTable, cross_table
from croupier_server.tournament.model import History
from croupier_server.tournament.standings import Row
from croupier_server.web.found import GameLine, Heading, found_view, game_lines
from croupier_server.web.openapi import PAGE_AND_SIZE, Operation
from croupier_server.web.paging import MAX_NUMBER, Paging, whole_query
from croupier_server.web.site import Site, twin
from croupier_server.web.views import Views

if TYPE_CHECKING:
    from croupier_common.verdict import Fault
    from croupier_server.commands.view import View
    from croupier_server.storage.pairings import PairingRow
    from croupier_server.storage.ratings import RatingRow

__all__ = ["OPERATIONS", "Round", "TournamentPage", "load", "routes"]

SIZE: Final = 200

MAX_CROSS: Final = 24
"""How many players the cross-table on the page has; the file for download has all."""

MAX_TABLES: Final = 64
"""How many games of a round are on the page; the list of games has all."""

OPERATIONS: Final = (
    Operation(
        "/t/{tournament}.json",
        "A tournament: standings, cross-table, rounds.",
        {
            "tournament": ("object", "Name, format, status, how many games, how long."),
            "ranked_by": ("array", "By what the players are ranked, first to last."),
            "standings": ("array", "The table's rows; who is out stands behind all others."),
            "paging": ("object", "Which of the rows these are."),
            "out": ("array", "Who is out, and why."),
            "cross_table": ("object", "Points and games of the rows' first players, pairwise."),
            "rounds": ("array", "All rounds of a knock-out, else one; with the first games."),
            "last_round": ("integer", "The number of the last round; 0 before the first."),
        },
        {**PAGE_AND_SIZE, "round": ("integer", "Which round to tell of, if it isn't the last.")},
    ),
)


@dataclass(frozen=True, slots=True)
class Standing:
    """A row of the table, with what is not in the results."""

    row: Row
    rating: RatingRow | None
    fault: Fault | None
    is_winner: bool

    def to_json(self) -> dict[str, Any]:
        """The row as JSON."""
        rating = self.rating
        return {
            **self.row.to_json(),
            "winner": self.is_winner,
            "out": None if self.fault is None else self.fault.verdict.value,
            "rating": None
            if rating is None
            else {"rating": rating.rating, "low": rating.low, "high": rating.high},
        }


@dataclass(frozen=True, slots=True)
class Round:
    """A round, with its first games; `games` are all that it has."""

    number: int
    games: int
    lines: Sequence[GameLine]

    def to_json(self) -> dict[str, Any]:
        """The round as JSON."""
        return {
            "round": self.number,
            "games": self.games,
            "first": [line.to_json() for line in self.lines],
        }


@dataclass(frozen=True, slots=True)
class TournamentPage:
    """How a tournament stands."""

    heading: Heading
    by: tuple[str, ...]
    rows: Sequence[Standing]
    paging: Paging
    out: Mapping[str, Fault]
    cross: CrossTable
    rounds: Sequence[Round]
    last_round: int

    @property
    def has_ratings(self) -> bool:
        """Whether anybody has a rating."""
        return any(one.rating is not None for one in self.rows)

    def to_json(self) -> dict[str, Any]:
        """See :class:`~croupier_server.web.site.Page`."""
        return {
            "tournament": self.heading.to_json(),
            "ranked_by": list(self.by),
            "standings": [one.to_json() for one in self.rows],
            "paging": self.paging.to_json(),
            "out": [
                {
                    "name": name,
                    "verdict": fault.verdict.value,
                    "phase": fault.phase.value,
                    "detail": fault.detail,
                    "fix": fault.verdict.fix,
                }
                for name, fault in self.out.items()
            ],
            "cross_table": self.cross.to_json(),
            "rounds": [one.to_json() for one in self.rounds],
            "last_round": self.last_round,
        }


def load(
    connection: Connection, views: Views, tournament: str, paging: Paging, number: int | None
) -> TournamentPage:
    """How it stands.

    Args:
        number: the round to show where it is no knock-out; the last one if None.

    Raises:
        HTTPException: there is no such tournament, or no such page of it.
    """
    view = found_view(views, connection, tournament)
    table, faults, won = view.table(), view.faults(), view.winners()
    ratings = {one.name: one for one in catalogue.ratings(connection, view.row.id)}
    rows = [*table.rows, *table.out]
    paging = paging.of(len(rows))
    shown = [
        Standing(row, ratings.get(row.name), faults.get(row.name), row.name in won)
        for row in paging.cut(rows)
    ]
    names = tuple(one.row.name for one in shown[:MAX_CROSS])
    last = max((pairing.round for pairing in view.pairings), default=0)
    return TournamentPage(
        Heading.of(view),
        table.by,
        shown,
        paging,
        {row.name: faults[row.name] for row in paging.cut(rows) if row.name in faults},
        _cross(view, names),
        _rounds(view, last if number is None else number),
        last,
    )


def routes(site: Site) -> list[Route]:
    """A tournament's."""

    async def tournament(request: Request) -> Response:
        name = site.param(request, "tournament")
        paging = Paging.asked(request, SIZE)
        number = whole_query(request, "round", 1, MAX_NUMBER)
        return await site.respond_apart(
            request,
            (name, paging, number),
            "tournament.html",
            partial(load, tournament=name, paging=paging, number=number),
        )

    return twin("/t/{tournament}", tournament, "tournament")


def _cross(view: View, names: tuple[str, ...]) -> CrossTable:
    tallies = view.tallies(count_forfeits=True)
    found = cross_table(view.field, History((), view.results), names, tallies=tallies)
    among = set(names)
    return CrossTable(names, {pair: cell for pair, cell in found.cells.items() if pair[1] in among})


def _rounds(view: View, number: int) -> list[Round]:
    """All rounds of a knock-out, which are few; of others the one that is asked for."""
    by_round: dict[int, list[PairingRow]] = {}
    for pairing in view.pairings:
        by_round.setdefault(pairing.round, []).append(pairing)
    if view.row.format != "knockout":
        by_round = {number: by_round[number]} if number in by_round else {}
    return [
        Round(at, len(pairings), game_lines(view, pairings[:MAX_TABLES]))
        for at, pairings in by_round.items()
    ]
