"""The running ladder's ratings: each game moves them a little, in the order of the journal.

The model is Weng and Lin's Bradley-Terry with full pairs (2011, Algorithm 1; in openskill), which
gives ties their due at tables of up to four; its units are set so that they are Elo's. Ratings
that move game by game depend on the order of games: a final table takes :func:`..final.rate`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import log, sqrt
from typing import Any, Final

from croupier_server.tournament.model import Field, Result

__all__ = ["LadderRating", "LadderRatings", "ladder_ratings"]

MEAN: Final = 1500.0

BETA: Final = 400 / log(10) / sqrt(2)
"""How much chance there is in a game: so that between two known players the odds are Elo's."""

SIGMA: Final = 2 * BETA
"""How unsure a new rating is, in the proportion to chance that the model's authors have."""

TAU: Final = SIGMA / 100
"""How much surer than that no rating ever gets: players change."""

SURE: Final = 2
"""How many sigmas are taken off what is shown. With 3 a lost game could raise it."""


@dataclass(frozen=True, slots=True)
class LadderRating:
    """What a ladder holds somebody for.

    Attributes:
        mu: the strength that is most likely.
        sigma: how unsure that is; 0 for an anchor.
        games: how many it rests on.
    """

    mu: float = MEAN
    sigma: float = SIGMA
    games: int = 0

    @property
    def shown(self) -> int:
        """What is shown and ranked by: what the strength is above with 98 percent."""
        return round(self.mu - SURE * self.sigma)

    def to_json(self) -> dict[str, Any]:
        """The rating as JSON."""
        return {
            "rating": self.shown,
            "mu": round(self.mu, 1),
            "sigma": round(self.sigma, 1),
            "games": self.games,
        }


class LadderRatings(Mapping[str, LadderRating]):
    """The ratings of a ladder by name, the newcomers' too.

    Args:
        field: who takes part; anchors keep their rating.
    """

    def __init__(self, field: Field) -> None:
        from openskill.models import BradleyTerryFull

        self._model = BradleyTerryFull(mu=MEAN, sigma=SIGMA, beta=BETA, tau=TAU)
        self._anchors = {e.name: e.anchor for e in field.entrants if e.anchor is not None}
        self._ratings: dict[str, LadderRating] = {}
        for name in field.names:
            self.add(name)

    def __getitem__(self, name: str) -> LadderRating:
        return self._ratings[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._ratings)

    def __len__(self) -> int:
        return len(self._ratings)

    def add(self, name: str) -> None:
        """Let somebody in who comes late; who is there already stays as it is."""
        anchor = self._anchors.get(name)
        new = LadderRating() if anchor is None else LadderRating(anchor, 0.0)
        self._ratings.setdefault(name, new)

    def update(self, result: Result) -> None:
        """Let a result move the ratings; each must come once, and in the order of the journal.

        A player who failed comes after all who have a place, as the equal of any other who
        failed. Byes, forfeits and void games move nothing.
        """
        if result.kind != "played" or len(result.players) < 2:
            return
        for name in result.players:
            self.add(name)
        places = {name: at for at, equals in enumerate(result.ranking, 1) for name in equals}
        last = len(result.ranking) + 1
        before = [self._ratings[name] for name in result.players]
        after = self._model.rate(
            [[self._model.rating(old.mu, old.sigma)] for old in before],
            ranks=[float(places.get(name, last)) for name in result.players],
        )
        for name, old, (new,) in zip(result.players, before, after, strict=True):
            mu, sigma = (old.mu, old.sigma) if name in self._anchors else (new.mu, new.sigma)
            self._ratings[name] = LadderRating(mu, sigma, old.games + 1)

    def ranked(self) -> list[tuple[str, LadderRating]]:
        """All, the best first; equals in the order in which they came."""
        return sorted(self._ratings.items(), key=lambda item: -item[1].shown)


def ladder_ratings(field: Field, results: Iterable[Result]) -> LadderRatings:
    """The ratings after some results, in the order of the journal."""
    ratings = LadderRatings(field)
    for result in results:
        ratings.update(result)
    return ratings
