"""How each point came about, as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import Final

from croupier_common.render import printable
from croupier_server.grading.scoring import Grade, LineScore, Taken

__all__ = ["explain_lines"]

WIDTH: Final = 80


def explain_lines(grade: Grade) -> Iterator[str]:
    """Each line with its points and reasons, what was taken off, and the total.

    No line is wider than 80 columns; all points stand below each other.
    """
    most = len(f"{grade.of:.2f}") + 1  # and a sign
    yield from wrap(f"{printable(grade.name, 200)}: {printable(grade.title, 200)}", WIDTH)
    yield ""
    for line in grade.lines:
        yield from _line(line, most)
    for word, several in (("deduction", grade.deductions), ("cap", grade.caps)):
        for taken in several:
            yield from _taken(word, taken, most)
    yield ""
    yield f"{grade.points:{most}.2f} / {grade.of:{most - 1}.2f}  in all"


def _line(line: LineScore, most: int) -> Iterator[str]:
    hidden = "" if line.public else " (not shown to students)"
    head = f"{line.points:{most}.2f} / {line.of:{most - 1}.2f}  "
    yield from _block(head, f"{printable(line.title, 200)}{hidden}")
    for reason in line.reasons:
        yield from _block(" " * (len(head) + 2), reason)


def _taken(word: str, taken: Taken, most: int) -> Iterator[str]:
    yield from _block(f"{-taken.points:{most}.2f}".ljust(2 * most + 4), f"{word}: {taken.reason}")


def _block(head: str, text: str) -> Iterator[str]:
    """Text behind a head, and below itself where it takes more than one line."""
    yield from wrap(
        printable(text, 2_000),
        WIDTH,
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_on_hyphens=False,
    )
