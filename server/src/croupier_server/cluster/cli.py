"""``croupier gateway``, ``worker`` and ``manager``: the roles of a cluster, a process each."""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from croupier_server.options import configure_logs, log_format_option

if TYPE_CHECKING:
    from croupier_server.settings import Settings
    from croupier_server.tournament.progress import Progress, TournamentResult

__all__ = ["ROLES", "gateway", "manager", "worker"]

ROLES: Final = ("gateway", "worker", "manager")

CRASHED: Final = 70
"""The exit code after a fault of ours: starting again may help."""

CUT_OFF: Final = 75
"""The exit code when the database can't be written to any more: start it again."""

F = TypeVar("F", bound=Callable[..., Any])


def _role_options(command: F) -> F:
    """Options that all roles have."""
    for option in reversed(
        (
            click.option(
                "--config",
                type=click.Path(path_type=Path, dir_okay=False),
                metavar="FILE",
                help="A TOML file with settings; options win over it.",
            ),
            click.option(
                "--nats",
                metavar="URL",
                help="Where NATS is [nats://127.0.0.1:4222]; a token is better kept out of the "
                "command line, in CROUPIER_CLUSTER__NATS.",
            ),
            click.option(
                "--database",
                metavar="URL",
                help="The PostgreSQL database of all roles: postgresql://user@host/name; with a "
                "password, better in CROUPIER_STORAGE__URL.",
            ),
            click.option(
                "--operations-port",
                type=int,
                metavar="PORT",
                help="Answer /metrics, /healthz and /readyz on this port of this machine; 0 for "
                "any free one.",
            ),
            click.option(
                "--verbose", "-v", is_flag=True, help="Log everything on stderr, not only warnings."
            ),
            log_format_option,
        )
    ):
        command = option(command)
    return command


@click.command()
@click.option("--host", metavar="ADDRESS", help="Listen on this address [127.0.0.1].")
@click.option("--port", type=int, help="Listen on this port; 0 for any free one [8000].")
@_role_options
def gateway(host: str | None, port: int | None, **common: Any) -> int:
    """Hold players' connections, for games that workers play.

    There can be as many as are wanted: a player may come to any of them, and come back to another.
    Ends with Ctrl-C or SIGTERM. Exit code: 2 for a wrong setting, 75 if the database is lost.
    """
    settings = _settings({"server": {"host": host, "port": port}}, **common)
    from croupier_server.cluster.roles import run_gateway

    return _run(run_gateway(settings, _say))


@click.command()
@click.option(
    "--games",
    type=click.IntRange(1, 10_000),
    help="Play so many at a time [cluster.games_per_worker].",
)
@_role_options
def worker(games: int | None, **common: Any) -> int:
    """Play games, with the players that gateways hold.

    There can be as many as are wanted: one for each core is about right. Ends with Ctrl-C or
    SIGTERM; other workers go on with its games. Exit code: 2 for a wrong setting, 75 if the
    database is lost.
    """
    settings = _settings({"cluster": {"games_per_worker": games}}, **common)
    from croupier_server.cluster.roles import run_worker

    return _run(run_worker(settings, _say))


@click.command()
@click.option("--name", metavar="NAME", help="The tournament's name [tournament].")
@click.option(
    "--resume",
    is_flag=True,
    help="Go on with what is unfinished in the database, with the settings it has there.",
)
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
@click.option("--rules", metavar="PRESET", help="'fish' or 'classic'.")
@click.option("--board", metavar="SPEC", help="'classic', '5x5', '6x5,holes=4,fish=1-5'...")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Decides all boards.")
@click.option("--games-at-once", type=click.IntRange(1, 1_000), help="Games played at a time.")
@click.option(
    "--records",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="In the end, put a record of each game into a numbered folder there.",
)
@_role_options
def manager(
    name: str | None,
    resume: bool,
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
    **common: Any,
) -> int:
    """Run a tournament in a cluster: sign players up, pair them, and keep the standings.

    One manager is active; more of them stand by, and one takes over when it is gone. Exit code: 0
    at the tournament's end, 1 if too few signed up, 2 for a wrong setting, 75 if the database is
    lost.
    """
    from croupier_server.serve import millis, unfinished

    move_ms = millis(move_time)
    given: Mapping[str, Mapping[str, object]] = {
        "server": {"course_port": course_port},
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
        "records": {"folder": records},
    }
    settings = _settings(given, **common)
    played = unfinished(settings, name) if resume else [settings]
    return _manage(played, is_new=common["config"] is None and not resume)


def _manage(played: Sequence[Settings], *, is_new: bool) -> int:
    from croupier_server.cluster.manager_drain import ManagerDrain
    from croupier_server.cluster.roles import run_manager
    from croupier_server.serving import tell_end, tell_progress

    is_alone = len(played) == 1

    def progress(news: Progress) -> None:
        tell_progress(news, is_alone=is_alone)

    def ended(result: TournamentResult, folder: Path | None) -> None:
        tell_end(result, folder, is_alone=is_alone)

    drain = ManagerDrain(played[0].server.drain_ms / 1000)
    return _run(run_manager(played, _say, progress, ended, is_new=is_new, drain=drain), drain.run)


def _settings(
    given: Mapping[str, Mapping[str, object]],
    *,
    config: Path | None,
    nats: str | None,
    database: str | None,
    operations_port: int | None,
    verbose: bool,
    log_format: str | None,
) -> Settings:
    """The settings of a role, which can be those of a cluster; logs are written as they say."""
    from croupier_server.cluster.extra import require_nats
    from croupier_server.cluster.scope import check_scope
    from croupier_server.settings import load_settings

    require_nats()
    common: Mapping[str, Mapping[str, object]] = {
        "cluster": {**given.get("cluster", {}), "nats": nats},
        "storage": {"url": database},
        "operations": {"port": operations_port, "log_format": log_format},
    }
    settings = load_settings(config, {**given, **common})
    configure_logs(verbose, settings.operations.log_format)
    check_scope(settings)
    return settings


def _run(
    role: Coroutine[Any, Any, object],
    drain: Callable[[], Coroutine[Any, Any, None]] | None = None,
) -> int:
    """Run a role until it is over or told to stop; the exit code.

    Who starts it again has to know whether that may help, so a crash is told from an error.
    """
    import structlog

    from croupier_server.app import Stopped, run
    from croupier_server.errors import CroupierError, StoppedByOrder, StorageFailed

    try:
        run(role, drain)
    except Stopped as stopped:
        click.echo(f"stopped by {stopped}", err=True)
        return 128 + stopped.signum
    except StoppedByOrder as stopped:
        click.echo(str(stopped), err=True)
        return 0
    except StorageFailed as problem:
        click.echo(f"croupier: {problem}", err=True)
        return CUT_OFF
    except (CroupierError, BrokenPipeError):
        raise
    except Exception:  # noqa: BLE001 - told from an error by its exit code, and logged whole
        structlog.get_logger(__name__).critical("internal error", exc_info=sys.exc_info())
        return CRASHED
    return 0


def _say(line: str) -> None:
    """Tell who waits for it that a role is ready; click flushes."""
    from croupier_server.app import set_aside

    set_aside()
    click.echo(line)
