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
    for problem in (_storage(settings), _practice(settings)):
        if problem is not None:
            raise UserError(problem)


def _storage(settings: Settings) -> str | None:
    if settings.storage.url is not None:
        return None
    return (
        "storage.url: several processes write to one database, and SQLite is for one process; "
        "give a PostgreSQL one: --database postgresql://user@host/name"
    )


def _practice(settings: Settings) -> str | None:
    if not settings.practice.enabled:
        return None
    return (
        "practice.enabled, --practice: the practice room needs one process; run another "
        "`croupier serve --practice` for it, on another --port and without --workers"
    )
