"""`croupier course`: the course's test programs, JSON on stdin and on stdout."""

from __future__ import annotations

import json
import sys

import click

__all__ = ["course"]


@click.group()
def course() -> None:
    """The course's test programs: each reads one JSON value and writes one."""


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
