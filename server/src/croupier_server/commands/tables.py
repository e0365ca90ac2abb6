"""Tables on standard output: by rich on a terminal, where columns give way; else plain lines."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from croupier_server.commands.places import safe

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Column", "draw", "fitting", "lines", "show"]

GAP: Final = 2
"""Spaces between two columns."""

LEAST: Final = 8
"""How narrow a column of names gets at most."""


MOST_NAMED: Final = 6
"""How many columns a message names that there was no room for."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes:
        is_text: whether it is text that stands to the left and may be cut; else numbers.
        rank: the higher, the sooner it is left out where there is no room for all; 0 stays.
    """

    title: str
    is_text: bool = False
    rank: int = 0


def show(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> None:
    """Print a table; cells are shown safely, whatever is in them."""
    from rich.console import Console

    cells = [[safe(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        draw(Console(highlight=False, markup=False, emoji=False), columns, cells)
        return
    for line in lines(columns, cells):
        click.echo(line)


def lines(columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> list[str]:
    """The table as plain lines, as wide as they have to be."""
    widths = _widths(columns, cells)
    rows = [[column.title for column in columns], *cells]
    return [
        (" " * GAP)
        .join(
            _padded(cell, width, column)
            for cell, width, column in zip(row, widths, columns, strict=True)
        )
        .rstrip()
        for row in rows
    ]


def _padded(cell: str, width: int, column: Column) -> str:
    from rich.cells import cell_len

    spaces = " " * (width - cell_len(cell))
    return cell + spaces if column.is_text else spaces + cell


def _widths(columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> list[int]:
    from rich.cells import cell_len

    return [
        max([cell_len(column.title), *(cell_len(row[at]) for row in cells)])
        for at, column in enumerate(columns)
    ]


def fitting(columns: Sequence[Column], widths: Sequence[int], room: int) -> list[int]:
    """Which columns there is room for, when text is cut as far as it can be."""
    kept = list(range(len(columns)))
    while _needed(columns, widths, kept) > room:
        last = max(kept, key=lambda at: (columns[at].rank, at))
        if not columns[last].rank:
            break
        kept.remove(last)
    return kept


def _needed(columns: Sequence[Column], widths: Sequence[int], kept: Sequence[int]) -> int:
    least = [min(widths[at], LEAST) if columns[at].is_text else widths[at] for at in kept]
    return sum(least) + GAP * len(kept)


def _room(
    columns: Sequence[Column], widths: Sequence[int], kept: Sequence[int], room: int
) -> list[int]:
    """How wide the columns that are kept get; the widest text gives way first."""
    given = [widths[at] for at in kept]
    texts = [at for at, column in enumerate(kept) if columns[column].is_text]
    while texts and sum(given) + GAP * len(kept) > room:
        widest = max(texts, key=lambda at: given[at])
        if given[widest] <= LEAST:
            break
        given[widest] -= 1
    return given


def draw(console: Console, columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> None:
    """Draw the table on a terminal, with the columns that there is room for."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    widths = _widths(columns, cells)
    kept = fitting(columns, widths, console.width)
    # the box has a column of its own between two
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, GAP - 1, 0, 0))
    for at, width in zip(kept, _room(columns, widths, kept, console.width), strict=True):
        table.add_column(
            columns[at].title,
            justify="left" if columns[at].is_text else "right",
            no_wrap=True,
            width=width,
        )
    for row in cells:
        table.add_row(*(Text(row[at]) for at in kept))  # as it is, with no markup in it
    console.print(table)
    if len(kept) < len(columns):
        left = [columns[at].title for at in range(len(columns)) if at not in kept]
        named = ", ".join(filter(None, left[:MOST_NAMED])) + ", ..." * (len(left) > MOST_NAMED)
        console.print(f"too narrow for {named}; --json and --csv have all", style="dim")
