"""Many who watch one game, and what they cost the games that nobody watches."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from benchmarks.book import answers
from benchmarks.processes import Failed, child, heard, pinned_core, say
from benchmarks.report import Budget, Part, Table, median, shown
from benchmarks.sizes import Size

__all__ = ["measure"]

RULES = "fish"
TURNS = 3
"""How much longer than in other benchmarks is played, for there to be enough paced moves."""

Figures = dict[str, float]


def measure(size: Size) -> Part:
    """Play without viewers and with them, in turn."""
    with tempfile.TemporaryDirectory(prefix="croupier-bench-") as folder:
        book = Path(folder) / "book.json"
        book.write_text(json.dumps(answers(size.beside, RULES)), encoding="utf-8")
        alone, watched = asyncio.run(_rounds(size, Path(folder), book))
    ratio = median(
        one["turns_per_s"] / other["turns_per_s"] for one, other in zip(watched, alone, strict=True)
    )
    p99 = median(run["p99_ms"] for run in watched)
    frames = max(run["frames_per_s"] for run in watched)
    figures = {
        "turns/s beside viewers to without": ratio,
        "p99 of delivery ms": p99,
        "frames/s to a viewer": frames,
        "viewers": size.viewers,
    }
    budgets = [
        Budget("p99 of delivery, in ms", p99, 250, at_least=False),
        Budget("most frames to a viewer in any second", frames, 10, at_least=False),
        Budget("turns/s of games that nobody watches, to those without viewers", ratio, 0.9),
    ]
    columns = ("turns/s", "server us", "p50 ms", "p99 ms", "frames/s")
    rows = [("without viewers", *_row(alone)), (f"{size.viewers:,} viewers", *_row(watched))]
    return Part("viewers", _about(size), Table(("", *columns), rows), figures, budgets)


async def _rounds(size: Size, folder: Path, book: Path) -> tuple[list[Figures], list[Figures]]:
    alone: list[Figures] = []
    watched: list[Figures] = []
    for number in range(size.turns_rounds):
        for viewers, found in ((0, alone), (size.viewers, watched)):
            data = folder / f"data-{number}-{viewers}"
            try:
                async with asyncio.timeout(2 * size.pair_seconds):
                    found.append(await _play(size, data, book, viewers))
            except TimeoutError:
                raise Failed(f"a run with {viewers} viewers took too long") from None
    return alone, watched


async def _play(size: Size, data: Path, book: Path, viewers: int) -> Figures:
    core = pinned_core()
    job = {
        "core": core,
        "tables": size.beside,
        "rounds": max(1, round(TURNS * size.turns / (size.beside * 40))),
        "rules": RULES,
        "data": str(data),
    }
    load = {"core": core, "answers": str(book), "players": 2 * size.beside}
    async with AsyncExitStack() as stack:
        server, players = "benchmarks.viewers_server", "benchmarks.load"
        serving = await stack.enter_async_context(child(server, job))
        loading = await stack.enter_async_context(child(players, load))
        ports = await heard(serving, server)
        say(loading, ports)
        watching = None
        if viewers:
            own = {"core": _other_core(core), "viewers": viewers}
            watching = await stack.enter_async_context(child("benchmarks.viewers_load", own))
            say(watching, ports)
            await heard(watching, "benchmarks.viewers_load")
        say(serving, {})
        served = await heard(serving, server)
        if watching is None:
            return served
        say(watching, {})
        told = await heard(watching, "benchmarks.viewers_load")
        expected = served["wall_s"] / 0.2
        if told["lost"] > 0 or told["fewest"] < 0.5 * expected - 5:
            raise Failed(f"viewers were lost, or heard too little: {told}")
        return {**served, **told}


def _other_core(core: int | None) -> int | None:
    """A core for the viewers, which are elsewhere than the server."""
    if core is None or sys.platform != "linux":
        return None
    return min(os.sched_getaffinity(0))


def _row(runs: Sequence[Figures]) -> list[str]:
    names = ("turns_per_s", "cpu_us", "p50_ms", "p99_ms", "frames_per_s")
    return [shown(median(run[name] for run in runs)) if name in runs[0] else "" for name in names]


def _about(size: Size) -> str:
    return (
        f"{size.beside} games of two players at full speed, durable in SQLite, server and players "
        "pinned to one core; beside them a game of which a move is written every 200 ms, which "
        f"{size.viewers:,} connections of another process on another core watch by server-sent "
        "events. p50 and p99 are from just before a move is written until a viewer has it. "
        f"{size.turns_rounds} rounds, without viewers and with them in turn; medians."
    )
