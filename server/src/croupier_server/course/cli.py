"""`croupier course`: the course's test programs, and its server and clients."""

from __future__ import annotations

import json
import sys

import click

from croupier_server.options import FiniteRange

__all__ = ["course"]


@click.group()
def course() -> None:
    """The course's own programs.

    xboard, xstate, xtree, xstrategy and xref read one JSON value and write one; xserver and
    xclients play a tournament over its TCP protocol.
    """


@course.command()
def xboard() -> None:
    """How many tiles are reached in one move.

    Reads {"position": [row, column], "board": [[fish, ...], ...]}.
    """
    _run("xboard")


@course.command()
def xstate() -> None:
    """The first possible step of the first penguin.

    Reads a State, {"players": [{"color", "score", "places"}, ...], "board"}; writes the State after
    it, or false.
    """
    _run("xstate")


@course.command()
def xtree() -> None:
    """The answer next to where a move went.

    Reads {"state": State, "from": [row, column], "to": [row, column]}; writes the second player's
    move to a neighbour of "to", or false.
    """
    _run("xtree")


@course.command()
def xstrategy() -> None:
    """The best move by minimax.

    Reads [depth, State]; writes [[row, column], [row, column]] or false.
    """
    _run("xstrategy")


@course.command()
def xref() -> None:
    """The winners of a whole game.

    Reads {"row": r, "column": c, "players": [[name, depth], ...], "fish": f}; writes the winners'
    names, sorted.
    """
    _run("xref")


@course.command()
@click.argument("port", type=click.IntRange(1, 65_535))
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="Listen on this address; 0.0.0.0 for all.",
)
@click.option(
    "--wait",
    type=FiniteRange(0.01, 86_400),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="Wait so long for clients, and once more if there are fewer than 5.",
)
@click.option("--verbose", "-v", is_flag=True, help="Tell and log everything on stderr.")
def xserver(port: int, host: str, wait: float, verbose: bool) -> int:
    """Run a tournament for 5 to 10 clients.

    Writes [number of winners, number of cheaters and failures]; on stderr, why each of those is
    out. With too few clients it writes nothing, and its exit code is 1.
    """
    from croupier_server.app import Stopped, run
    from croupier_server.course.server import play, settings
    from croupier_server.options import configure_logs
    from croupier_server.report import describe
    from croupier_server.tournament.progress import PlayerOut, Progress

    configure_logs(verbose)

    def tell(progress: Progress) -> None:
        if verbose or isinstance(progress, PlayerOut):
            click.echo(describe(progress), err=True)

    try:
        result = run(play(settings(host, wait), port, tell))
    except Stopped as stopped:
        click.echo(f"stopped by {stopped}", err=True)
        return 128 + stopped.signum
    click.echo(json.dumps([len(result.winners), len(result.faults)]))
    return 0


@course.command()
@click.argument("count", type=click.IntRange(1, 1_000), metavar="N")
@click.argument("port", type=click.IntRange(1, 65_535))
@click.argument("host", default="127.0.0.1")
@click.option(
    "--depth",
    type=click.IntRange(1, 20),
    default=1,
    show_default=True,
    help="How many of its own turns a player looks ahead.",
)
def xclients(count: int, port: int, host: str, depth: int) -> None:
    """Play with N clients at the server at PORT of HOST.

    They sign up one after the other and play by the course's strategy, until all their connections
    have ended.
    """
    from croupier_server.course.players import run

    run(count, host, port, depth, lambda line: click.echo(line, err=True))


def _run(name: str) -> None:
    # imported here, so that `--help` and a mistyped option don't wait for the game
    from croupier_common.errors import FishError
    from croupier_server.course.codec import json_value
    from croupier_server.course.harnesses import HARNESSES
    from croupier_server.errors import UserError

    try:
        answer = HARNESSES[name](json_value(_stdin()))
    except (FishError, UserError) as problem:
        raise UserError(f"course {name}: {problem}") from None
    except OSError as problem:  # it may be open for writing only
        raise UserError(f"course {name}: stdin can't be read: {problem.strerror}") from None
    click.echo(json.dumps(answer))


def _stdin() -> bytes:
    """All that stdin has; nothing where it is closed, for which Python has None."""
    return sys.stdin.buffer.read() if sys.stdin is not None else b""
