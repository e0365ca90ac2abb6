"""``croupier run``: plays the tournaments of some files, or goes on with them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from croupier_server.options import configure_logs, data_options, log_format_option, verbose_option

if TYPE_CHECKING:
    from croupier_server.settings import Settings

__all__ = ["run"]


@click.command()
@click.argument(
    "files",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE...",
)
@click.option("--host", metavar="ADDRESS", help="Listen on this address [127.0.0.1].")
@click.option("--port", type=int, help="Listen on this port; 0 for any free one [8000].")
@click.option(
    "--web-port",
    type=int,
    metavar="PORT",
    help="Show standings, games and records in the browser, on this port; 0 for any free one.",
)
@verbose_option
@data_options
@log_format_option
def run(
    files: tuple[Path, ...],
    host: str | None,
    port: int | None,
    web_port: int | None,
    verbose: bool,
    data: str | None,
    database: str | None,
    log_format: str | None,
) -> int:
    """Play the tournament of each FILE, several at a time, for players that connect.

    Where it was interrupted, the same command goes on. Of several files, the first one says where
    the server listens and where all is kept. `croupier new` writes such a file, and
    `croupier plan` tells what it comes to. Exit code: 0 at the end or when it was stopped by an
    order, 1 if too few signed up or nothing can be written down any more, 2 for a mistake.
    """
    from croupier_server.commands.bar import progress_bar
    from croupier_server.serving import serve_all
    from croupier_server.settings import load_settings

    given: dict[str, dict[str, object]] = {
        "server": {"host": host, "port": port},
        "storage": {"data": data, "url": database},
        "web": {"port": web_port},
        "operations": {"log_format": log_format},
    }
    played: list[Settings] = [load_settings(file, given) for file in files]
    configure_logs(verbose, played[0].operations.log_format)
    _check_names(files, played)
    with progress_bar(played) as tell:
        return serve_all(played, tell=tell)


def _check_names(files: Sequence[Path], played: Sequence[Settings]) -> None:
    """Check that no two files are the same tournament."""
    from croupier_server.errors import UserError

    seen: dict[str, Path] = {}
    for file, settings in zip(files, played, strict=True):
        name = settings.tournament.name
        if name in seen:
            raise UserError(
                f"{file}: tournament.name {name!r} is that of {seen[name]} too; give it another"
            )
        seen[name] = file
