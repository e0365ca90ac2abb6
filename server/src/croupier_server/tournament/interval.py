"""A mean score per game, and how sure it is.

The interval is Wilson's (1927) for a share, with as many independent trials as the games are worth.
As the games of a block depend on each other, that is at least the number of blocks, because the
mean of a block lies between 0 and 1 and can't vary more than one win or loss; at most it is the
number of games; and in between what the spread of the blocks says (Kish's effective sample size,
1965, from the spread of a ratio over clusters, with Student's quantile for the normal one as Korn
and Graubard have it, 1998). With few blocks their spread says too little: the least is taken.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import Final

from croupier_server.tournament.points import PARTS

__all__ = ["Score", "mean_score", "wilson"]

Z95: Final = 1.959963984540054
"""What a normal error stays within, either way, in 95 of 100 cases."""

ENOUGH: Final = 10
"""From how many blocks on their spread is believed."""


@dataclass(frozen=True, slots=True)
class Score:
    """A mean score per game, from 0 to 1, with its interval of 95 percent.

    Attributes:
        blocks: how many independent blocks it rests on.
    """

    mean: Fraction
    low: float
    high: float
    blocks: int


def mean_score(blocks: Iterable[tuple[int, int]]) -> Score | None:
    """The mean over all games.

    Args:
        blocks: for each, the parts of a point that were scored and in how many games.

    Returns:
        None without a game.
    """
    found = list(blocks)
    games = sum(count for _, count in found)
    if not games:
        return None
    mean = Fraction(sum(earned for earned, _ in found), PARTS * games)
    low, high = wilson(float(mean), _trials(found, float(mean), games))
    return Score(mean, low, high, len(found))


def wilson(share: float, trials: float) -> tuple[float, float]:
    """Between what a share lies that was seen in so many independent trials, at 95 percent."""
    square = Z95 * Z95 / trials
    middle = (share + square / 2) / (1 + square)
    width = sqrt(share * (1 - share) * square + square * square / 4) / (1 + square)
    return max(0.0, middle - width), min(1.0, middle + width)


def _trials(blocks: list[tuple[int, int]], mean: float, games: int) -> float:
    """How many independent wins and losses would tell as much."""
    count = len(blocks)
    if count < ENOUGH:
        return float(count)
    squares = sum((earned / PARTS - mean * played) ** 2 for earned, played in blocks)
    variance = squares * count / (count - 1) / games**2
    wanted = mean * (1 - mean) * (Z95 / _student95(count - 1)) ** 2
    if wanted >= variance * games:
        return float(games)
    return max(wanted / variance, float(count))


def _student95(freedom: int) -> float:
    """Student's quantile for 95 percent, by its expansion; right to 0.004 from 9 degrees on.

    Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.5.
    """
    first = (Z95**3 + Z95) / 4
    second = (5 * Z95**5 + 16 * Z95**3 + 3 * Z95) / 96
    return Z95 + first / freedom + second / freedom**2
