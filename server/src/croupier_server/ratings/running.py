"""The ladder's ratings while it runs: each result is read once, in the order in which it came."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

from croupier_server.ratings.ladder import LadderRatings
from croupier_server.tournament.model import Field, History, Result

__all__ = ["RunningRatings"]


class RunningRatings:
    """Gives the ratings after any history; quick if that only goes on from the last one.

    The order of ``history.results`` is that of the journal. A result that was taken back, as for
    a game that is played again, has all read anew.
    """

    def __init__(self) -> None:
        self._ratings: LadderRatings | None = None
        self._read: list[Result] = []

    def __call__(self, field: Field, history: History) -> Mapping[str, float]:
        """Elo points by name, of all who have played."""
        ratings = self.at(field, history)
        return {name: rating.mu for name, rating in ratings.items() if rating.games}

    def at(self, field: Field, history: History) -> LadderRatings:
        """The ratings themselves."""
        results = history.results.values()
        known = len(self._read)
        is_same = known <= len(results) and all(
            was is now for was, now in zip(self._read, results, strict=False)
        )
        if self._ratings is None or not is_same:
            self._ratings, self._read, known = LadderRatings(field), [], 0
        for result in islice(results, known, None):
            self._ratings.update(result)
            self._read.append(result)
        return self._ratings
