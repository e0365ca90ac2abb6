"""A player's page: results, rating, ejections with what to do about them, thinking times."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, select
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from croupier_common.render import printable
from croupier_common.verdict import Phase, Verdict
from croupier_server.storage import catalogue, schema
from croupier_server.storage.catalogue import Detail
from croupier_server.tournament.points import points
from croupier_server.web.found import GameLine, Heading, found_view, game_lines
from croupier_server.web.histogram import Bin, binned, histogram_svg
from croupier_server.web.openapi import PAGE_AND_SIZE, Operation
from croupier_server.web.paging import Paging
from croupier_server.web.rating_chart import RatingPoint, course_of, rating_svg
from croupier_server.web.site import Site, twin
from croupier_server.web.views import Views

if TYPE_CHECKING:
    from croupier_common.verdict import Fault
    from croupier_server.commands.view import View
    from croupier_server.storage.entrants import EntrantRow
    from croupier_server.storage.ratings import RatingRow
    from croupier_server.tournament.standings import Row

__all__ = ["OPERATIONS", "PlayerPage", "load", "routes"]

SIZE: Final = 50

MAX_READ: Final = 30
"""From how many of the last games the thinking times are told."""

MAX_EJECTIONS: Final = 100

OPERATIONS: Final = (
    Operation(
        "/t/{tournament}/p/{player}.json",
        "How a player does in a tournament.",
        {
            "tournament": ("object", "Name, format, status, how many games, how long."),
            "name": ("string", "The player's name."),
            "kind": ("string", "remote, program, house or course."),
            "status": ("string", "in, ejected, withdrawn, disqualified or absent."),
            "standing": ("object", "Its row of the table."),
            "rating": ("object?", "Its rating with its interval; null before there is one."),
            "out": ("object?", "Why it is out, and what to do about it; null while it is in."),
            "games": ("array", "Its games, the last paired first."),
            "paging": ("object", "Which of its games these are."),
            "ejections": ("array", "From which games it was ejected, and what to do about it."),
            "think_times": ("array", "How many answers of its last games took how long."),
            "ratings": ("array", "Its rating after each game, with an interval, as in a ladder."),
        },
        PAGE_AND_SIZE,
    ),
)


@dataclass(frozen=True, slots=True)
class Played:
    """A game of the player's; the points that it got, and how long it thought."""

    line: GameLine
    points: float | None
    detail: Detail

    def to_json(self) -> dict[str, Any]:
        """The game as JSON."""
        return {
            **self.line.to_json(),
            "points": self.points,
            "turns": self.detail.turns,
            "think_ms_total": self.detail.think_ms_total,
            "think_ms_max": self.detail.think_ms_max,
        }


@dataclass(frozen=True, slots=True)
class Ejection:
    """A game in which the player failed."""

    pairing: str
    game: str | None
    verdict: Verdict
    phase: str | None
    detail: str

    def to_json(self) -> dict[str, Any]:
        """The ejection as JSON."""
        return {
            "pairing": self.pairing,
            "game": self.game,
            "verdict": self.verdict.value,
            "phase": self.phase,
            "detail": self.detail,
            "fix": self.verdict.fix,
            "link": self.verdict.link,
        }


@dataclass(frozen=True, slots=True)
class PlayerPage:
    """How a player does."""

    heading: Heading
    entrant: EntrantRow
    row: Row
    rating: RatingRow | None
    out: Fault | None
    games: Sequence[Played]
    paging: Paging
    ejections: Sequence[Ejection]
    bins: Sequence[Bin]
    course: Sequence[RatingPoint] = ()

    @property
    def course_chart(self) -> str:
        """The course of the rating as SVG; nothing if there is none."""
        return rating_svg(self.course) if len(self.course) > 1 else ""

    @property
    def chart(self) -> str:
        """The thinking times as SVG; nothing if there are none."""
        return histogram_svg(self.bins) if self.bins else ""

    def to_json(self) -> dict[str, Any]:
        """See :class:`~croupier_server.web.site.Page`."""
        rating, out = self.rating, self.out
        return {
            "tournament": self.heading.to_json(),
            "name": self.entrant.name,
            "kind": self.entrant.kind,
            "status": self.entrant.status,
            "standing": self.row.to_json(),
            "rating": None
            if rating is None
            else {
                "rating": rating.rating,
                "low": rating.low,
                "high": rating.high,
                "games": rating.games,
            },
            "out": None
            if out is None
            else {
                "verdict": out.verdict.value,
                "phase": out.phase.value,
                "detail": out.detail,
                "fix": out.verdict.fix,
            },
            "games": [one.to_json() for one in self.games],
            "paging": self.paging.to_json(),
            "ejections": [one.to_json() for one in self.ejections],
            "think_times": [
                {"from_ms": one.low_ms, "to_ms": one.high_ms, "answers": one.count}
                for one in self.bins
            ],
            "ratings": [one.to_json() for one in self.course],
        }


def load(
    connection: Connection, views: Views, tournament: str, player: str, paging: Paging
) -> PlayerPage:
    """How a player does.

    Raises:
        HTTPException: there is no such tournament, player, or page of its games.
    """
    view = found_view(views, connection, tournament)
    entrant = next((row for row in view.entrants if row.name == player), None)
    if entrant is None:
        raise HTTPException(404, f"{printable(tournament)} has no player {printable(player)}.")
    table = view.table()
    pairings = [pairing for pairing in view.pairings if player in pairing.players]
    pairings.reverse()
    paging = paging.of(len(pairings))
    details = _details(connection, view.row.id, player)
    rating = {one.name: one for one in catalogue.ratings(connection, view.row.id)}
    lines = game_lines(view, pairings)
    return PlayerPage(
        Heading.of(view),
        entrant,
        next(row for row in [*table.rows, *table.out] if row.name == player),
        rating.get(player),
        view.faults().get(player),
        [_played(view, line, player, details) for line in paging.cut(lines)],
        paging,
        list(_ejections(lines, player, details))[:MAX_EJECTIONS],
        binned(_think_times(connection, view, lines, player)),
        course_of(view, player),
    )


def routes(site: Site) -> list[Route]:
    """A player's."""

    async def show(request: Request) -> Response:
        tournament, name = site.param(request, "tournament"), site.param(request, "player")
        paging = Paging.asked(request, SIZE)
        return await site.respond_apart(
            request,
            (tournament, name, paging),
            "player.html",
            partial(load, tournament=tournament, player=name, paging=paging),
        )

    return twin("/t/{tournament}/p/{player}", show, "player")


def _details(connection: Connection, tournament: int, player: str) -> Mapping[str, Detail]:
    """What else is known of its games, by the pairings' ids."""
    table, pairings = schema.results, schema.pairings
    query = (
        select(
            *(pairings.c.game, table.c.phase, table.c.detail, table.c.sent),
            *(table.c.think_ms_total, table.c.think_ms_max, table.c.turns),
        )
        .join(pairings, pairings.c.id == table.c.pairing_id)
        .where(pairings.c.tournament_id == tournament, table.c.name == player)
    )
    return {game: Detail(*rest) for game, *rest in connection.execute(query).all()}


def _played(view: View, line: GameLine, player: str, details: Mapping[str, Detail]) -> Played:
    result = view.results.get(line.pairing)
    earned = None if result is None else points(result).get(player)
    return Played(line, earned, details.get(line.pairing, Detail()))


def _ejections(
    lines: Sequence[GameLine], player: str, details: Mapping[str, Detail]
) -> Iterator[Ejection]:
    for line in lines:
        told = line.verdicts.get(player)
        if told is not None and Verdict(told).is_fault:
            known = details.get(line.pairing, Detail())
            phase = None if known.phase is None else Phase(known.phase).value
            yield Ejection(line.pairing, line.game, Verdict(told), phase, known.detail or "")


def _think_times(
    connection: Connection, view: View, lines: Sequence[GameLine], player: str
) -> Iterator[int]:
    """How long each answer of its last finished games took, in milliseconds."""
    rows = {game.name: game.id for game in view.games if game.status == "finished"}
    games = [rows[line.game] for line in lines if line.game in rows][:MAX_READ]
    for game in games:
        yield from _answers(catalogue.lines(connection, game), player)


def _answers(record: Sequence[str], player: str) -> Iterator[int]:
    color: object = None
    for line in record:
        try:
            told: Any = json.loads(line)
            event, observed = told["event"], told["obs"]
            if event["kind"] == "start":
                colors = {one["name"]: one["color"] for one in event["players"]}
                color = colors.get(player)
            elif event.get("color") == color and "think_ms" in observed:
                yield int(observed["think_ms"])
        except (ValueError, KeyError, TypeError):  # damaged; `croupier verify` tells
            return
