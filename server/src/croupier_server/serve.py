"""``croupier serve``: a tournament for whoever connects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from croupier_server.errors import UserError
from croupier_server.options import (
    config_option,
    configure_logs,
    data_options,
    log_format_option,
    operations_option,
    tournament_options,
    tournament_settings,
    verbose_option,
)

if TYPE_CHECKING:
    from croupier_server.settings import Settings

__all__ = ["serve", "unfinished"]


@click.command()
@config_option
@click.option("--host", metavar="ADDRESS", help="Listen on this address [127.0.0.1].")
@click.option("--port", type=int, help="Listen on this port; 0 for any free one [8000].")
@click.option(
    "--web-port",
    type=int,
    metavar="PORT",
    help="Show standings, games and records in the browser, on this port; 0 for any free one.",
)
@operations_option
@click.option(
    "--practice",
    is_flag=True,
    help="Open a room where anybody can play against house players, until the server is stopped.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 256),
    metavar="N",
    help="Play the games in N processes, with a NATS server and a gateway; needs --database.",
)
@data_options
@tournament_options
@verbose_option
@log_format_option
def serve(
    config: Path | None,
    host: str | None,
    port: int | None,
    web_port: int | None,
    operations_port: int | None,
    practice: bool,
    workers: int | None,
    data: str | None,
    database: str | None,
    verbose: bool,
    log_format: str | None,
    **tournament: Any,
) -> int:
    """Run a tournament for players that connect over WebSocket.

    Players join until there are --max-players, or until --wait is over and there are at least
    --min-players; then the tournament is played, a knock-out if --config says nothing else. It is
    kept in the data directory: after a crash, the same command goes on where it was, as --resume
    does. Exit code: 0 at its end, 1 if too few signed up or it can't be written down any more, 2
    for a wrong setting.
    """
    from croupier_server.settings import load_settings

    asked = tournament_settings(tournament)
    given: Mapping[str, Mapping[str, object]] = {
        **asked,
        "server": {**asked["server"], "host": host, "port": port},
        "storage": {"data": data, "url": database},
        "web": {"port": web_port},
        "practice": {"enabled": practice or None, "stays": practice or None},
        "operations": {"port": operations_port, "log_format": log_format},
    }
    name, resume = tournament["name"], tournament["resume"]
    settings = load_settings(config, given)
    configure_logs(verbose, settings.operations.log_format)
    if workers is not None:
        from croupier_server.cluster.serve_workers import Wish, serve_with_workers

        return serve_with_workers(settings, Wish(workers, given, config, resume, verbose))
    from croupier_server.serving import serve_all

    played = unfinished(settings, name) if resume else [settings]
    return serve_all(played, is_new=config is None and not resume)


def unfinished(settings: Settings, name: str | None) -> Sequence[Settings]:
    """The settings of the tournaments that go on: the one of that name, or all that are there.

    Raises:
        UserError: there is none.
    """
    from croupier_server.config import settled_by
    from croupier_server.storage.catalogue import tournaments
    from croupier_server.storage.once import look_once

    where = settings.storage.where
    if where is None:
        raise UserError("--resume needs a data directory; there is nothing to go on with")
    rows = [
        row
        for row in look_once(where, tournaments)
        if row.status != "finished" and name in {None, row.name}
    ]
    if not rows:
        asked = "tournament" if name is None else f"tournament {name!r}"
        raise UserError(f"{settings.storage.place}: no unfinished {asked} to go on with")
    return [settled_by(row.config, settings) for row in rows]
