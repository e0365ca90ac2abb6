"""Who sits where: the turn order of players, as the rules say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from croupier_common.rules import Rules

__all__ = ["turn_order"]

Name = TypeVar("Name")


def turn_order(entrants: Sequence[tuple[Name, int | None]], rules: Rules) -> list[Name]:
    """Entrants in turn order.

    Args:
        entrants: each with its age, in the order of sign-up.

    Returns:
        ``by_age``: youngest first, equal ages by sign-up, who has no age behind all others;
        ``youngest_then_seats``: the youngest begins and sign-up order goes on from it, round and
        round; ``given``: as they come.
    """
    if rules.turn_order == "given":
        return [name for name, _ in entrants]
    by_age = sorted(
        range(len(entrants)), key=lambda at: (entrants[at][1] is None, entrants[at][1] or 0)
    )
    if rules.turn_order == "by_age":
        return [entrants[at][0] for at in by_age]
    first = by_age[0] if by_age else 0
    return [name for name, _ in [*entrants[first:], *entrants[:first]]]
