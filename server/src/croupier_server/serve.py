"""``croupier serve``: a tournament for whoever connects."""

from __future__ import annotations

from pathlib import Path

import click

from croupier_server.options import configure_logs, game_options

__all__ = ["serve"]


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
@click.option("--move-time", type=float, metavar="SECONDS", help="For a move or placement [10].")
@game_options
def serve(
    config: Path | None,
    host: str | None,
    port: int | None,
    course_port: int | None,
    programs: tuple[str, ...],
    min_players: int | None,
    max_players: int | None,
    wait: float | None,
    roster: Path | None,
    move_time: float | None,
    rules: str | None,
    board: str | None,
    seed: int | None,
    games_at_once: int | None,
    records: Path | None,
    verbose: bool,
) -> int:
    """Run a tournament for players that connect over WebSocket.

    Players join until there are --max-players, or until --wait is over and there are at least
    --min-players; then a knock-out tournament is played. Exit code: 0 at its end, 1 if too few
    signed up, 2 for a wrong setting.
    """
    from croupier_server.app import App, Stopped, run
    from croupier_server.report import describe, standings
    from croupier_server.settings import load_settings

    configure_logs(verbose)
    move_ms = _millis(move_time)
    settings = load_settings(
        config,
        {
            "server": {"host": host, "port": port, "course_port": course_port},
            "lobby": {
                "min_players": min_players,
                "max_players": max_players,
                "wait_ms": _millis(wait),
                "roster": roster,
                "programs": programs or None,
            },
            "clocks": {"place_ms": move_ms, "move_ms": move_ms},
            "game": {"rules": rules, "board": board},
            "tournament": {"seed": seed, "games_at_once": games_at_once},
            "records": {"folder": records},
        },
    )

    def listening(at: int) -> None:
        shown = settings.server.host if ":" not in settings.server.host else "[::]"
        scheme = "ws" if settings.server.tls_certificate is None else "wss"
        click.echo(f"listening on {scheme}://{shown}:{at}")

    def course_listening(at: int) -> None:
        click.echo(f"clients of the course's protocol: {settings.server.host} port {at}")

    app = App(
        settings,
        listening=listening,
        course_listening=course_listening,
        progress=lambda progress: click.echo(describe(progress)),
    )
    try:
        result = run(app.run())
    except Stopped as stopped:
        click.echo(f"stopped by {stopped}; unfinished games are marked as interrupted", err=True)
        return 128 + stopped.signum
    click.echo("\n".join(standings(result)))
    click.echo(f"seed {result.seed}" + (f", records in {app.folder}" if app.folder else ""))
    return 0


def _millis(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1000)
