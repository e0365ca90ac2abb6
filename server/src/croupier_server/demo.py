"""``croupier demo``: a server and house players on this machine, and what comes of it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shlex
import subprocess
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from croupier_server.errors import UserError
from croupier_server.options import FiniteRange, configure_logs, game_options, verbose_option

if TYPE_CHECKING:
    from croupier_server.app import App
    from croupier_server.house import House, HousePlayer
    from croupier_server.tournament.progress import Progress, TournamentResult

__all__ = ["demo"]

_CAST: Final = (
    ("ada", "minimax:2"),
    ("bo", "greedy"),
    ("cleo", "random"),
    ("dan", "first"),
    ("eve", "rogue:illegal"),
    ("finn", "minimax:1"),
    ("gil", "greedy"),
    ("hal", "random"),
)
"""Names and targets of the first eight; more players take the honest ones again."""

_MOVE_TIME_S: Final = 1.0

_PACE_MS: Final = 700
"""From one turn to the next where people watch."""

_LOOK_S: Final = 0.1
"""How often the players' processes are looked after until all have joined."""


@click.command()
@click.option(
    "--players", type=click.IntRange(2, 64), default=8, show_default=True, help="How many play."
)
@click.option(
    "--move-time",
    type=FiniteRange(0.01, 3600),
    default=_MOVE_TIME_S,
    show_default=True,
    metavar="SECONDS",
    help="For a move or placement.",
)
@click.option(
    "--web",
    is_flag=True,
    help="Watch it in the browser, at a pace for people; the pages stay until Ctrl-C.",
)
@game_options
@verbose_option
def demo(
    players: int,
    move_time: float,
    web: bool,
    rules: str | None,
    board: str | None,
    seed: int | None,
    games_at_once: int | None,
    records: Path | None,
    verbose: bool,
) -> int:
    """Watch house players fight out a whole tournament on this machine.

    Starts a server on a free port and the players as processes of their own, one of them
    misbehaving; prints how it goes, the standings, and who was ejected and why; and checks the
    records that it wrote. Exit code: 0 if all went well and all records hold.
    """
    from croupier_server.app import App, Stopped, run
    from croupier_server.house import House
    from croupier_server.report import standings
    from croupier_server.settings import load_settings
    from croupier_server.storage.record_files import new_folder

    configure_logs(verbose)
    seed = secrets.randbits(62) if seed is None else seed
    given_board = board
    if rules == "classic" and board is None:
        board = "classic"
    move_ms = round(move_time * 1000)
    settings = load_settings(
        None,
        {
            "server": {"port": 0},
            "lobby": {
                "min_players": players,
                "max_players": players,
                "wait_ms": 60_000,
                "periods": 1,
                "ages": "declared",
            },
            "clocks": {
                "place_ms": move_ms,
                "move_ms": move_ms,
                "pace_ms": _PACE_MS if web else 0,
            },
            "web": {"port": 0 if web else None, "stays": web},
            "game": {"rules": rules, "board": board or "5x5,holes=2,fish=1-5"},
            "tournament": {"name": "demo", "seed": seed, "games_at_once": games_at_once},
        },
        # What is set for a server, its database above all, is not for a demo.
        reads_environment=False,
    )
    folder = new_folder(records or Path("demo-records"))
    settings = settings.model_copy(
        update={"storage": settings.storage.model_copy(update={"data": folder})}
    )
    has_begun = False

    def progress(news: Progress) -> None:
        nonlocal has_begun
        has_begun = True
        tell(news)

    with _screen(seed) as (tell, say):

        def listening(port: int) -> None:
            house.start(f"ws://127.0.0.1:{port}")

        def ended(result: TournamentResult) -> None:
            say("\n".join(standings(result)))
            if web:
                say("step through any game on the pages; Ctrl-C ends them")

        app = App(
            settings,
            listening=listening,
            web_listening=lambda url: _open_pages(url, say),
            progress=progress,
            ended=ended,
            folder=folder,
        )
        signal: Stopped | None = None
        with House(_cast(players, seed), folder / "logs") as house:
            try:
                run(_attended(app, house, lambda: has_begun))
            except Stopped as stopped:
                signal = stopped
    if signal is not None and not app.results:
        click.echo(f"stopped by {signal}; see {folder}", err=True)
        return 128 + signal.signum
    (result,) = app.results.values()
    again = _command(
        "demo",
        players=None if players == len(_CAST) else players,
        move_time=None if move_time == _MOVE_TIME_S else move_time,
        rules=rules,
        board=given_board,
        seed=seed,
    )
    return _check(result, folder, again)


def _open_pages(url: str, say: Callable[[str], None]) -> None:
    """Show the wall of games in the browser, if there is one."""
    import webbrowser

    page = f"{url.removesuffix('/')}/t/demo/live?pace=500"
    say(f"watch it on {page}")
    webbrowser.open(page)


def _cast(players: int, seed: int) -> Sequence[HousePlayer]:
    """The players: ages 1 to N, so that who connects first changes nothing."""
    from croupier_common.rng import Draws
    from croupier_server.house import HousePlayer

    cast: list[HousePlayer] = []
    for at in range(players):
        name, target = _CAST[at % len(_CAST)]
        if at >= len(_CAST):
            name = f"{name}{at // len(_CAST) + 1}"
            target = target if not target.startswith("rogue") else "greedy"
        if target == "random":
            target = f"random:{Draws(seed, 'house', name).bits() >> 32}"
        cast.append(HousePlayer(name, target, age=at + 1))
    if players <= 4:  # the one that misbehaves is always there
        name, target = _CAST[4]
        cast[-1] = HousePlayer(name, target, age=players)
    return cast


async def _attended(app: App, house: House, has_begun: Callable[[], bool]) -> TournamentResult:
    """Run the server, and give up if a player ends before the tournament begins."""
    running = asyncio.create_task(app.run(), name="server")
    try:
        while not running.done():
            await asyncio.wait({running}, timeout=_LOOK_S)
            if not has_begun():
                house.check()
        return await running
    finally:
        running.cancel()
        await asyncio.wait({running})


@contextlib.contextmanager
def _screen(seed: int) -> Generator[tuple[Callable[[Progress], None], Callable[[str], None]]]:
    """Shows progress, and text: lines that stay, above one that lives while this is a terminal.

    Whatever is written past it would end up in that line.
    """
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    from croupier_server.report import describe
    from croupier_server.tournament.progress import GameOver, RoundBegins

    console = Console(highlight=False, markup=False, soft_wrap=True)
    console.print(f"demo tournament, seed {seed}")
    live = Bar(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with live:
        task = live.add_task("waiting for the players to connect", total=None)
        over = 0

        def tell(progress: Progress) -> None:
            nonlocal over
            if (line := describe(progress)) is not None:
                console.print(line)
            if isinstance(progress, RoundBegins):
                over = 0
                live.update(task, description=f"playing round {progress.number}")
            elif isinstance(progress, GameOver):
                over += 1
                live.update(
                    task,
                    description=f"playing round {progress.pairing.game.partition('.')[0]}: "
                    f"{over} game{'s' * (over != 1)} over",
                )

        yield tell, console.print


def _command(*words: str, **options: object) -> str:
    """A command as it can be typed here; None is an option that was not given."""
    given = [
        word
        for name, value in options.items()
        if value is not None
        for word in (f"--{name.replace('_', '-')}", str(value))
    ]
    run = os.environ.get("CROUPIER_RUN")  # as run.py was called, where nobody can type croupier
    join = subprocess.list2cmdline if os.name == "nt" else shlex.join
    return f"{run} " * bool(run) + join(["croupier", *words, *given])


def _check(result: TournamentResult, records: Path, again: str) -> int:
    """Verify the records just written."""
    from croupier_common.errors import RecordError
    from croupier_common.record import read_record, replay

    files = sorted(records.glob("*.jsonl"))
    ended = 0
    for file in files:
        try:
            with file.open("rb") as lines:
                ended += replay(read_record(lines)).outcome is not None
        except RecordError as problem:
            click.echo(f"{file}: DAMAGED, {problem}", err=True)
            return 1
    played = sum(found.kind == "played" for _, found in result.games)
    if played != ended:
        raise UserError(f"{records}: {ended} records of {played} games")
    click.echo(f"{len(files)} record{'s' * (len(files) != 1)} in {records}, all verified")
    click.echo(f"  {_command('show', str(files[-1]))}" if files else "")
    click.echo(f"  again with the same boards and moves: {again}")
    return 0
