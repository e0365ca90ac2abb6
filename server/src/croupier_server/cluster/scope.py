"""What a cluster can't do, since it needs one process: refused in one line each, with a way out."""

from __future__ import annotations

from croupier_server.errors import UserError
from croupier_server.settings import Settings

__all__ = ["check_scope"]


def check_scope(settings: Settings) -> None:
    """See that settings can be those of a cluster.

    Raises:
        UserError: its storage is not one for several processes, or something needs one process.
    """
    for problem in (
        _storage(settings),
        _programs(settings),
        _course(settings),
        _practice(settings),
    ):
        if problem is not None:
            raise UserError(problem)


def _storage(settings: Settings) -> str | None:
    if settings.storage.url is not None:
        return None
    return (
        "storage.url: several processes write to one database, and SQLite is for one process; "
        "give a PostgreSQL one: --database postgresql://user@host/name"
    )


def _programs(settings: Settings) -> str | None:
    if not settings.lobby.programs:
        return None
    return (
        f"lobby.programs, --player: a cluster runs no programs ({settings.lobby.programs[0].name}"
        " is one); bring each yourself: penguin bridge ws://HOST:PORT --name NAME -- COMMAND"
    )


def _course(settings: Settings) -> str | None:
    if settings.server.course_port is None:
        return None
    return (
        "server.course_port, --course-port: the course's TCP protocol needs one process; have "
        "players connect over WebSocket, or run `croupier serve` without --workers"
    )


def _practice(settings: Settings) -> str | None:
    if not settings.practice.enabled:
        return None
    return (
        "practice.enabled, --practice: the practice room needs one process; run another "
        "`croupier serve --practice` for it, on another --port and without --workers"
    )
