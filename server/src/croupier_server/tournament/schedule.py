"""Groups in the order of rounds, in which everybody plays at most once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

__all__ = ["Group", "circle", "in_rounds"]

Group: TypeAlias = tuple[str, ...]


def circle(names: Sequence[str]) -> list[Group]:
    """All pairs, round by round, everybody once in each (the circle method; odd, one is free)."""
    ring: list[str | None] = [*names]
    if len(ring) % 2:
        ring.append(None)
    pairs: list[Group] = []
    for _ in range(len(ring) - 1):
        half = len(ring) // 2
        for one, other in zip(ring[:half], reversed(ring[half:]), strict=True):
            if one is not None and other is not None:
                pairs.append((one, other))
        ring.insert(1, ring.pop())
    return pairs


def in_rounds(groups: Iterable[Group]) -> list[list[Group]]:
    """Groups put into rounds in which nobody plays twice, each into the first with room for it."""
    rounds: list[list[Group]] = []
    busy: dict[str, int] = {}  # a bit for each round
    for group in groups:
        taken = 0
        for name in group:
            taken |= busy.get(name, 0)
        number = (~taken & (taken + 1)).bit_length() - 1
        for name in group:
            busy[name] = busy.get(name, 0) | 1 << number
        if number == len(rounds):
            rounds.append([])
        rounds[number].append(group)
    return rounds
