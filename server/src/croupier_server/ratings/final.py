"""The final table's ratings: all results at once, so that their order can't matter.

The scale is Elo's: 400 points more are odds of ten to one, ties apart. Anchors keep their ratings,
and the others find theirs beside them; without an anchor the mean is 1500.

The intervals hold 95 percent. They are the wider of two: the percentiles of 200 fits to blocks
drawn anew (games of a block depend on each other, so blocks are drawn, not games), and that by the
likelihood's curvature. The first sees what the model can't, blocks that are alike; but where
somebody won all of few blocks, every drawing is the same, and only the second knows how little
that says. Without an anchor both are of the distance from the mean of all.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Any, Final

from croupier_server.ratings.davidson import Fit, Terms, fit, resampled
from croupier_server.ratings.pairs import Pairs, pairs
from croupier_server.tournament.model import Field, History

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["ELO", "MEAN", "Rating", "rate"]

ELO: Final = 400 / log(10)
"""How many points a unit of the model's log strength is."""

MEAN: Final = 1500.0
"""The mean of all without an anchor."""

PRIOR: Final = 0.5
"""How much of a game each has drawn with an average player beforehand."""

Z95: Final = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Rating:
    """How strong somebody is.

    Attributes:
        low: where the interval of 95 percent begins; an anchor has none.
        games: those that were played; byes and forfeits tell nothing.
        group: from 1; players of one group met each other, or met some who did. Ratings of
            different groups can't be compared: only the same mean holds them together.
    """

    name: str
    rating: float
    low: float
    high: float
    games: int
    group: int = 1
    is_anchor: bool = False

    def to_json(self) -> dict[str, Any]:
        """The rating as JSON."""
        return {
            "name": self.name,
            "rating": round(self.rating, 1),
            "low": round(self.low, 1),
            "high": round(self.high, 1),
            "games": self.games,
            "group": self.group,
            "anchor": self.is_anchor,
        }


def rate(
    field: Field, history: History, *, bootstraps: int = 200, seed: int = 0, prior: float = PRIOR
) -> tuple[Rating, ...]:
    """The ratings of all who played, the best first; equals in the field's order.

    Args:
        bootstraps: how many drawings of blocks the intervals rest on; with none they rest on the
            curvature alone.
        seed: decides the drawings.
        prior: how much of a game each has drawn beforehand; with 0, ratings of those who won or
            lost everything have no limit.
    """
    import numpy as np

    found = pairs(field, history)
    if not len(found.first):
        return _unrated(field, found)
    terms = _terms(field, found, prior)
    best = fit(found, terms)
    is_floating = bool(np.isnan(terms.anchors).all())
    rows = best.strengths[None]
    low = high = points = _on_scale(rows, is_floating)[0]
    if np.isnan(terms.anchors).any():
        if bootstraps:
            drawn = resampled(found, terms, best, bootstraps, seed)
            low, high = np.quantile(_on_scale(drawn, is_floating), [0.025, 0.975], axis=0)
        width = Z95 * ELO * _errors(best, terms, is_floating)
        low, high = np.minimum(low, points - width), np.maximum(high, points + width)
    return _table(found, terms, [points, low, high])


def _terms(field: Field, found: Pairs, prior: float) -> Terms:
    """Anchors in the model's units; the average player is their mean, or 0 without one."""
    import numpy as np

    known = {entrant.name: entrant.anchor for entrant in field.entrants}
    given = [known[name] for name in found.names]
    anchors = np.array(
        [float("nan") if anchor is None else (anchor - MEAN) / ELO for anchor in given]
    )
    is_known = ~np.isnan(anchors)
    return Terms(anchors, float(anchors[is_known].mean()) if is_known.any() else 0.0, prior)


def _on_scale(strengths: Floats, is_floating: bool) -> Floats:
    """Rows of log strengths as ratings."""
    shift = strengths.mean(axis=1, keepdims=True) if is_floating else 0.0
    scaled: Floats = MEAN + ELO * (strengths - shift)
    return scaled


def _errors(best: Fit, terms: Terms, is_floating: bool) -> Floats:
    """By player, the standard error by the curvature: of the distance from the mean, if any."""
    import numpy as np

    size = len(best.curvature)
    spread = np.linalg.inv(best.curvature + np.eye(size) * 1e-9)
    if is_floating:
        spread = spread - spread.mean(axis=0)
        spread = spread - spread.mean(axis=1, keepdims=True)
    errors: Floats = np.zeros(len(terms.anchors))
    errors[np.isnan(terms.anchors)] = np.sqrt(np.maximum(spread.diagonal(), 0.0))
    return errors


def _table(found: Pairs, terms: Terms, columns: list[Floats]) -> tuple[Rating, ...]:
    import numpy as np

    groups = _groups(found)
    # equals may differ in a last digit, by the order in which a machine adds
    points, low, high = (np.round(column, 6).tolist() for column in columns)
    anchors = (~np.isnan(terms.anchors)).tolist()
    rows = [
        Rating(name, points[at], low[at], high[at], found.games[at], groups[at], anchors[at])
        for at, name in enumerate(found.names)
    ]
    return tuple(sorted(rows, key=lambda row: -row.rating))


def _unrated(field: Field, found: Pairs) -> tuple[Rating, ...]:
    """Where no game compares anybody, only anchors have a rating."""
    games = dict(zip(found.names, found.games, strict=True))
    anchors = [
        Rating(e.name, e.anchor, e.anchor, e.anchor, games[e.name], is_anchor=True)
        for e in field.entrants
        if e.anchor is not None and e.name in games
    ]
    return tuple(sorted(anchors, key=lambda row: -row.rating))


def _groups(found: Pairs) -> list[int]:
    """By player, the number of its group, the largest first."""
    leader = list(range(len(found.names)))

    def led(at: int) -> int:
        while leader[at] != at:
            leader[at] = leader[leader[at]]
            at = leader[at]
        return at

    for one, other in zip(found.first.tolist(), found.second.tolist(), strict=True):
        leader[led(one)] = led(other)
    of = [led(at) for at in range(len(leader))]
    order = sorted(set(of), key=lambda at: (-of.count(at), of.index(at)))
    return [order.index(at) + 1 for at in of]
