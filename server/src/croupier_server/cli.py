"""``croupier``: the command line of the server. Heavy things are imported by who needs them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

import click

from croupier_server import __version__

__all__ = ["main"]

_STDERR: Final = 2

_COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "backup": (
        "croupier_server.operations.cli",
        "Copy a data directory's database, while a server plays on it.",
    ),
    "check": ("croupier_server.zoo.check", "Run the hostile zoo against a server."),
    "course": ("croupier_server.course.cli", "Speak the course's own formats on stdin and stdout."),
    "demo": ("croupier_server.demo", "Watch house players fight out a whole tournament."),
    "disqualify": (
        "croupier_server.commands.orders",
        "Put a player out of a tournament, for a reason.",
    ),
    "export": (
        "croupier_server.commands.export",
        "Write a tournament's tables and records to files.",
    ),
    "gateway": ("croupier_server.cluster.cli", "Hold players' connections, in a cluster."),
    "grade": ("croupier_server.grading.cli", "Grade a folder of submissions by a rubric."),
    "load": ("croupier_server.load.cli", "Load a server of one's own with thousands of players."),
    "manager": ("croupier_server.cluster.cli", "Run a tournament in a cluster."),
    "new": ("croupier_server.commands.new", "Write a file for a tournament."),
    "operator-token": (
        "croupier_server.web.operator.cli",
        "Make a token for the operator's pages.",
    ),
    "pause": ("croupier_server.commands.orders", "Start no more games for now."),
    "plan": (
        "croupier_server.commands.plan",
        "Tell what a tournament file comes to: games and hours.",
    ),
    "replay": ("croupier_server.commands.orders", "Have a game played again."),
    "resume": ("croupier_server.commands.orders", "Start games again after a pause."),
    "run": ("croupier_server.commands.run", "Play tournaments from files, or go on with them."),
    "serve": ("croupier_server.serve", "Run a tournament for players that connect."),
    "show": ("croupier_server.records_cli", "Print a recorded game, ply by ply."),
    "standings": (
        "croupier_server.commands.standings",
        "Print a tournament's table, ratings, or cross-table.",
    ),
    "start": (
        "croupier_server.commands.orders",
        "Begin a tournament with the players that are there.",
    ),
    "status": ("croupier_server.commands.status", "Tell how tournaments stand."),
    "stop": (
        "croupier_server.commands.orders",
        "End a tournament after the games that run; it can go on.",
    ),
    "token": ("croupier_server.token_cli", "Give entrants tokens, and put them into the roster."),
    "verify": ("croupier_server.records_cli", "Check records: nothing changed, all by the rules."),
    "void": ("croupier_server.commands.orders", "Have a game count for nobody."),
    "web": ("croupier_server.web_cli", "Show standings, games and records in the browser."),
    "withdraw": (
        "croupier_server.commands.orders",
        "Take a player out of a tournament, without blame.",
    ),
    "worker": ("croupier_server.cluster.cli", "Play games, in a cluster."),
}
"""By name of the command, the module that has it under that name, and its line of help."""


class _Lazy(click.Group):
    """Commands whose modules are imported when they are run; the help needs none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        command = getattr(import_module(_COMMANDS[cmd_name][0]), cmd_name.replace("-", "_"))
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in sorted(_COMMANDS.items())])


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="croupier %(version)s")
def _croupier() -> None:
    """Referee and run tournaments of the hexagonal board game Fish."""


def main() -> None:
    """Run ``croupier``; a user's mistake is one line on stderr and exit code 2."""
    _open_streams()
    for stream in (sys.stdout, sys.stderr):
        reconfigure: Callable[..., Any] | None = getattr(stream, "reconfigure", None)
        if reconfigure is not None:  # Windows consoles default to an older code page
            reconfigure(encoding="utf-8", errors="backslashreplace")
    sys.exit(_run())


def _open_streams() -> None:
    """Have nothing read and nothing written where we were started with a stream closed.

    The first sockets and files would take its number, which uvloop, for one, dies of.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        os.set_inheritable(number, True)
    os.close(number)
    # Python has none where a stream was closed; like its own they stay open to the end.
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def _run() -> int:
    from croupier_server.errors import CroupierError, UserError

    try:
        code = _croupier.main(standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as problem:
        click.echo(problem.format_message())
        return 2
    except click.exceptions.Abort:
        return 130
    except click.ClickException as problem:
        _complain(problem.format_message())
        return 2
    except UserError as problem:
        _complain(str(problem))
        return 2
    except CroupierError as problem:
        _complain(str(problem))
        return 1
    except BrokenPipeError:  # whoever read our output has had enough
        sys.stderr.close()
        return 141
    return code if isinstance(code, int) else 0


def _complain(message: str) -> None:
    click.echo(f"croupier: {' '.join(message.split())}", err=True)
