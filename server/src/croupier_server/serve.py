"""``croupier serve``: a tournament for whoever connects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from croupier_server.errors import UserError
from croupier_server.options import (
    configure_logs,
    data_options,
    game_options,
    log_format_option,
)

if TYPE_CHECKING:
    from croupier_server.settings import Settings

__all__ = ["millis", "serve", "unfinished"]


@click.command()
@click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A TOML file with settings; options win over it.",
)
@click.option("--host", metavar="ADDRESS", help="Listen on this address [127.0.0.1].")
@click.option("--port", type=int, help="Listen on this port; 0 for any free one [8000].")
@click.option(
    "--course-port",
    type=int,
    metavar="PORT",
    help="Let clients of the course's TCP protocol play too, on this port; 0 for any free one.",
)
@click.option(
    "--web-port",
    type=int,
    metavar="PORT",
    help="Show standings, games and records in the browser, on this port; 0 for any free one.",
)
@click.option(
    "--operations-port",
    type=int,
    metavar="PORT",
    help="Answer /metrics, /healthz and /readyz on this port of this machine; 0 for any free one.",
)
@click.option(
    "--practice",
    is_flag=True,
    help="Open a room where anybody can play against house players, until the server is stopped.",
)
@click.option(
    "--player",
    "programs",
    multiple=True,
    metavar="NAME=COMMAND",
    help="Run this program as a player, over its standard input and output; may be repeated.",
)
@click.option("--min-players", type=int, help="Start with no fewer [2].")
@click.option("--max-players", type=int, help="Start at once with so many [64].")
@click.option(
    "--wait", type=float, metavar="SECONDS", help="Wait for more from the first sign-up on [30]."
)
@click.option(
    "--roster",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Only those in this roster may play; `croupier token` writes one.",
)
@click.option("--name", metavar="NAME", help="The tournament's name [tournament].")
@click.option(
    "--resume",
    is_flag=True,
    help="Go on with what is unfinished in the data directory, with the settings it has there.",
)
@click.option("--move-time", type=float, metavar="SECONDS", help="For a move or placement [10].")
@click.option(
    "--workers",
    type=click.IntRange(1, 256),
    metavar="N",
    help="Play the games in N processes, with a NATS server and a gateway; needs --database.",
)
@data_options
@game_options
@log_format_option
def serve(
    config: Path | None,
    host: str | None,
    port: int | None,
    course_port: int | None,
    web_port: int | None,
    operations_port: int | None,
    practice: bool,
    programs: tuple[str, ...],
    min_players: int | None,
    max_players: int | None,
    wait: float | None,
    roster: Path | None,
    name: str | None,
    resume: bool,
    move_time: float | None,
    workers: int | None,
    data: str | None,
    database: str | None,
    rules: str | None,
    board: str | None,
    seed: int | None,
    games_at_once: int | None,
    records: Path | None,
    verbose: bool,
    log_format: str | None,
) -> int:
    """Run a tournament for players that connect over WebSocket.

    Players join until there are --max-players, or until --wait is over and there are at least
    --min-players; then the tournament is played, a knock-out if --config says nothing else. It is
    kept in the data directory: after a crash, the same command goes on where it was, as --resume
    does. Exit code: 0 at its end, 1 if too few signed up or it can't be written down any more, 2
    for a wrong setting.
    """
    from croupier_server.settings import load_settings

    move_ms = millis(move_time)
    given: Mapping[str, Mapping[str, object]] = {
        "server": {"host": host, "port": port, "course_port": course_port},
        "lobby": {
            "min_players": min_players,
            "max_players": max_players,
            "wait_ms": millis(wait),
            "roster": roster,
            "programs": programs or None,
        },
        "clocks": {"place_ms": move_ms, "move_ms": move_ms},
        "game": {"rules": rules, "board": board},
        "tournament": {"name": name, "seed": seed, "games_at_once": games_at_once},
        "storage": {"data": data, "url": database},
        "records": {"folder": records},
        "web": {"port": web_port},
        "practice": {"enabled": practice or None, "stays": practice or None},
        "operations": {"port": operations_port, "log_format": log_format},
    }
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


def millis(seconds: float | None) -> int | None:
    """Seconds, as an option has them, in the milliseconds of the settings."""
    return None if seconds is None else round(seconds * 1000)
