"""A command of `croupier` that also notes how long players were asked, for the cluster benchmark.

What is run is the program as users have it; each answer is timed where the croupier awaits it: at a
connection of the same process, or at a gateway behind NATS.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

from croupier_server.cli import main
from croupier_server.cluster.remote_seat import RemoteSeat
from croupier_server.gateway.player import WebSocketSeat

ASKED: Final = "BENCHMARK_ASKED"
"""The variable with the file to which the times are written in the end."""

TURNS: Final = frozenset({"place", "move"})

Ask = Callable[..., Awaitable[Any]]


def timed(ask: Ask, took_ms: list[float]) -> Ask:
    """The same, with the time of each turn noted."""

    @functools.wraps(ask)
    async def timing(seat: Any, call: Any, budget_ms: int | None) -> Any:
        begun = time.perf_counter()
        answer = await ask(seat, call, budget_ms)
        if call.METHOD in TURNS:
            took_ms.append(round(1e3 * (time.perf_counter() - begun), 3))
        return answer

    return timing


def note_asks(file: Path) -> None:
    """From now on, time all turns, and write that to a file when this process ends."""
    took_ms: list[float] = []
    for seat in (RemoteSeat, WebSocketSeat):
        setattr(seat, "ask", timed(seat.ask, took_ms))  # noqa: B010 - the checkers' business
    atexit.register(lambda: file.write_text(json.dumps(took_ms), encoding="utf-8"))


if __name__ == "__main__":
    if ASKED in os.environ:
        note_asks(Path(os.environ[ASKED]))
    main()
