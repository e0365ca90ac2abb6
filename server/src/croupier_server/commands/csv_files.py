"""CSV that spreadsheets read as it is meant: text is text, whatever it begins with."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from typing import Final, TypeAlias

__all__ = ["Cell", "csv_text", "moment", "number"]

Cell: TypeAlias = str | int | float | Fraction | None
"""A cell; None is empty."""

_STARTS: Final = ("=", "+", "-", "@", "\t", "\r", "\n")
"""What a spreadsheet may take for a formula, or skip to find one behind it."""


def csv_text(rows: Iterable[Sequence[Cell]]) -> str:
    """Rows as CSV with commas, and a newline after each.

    Text that begins like a formula gets an apostrophe before it; numbers stay numbers.
    """
    return "".join(_line([_told(cell) for cell in row]) for row in rows)


def _line(cells: Sequence[str]) -> str:
    written = io.StringIO()
    # the writer quotes what its line's end has in it: either character, in a name too
    csv.writer(written, lineterminator="\r\n").writerow(cells)
    return written.getvalue().removesuffix("\r\n") + "\n"


def number(value: Fraction | float | None) -> str:
    """A number with at most four places after the point; nothing for None."""
    if value is None:
        return ""
    return f"{float(value):.4f}".rstrip("0").rstrip(".")


def moment(time_ms: int | None) -> str:
    """A moment in universal time, to the millisecond; nothing for None."""
    if time_ms is None:
        return ""
    seconds, millis = divmod(time_ms, 1000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{millis:03}Z"


def _told(cell: Cell) -> str:
    if isinstance(cell, str):
        return f"'{cell}" if cell.startswith(_STARTS) else cell
    if isinstance(cell, int) or cell is None:
        return "" if cell is None else str(cell)
    return number(cell)
