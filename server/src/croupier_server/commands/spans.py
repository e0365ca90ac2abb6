"""Spans of time in words."""

from __future__ import annotations

__all__ = ["span"]


def span(seconds: float) -> str:
    """A span of time in its two largest units: ``3 h 20 min``, ``45 s``, ``0.4 s``."""
    if seconds < 9.95:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3_600:
        return _two(whole, 60, "min", 1, "s")
    if whole < 48 * 3_600:
        return _two(whole, 3_600, "h", 60, "min")
    return _two(whole, 86_400, "days", 3_600, "h")


def _two(whole: int, large: int, name: str, small: int, rest: str) -> str:
    count, left = divmod(whole, large)
    left = left // small
    return f"{count:,} {name}" + (f" {left} {rest}" if left else "")
