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
        self._points: dict[str, float] = {}

    def __call__(self, field: Field, history: History) -> Mapping[str, float]:
        """Elo points by name, of all who have played."""
        self.at(field, history)
        return self._points.copy()

    def at(self, field: Field, history: History) -> LadderRatings:
        """The ratings themselves."""
        results = list(history.results.values())
        known = len(self._read)
        if self._ratings is None or results[:known] != self._read:
            self._ratings, self._points, known = LadderRatings(field), {}, 0
        for result in islice(results, known, None):
            self._ratings.update(result)
            rated = ((name, self._ratings.get(name)) for name in result.players)
            self._points.update((name, it.mu) for name, it in rated if it and it.games)
        self._read = results
        return self._ratings
