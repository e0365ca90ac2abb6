"""A player's rating after each of its games, with how sure it is, and a small chart of that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from croupier_server.ratings.ladder import SURE, LadderRatings
from croupier_server.tournament.model import Field, Result

if TYPE_CHECKING:
    from croupier_server.commands.view import View

__all__ = ["MAX_RESULTS", "RatingPoint", "course_of", "rating_course", "rating_svg"]

MAX_RESULTS: Final = 10_000
"""With more results than this the course is not made: each takes 40 us."""

WIDTH: Final = 480
HEIGHT: Final = 150
LEFT: Final = 48
BOTTOM: Final = 20


@dataclass(frozen=True, slots=True)
class RatingPoint:
    """The rating after a game; it lies between `low` and `high`, nearly always."""

    game: str
    rating: float
    low: float
    high: float

    def to_json(self) -> dict[str, Any]:
        """The point as JSON."""
        return {
            "game": self.game,
            "rating": round(self.rating, 1),
            "low": round(self.low, 1),
            "high": round(self.high, 1),
        }


def course_of(view: View, player: str) -> Sequence[RatingPoint]:
    """The course of a player's rating in a tournament; nothing if that has too many results."""
    if len(view.results) > MAX_RESULTS:
        return ()
    from croupier_server.storage.results import in_journal_order

    pairing = {row.id: row.game for row in view.pairings}
    ended = {pairing[game.pairing_id]: (game.ended_ms or 0, game.id) for game in view.games}
    return rating_course(view.field, in_journal_order(view.results, ended), player)


def rating_course(
    field: Field, results: Mapping[str, Result], player: str
) -> Sequence[RatingPoint]:
    """The rating of a player after each game that it played, as a ladder has it.

    Args:
        results: in the order in which they came.
    """
    ratings = LadderRatings(field)
    course: list[RatingPoint] = []
    for result in results.values():
        ratings.update(result)
        if result.kind == "played" and player in result.players:
            now = ratings[player]
            spread = SURE * now.sigma
            course.append(RatingPoint(result.game, now.mu, now.mu - spread, now.mu + spread))
    return course


def rating_svg(course: Sequence[RatingPoint]) -> str:
    """The chart; only numbers of ours are in it."""
    least = min(point.low for point in course)
    most = max(*(point.high for point in course), least + 1)
    step = (WIDTH - LEFT) / max(1, len(course) - 1)

    def at(number: int, rating: float) -> str:
        x = LEFT + number * step
        return f"{x:.1f},{HEIGHT * (most - rating) / (most - least):.1f}"

    band = [at(number, point.high) for number, point in enumerate(course)]
    band += [at(number, point.low) for number, point in reversed(list(enumerate(course)))]
    line = " ".join(at(number, point.rating) for number, point in enumerate(course))
    box = f'viewBox="0 0 {WIDTH} {HEIGHT + BOTTOM}" width="{WIDTH}" height="{HEIGHT + BOTTOM}"'
    return (
        f'<svg class="course" {box} aria-hidden="true">'
        f'<polygon class="band" points="{" ".join(band)}"/><polyline points="{line}"/>'
        f'<text x="{LEFT - 6}" y="12">{most:.0f}</text>'
        f'<text x="{LEFT - 6}" y="{HEIGHT}">{least:.0f}</text>'
        f'<text x="{WIDTH}" y="{HEIGHT + 15}">game {len(course)}</text></svg>'
    )
