"""Good players beside bad ones, and beside many that only wait: what these cost the others."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path

from benchmarks.book import answers
from benchmarks.processes import run_pair
from benchmarks.report import Budget, Part, Table, shown
from benchmarks.sizes import Size

__all__ = ["measure"]

RULES = "fish"
HOSTILE = 10
"""How many tables have a bad player: one that sends garbage, plays illegally, floods, or leaves."""

IDLE_KIB = 30
"""What a joined player that only waits may take of the server's memory."""

Figures = dict[str, float]


def measure(size: Size) -> Part:
    """Play with good players alone, with bad ones among them, and with a waiting crowd."""
    with tempfile.TemporaryDirectory(prefix="croupier-bench-") as folder:
        book = Path(folder) / "book.json"
        book.write_text(json.dumps(answers(size.crowd_tables, RULES)), encoding="utf-8")
        found = asyncio.run(_play(size, book))
    alone, hostile, crowd = found["good alone"], found["bad among them"], found["crowd beside them"]
    figures = {
        "p99 with bad players to without": hostile["p99_ms"] / alone["p99_ms"],
        "KiB for a waiting player": crowd["idle_kib"],
        "turns/s beside a crowd to without": crowd["turns_per_s"] / alone["turns_per_s"],
    }
    rows = [
        (name, *(shown(run[key]) for key in ("turns_per_s", "cpu_us", "p50_ms", "p99_ms")))
        for name, run in found.items()
    ]
    budgets = [
        Budget(
            "p99 overhead of good players beside bad ones",
            hostile["p99_ms"] / alone["p99_ms"],
            2,
            at_least=False,
        ),
        Budget("KiB of a joined player that waits", crowd["idle_kib"], IDLE_KIB, at_least=False),
    ]
    table = Table(("", "turns/s", "server us", "good p50 ms", "good p99 ms"), rows)
    return Part("crowd", _about(size), table, figures, budgets)


async def _play(size: Size, book: Path) -> dict[str, Figures]:
    runs = {
        "good alone": (0, 0),
        "bad among them": (HOSTILE, 0),
        "crowd beside them": (0, size.idle),
    }
    rounds = max(1, round(size.turns / (size.crowd_tables * 40)))
    found: dict[str, Figures] = {}
    for name, (hostile, idle) in runs.items():
        job = {
            "tables": size.crowd_tables,
            "rounds": rounds,
            "rules": RULES,
            "hostile": min(hostile, size.crowd_tables // 2),
            "idle": idle,
            "answers": str(book),
        }
        served, loaded = await run_pair(
            "benchmarks.crowd_server", job, job, 2 * size.pair_seconds, "benchmarks.crowd_load"
        )
        found[name] = {**served, **loaded}
    return found


def _about(size: Size) -> str:
    return (
        f"{size.crowd_tables} games of two players at once, server and load pinned to one core: "
        f"good players alone; with a bad player at {min(HOSTILE, size.crowd_tables // 2)} of the "
        f"tables; and beside {size.idle:,} players that have joined and only wait. Overheads are "
        "those of tables where both players are good."
    )
