"""The manager of the idle cluster's benchmark: `croupier manager`, for several tournaments at once.

The command takes one settings file; the role itself takes any number, as after a restart.
"""

from __future__ import annotations

import sys
from pathlib import Path

from croupier_server.app import run, set_aside
from croupier_server.cluster.managing import run_manager
from croupier_server.options import configure_logs
from croupier_server.settings import load_settings


def ready(line: str) -> None:
    """Say it, as the command does."""
    set_aside()
    print(line, flush=True)


if __name__ == "__main__":
    configure_logs(verbose=False)
    played = [load_settings(Path(name)) for name in sys.argv[1:]]
    run(run_manager(played, ready))
