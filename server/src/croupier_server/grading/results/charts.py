"""Charts of grades, as SVG that needs no script; only numbers of ours are in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

__all__ = ["Tenth", "meter_svg", "split_svg", "tenths", "tenths_svg"]

WIDTH: Final = 56
HEIGHT: Final = 130
TOP: Final = 18
BOTTOM: Final = 22

LONG: Final = 240
"""How long a bar is that goes across."""

THICK: Final = 16


@dataclass(frozen=True, slots=True)
class Tenth:
    """How many grades lie from one tenth of the points to the next; in the last, full marks too."""

    low: int
    count: int

    @property
    def label(self) -> str:
        """The tenth in percent."""
        return f"{self.low}\N{EN DASH}{self.low + 10}"


def tenths(shares: Iterable[float]) -> Sequence[Tenth]:
    """Grades, each as a share of the points there are, counted by tenths."""
    counts = [0] * 10
    for share in shares:
        # a share such as 0.7 may be a hair less than seven tenths
        counts[min(9, max(0, int(10 * share + 1e-9)))] += 1
    return [Tenth(10 * at, count) for at, count in enumerate(counts)]


def tenths_svg(found: Sequence[Tenth]) -> str:
    """A column for each tenth, with its count above."""
    width, tall = WIDTH * len(found), TOP + HEIGHT + BOTTOM
    most = max(1, *(one.count for one in found))
    parts = [_head("columns", width, tall)]
    for at, one in enumerate(found):
        height = round(HEIGHT * one.count / most, 1)
        left, top = WIDTH * at, TOP + HEIGHT - height
        middle = left + WIDTH / 2
        parts.append(
            f'<rect x="{left + 4}" y="{top}" width="{WIDTH - 8}" height="{height}"/>'
            f'<text x="{middle}" y="{top - 5}">{one.count or ""}</text>'
            f'<text class="below" x="{middle}" y="{tall - 6}">{one.label}</text>'
        )
    foot = f'<path d="M0 {TOP + HEIGHT}H{width}"/>'
    return "".join([*parts, foot, "</svg>"])


def split_svg(counts: Sequence[int]) -> str:
    """A bar across that is split as the counts are: passed, partial, failed.

    The parts differ by how high they stand, too, for who does not see their colours.
    """
    ends = [0.0]
    for count in counts:
        ends.append(ends[-1] + LONG * count / max(1, sum(counts)))
    parts = [_head("split", LONG, THICK)]
    for name, part, high in zip(
        ("passed", "partial", "failed"), pairwise(ends), (THICK, 11, 6), strict=True
    ):
        box = f'x="{part[0]:.1f}" y="{THICK - high}" width="{part[1] - part[0]:.1f}"'
        parts.append(f'<rect class="{name}" {box} height="{high}"/>')
    return "".join([*parts, "</svg>"])


def meter_svg(share: float) -> str:
    """A bar across that is filled by a share, from 0 to 1."""
    filled = LONG * min(1.0, max(0.0, share))
    return (
        f'{_head("meter", LONG, THICK)}<rect class="all" width="{LONG}" height="{THICK}" rx="4"/>'
        f'<rect class="got" width="{filled:.1f}" height="{THICK}" rx="4"/></svg>'
    )


def _head(kind: str, width: int, height: int) -> str:
    box = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return f'<svg class="{kind}" {box} aria-hidden="true">'
