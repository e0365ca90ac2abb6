"""A process that ends with the one that started it, however that dies: its standard input is cut.

    python -m croupier_server.cluster.lifeline gateway --port 8000

is ``croupier gateway --port 8000`` at the end of such a line. A pipe works on every system, where
a signal at the parent's death is Linux's alone, and asks nothing of the parent: its end closes it.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from threading import Thread
from typing import Final

__all__ = ["at_end_of_input", "hold_on"]

GRACE_S: Final = 8.0
"""How long a process may take to write and close what it has, once the line is cut."""


def at_end_of_input(act: Callable[[bytes], None]) -> None:
    """Have something done, in a thread, when standard input is at its end; told what came last.

    The descriptor is read itself: a thread that waits in ``sys.stdin`` holds up the interpreter's
    own end.
    """

    def wait() -> None:
        last = b""
        try:
            while data := os.read(0, 4096):
                last = data
        except OSError:  # it was never open
            pass
        act(last)

    Thread(target=wait, name="lifeline", daemon=True).start()


def hold_on(grace_s: float = GRACE_S) -> None:
    """Have this process end when its standard input does: as by SIGTERM, then by force."""

    def end(_last: bytes) -> None:
        signal.raise_signal(signal.SIGTERM)
        time.sleep(grace_s)
        os._exit(128 + signal.SIGTERM)

    at_end_of_input(end)


if __name__ == "__main__":
    from croupier_server.cli import main

    sys.argv[0] = "croupier"
    hold_on()
    main()
