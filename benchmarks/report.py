"""What a benchmark found, as values: a table, its figures by name, and the budgets they are for."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import wrap
from typing import Any, Final

__all__ = ["Budget", "Part", "Table", "median", "quantile", "shown"]

WIDTH: Final = 100
"""How wide the prose of a report is, in characters."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What a figure has to be at least, or at most (``at_least`` false)."""

    what: str
    value: float
    limit: float
    at_least: bool = True

    @property
    def is_reached(self) -> bool:
        """Whether the figure keeps it."""
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def __str__(self) -> str:
        bound = "at least" if self.at_least else "at most"
        verdict = "reached" if self.is_reached else "MISSED"
        return f"{self.what}: {shown(self.value)}, {bound} {self.limit:,g}: {verdict}"

    def to_json(self) -> dict[str, Any]:
        """The budget as JSON."""
        return {
            "what": self.what,
            "value": self.value,
            "at_least" if self.at_least else "at_most": self.limit,
            "reached": self.is_reached,
        }


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a header; the first column is text, the others are figures."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def lines(self) -> Iterable[str]:
        """The table in aligned columns."""
        cells = [self.header, *self.rows]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        for row in cells:
            first = row[0].ljust(widths[0])
            others = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
            yield "  ".join([first, *others]).rstrip()


@dataclass(frozen=True, slots=True)
class Part:
    """One benchmark's result.

    Attributes:
        about: what was measured, and how.
        figures: by name, for programs.
    """

    name: str
    about: str
    table: Table
    figures: Mapping[str, float]
    budgets: Sequence[Budget] = field(default=())

    def lines(self) -> Iterable[str]:
        """The part as text."""
        yield f"== {self.name}"
        yield from wrap(self.about, WIDTH)
        yield ""
        yield from self.table.lines()
        yield ""
        yield from (f"budget: {budget}" for budget in self.budgets)

    def to_json(self) -> dict[str, Any]:
        """The part as JSON."""
        return {
            "figures": dict(self.figures),
            "budgets": [budget.to_json() for budget in self.budgets],
        }


def shown(value: float) -> str:
    """A figure with as many digits as it deserves."""
    return f"{value:,.2f}" if value < 100 else f"{value:,.0f}"


def median(values: Iterable[float]) -> float:
    """The middle one of some values."""
    return statistics.median(values)


def quantile(values: Sequence[float], share: float) -> float:
    """The value that `share` of all are not above."""
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]
