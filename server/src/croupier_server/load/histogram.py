"""Durations by the million in little memory: counted in buckets, and several counts added up."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

__all__ = ["Histogram"]

_FINE: Final = 5
"""Of a duration's binary digits, so many after the first count: buckets are 1/32 wide, or 3 %."""

_QUANTILES: Final = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}


class Histogram:
    """Durations; their quantiles are at most a bucket's width (3 %) too large.

    Attributes:
        count: how many there are.
        greatest_us: the longest, exactly.
    """

    __slots__ = ("_buckets", "count", "greatest_us")

    def __init__(self) -> None:
        self.count = 0
        self.greatest_us = 0
        self._buckets: Counter[int] = Counter()

    def add(self, seconds: float) -> None:
        """Count a duration; one below zero, which clocks of whole milliseconds make, is none."""
        us = max(0, int(seconds * 1e6))
        shift = max(0, us.bit_length() - 1 - _FINE)
        self._buckets[(shift << (_FINE + 1)) + (us >> shift)] += 1
        self.count += 1
        self.greatest_us = max(self.greatest_us, us)

    def merge(self, other: Histogram) -> None:
        """Count all that another has counted."""
        self._buckets.update(other._buckets)
        self.count += other.count
        self.greatest_us = max(self.greatest_us, other.greatest_us)

    def quantile_ms(self, share: float) -> float:
        """The duration that at least such a share does not exceed; 0 if there are none."""
        wanted, seen = share * self.count, 0
        for bucket in sorted(self._buckets):
            seen += self._buckets[bucket]
            if seen >= wanted:
                return min(_end_us(bucket), self.greatest_us) / 1000
        return 0.0

    def to_json(self) -> dict[str, Any]:
        """The count, the quantiles and the maximum, in milliseconds; only the count if it is 0."""
        told: dict[str, Any] = {"count": self.count}
        if self.count:
            told |= {name: self.quantile_ms(share) for name, share in _QUANTILES.items()}
            told["max"] = self.greatest_us / 1000
        return told


def _end_us(bucket: int) -> int:
    """The longest duration that belongs to a bucket."""
    shift, top = bucket >> (_FINE + 1), bucket & ((1 << (_FINE + 1)) - 1)
    return ((top + 1) << shift) - 1
