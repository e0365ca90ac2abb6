"""A tournament's ratings as the database keeps them."""

from __future__ import annotations

from collections.abc import Sequence

from croupier_server.ratings import ladder_ratings, rate
from croupier_server.storage.ratings import RatingRow
from croupier_server.tournament.model import Field, History

__all__ = ["rated"]

SURE = 2
"""How many sigmas of a ladder's rating make its interval."""


def rated(field: Field, history: History, seed: int, *, is_running: bool) -> Sequence[RatingRow]:
    """Everybody's rating, the best first.

    Args:
        seed: decides what the intervals are drawn from.
        is_running: whether it is a ladder, whose ratings move with every game.
    """
    if not is_running:
        return [
            RatingRow(one.name, one.rating, one.low, one.high, one.games)
            for one in rate(field, history, seed=seed)
        ]
    ratings = ladder_ratings(field, history.results.values())
    return [
        RatingRow(name, one.mu, one.mu - SURE * one.sigma, one.mu + SURE * one.sigma, one.games)
        for name, one in ratings.ranked()
    ]
