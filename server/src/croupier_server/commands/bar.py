"""A bar on a terminal that shows how far tournaments are, and how long the rest may take."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import click

from croupier_server.commands.progress_of import knockout_rest
from croupier_server.report import describe
from croupier_server.tournament.progress import (
    GameOver,
    GameStarts,
    Paused,
    PlayerOut,
    Progress,
    RoundBegins,
)

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from croupier_server.settings import Settings

__all__ = ["Count", "new_bar", "progress_bar"]

WAITING: Final = "waiting for players"

PACE_S: Final = 600.0
"""From how long a time the pace is told."""


@dataclass(slots=True)
class Count:
    """How many games are over, run, and are to be expected.

    Attributes:
        total: None while nobody knows.
    """

    settings: Sequence[Settings]
    over: int = 0
    running: int = 0
    total: int | None = None
    about: str = WAITING

    def take(self, news: Progress) -> None:
        """Count what has happened."""
        match news:
            case RoundBegins(number, games):
                self.total = self._total(number, games)
                self.about = f"round {number}"
            case GameStarts():
                self.running += 1
                if self.about == WAITING:  # it goes on, in a round that began earlier
                    self.about = "playing"
            case GameOver(_, _, plies):
                self.running -= plies is not None and self.running > 0
                self.over += 1
                if self.total is not None:
                    self.total = max(self.total, self.over + self.running)
            case Paused(is_paused):
                self.about = "paused" if is_paused else "playing"
            case PlayerOut():
                pass

    def _total(self, number: int, games: int) -> int | None:
        """All games that are to be expected, once a round begins with so many."""
        if len(self.settings) > 1:  # the news doesn't say which of them it is about
            return (self.total or 0) + games
        tournament = self.settings[0].tournament
        if tournament.format == "ladder":
            return None
        rest = 0
        if tournament.format == "knockout":
            rest = knockout_rest(games)
        elif tournament.format == "swiss":
            rest = max(0, self._swiss_rounds(games) - number) * games
        return self.over + games + rest

    def _swiss_rounds(self, games: int) -> int:
        from croupier_server.tournament.swiss import default_rounds

        tournament = self.settings[0].tournament
        # a block has a game for each of its players, so that there are as many as players
        return tournament.rounds or default_rounds(games, tournament.table)


@contextmanager
def progress_bar(played: Sequence[Settings]) -> Generator[Callable[[Progress], None] | None]:
    """What tells of progress on a terminal: a bar on stderr, and lines on stdout if that is none.

    None where stderr is no terminal, for the lines that every server tells.
    """
    if not sys.stderr.isatty():
        yield None
        return
    has_lines = not sys.stdout.isatty()
    count = Count(played, total=_begun(played))
    with new_bar(has_lines=has_lines) as bar:
        task = bar.add_task(count.about, total=count.total)

        def tell(news: Progress) -> None:
            line = describe(news)
            if line is not None and has_lines:
                click.echo(line)
            elif line is not None and isinstance(news, PlayerOut | Paused):
                bar.console.print(line)
            count.take(news)
            bar.update(task, description=count.about, completed=count.over, total=count.total)

        yield tell


def _begun(played: Sequence[Settings]) -> int | None:
    """How many games are left of tournaments that go on; None where that can't be said."""
    from croupier_server.commands.places import Place
    from croupier_server.commands.progress_of import left
    from croupier_server.commands.view import View
    from croupier_server.errors import UserError
    from croupier_server.storage import catalogue

    names = {settings.tournament.name for settings in played}
    try:
        place = Place(played[0].storage)
        rows = [row for row in place.read(catalogue.tournaments) if row.name in names]
        views = place.read(lambda connection: [View.of(connection, row) for row in rows])
        rests = [left(view).rest for view in views if view.pairings]
    except UserError:  # nothing is there yet
        return None
    return None if None in rests else sum(rest for rest in rests if rest is not None) or None


def new_bar(*, has_lines: bool) -> Bar:
    """A bar on stderr, with how many are done, the time so far, and what is left of it.

    Args:
        has_lines: whether lines go to standard output beside it.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bar

    return Bar(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(compact=True),
        console=Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True),
        transient=True,
        speed_estimate_period=PACE_S,
        redirect_stdout=not has_lines,  # what goes to a file must not come to the terminal
    )
