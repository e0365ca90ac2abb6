"""Command-line options that several commands share, and what they make of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from croupier_server.operations.logs import LogFormat

__all__ = ["configure_logs", "data_options", "game_options", "log_format_option"]

F = TypeVar("F", bound=Callable[..., Any])


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
            click.option(
                "--verbose", "-v", is_flag=True, help="Log everything on stderr, not only warnings."
            ),
        )
    ):
        command = option(command)
    return command


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
