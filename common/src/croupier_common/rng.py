"""Randomness that any machine and any Python repeats: counter-mode SHA-256.

``random.shuffle`` and ``random.sample`` may change between versions of Python; this can't.
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from hashlib import sha256
from typing import TypeVar

__all__ = ["Draws"]

T = TypeVar("T")


class Draws:
    """A stream of draws decided by a seed and labels (purpose, game id, seat...) alone.

    Two streams with different labels are independent: ``Draws(7, "board", "1.2")``. Draw *k* is
    the first 8 bytes of SHA-256 over the seed, the labels and *k*, each with its length before it.
    """

    __slots__ = ("_counter", "_key")

    def __init__(self, seed: int, *labels: str | int) -> None:
        parts = [str(part).encode() for part in (seed, *labels)]
        self._key = sha256(b"".join(b"%d:%s," % (len(part), part) for part in parts)).digest()
        self._counter = 0

    def bits(self) -> int:
        """The next draw, 64 bits."""
        digest = sha256(self._key + self._counter.to_bytes(8, "big")).digest()
        self._counter += 1
        return int.from_bytes(digest[:8], "big")

    def below(self, limit: int) -> int:
        """A number from 0 to `limit` - 1, each exactly as likely as the other."""
        if not 1 <= limit <= 1 << 64:
            raise ValueError(f"below({limit}): the limit must be from 1 to 2**64")
        ceiling = (1 << 64) // limit * limit
        while (draw := self.bits()) >= ceiling:
            pass
        return draw % limit

    def choice(self, options: Sequence[T]) -> T:
        """One of the options."""
        return options[self.below(len(options))]

    def shuffle(self, items: MutableSequence[T]) -> None:
        """Put the items into random order, in place (Fisher and Yates)."""
        for last in range(len(items) - 1, 0, -1):
            other = self.below(last + 1)
            items[last], items[other] = items[other], items[last]

    def weighted(self, weights: Sequence[int]) -> int:
        """An index, as likely as its weight says."""
        draw = self.below(sum(weights))
        for index, weight in enumerate(weights):
            draw -= weight
            if draw < 0:
                return index
        raise AssertionError("unreachable: the draw is below the sum of the weights")
