"""``croupier web``: the pages of a data directory, be a server playing there or not."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import click

from croupier_server.options import configure_logs, data_options, log_format_option, verbose_option

if TYPE_CHECKING:
    from croupier_server.operations.watch import Watch
    from croupier_server.settings import Settings
    from croupier_server.web.server import WebServer

__all__ = ["web"]

DEFAULT_PORT = 8080

NOT_MADE_S = 0.25
"""After how long it is looked again whether there is a database."""


@click.command()
@click.option("--host", metavar="ADDRESS", help="Listen on this address [127.0.0.1].")
@click.option("--port", type=int, help=f"Listen on this port; 0 for any free one [{DEFAULT_PORT}].")
@click.option(
    "--nats",
    metavar="URL",
    help="Follow the games of a cluster by its NATS; else by looking into the database.",
)
@verbose_option
@data_options
@log_format_option
def web(
    host: str | None,
    port: int | None,
    nats: str | None,
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

    settings = _settings(host, port, nats, data, database, log_format)
    if settings.web.port is None:  # neither here nor in the environment
        settings = _settings(host, DEFAULT_PORT, nats, data, database, log_format)
    configure_logs(verbose, settings.operations.log_format)
    if settings.storage.where is None:
        raise UserError("--data '': nothing is kept there; give the data directory")
    if settings.cluster.is_named:
        from croupier_server.cluster.extra import require_nats

        require_nats()
    try:
        run(_show(settings))
    except Stopped:
        return 0
    return 0


def _settings(
    host: str | None,
    port: int | None,
    nats: str | None,
    data: str | None,
    database: str | None,
    log_format: str | None,
) -> Settings:
    from croupier_server.settings import load_settings

    return load_settings(
        None,
        {
            "web": {"host": host, "port": port},
            "cluster": {"nats": nats},
            "storage": {"data": data, "url": database},
            "operations": {"log_format": log_format},
        },
    )


async def _show(settings: Settings) -> None:
    """Show the pages until the program is told to stop."""
    from croupier_server.operations.watch import Watch

    watch = Watch(settings.operations, lambda url: click.echo(f"metrics and health on {url}"))
    async with watch.shown(), AsyncExitStack() as stack:
        services: dict[str, Any] = {}
        if settings.cluster.is_named:
            from croupier_server.cluster.follow import FollowedEvents
            from croupier_server.cluster.roles import linked

            link = await stack.enter_async_context(linked(settings, "web"))
            services["bell"] = FollowedEvents(link)
        await _show_pages(settings, services, watch)


async def _show_pages(settings: Settings, services: Mapping[str, Any], watch: Watch) -> None:
    from croupier_server.operations.tally import Gauges
    from croupier_server.web.server import WebServer

    server = WebServer(settings, services=services)
    try:
        await _start(server, waits=settings.cluster.is_named)
        watch.look = lambda: Gauges(viewers=server.viewers)
        watch.health.phase = "serving"
        click.echo(f"pages on {server.url}")
        await asyncio.get_running_loop().create_future()
    finally:
        watch.health.phase = "stopping"
        await server.stop()


async def _start(server: WebServer, *, waits: bool) -> None:
    """Start the server; in a cluster, once a manager has made the database."""
    from croupier_server.errors import NotMade

    while True:
        try:
            return await server.start()
        except NotMade:
            if not waits:
                raise
        await asyncio.sleep(NOT_MADE_S)
