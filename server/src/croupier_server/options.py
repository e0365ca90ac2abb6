"""Command-line options that several commands share, and what they make of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from croupier_server.operations.logs import LogFormat

__all__ = [
    "FiniteRange",
    "config_option",
    "configure_logs",
    "data_options",
    "game_options",
    "log_format_option",
    "operations_option",
    "tournament_options",
    "tournament_settings",
    "verbose_option",
]

F = TypeVar("F", bound=Callable[..., Any])


class FiniteRange(click.FloatRange):
    """A range of numbers; "nan" is in none, though it compares with no end of it."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a number with an end", param, ctx)
        return number


def config_option(command: F) -> F:
    """The file with settings."""
    return click.option(
        "--config",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="A TOML file with settings; options win over it.",
    )(command)


def verbose_option(command: F) -> F:
    """How much is logged."""
    return click.option(
        "--verbose", "-v", is_flag=True, help="Log everything on stderr, not only warnings."
    )(command)


def operations_option(command: F) -> F:
    """The port for the operator."""
    return click.option(
        "--operations-port",
        type=int,
        metavar="PORT",
        help="Answer /metrics, /healthz and /readyz on this port of this machine; 0 for any free "
        "one.",
    )(command)


def game_options(command: F) -> F:
    """Options for the game, the boards and the records."""
    for option in reversed(
        (
            click.option("--rules", metavar="PRESET", help="'fish' or 'classic'."),
            click.option(
                "--board", metavar="SPEC", help="'classic', '5x5', '6x5,holes=4,fish=1-5'..."
            ),
            click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Decides all boards."),
            click.option(
                "--games-at-once", type=click.IntRange(1, 1_000), help="Games played at a time."
            ),
            click.option(
                "--records",
                type=click.Path(path_type=Path, file_okay=False),
                metavar="DIR",
                help="In the end, put a record of each game into a numbered folder there.",
            ),
        )
    ):
        command = option(command)
    return command


def tournament_options(command: F) -> F:
    """Options for a tournament: who may play, and all of :func:`game_options`."""
    for option in reversed(
        (
            click.option(
                "--course-port",
                type=int,
                metavar="PORT",
                help="Let clients of the course's TCP protocol play too, on this port; 0 for any "
                "free one.",
            ),
            click.option(
                "--player",
                "programs",
                multiple=True,
                metavar="NAME=COMMAND",
                help="Run this program as a player, over its standard input and output; may be "
                "repeated.",
            ),
            click.option("--min-players", type=int, help="Start with no fewer [2]."),
            click.option("--max-players", type=int, help="Start at once with so many [64]."),
            click.option(
                "--wait",
                type=FiniteRange(),
                metavar="SECONDS",
                help="Wait for more from the first sign-up on [30].",
            ),
            click.option(
                "--roster",
                type=click.Path(path_type=Path, dir_okay=False),
                metavar="FILE",
                help="Only those in this roster may play; `croupier token` writes one.",
            ),
            click.option("--name", metavar="NAME", help="The tournament's name [tournament]."),
            click.option(
                "--resume",
                is_flag=True,
                help="Go on with what is kept and unfinished, with the settings that it began "
                "with.",
            ),
            click.option(
                "--move-time",
                type=FiniteRange(),
                metavar="SECONDS",
                help="For a move or placement [10].",
            ),
            game_options,
        )
    ):
        command = option(command)
    return command


def tournament_settings(given: Mapping[str, Any]) -> dict[str, Mapping[str, object]]:
    """What :func:`tournament_options` were given, as settings by section; None where not."""
    move_ms = _millis(given["move_time"])
    return {
        "server": {"course_port": given["course_port"]},
        "lobby": {
            "min_players": given["min_players"],
            "max_players": given["max_players"],
            "wait_ms": _millis(given["wait"]),
            "roster": given["roster"],
            "programs": given["programs"] or None,
        },
        "clocks": {"place_ms": move_ms, "move_ms": move_ms},
        "game": {"rules": given["rules"], "board": given["board"]},
        "tournament": {
            "name": given["name"],
            "seed": given["seed"],
            "games_at_once": given["games_at_once"],
        },
        "records": {"folder": given["records"]},
    }


def _millis(seconds: float | None) -> int | None:
    """Seconds, as an option has them, in the milliseconds of the settings."""
    return None if seconds is None else round(seconds * 1000)


def data_options(command: F) -> F:
    """Options for where tournaments are kept."""
    for option in reversed(
        (
            click.option(
                "--data",
                metavar="DIR",
                help="Keep tournaments in this directory [croupier-data]; '' to keep none.",
            ),
            click.option(
                "--database",
                metavar="URL",
                help="Keep them in a PostgreSQL database instead: postgresql://user@host/name.",
            ),
        )
    ):
        command = option(command)
    return command


def log_format_option(command: F) -> F:
    """How logs are written."""
    return click.option(
        "--log-format",
        type=click.Choice(["text", "json"]),
        help="Log lines for people, or a JSON object each [text].",
    )(command)


def configure_logs(verbose: bool, log_format: LogFormat = "text") -> None:
    """Log to stderr: warnings and worse, or everything; as text or as JSON."""
    from croupier_server.operations.logs import configure

    configure(verbose=verbose, log_format=log_format)
