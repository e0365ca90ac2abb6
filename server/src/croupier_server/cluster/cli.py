"""``croupier gateway``, ``worker`` and ``manager``: the roles of a cluster, a process each."""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from croupier_server.options import (
    config_option,
    configure_logs,
    log_format_option,
    operations_option,
    tournament_options,
    tournament_settings,
    verbose_option,
)

if TYPE_CHECKING:
    from croupier_server.settings import Settings
    from croupier_server.tournament.progress import Progress, TournamentResult

__all__ = ["ROLES", "gateway", "manager", "worker"]

ROLES: Final = ("gateway", "worker", "manager")

CRASHED: Final = 70
"""The exit code after a fault of ours: starting again may help."""

CUT_OFF: Final = 75
"""The exit code when the database can't be written to any more: start it again."""

_COMMON: Final = ("config", "nats", "database", "operations_port", "verbose", "log_format")
"""Options that all roles have."""

F = TypeVar("F", bound=Callable[..., Any])


def _role_options(command: F) -> F:
    """Options that all roles have."""
    for option in reversed(
        (
            config_option,
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
            operations_option,
            verbose_option,
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
@tournament_options
@_role_options
def manager(**given: Any) -> int:
    """Run a tournament in a cluster: sign players up, pair them, and keep the standings.

    One manager is active; more of them stand by, and one takes over when it is gone. Exit code: 0
    at the tournament's end, 1 if too few signed up, 2 for a wrong setting, 75 if the database is
    lost.
    """
    from croupier_server.serve import unfinished

    name, resume = given["name"], given["resume"]
    common = {option: given[option] for option in _COMMON}
    settings = _settings(tournament_settings(given), **common)
    played = unfinished(settings, name) if resume else [settings]
    return _manage(played, is_new=given["config"] is None and not resume)


def _manage(played: Sequence[Settings], *, is_new: bool) -> int:
    from croupier_server.cluster.manager_drain import ManagerDrain
    from croupier_server.cluster.managing import run_manager
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
