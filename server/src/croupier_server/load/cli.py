"""``croupier load``: a load on a server of one's own."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

from croupier_server.errors import UserError
from croupier_server.options import FiniteRange

__all__ = ["load"]

_MOST: Final = 100_000


@click.command()
@click.argument("url")
@click.option(
    "--players", type=click.IntRange(0, _MOST), default=16, show_default=True, help="That play."
)
@click.option(
    "--idle", type=click.IntRange(0, _MOST), default=0, help="More players, that join and wait."
)
@click.option(
    "--rate",
    type=FiniteRange(0, 100_000, min_open=True),
    default=200,
    show_default=True,
    help="Connections opened in a second.",
)
@click.option("--think", metavar="MS", help="For each turn: 50, or 20-200 for anything between.")
@click.option(
    "--seconds",
    type=FiniteRange(0, min_open=True),
    help="Leave after so long; else when the server has ended everything.",
)
@click.option(
    "--room", "rooms", metavar="NAME", multiple=True, help="Join there; of several, in turn."
)
@click.option("--idle-room", metavar="NAME", help="Where idle players wait [the first --room].")
@click.option(
    "--name-prefix", metavar="TEXT", default="load-", show_default=True, help="Of players' names."
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Names and tokens for a roster, as `croupier token` prints them.",
)
@click.option("--legal-actions", is_flag=True, help="Have the server list all legal actions.")
@click.option(
    "--processes",
    type=click.IntRange(1, 256),
    default=1,
    show_default=True,
    help="Use so many cores.",
)
@click.option(
    "--json",
    "json_file",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="Write the figures there; - for standard output instead of the text.",
)
@click.option(
    "--yes-this-is-my-server", "is_mine", is_flag=True, help="Load another machine than this."
)
def load(
    url: str,
    players: int,
    idle: int,
    rate: float,
    think: str | None,
    seconds: float | None,
    rooms: tuple[str, ...],
    idle_room: str | None,
    name_prefix: str,
    token_file: Path | None,
    legal_actions: bool,
    processes: int,
    json_file: Path | None,
    is_mine: bool,
) -> int:
    """Load the server at URL with players, and tell how it bears them.

    They join, play whatever is legal until the server has ended their tournament, and measure:
    turns a second, how long the server takes, what it charges players that they did not take.
    Load only a server of your own. Ctrl-C ends it, with the figures so far. Exit code: 0 if
    nothing went wrong, 1 if something did, 2 for a mistake.
    """
    import math

    from croupier_server.load.open_files import allow_connections
    from croupier_server.load.plan import Plan, read_tokens, visitors
    from croupier_server.load.processes import run_load
    from croupier_server.load.report import document
    from croupier_server.load.target import check_reached, check_url

    tokens = read_tokens(token_file) if token_file is not None else ()
    if not players and not idle:
        raise UserError("--players 0: give players, or --idle ones")
    plan = Plan(
        url,
        visitors(
            players,
            idle,
            prefix=name_prefix,
            rooms=rooms,
            idle_room=idle_room,
            tokens=tokens,
        ),
        rate=rate,
        think_s=_think(think),
        seconds=math.inf if seconds is None else seconds,
        legal_actions=legal_actions,
    )
    check_url(url, is_mine=is_mine)
    processes = min(processes, len(plan.visitors))
    allow_connections(-(-len(plan.visitors) // processes))  # children inherit the limit
    check_reached(url)
    line = _Line()
    try:
        figures, signals = run_load(plan, processes, line.tell)
    finally:
        line.end()
    ended = "all were done" if figures.done >= players else "nobody was left"
    if signals:
        ended = "told to stop"
    elif figures.is_timed_out:
        ended = f"after {seconds:g} s"
    _write(document(plan, processes, figures, ended), json_file)
    return 1 if figures.errors else 0


def _think(given: str | None) -> tuple[float, float]:
    """The shortest and the longest time for a turn, in seconds."""
    if given is None:
        return 0.0, 0.0
    least, dash, most = given.partition("-")
    if not (least.isdecimal() and (most.isdecimal() if dash else True)):
        raise UserError(f"--think {given!r:.40}: milliseconds, as in 50, or a range, as in 20-200")
    span = int(least) / 1000, int(most or least) / 1000
    if span[0] > span[1]:
        raise UserError(f"--think {given!r:.40}: the range ends before it begins")
    return span


class _Line:
    """One line on a terminal's stderr that says how far it is."""

    def __init__(self) -> None:
        self._stderr = sys.stderr
        self.is_shown = self._stderr.isatty()

    def tell(self, progress: Mapping[str, int]) -> None:
        """Say it in place of what stood there before."""
        if self.is_shown:
            told = ", ".join(f"{count:,} {name}" for name, count in progress.items())
            click.echo(f"\r\x1b[K{told}", nl=False, file=self._stderr)

    def end(self) -> None:
        """Leave no trace of it."""
        if self.is_shown:
            click.echo("\r\x1b[K", nl=False, file=self._stderr)


def _write(told: Mapping[str, Any], path: Path | None) -> None:
    """Give the figures as text, and as JSON where that is wanted."""
    import json

    from croupier_server.load.report import text

    document = json.dumps(told, indent=2, ensure_ascii=False)
    if path == Path("-"):
        click.echo(document)
        return
    click.echo("\n".join(text(told)))
    if path is None:
        return
    try:
        path.write_text(document + "\n", encoding="utf-8")
    except OSError as problem:
        raise UserError(f"--json {path}: {problem.strerror}") from None
