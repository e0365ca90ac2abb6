"""How long the commands take to start."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Final

from benchmarks.processes import run_alone
from benchmarks.report import Budget, Part, Table, median, shown
from benchmarks.sizes import Size

__all__ = ["measure"]

LIMIT_S: Final = 0.5
TIMEOUT_S: Final = 30.0

BOARD: Final = json.dumps({"position": [1, 0], "board": [[1, 2, 3], [4, 0, 5], [1, 1, 1]]})

COMMANDS: Final[dict[str, tuple[Sequence[str], str]]] = {
    "python, nothing": (["-c", "pass"], ""),
    "croupier --help": (["-m", "croupier_server", "--help"], ""),
    "penguin --help": (["-m", "croupier_client", "--help"], ""),
    "croupier course xboard": (["-m", "croupier_server", "course", "xboard"], BOARD),
}
"""By name, what Python is called with and what it reads."""


def measure(size: Size) -> Part:
    """Start each command some times, in turn."""
    taken: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(size.starts):
        for name, (arguments, given) in COMMANDS.items():
            taken[name].append(run(name, arguments, given))
    return Part(
        "startup",
        f"From starting a process to its end, {size.starts} times each, in turn.",
        Table(
            ("", "best ms", "median ms"),
            [
                (name, shown(min(times) * 1e3), shown(median(times) * 1e3))
                for name, times in taken.items()
            ],
        ),
        {f"{name} s": min(times) for name, times in taken.items()},
        [
            Budget(f"{name}, seconds", min(times), LIMIT_S, at_least=False)
            for name, times in list(taken.items())[1:]
        ],
    )


def run(name: str, arguments: Sequence[str], given: str) -> float:
    """How long a command takes, in seconds."""
    started = time.perf_counter()
    run_alone(name, arguments, given=given, limit_s=TIMEOUT_S)
    return time.perf_counter() - started
