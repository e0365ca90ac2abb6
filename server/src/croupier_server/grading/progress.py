"""How far a grading is: one line that lives on a terminal, elsewhere a line for each submission."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

import click

from croupier_common.render import printable

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

__all__ = ["Lines", "Progress", "shown_progress"]

_NAME = 24


class Progress(Protocol):
    """Is told how far a grading is."""

    def begin(self, what: str, total: int) -> None:
        """So much is to be done from now on."""
        ...

    def now(self, name: str, doing: str) -> None:
        """A submission is built, checked, or plays."""
        ...

    def over(self, line: str | None = None) -> None:
        """One more is done; with a line on how it went."""
        ...


class Lines:
    """A line for each that is done."""

    def begin(self, what: str, total: int) -> None:
        """See :class:`Progress`."""

    def now(self, name: str, doing: str) -> None:
        """See :class:`Progress`."""

    def over(self, line: str | None = None) -> None:
        """See :class:`Progress`."""
        if line is not None:
            click.echo(line)


class OneLine:
    """One line that lives, on a terminal: how many are done, what runs, how long the rest takes."""

    def __init__(self, bar: Bar, *, has_lines: bool) -> None:
        self._bar = bar
        self._has_lines = has_lines
        self._task: TaskID | None = None

    def begin(self, what: str, total: int) -> None:
        """See :class:`Progress`."""
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._task = self._bar.add_task(what, total=total)

    def now(self, name: str, doing: str) -> None:
        """See :class:`Progress`."""
        if self._task is not None:
            self._bar.update(self._task, description=f"{printable(name, _NAME)} {doing}")

    def over(self, line: str | None = None) -> None:
        """See :class:`Progress`."""
        if self._task is not None:
            self._bar.advance(self._task)
        if line is not None and self._has_lines:
            click.echo(line)


@contextmanager
def shown_progress() -> Generator[Progress]:
    """Shows progress on stderr if that is a terminal, and by lines on stdout if that is none."""
    if not sys.stderr.isatty():
        yield Lines()
        return
    from croupier_server.commands.bar import new_bar

    has_lines = not sys.stdout.isatty()
    with new_bar(has_lines=has_lines) as bar:
        yield OneLine(bar, has_lines=has_lines)
