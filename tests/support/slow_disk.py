"""`croupier` on a slow disk: each group that is committed takes so much longer.

    python -m support.slow_disk MS ARGUMENTS...      run in the folder tests
    python -m support.slow_disk FILE ARGUMENTS...    the milliseconds are read anew for each group

The wait is in the writer's thread, before the commit of a database that is on a disk, so that it is
seen wherever a slow disk is: by who waits for the commit, and in the metrics. It holds for this
process alone, and not for those that it starts.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from croupier_server import cli
from croupier_server.storage.postgresql import Postgresql
from croupier_server.storage.sqlite import SqliteFile
from croupier_server.storage.writer import Job


def delay_s(told: str) -> float:
    """Give the delay that is told, or that a file tells; none if there is no such file yet."""
    if not told.isdecimal():
        try:
            told = Path(told).read_text(encoding="ascii")
        except FileNotFoundError:
            return 0.0
    return float(told or 0) / 1000


def slow_down(told: str) -> None:
    """Have every commit on a disk wait first."""
    for kind in (SqliteFile, Postgresql):
        _slow_down(kind, told)


def _slow_down(kind: type[SqliteFile | Postgresql], told: str) -> None:
    commit: Callable[[Any, Sequence[Job]], None] = kind.commit
    pause = threading.Event()  # never set; time.sleep fails in a program whose clock is set

    def slow(self: Any, jobs: Sequence[Job]) -> None:
        pause.wait(delay_s(told))
        commit(self, jobs)

    kind.commit = slow  # type: ignore[method-assign] # that is the point


def main() -> None:
    """Slow the disk down, and be `croupier`."""
    slow_down(sys.argv.pop(1))
    cli.main()


if __name__ == "__main__":
    main()
