"""A foreign program that ends with us: a small process between that watches its standard input.

    python -m croupier_server.cluster.tether FOLDER COMMAND...

runs the command until it ends, or until standard input does, which also happens when who started
this was killed. Then the command gets SIGTERM, and is killed if it does not obey. If nothing was
said before the end, not even STOP, whoever wanted the folder (or '') is dead: it is removed. What
a program of ours does for itself is in :mod:`~croupier_server.cluster.lifeline`.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Final

from croupier_server.cluster.lifeline import at_end_of_input

__all__ = ["GRACE_S", "STOP"]

STOP: Final = b"stop\n"
"""The word that goes before an end that is wanted."""

GRACE_S: Final = 5.0
"""How long the program may take to end after SIGTERM."""


def run(folder: str, command: Sequence[str]) -> int:
    """Run a command to its end, or to ours; its exit status, 128 and its number for a signal."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    is_orphan = False

    def end(last: bytes) -> None:
        nonlocal is_orphan
        is_orphan = last != STOP
        _end(child)

    signal.signal(signal.SIGTERM, lambda _number, _frame: child.terminate())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's affair
    at_end_of_input(end)
    status = child.wait()
    if is_orphan and folder:
        shutil.rmtree(folder, ignore_errors=True)
    return status if status >= 0 else 128 - status


def _end(child: subprocess.Popen[bytes]) -> None:
    child.terminate()
    try:
        child.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        child.kill()


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], sys.argv[2:]))
