"""The Bradley-Terry model with ties, fitted to all comparisons at once.

With strengths p and q, one wins with the chance p / (p + q + v sqrt(pq)), and both tie with
v sqrt(pq) / (p + q + v sqrt(pq)): Davidson 1970, On extending the Bradley-Terry model to
accommodate ties in paired comparison experiments. Without ties, v is 0 and the model is that of
Bradley and Terry (1952), and of Elo.

Every player who is no anchor has, beside its games, a part of one (the prior) that it drew against
a player of average strength, so that who won or lost everything has a finite rating too. The
likelihood is concave in the logarithms of strengths and v, so that there is one maximum; Newton's
method finds it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, log
from typing import TYPE_CHECKING, Final

from croupier_server.ratings.pairs import Pairs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Fit", "Terms", "fit", "resampled"]

STEPS: Final = 100
"""How many steps are made at most; a handful do."""

STEPS_TOGETHER: Final = 100
"""The same for resamplings that go together."""

CLOSE: Final = 1e-10
"""A step smaller than that is the last."""

NEAR: Final = 1e-3
"""The same for resamplings: a sixth of an Elo point."""

LONGEST: Final = 2.0
"""How far a step goes at most: some 350 Elo points."""

AT_ONCE: Final = 10
"""How many resamplings are fitted together: as many as stay in the processor's cache."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What is fixed beforehand.

    Attributes:
        anchors: by player, its log strength, or NaN if it is to be found.
        centre: the log strength of the average player whom all meet.
        prior: how much of a game they drew with it.
    """

    anchors: Floats
    centre: float
    prior: float


@dataclass(frozen=True, slots=True)
class Fit:
    """The maximum.

    Attributes:
        strengths: by player, the logarithm of its strength.
        ties: the model's v.
        curvature: the negative second derivatives, of those players who are no anchors.
    """

    strengths: Floats
    ties: float
    curvature: Floats


def fit(pairs: Pairs, terms: Terms) -> Fit:
    """The strengths under which the results are most likely."""
    import numpy as np

    free = np.isnan(terms.anchors)
    size = int(free.sum())
    model = _Model.of(pairs, terms)
    at = _Point(np.where(free, terms.centre, terms.anchors), 1.0 if bool(model.tied.any()) else 0.0)
    value, curvature = model.likelihood(at), np.zeros((size + 1, size + 1))
    for _ in range(STEPS):
        slope, curvature = model.derivatives(at)
        step: Floats = np.linalg.solve(_solvable(curvature), slope).astype(np.float64)
        step *= min(1.0, LONGEST / max(float(np.abs(step).max()), CLOSE))
        while model.likelihood(after := at.moved(free, step)) < value - 1e-9 * abs(value):
            step /= 2  # it was too far for Newton's parabola; the likelihood is concave
        at, value = after, model.likelihood(after)
        if float(np.abs(step).max()) < CLOSE:
            break
    return Fit(at.strengths, at.ties, curvature[:size, :size])


def resampled(pairs: Pairs, terms: Terms, found: Fit, times: int, seed: int) -> Floats:
    """The strengths of as many resamplings of the blocks, a row each.

    Every resampling draws as many blocks as there are, with replacement (Efron's bootstrap, 1979).
    The share of ties stays as it was found: it hardly depends on the strengths.
    """
    import numpy as np

    draws = np.random.RandomState(seed % 2**32)  # its stream is the same for ever (NEP 19)
    free = np.isnan(terms.anchors)
    inverse: Floats = np.zeros((len(free), len(free)))  # nothing moves an anchor
    inverse[np.ix_(free, free)] = np.linalg.inv(_solvable(found.curvature))
    rows: list[Floats] = []
    for at in range(0, times, AT_ONCE):
        drawn = [
            np.bincount(draws.randint(0, pairs.blocks, pairs.blocks), minlength=pairs.blocks)
            for _ in range(min(AT_ONCE, times - at))
        ]
        rows.append(_refitted(pairs, terms, found, np.array(drawn, dtype=np.float64), inverse))
    return np.concatenate(rows)


def _refitted(pairs: Pairs, terms: Terms, found: Fit, drawn: Floats, inverse: Floats) -> Floats:
    """The strengths of some resamplings: a row of `drawn` says how often each block counts.

    All climb together, by conjugate gradients (Polak and Ribiere 1969) from the maximum that was
    found; its curvature, whose inverse is known, makes the hill nearly round for all of them.
    """
    import numpy as np

    model = _Model.of(pairs, terms, drawn)
    strengths: Floats = np.repeat(found.strengths[None], len(drawn), axis=0)
    slope, bend = model.slope(_Point(strengths, found.ties))
    steepest = ahead = slope @ inverse
    step = np.full_like(strengths, LONGEST)
    for _ in range(STEPS_TOGETHER):
        curvature = model.curvature(strengths, bend, ahead)
        step = ahead * (_dot(slope, ahead) / np.maximum(curvature, 1e-300))
        step *= np.minimum(1, LONGEST / np.maximum(np.abs(step).max(axis=1, keepdims=True), NEAR))
        strengths = strengths + step
        if float(np.abs(step).max()) < NEAR:
            return strengths
        before, last = slope, _dot(slope, steepest)
        slope, bend = model.slope(_Point(strengths, found.ties))
        steepest = slope @ inverse
        kept = np.maximum(0, _dot(slope - before, steepest) / np.maximum(last, 1e-300))
        ahead = steepest + kept * ahead
        ahead = np.where(_dot(slope, ahead) > 0, ahead, steepest)
    for row in np.flatnonzero(np.abs(step).max(axis=1) >= NEAR):
        times = drawn[row, pairs.block]
        weighed = replace(
            pairs, won=pairs.won * times, lost=pairs.lost * times, tied=pairs.tied * times
        )
        strengths[row] = fit(weighed, terms).strengths
    return strengths


def _dot(one: Floats, other: Floats) -> Floats:
    """The products of rows, as a column."""
    found: Floats = (one * other).sum(axis=1, keepdims=True)
    return found


def _solvable(curvature: Floats) -> Floats:
    """Without a prior and an anchor, all strengths may shift together: any shift will do."""
    import numpy as np

    solvable: Floats = curvature + np.eye(len(curvature)) * 1e-9
    return solvable


@dataclass(frozen=True, slots=True)
class _Point:
    """A place where the likelihood is looked at; strengths as a row, or as rows."""

    strengths: Floats
    ties: float

    def moved(self, free: NDArray[np.bool_], step: Floats) -> _Point:
        """The place after a step of the free strengths and, as its last, of ties' logarithm."""
        strengths = self.strengths.copy()
        strengths[free] += step[:-1]
        return _Point(strengths, self.ties * exp(step[-1]))


@dataclass(frozen=True, slots=True)
class _Model:
    """The likelihood of results by pair: one row of them, or several at once.

    Attributes:
        surplus: half of what the first won more often than the second.
        games: all comparisons.
    """

    pairs: Pairs
    terms: Terms
    surplus: Floats
    games: Floats
    tied: Floats

    @classmethod
    def of(cls, pairs: Pairs, terms: Terms, drawn: Floats | None = None) -> _Model:
        """The model of the results, each block once or as often as drawn."""
        import numpy as np

        won, lost, tied = (
            np.add.reduceat(w if drawn is None else w * drawn[:, pairs.block], pairs.start, axis=-1)
            for w in (pairs.won, pairs.lost, pairs.tied)
        )
        return cls(pairs, terms, (won - lost) / 2, won + lost + tied, tied)

    def likelihood(self, at: _Point) -> float:
        """Its logarithm, but for a constant."""
        import numpy as np

        up, down = self._sides(at)
        value = self.surplus @ np.log(up / down) - self.games @ np.log(up + down + at.ties)
        if at.ties:
            value += self.tied.sum() * log(at.ties)
            value += self.terms.prior * (log(at.ties) / 2 - log(2 + at.ties))
        away = at.strengths - self.terms.centre
        alone = np.isnan(self.terms.anchors)
        value += self.terms.prior * (away / 2 - np.logaddexp(0, away))[alone].sum()
        return float(value)

    def slope(self, at: _Point) -> tuple[Floats, Floats]:
        """By player, the first derivative; by pair, the negative second by the difference."""
        import numpy as np

        up, down = self._sides(at)
        both = up + down
        every = both + at.ties
        lead = (up - down) / every / 2
        pull = self.surplus - self.games * lead
        drawn = 1 / (1 + np.exp(self.terms.centre - at.strengths))
        return (
            self._by_player(pull, -pull) + self.terms.prior * (0.5 - drawn),
            self.games * (both / every / 4 - lead * lead),
        )

    def curvature(self, strengths: Floats, bend: Floats, ahead: Floats) -> Floats:
        """By row, the negative second derivative along a way ahead, as a column."""
        import numpy as np

        apart = ahead[:, self.pairs.first] - ahead[:, self.pairs.second]
        drawn = 1 / (1 + np.exp(self.terms.centre - strengths))
        alone = self.terms.prior * _dot(drawn * (1 - drawn), ahead * ahead)
        return _dot(bend, apart * apart) + alone

    def derivatives(self, at: _Point) -> tuple[Floats, Floats]:
        """The first derivatives and the negative second ones, of the free strengths and of ties.

        Those by the logarithm of ties are the last; they hold it still where there are none.
        """
        import numpy as np

        first, second, prior = self.pairs.first, self.pairs.second, self.terms.prior
        slope, bend = self.slope(at)
        up, down = self._sides(at)
        tie = at.ties / (up + down + at.ties)
        mixed = self.games * tie * (up - down) / (up + down + at.ties) / 2
        drawn = 1 / (1 + np.exp(self.terms.centre - at.strengths))
        tied = at.ties / (2 + at.ties)
        size = len(at.strengths)
        full: Floats = np.diag(
            np.append(self._by_player(bend, bend) + prior * drawn * (1 - drawn), 1.0)
        )
        full[first, second] = full[second, first] = -bend
        full[size, :size] = full[:size, size] = self._by_player(-mixed, mixed)
        of_ties = 0.0
        if at.ties:
            full[size, size] = (self.games * tie * (1 - tie)).sum() + prior * tied * (1 - tied)
            of_ties = float((self.tied - self.games * tie).sum() + prior * (0.5 - tied))
        kept = np.append(np.isnan(self.terms.anchors), True)
        return np.append(slope, of_ties)[kept], full[np.ix_(kept, kept)]

    def _sides(self, at: _Point) -> tuple[Floats, Floats]:
        """By pair, how strong either is, the product being 1."""
        import numpy as np

        half = np.exp(at.strengths / 2)
        up = half[..., self.pairs.first] / half[..., self.pairs.second]
        return up, 1 / up

    def _by_player(self, first: Floats, second: Floats) -> Floats:
        """The sums, over all pairs of each player, of what is given for either side."""
        import numpy as np

        size = len(self.terms.anchors)
        rows = first.size // len(self.pairs.first)
        to = np.concatenate([self.pairs.first, self.pairs.second])
        index = np.repeat(np.arange(rows) * size, len(to)) + np.tile(to, rows)
        both = np.concatenate([first, second], axis=-1).reshape(-1)
        sums: Floats = np.bincount(index, both, rows * size).astype(np.float64)
        return sums.reshape(*first.shape[:-1], size)
