"""The cross-table: who scored what against whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from croupier_server.tournament.model import Field, History
from croupier_server.tournament.tally import Tallies, tallied

__all__ = ["Cell", "CrossTable", "cross_table"]


@dataclass(frozen=True, slots=True)
class Cell:
    """What somebody scored against somebody.

    Attributes:
        halves: half points: at a table of any size, two for each game in which it came before
            the other, one for each as its equal.
        games: those that both played.
    """

    halves: int
    games: int

    @property
    def points(self) -> float:
        """The score in points, exact."""
        return self.halves / 2

    def __str__(self) -> str:
        return f"{self.points:g}/{self.games}"


@dataclass(frozen=True, slots=True)
class CrossTable:
    """Who scored what against whom.

    Attributes:
        names: of the rows and of the columns.
        cells: by the names of row and column; only of those who met.
    """

    names: tuple[str, ...]
    cells: Mapping[tuple[str, str], Cell]

    def row(self, name: str) -> list[Cell | None]:
        """What somebody scored against each, in the columns' order; None where they never met."""
        return [self.cells.get((name, other)) for other in self.names]

    def lines(self) -> list[list[str]]:
        """The table as text, its header first; for CSV and for pages."""
        body = [
            [name, *("" if cell is None else str(cell) for cell in self.row(name))]
            for name in self.names
        ]
        return [["", *self.names], *body]

    def to_json(self) -> dict[str, Any]:
        """The table as JSON: points and games, row by row, null where two never met."""
        rows = [self.row(name) for name in self.names]
        return {
            "names": list(self.names),
            "points": [[cell and cell.points for cell in row] for row in rows],
            "games": [[cell and cell.games for cell in row] for row in rows],
        }


def cross_table(
    field: Field,
    history: History,
    names: tuple[str, ...] | None = None,
    *,
    count_forfeits: bool = True,
    tallies: Tallies | None = None,
) -> CrossTable:
    """The cross-table of the results that there are.

    Args:
        names: whom to show, in this order; all in the field's order if not given.
        count_forfeits: as for :func:`..standings.standings`.
        tallies: likewise.
    """
    shown = field.names if names is None else names
    if tallies is None:
        tallies = tallied(history.results.values(), count_forfeits=count_forfeits)
    cells = {
        (name, other): Cell(versus.halves, versus.games)
        for name in shown
        for other, versus in tallies[name].versus.items()
    }
    return CrossTable(shown, cells)
