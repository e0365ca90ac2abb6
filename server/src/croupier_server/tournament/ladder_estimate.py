"""A ladder's own estimate of who is strong, where it is given no other ratings."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from operator import is_
from typing import Final

from croupier_server.tournament.model import Field, History, Result
from croupier_server.tournament.points import PARTS, parts

__all__ = ["START", "LadderEstimate"]

START: Final = 1500.0
"""The rating of who has not played."""
_STEP: Final = 32.0
_SCALE: Final = 400.0


class LadderEstimate:
    """Logistic (Elo) ratings after any history, updated game by game in the order of issue.

    A result that comes late, is new or is gone has only what was issued after it read anew.
    """

    def __init__(self) -> None:
        self._begin({})

    def _begin(self, anchors: Mapping[str, float]) -> None:
        self._anchors = anchors
        self._ratings: dict[str, float] = {}
        self._read: list[Result | None] = []  # by number of issue
        self._before: list[dict[str, float | None]] = []  # what each changed, as it was

    def __call__(self, field: Field, history: History) -> Mapping[str, float]:
        """Elo points by name, of all who have played."""
        anchors = {e.name: e.anchor for e in field.entrants if e.anchor is not None}
        if anchors != self._anchors:
            self._begin(anchors)
        results = [history.results.get(pairing.game) for pairing in history.issued]
        same = list(map(is_, results, self._read))
        self._take_back(same.index(False) if False in same else len(same))
        for result in islice(results, len(self._read), None):
            self._read.append(result)
            self._before.append({} if result is None else self._rate(result))
        return self._ratings

    def _take_back(self, to: int) -> None:
        """Forget all but so many of the first games."""
        for before in reversed(self._before[to:]):
            for name, rating in before.items():
                if rating is None:
                    del self._ratings[name]
                else:
                    self._ratings[name] = rating
        del self._read[to:], self._before[to:]

    def _rate(self, result: Result) -> dict[str, float | None]:
        """Move each by what its share of the opponents was above what was to be expected.

        Gives what they had before.
        """
        if result.kind != "played":
            return {}
        anchors = self._anchors
        ratings = {n: anchors.get(n, self._ratings.get(n, START)) for n in result.players}
        before = {name: self._ratings.get(name) for name in result.players}
        for name, earned in parts(result).items():
            others = [ratings[other] for other in result.players if other != name]
            chances = [1 / (1 + 10 ** ((other - ratings[name]) / _SCALE)) for other in others]
            share = earned / PARTS - sum(chances) / len(chances)
            self._ratings[name] = ratings[name] + (0 if name in anchors else _STEP * share)
        return before
