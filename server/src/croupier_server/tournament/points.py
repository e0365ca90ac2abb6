"""What a game is worth to each of its players: the share of its opponents that it beat.

A point is split into :data:`PARTS`, so that sums are whole numbers and ties are exact: in a game
of 2, 3 or 4 a place is worth so many halves, quarters or sixths of a point.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from croupier_server.tournament.model import Result

__all__ = ["PARTS", "parts", "points", "total_parts"]

PARTS: Final = 12
"""How many parts make a point; whatever the table, all places are worth whole parts."""


def parts(result: Result) -> dict[str, int]:
    """What each player gets, in parts of a point.

    Whoever has a place beats all behind it and all who failed, and half beats its equals. Who
    failed gets nothing. A bye is a point; what is void is nothing, and names nobody.
    """
    if result.kind == "void":
        return {}
    opponents = len(result.players) - 1
    if opponents == 0:
        return dict.fromkeys(result.players, PARTS if result.ranking or result.kind == "bye" else 0)
    earned = dict.fromkeys(result.players, 0)
    ahead = 0
    for equals in result.ranking:
        behind = len(result.players) - ahead - len(equals)
        for name in equals:
            earned[name] = PARTS * (2 * behind + len(equals) - 1) // (2 * opponents)
        ahead += len(equals)
    return earned


def points(result: Result) -> dict[str, float]:
    """What each player gets, in points; add up :func:`parts` where ties must be exact."""
    return {name: earned / PARTS for name, earned in parts(result).items()}


def total_parts(results: Iterable[Result]) -> dict[str, int]:
    """What each player has in all, in parts of a point; who is in no result is not named."""
    total: dict[str, int] = {}
    for result in results:
        for name, earned in parts(result).items():
            total[name] = total.get(name, 0) + earned
    return total
