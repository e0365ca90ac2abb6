"""A small chart of how long answers took, as SVG that needs no script and no style."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["Bin", "binned", "histogram_svg"]

EDGES_MS: Final = (1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000)
"""Where one bar ends and the next begins; thinking times spread over decades."""

WIDTH: Final = 52
HEIGHT: Final = 120
TOP: Final = 16
REM: Final = 14
"""How much of the drawing is as large as a letter of the page."""


@dataclass(frozen=True, slots=True)
class Bin:
    """How many answers took from `low_ms` to less than `high_ms`; None if that has no end."""

    low_ms: int
    high_ms: int | None
    count: int

    @property
    def label(self) -> str:
        """The bar's title."""
        if self.high_ms is None:
            return f"{_time(self.low_ms)} +"
        return f"< {_time(self.high_ms)}"


def binned(times_ms: Iterable[int]) -> list[Bin]:
    """The times, counted by decades; without the empty bars at the ends."""
    edges = (0, *EDGES_MS)
    counts = [0] * len(edges)
    for time_ms in times_ms:
        counts[max(at for at, edge in enumerate(edges) if edge <= max(0, time_ms))] += 1
    ends = (*EDGES_MS, None)
    bins = [Bin(low, high, n) for low, high, n in zip(edges, ends, counts, strict=True)]
    filled = [at for at, one in enumerate(bins) if one.count]
    return bins[filled[0] : filled[-1] + 1] if filled else []


def histogram_svg(bins: Sequence[Bin]) -> str:
    """The chart; only numbers of ours are in it."""
    width, most = WIDTH * len(bins), max(one.count for one in bins)
    tall = HEIGHT + TOP + 20
    box = f'viewBox="0 0 {width} {tall}" width="{width / REM:g}rem" height="{tall / REM:g}rem"'
    parts = [f'<svg class="histogram" {box} aria-hidden="true">']
    for at, one in enumerate(bins):
        height = round(HEIGHT * one.count / most, 1)
        middle, top = WIDTH * at + WIDTH / 2, TOP + HEIGHT - height
        parts.append(
            f'<rect x="{WIDTH * at + 3}" y="{top}" width="{WIDTH - 6}" height="{height}"/>'
            f'<text x="{middle}" y="{top - 4}">{one.count or ""}</text>'
            f'<text x="{middle}" y="{TOP + HEIGHT + 14}">{one.label.replace("<", "&lt;")}</text>'
        )
    return "".join([*parts, "</svg>"])


def _time(time_ms: int) -> str:
    return f"{time_ms} ms" if time_ms < 1_000 else f"{time_ms // 1_000} s"
