"""The commands for programs on standard input and output: ``bridge``, ``stdio`` and ``relay``."""

from __future__ import annotations

import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from croupier_client.options import FiniteRange

__all__ = ["bridge", "relay", "stdio"]

TERMINATED: Final = 143

_STDERR: Final = 2

T = TypeVar("T")


@click.command(short_help="Take a program in any language to a tournament.")
@click.argument("url")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True)
@click.option("--name", required=True, help="The player's name, up to 32 characters.")
@click.option(
    "--age",
    type=click.IntRange(0, 1_000_000),
    help="Its age, where the lobby asks.  [default: what the program says]",
)
@click.option(
    "--token",
    envvar="PENGUIN_TOKEN",
    help="The entrant's token, where one is needed; or in PENGUIN_TOKEN.",
)
@click.option("--room", help="Where to play; the tournament if not given.")
@click.option(
    "--retry",
    type=FiniteRange(min=0),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to try to connect.",
)
@click.option(
    "--log",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Where the program's standard error goes, up to 1 MiB.  [default: it is shown here]",
)
def bridge(
    url: str,
    command: tuple[str, ...],
    name: str,
    age: int | None,
    token: str | None,
    room: str | None,
    retry: float,
    log: Path | None,
) -> None:
    """Take a program to the tournament at URL (ws://HOST:PORT) and play until it is over.

    \b
        penguin bridge ws://127.0.0.1:8000 --name Pingu -- ./my-player --depth 3

    The program reads requests on its standard input, one to a line, and writes its replies on
    standard output; whatever else it has to say goes to standard error. Write -- before it.

    Ends with exit code 0 when the tournament came to its end, 1 when the program ended too soon or
    the connection was lost, 2 when there was none, the server refused, or the program did not
    answer hello, 3 when the player was ejected.
    """  # noqa: D301 - the backslash is click's, which keeps that paragraph as it is
    import asyncio

    from croupier_client.bridge import Bridge
    from croupier_client.cli import awake, warn
    from croupier_client.connecting import check_url
    from croupier_client.joining import JoinOptions
    from croupier_client.program import LogFile, PassedOn

    check_url(url)
    options = JoinOptions(name=name, age=age, room=room, token=token, retry_s=retry)
    options.params()
    stderr = PassedOn(_STDERR) if log is None else LogFile(log)
    way = Bridge(url, command, options, stderr=stderr, tell=click.echo, warn=warn)
    try:
        ending = asyncio.run(awake(_until_terminated(way.run())))
    except asyncio.CancelledError:
        warn("terminated")
        sys.exit(TERMINATED)
    click.echo(ending.text, err=ending.exit_code != 0)
    sys.exit(ending.exit_code)


async def _until_terminated(visit: Coroutine[Any, Any, T]) -> T:
    """A visit that SIGTERM ends as Ctrl-C does: with the program that is on it."""
    import asyncio
    import signal

    task = asyncio.current_task()
    if task is not None and sys.platform != "win32":
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await visit


@click.command(short_help="Be a program for 'penguin bridge', or for a server.")
@click.argument("target")
@click.option("--age", type=click.IntRange(0, 1_000_000), help="Its age, where the lobby asks.")
@click.option(
    "--max-games",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="How many games it plays at once, each with a player and a thread of its own.",
)
@click.option("--events", is_flag=True, help="Be told of everything at once: Player.events().")
def stdio(target: str, age: int | None, max_games: int, events: bool) -> None:
    """Play with TARGET over standard input and output, a JSON message to a line.

    What TARGET prints goes to standard error. Ends with exit code 0 when the tournament came to its
    end, 1 when standard input was closed before, 2 when TARGET is no player, 3 when it was ejected.
    """
    from croupier_client.joining import JoinOptions
    from croupier_client.loader import load
    from croupier_client.stdio import Wires, run_stdio

    wires = Wires.take()  # before any code of the player runs, which may print
    options = JoinOptions(name="-", age=age, max_games=max_games, events=events)
    sys.exit(run_stdio(load(target), wires, options))


@click.command(short_help="Have a WebSocket player be such a program.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True)
def relay(command: tuple[str, ...]) -> None:
    """Start a player that speaks WebSocket, and play with it over standard input and output.

    \b
        penguin check -- penguin relay -- node my_player.js {url}

    The player connects to the address that replaces {url} in its arguments, and that is in the
    variable CROUPIER_URL: a port of this machine that only it is told. Whatever it prints goes to
    standard error. Write -- before it.

    Ends when the player does, with its exit code, or 128 and the number of the signal that ended
    it; with 0 when standard input was closed, and with 2 if the player can't be started.
    """  # noqa: D301 - the backslash is click's, which keeps that paragraph as it is
    import asyncio

    from croupier_client.cli import awake, warn
    from croupier_client.program import PassedOn
    from croupier_client.relay import Relay
    from croupier_client.stdio import Wires

    wires = Wires.take()

    async def run() -> int:
        way = Relay(command, wires, stderr=PassedOn(_STDERR), warn=warn)
        return await _until_terminated(way.run())

    try:
        status = asyncio.run(awake(run()))
    except asyncio.CancelledError:
        warn("terminated")
        status = TERMINATED
    sys.exit(status)
