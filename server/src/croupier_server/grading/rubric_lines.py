"""The lines of a rubric: what points are given for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final, Literal, TypeAlias

from croupier_server.grading.rubric_steps import GROUPS
from croupier_server.tournament.sequential import SequentialTest

__all__ = [
    "KINDS",
    "Beats",
    "Builds",
    "Conformance",
    "FinishedGames",
    "Kind",
    "Line",
    "PlaceLine",
    "ThinkTime",
]

Kind = Literal["builds", "conformance", "games", "beats", "place", "think_time"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """What all lines have.

    Attributes:
        id: letters, digits, ``_`` and ``-``; like no other's of the rubric.
        points: for all of it, with at most two places after the point.
        public: whether students may see it before they have their grade.
    """

    id: str
    title: str
    points: float
    public: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Builds(_Line):
    """It can be taken in and built, or has nothing to build: all or nothing."""

    kind: ClassVar[Kind] = "builds"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conformance(_Line):
    """It passes steps of the conformance check.

    Attributes:
        steps: names of steps or groups; all steps if there is none.
        required: ``each`` step is an equal share of the points, or ``all`` must pass.
    """

    kind: ClassVar[Kind] = "conformance"
    steps: tuple[str, ...] = ()
    required: Literal["each", "all"] = "each"

    @property
    def wanted(self) -> tuple[str, ...]:
        """The names of the steps, in their own order."""
        chosen = set(self.steps)
        return tuple(
            step
            for group, steps in GROUPS.items()
            for step in steps
            if not chosen or chosen & {group, step}
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedGames(_Line):
    """It ends games without a verdict: each an equal share of the points.

    Attributes:
        against: the house player's strategy.
        count: how many games; the first ones that are played count.
    """

    kind: ClassVar[Kind] = "games"
    against: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Beats(_Line):
    """It is shown to be better than a house player.

    Attributes:
        against: the house player's strategy.
        confidence: that it is, when a player that is not gets the points at most with the rest.
        score0: the mean score, from 0 to 1, that is not yet better.
        score1: the one that surely is; the nearer, the more blocks it takes.
        max_blocks: how many are played at most.
        partial: of who is not shown to be better, with at least this mean score (rising): this
            share of the points.
    """

    kind: ClassVar[Kind] = "beats"
    against: str
    confidence: float = 0.95
    score0: float = 0.5
    score1: float = 0.6
    max_blocks: int = 60
    partial: tuple[tuple[float, float], ...] = ()

    @property
    def test(self) -> SequentialTest:
        """The test that decides it."""
        alpha = round(1 - self.confidence, 9)
        return SequentialTest(self.score0, self.score1, alpha=alpha, limit=self.max_blocks)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceLine(_Line):
    """Its place in the round robin: all for the first, evenly down to the last.

    Attributes:
        last: the share of the points for the last, from 0 to 1.
    """

    kind: ClassVar[Kind] = "place"
    last: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkTime(_Line):
    """It thinks quickly: all or nothing.

    Attributes:
        below_ms: what its think time must be below.
        percentile: of its turns, from 1 to 100: 50 is the median.
        against: in games against this house player; against any that the rubric has, if empty.
    """

    kind: ClassVar[Kind] = "think_time"
    below_ms: int
    percentile: int = 50
    against: str = ""


Line: TypeAlias = Builds | Conformance | FinishedGames | Beats | PlaceLine | ThinkTime

KINDS: Final[dict[Kind, type[Line]]] = {
    "builds": Builds,
    "conformance": Conformance,
    "games": FinishedGames,
    "beats": Beats,
    "place": PlaceLine,
    "think_time": ThinkTime,
}
"""The lines by what the rubric calls them."""
