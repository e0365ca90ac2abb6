"""What the commands that serve tournaments do: run a server, and tell how it goes and ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import click

from croupier_server.app import App, Stopped, run, set_aside
from croupier_server.errors import StoppedByOrder
from croupier_server.report import describe, standings
from croupier_server.settings import Settings
from croupier_server.tournament.progress import Progress, TournamentResult

__all__ = ["address_to_join", "serve_all", "tell_end", "tell_progress"]


def serve_all(
    played: Sequence[Settings],
    *,
    is_new: bool = False,
    tell: Callable[[Progress], None] | None = None,
) -> int:
    """Serve tournaments until all of them are over; gives the exit code.

    Args:
        is_new: see :class:`~croupier_server.app.App`.
        tell: told what happens; lines on standard output if None.

    Raises:
        CroupierError: see :meth:`~croupier_server.app.App.run`.
    """
    first, is_alone = played[0], len(played) == 1

    def ended(result: TournamentResult) -> None:
        tell_end(result, app.folder, is_alone=is_alone)

    def listening(port: int) -> None:
        set_aside()
        click.echo(f"listening on {address_to_join(first, port)}")

    app = App(
        *played,
        listening=listening,
        course_listening=lambda port: click.echo(
            f"clients of the course's protocol: {first.server.host} port {port}"
        ),
        web_listening=lambda url: click.echo(f"pages on {url}"),
        operations_listening=lambda url: click.echo(f"metrics and health on {url}"),
        progress=tell or (lambda news: tell_progress(news, is_alone=is_alone)),
        ended=ended,
        is_new=is_new,
    )
    try:
        run(app.run(), app.drain)
    except Stopped as stopped:
        click.echo(f"stopped by {stopped}; {_how_on(first)}", err=True)
        return 128 + stopped.signum
    except StoppedByOrder as stopped:
        click.echo(f"{stopped}; {_how_on(first)}", err=True)
        return 0
    return 0


def tell_end(result: TournamentResult, folder: Path | None, *, is_alone: bool) -> None:
    """The table of a tournament that is over."""
    if not is_alone:
        click.echo(f"\n{result.name}")
    click.echo("\n".join(standings(result)))
    click.echo(f"seed {result.seed}" + (f", records in {folder}" if folder else ""))


def tell_progress(progress: Progress, *, is_alone: bool) -> None:
    """A line on what has just happened, if it is worth one."""
    line = describe(progress)
    if line is not None:
        click.echo(line if is_alone else f"{progress.tournament}: {line}")


def address_to_join(settings: Settings, port: int) -> str:
    """The address at which players join a server that listens on a port."""
    host = settings.server.host if ":" not in settings.server.host else f"[{settings.server.host}]"
    scheme = "ws" if settings.server.tls_certificate is None else "wss"
    return f"{scheme}://{host}:{port}"


def _how_on(settings: Settings) -> str:
    """What becomes of what is unfinished."""
    if settings.storage.where is None:
        return "unfinished games are lost: nothing was kept"
    return f"the same command goes on from here, with what {settings.storage.place} has"
