"""The command line, ``penguin``: ``new``, ``play``, ``check``, ``join``, ``replay``, ``bridge``...

Exit codes: 0 all is well; 1 the connection was lost; 2 a wrong option, target or address, a
refusal, or no connection; 3 the player was ejected; 130 interrupted.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

import click

from croupier_client import __version__
from croupier_client.cli_check import check, replay
from croupier_client.cli_stdio import bridge, relay, stdio
from croupier_client.errors import ClientError
from croupier_client.options import FiniteRange

__all__ = ["TARGET_HELP", "awake", "main", "penguin", "warn"]

EJECTED: Final = 3
INTERRUPTED: Final = 130

_TICK_S: Final = 0.2

T = TypeVar("T")

TARGET_HELP: Final = """
TARGET is module:Class, path/to/file.py (or path/to/file.py:Class), or a house player: first,
random, random:SEED, greedy, minimax, minimax:DEPTH; or one that misbehaves: rogue:illegal,
rogue:garbage, rogue:silent, rogue:crash, rogue:vanish, from its third turn in a game on
(rogue:illegal:1 from its first).
"""


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="penguin")
def penguin() -> None:
    """Write a player of Fish, try it, and take it to a tournament."""


@penguin.command(short_help="Write a first player.")
@click.argument("folder", type=click.Path(path_type=Path))
def new(folder: Path) -> None:
    """Write a small commented player, which runs as it is, into FOLDER."""
    from croupier_client.new import write_starter

    for path in write_starter(folder):
        click.echo(f"wrote {path}")
    click.echo(f"Try it:  penguin play {folder / 'my_player.py'} --against greedy,random")


@penguin.command(epilog=TARGET_HELP, short_help="Play it here, without a network.")
@click.argument("target")
@click.option(
    "--against",
    "-a",
    default="greedy",
    show_default=True,
    metavar="TARGET,...",
    help="The opponents, one to three.",
)
@click.option(
    "--board",
    metavar="SPEC",
    help="classic, 5x5, 6x5,holes=4,fish=1-5... or FILE.json.  [default: 5x5,fish=1-5; or classic "
    "with --rules classic]",
)
@click.option("--rules", type=click.Choice(["fish", "classic"]), default="fish", show_default=True)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63),
    help="Decides the board and who begins.  [default: another each time]",
)
@click.option(
    "--games", type=click.IntRange(min=1), default=1, show_default=True, help="With seed, seed+1..."
)
@click.option("--show", is_flag=True, help="Show the board after every move.")
@click.option("--quiet", "-q", is_flag=True, help="Show the results only.")
def play(
    target: str,
    against: str,
    board: str | None,
    rules: str,
    seed: int | None,
    games: int,
    show: bool,
    quiet: bool,
) -> None:
    """Play TARGET against others here, without a network, and show the game.

    Ends with exit code 3 if TARGET was ejected.
    """
    if show and quiet:
        raise click.UsageError("--show and --quiet exclude each other")
    from croupier_client.boards import read_board
    from croupier_client.loader import load
    from croupier_client.local import Match
    from croupier_client.show import Detail, Show, Style
    from croupier_common.errors import FishError
    from croupier_common.rules import Rules

    if seed is None:
        seed = int.from_bytes(os.urandom(4), "big")
    targets = [load(name.strip()) for name in [target, *against.split(",")]]
    try:
        spec = read_board(board or ("classic" if rules == "classic" else "5x5,fish=1-5"))
        match = Match(targets, spec=spec, rules=Rules.from_json(rules), seed=seed, warn=warn)
    except FishError as problem:
        raise click.UsageError(str(problem)) from None
    style = Style(color=sys.stdout.isatty() and "NO_COLOR" not in os.environ, unicode=_unicode())
    detail: Detail = "boards" if show else "results" if quiet or games > 1 else "moves"
    display = Show(match, style, detail, click.echo)
    for number in range(games):
        display.result(match.play(number, display.watch))
    match.end(display.winners())
    display.summary()
    sys.exit(EJECTED if display.ejections(match.entrants[0].name) else 0)


@penguin.command(epilog=TARGET_HELP, short_help="Take it to a tournament.")
@click.argument("url")
@click.argument("target")
@click.option("--name", required=True, help="The player's name, up to 32 characters.")
@click.option("--age", type=click.IntRange(0, 1_000_000), help="Its age, where the lobby asks.")
@click.option(
    "--token",
    envvar="PENGUIN_TOKEN",
    help="The entrant's token, where one is needed; or in PENGUIN_TOKEN.",
)
@click.option("--room", help="Where to play; the tournament if not given.")
@click.option(
    "--max-games",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="How many games it plays at once, each with a player and a thread of its own.",
)
@click.option(
    "--retry",
    type=FiniteRange(min=0),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to try to connect.",
)
@click.option("--events", is_flag=True, help="Be told of everything at once: Player.events().")
@click.option("--legal-actions", is_flag=True, help="Ask the server to list the legal actions.")
@click.option(
    "--repro",
    default=".",
    show_default=True,
    metavar="FOLDER",
    help="Where requests go on which TARGET failed, for 'penguin replay'; or 'off'.",
)
def join(
    url: str,
    target: str,
    name: str,
    age: int | None,
    token: str | None,
    room: str | None,
    max_games: int,
    retry: float,
    events: bool,
    legal_actions: bool,
    repro: str,
) -> None:
    """Take TARGET to the tournament at URL (ws://HOST:PORT) and play until it is over.

    Ends with exit code 0 when the tournament came to its end, 1 when the connection was lost, 2
    when there was none or the server refused, 3 when the player was ejected.
    """
    import asyncio

    from croupier_client.connecting import check_url
    from croupier_client.connection import Client
    from croupier_client.joining import JoinOptions
    from croupier_client.loader import load
    from croupier_client.repro import Reproducer

    options = JoinOptions(
        name=name,
        age=age,
        room=room,
        token=token,
        max_games=max_games,
        legal_actions=legal_actions,
        events=events,
        retry_s=retry,
    )
    client = Client(
        check_url(url),
        load(target),
        options,
        tell=click.echo,
        warn=warn,
        repro=None if repro == "off" else Reproducer(Path(repro), target, warn),
    )
    ending = asyncio.run(awake(client.run()))
    click.echo(ending.text, err=ending.exit_code != 0)
    sys.exit(ending.exit_code)


penguin.add_command(bridge)
check.epilog = TARGET_HELP
penguin.add_command(check)
penguin.add_command(replay)
stdio.epilog = TARGET_HELP
penguin.add_command(stdio)
penguin.add_command(relay)


async def awake(visit: Coroutine[Any, Any, T]) -> T:
    """A visit that Ctrl-C ends at once.

    Python's own handler runs only when the main thread runs Python again. A loop that has just
    begun to wait for the network would sleep through the signal, and Windows has no other way.
    """
    import asyncio

    async def tick() -> None:
        while True:  # noqa: ASYNC110 - nothing is waited for
            await asyncio.sleep(_TICK_S)

    ticking = asyncio.create_task(tick())
    try:
        return await visit
    finally:
        ticking.cancel()


def warn(text: str) -> None:
    """Tell the player's author something."""
    click.echo(text, err=True)


def _unicode() -> bool:
    return "utf" in (sys.stdout.encoding or "").lower()


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run ``penguin``; all that is wrong from outside is one line and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(
                # A Windows console's own code page lacks most of what we say.
                encoding="utf-8" if os.name == "nt" else None,
                errors="replace",
                line_buffering=True,  # what a player prints shows up in a log at once
            )
    sys.exit(_run(arguments))


def _run(arguments: Sequence[str] | None) -> int:
    from click.exceptions import NoArgsIsHelpError

    try:
        code: object = penguin.main(arguments, prog_name="penguin", standalone_mode=False)
    except NoArgsIsHelpError as problem:
        problem.show()
        return problem.exit_code
    except click.ClickException as problem:
        warn(f"penguin: {_one_line(problem.format_message())}")
        return problem.exit_code
    except (click.Abort, KeyboardInterrupt):
        warn("interrupted")
        return INTERRUPTED
    except ClientError as problem:
        warn(f"penguin: {_one_line(str(problem))}")
        return 2
    except BrokenPipeError:  # whoever read our output has gone: `penguin play ... | head`
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code if isinstance(code, int) else 0


def _one_line(text: str) -> str:
    return " ".join(text.split())
