"""The yardstick of the rules: the simplest sensible bitboard for the boxed game's 60 tiles.

Tiles are numbered line by line, eight lines of 7 and 8 tiles in turn; a set of tiles is an ``int``.
Penguins are found by walking along rays with tables of neighbours. There are no fish, no options,
no other boards, and nothing is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

__all__ = ["ALL_TILES", "OFF", "perft", "playout"]

OFF = 60
"""The neighbour where there is none: a tile that is never free."""

ALL_TILES = (1 << OFF) - 1


def neighbours(down: int, right: int) -> tuple[int, ...]:
    """By tile, its neighbour so many lines down and half tiles to the right."""
    spots = [
        (line, half) for line in range(8) for half in range(1 - line % 2, 16 - (1 - line % 2), 2)
    ]
    number = {spot: tile for tile, spot in enumerate(spots)}
    return tuple(number.get((line + down, half + right), OFF) for line, half in spots)


STEPS = tuple(
    neighbours(down, right) for down, right in ((0, 2), (0, -2), (1, 1), (1, -1), (-1, 1), (-1, -1))
)


def reached(start: int, free: int) -> Iterator[int]:
    """The tiles that a penguin on `start` can go to."""
    for step in STEPS:
        at = step[start]
        while free >> at & 1:
            yield at
            at = step[at]


def perft(free: int, own: list[int], other: list[int], depth: int) -> int:
    """How many sequences of `depth` moves two players have, `own` first, every leaf made.

    Who can't move is passed over, and that is no ply.
    """
    total = 0
    moved = False
    for slot, start in enumerate(own):
        for step in STEPS:
            at = step[start]
            while free >> at & 1:
                moved = True
                own[slot] = at
                if depth == 1:
                    total += 1
                else:
                    total += perft(free ^ 1 << at, other, own, depth - 1)
                at = step[at]
        own[slot] = start
    if not moved and any(True for start in other for _ in reached(start, free)):
        return perft(free, other, own, depth)
    return total


def playout(free: int, own: list[int], other: list[int], random: Callable[[], float]) -> int:
    """Play random moves to the end, in place; gives how many there were."""
    made = 0
    stuck = 0
    while stuck < 2:
        moves = [(slot, at) for slot, start in enumerate(own) for at in reached(start, free)]
        if moves:
            slot, at = moves[int(random() * len(moves))]
            own[slot] = at
            free ^= 1 << at
            made += 1
            stuck = 0
        else:
            stuck += 1
        own, other = other, own
    return made
