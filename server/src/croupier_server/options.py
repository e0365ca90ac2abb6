"""Command-line options that several commands share, and what they make of them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO, TypeVar, cast

import click

__all__ = ["configure_logs", "data_options", "game_options"]

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


class _Stderr:
    """Whatever stderr is when something is written."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def configure_logs(verbose: bool) -> None:
    """Log to stderr: warnings and worse, or everything."""
    import logging

    import structlog

    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.INFO if verbose else logging.WARNING
        ),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.dev.ConsoleRenderer(
                colors=sys.stderr.isatty(),
                # a plain traceback: richer ones show local variables, and tokens among them
                exception_formatter=structlog.dev.plain_traceback,
            ),
        ],
        logger_factory=structlog.PrintLoggerFactory(cast("TextIO", _Stderr())),
        cache_logger_on_first_use=True,
    )
