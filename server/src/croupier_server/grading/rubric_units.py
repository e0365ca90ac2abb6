"""Sizes and times as a rubric has them, with their unit: ``512 MiB``, ``1.5 s``."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

__all__ = ["SIZES", "TIMES", "size_from", "size_text", "time_from", "time_text"]

_SIZES: Final = {"B": 1, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
_TIMES_MS: Final = {"ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000}

SIZES: Final = "a size in B, KiB, MiB or GiB, like '512 MiB'"
TIMES: Final = "a time in ms, s, min or h, like '30 s'"

_FORM: Final = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?) ?([A-Za-z]{1,3})")


def size_from(text: object) -> int:
    """How many bytes ``64 KiB`` is.

    Raises:
        ValueError: it is no size; says what one is.
    """
    return round(_amount(text, _SIZES, SIZES))


def size_text(size: int) -> str:
    """A number of bytes in the largest unit that needs no fraction."""
    return _text(size, _SIZES)


def time_from(text: object) -> float:
    """How many seconds ``1.5 min`` is, to the millisecond.

    Raises:
        ValueError: it is no time; says what one is.
    """
    return round(_amount(text, _TIMES_MS, TIMES)) / 1000


def time_text(seconds: float) -> str:
    """A time in the largest unit that needs no fraction; to the millisecond."""
    return _text(round(seconds * 1000), _TIMES_MS)


def _amount(text: object, units: dict[str, int], allowed: str) -> Fraction:
    found = _FORM.fullmatch(text) if isinstance(text, str) else None
    if found is None or found[2] not in units:
        raise ValueError(allowed)
    return Fraction(found[1]) * units[found[2]]


def _text(amount: int, units: dict[str, int]) -> str:
    name, unit = max(
        ((name, unit) for name, unit in units.items() if amount % unit == 0),
        key=lambda found: found[1],
    )
    return f"{amount // unit} {name}" if amount else f"0 {next(iter(units))}"
