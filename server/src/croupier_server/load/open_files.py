"""The limit on open files, of which each connection is one."""

from __future__ import annotations

from typing import Final

from croupier_server.errors import UserError

__all__ = ["allow_connections"]

_SPARE: Final = 64
"""Open files that are no connections: libraries, pipes, the loop's own."""


def allow_connections(connections: int) -> None:
    """Let this process have so many connections, as far as the system lets it.

    Raises:
        UserError: there may not be so many; says how many, and how to have more.
    """
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    wanted = connections + _SPARE
    soft, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most not in {-1, resource.RLIM_INFINITY} and wanted > most:
        raise UserError(
            f"a process may open {most:,} files here, so {max(0, most - _SPARE):,} "
            f"connections, and {connections:,} are wanted of each: raise the limit with "
            f"`ulimit -Hn {wanted}`, or give more --processes"
        )
    if wanted > soft != resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
