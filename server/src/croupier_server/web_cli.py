"""``croupier web``: the pages of a data directory, be a server playing there or not."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import click

from croupier_server.options import configure_logs, data_options, log_format_option

if TYPE_CHECKING:
    from croupier_server.settings import Settings

__all__ = ["web"]

DEFAULT_PORT = 8080


@click.command()
@click.option("--host", metavar="ADDRESS", help="Listen on this address [127.0.0.1].")
@click.option("--port", type=int, help=f"Listen on this port; 0 for any free one [{DEFAULT_PORT}].")
@click.option("--verbose", "-v", is_flag=True, help="Log everything on stderr, not only warnings.")
@data_options
@log_format_option
def web(
    host: str | None,
    port: int | None,
    verbose: bool,
    data: str | None,
    database: str | None,
    log_format: str | None,
) -> int:
    """Show standings, games and records in the browser.

    It looks at the data directory while a server plays there, and afterwards; it holds nothing up
    and changes nothing. `croupier serve --web-port` shows the same from within the server. Ends
    with Ctrl-C.
    """
    from croupier_server.app import Stopped, run
    from croupier_server.errors import UserError

    settings = _settings(host, port, data, database, log_format)
    if settings.web.port is None:  # neither here nor in the environment
        settings = _settings(host, DEFAULT_PORT, data, database, log_format)
    configure_logs(verbose, settings.operations.log_format)
    if settings.storage.where is None:
        raise UserError("--data '': nothing is kept there; give the data directory")
    try:
        run(_show(settings))
    except Stopped:
        return 0
    return 0


def _settings(
    host: str | None,
    port: int | None,
    data: str | None,
    database: str | None,
    log_format: str | None,
) -> Settings:
    from croupier_server.settings import load_settings

    return load_settings(
        None,
        {
            "web": {"host": host, "port": port},
            "storage": {"data": data, "url": database},
            "operations": {"log_format": log_format},
        },
    )


async def _show(settings: Settings) -> None:
    """Show the pages until the program is told to stop."""
    from croupier_server.web.server import WebServer

    server = WebServer(settings)
    try:
        await server.start()
        click.echo(f"pages on {server.url}")
        await asyncio.get_running_loop().create_future()
    finally:
        await server.stop()
