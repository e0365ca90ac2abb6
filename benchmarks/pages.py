"""How fast the standings of a large tournament are on their way, and what that does to the loop."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from typing import Final

from benchmarks.processes import Failed, child, heard, say
from benchmarks.report import Budget, Part, Table, shown
from benchmarks.sizes import Size

__all__ = ["measure"]

PAUSE_S: Final = 0.3
"""How long nobody looks: longer than a page is shown again without a look for news."""

ENDS_S: Final = 0.2
"""How often a game ends, so that no page is like the one before."""

SERVER: Final = "benchmarks.pages_server"
LOAD: Final = "benchmarks.pages_load"

Figures = dict[str, float]


def measure(size: Size) -> Part:
    """Look at tournaments that grow."""
    found = [asyncio.run(_limited(size, rounds)) for rounds in size.cup_rounds]
    usual, largest = found[0], found[-1]
    figures = {
        f"{run['games']:.0f} games, {name}": run[name]
        for run in found
        for name in ("p50_ms", "p99_ms", "cold_ms")
    }
    figures["longest hold ms"] = max(run["held_ms"] for run in found)
    figures["longest hold without requests ms"] = max(run["quiet_held_ms"] for run in found)
    figures["game page bytes"] = usual["game_bytes"]
    figures["tiles in its first response"] = usual["tiles"]
    names = (f"{usual['games']:,.0f} games", f"{largest['games']:,.0f} games")
    budgets = [
        Budget(f"p50 of a page, {names[0]}, in ms", usual["p50_ms"], 150, at_least=False),
        Budget(f"p99 of a page, {names[0]}, in ms", usual["p99_ms"], 150, at_least=False),
        Budget(f"p50 of a page, {names[1]}, in ms", largest["p50_ms"], 150, at_least=False),
        Budget("longest hold of the loop, in ms", figures["longest hold ms"], 5, at_least=False),
        Budget("game page, in kB", usual["game_bytes"] / 1e3, 150, at_least=False),
        Budget("tiles in its first response", usual["tiles"], 60),
    ]
    return Part("pages", _about(size), _table(found), figures, budgets)


async def _limited(size: Size, rounds: int) -> Figures:
    try:
        async with asyncio.timeout(2 * size.pair_seconds):
            return await _look(size, rounds)
    except TimeoutError:
        raise Failed(f"pages of {rounds} rounds took too long") from None


async def _look(size: Size, rounds: int) -> Figures:
    """One tournament: the first page, then none for a while, then one after the other."""
    load = {"core": None, "pages": size.pages, "pause_s": PAUSE_S}
    with tempfile.TemporaryDirectory(prefix="croupier-bench-") as data:
        job = {"core": None, "data": data, "players": size.cup_players, "rounds": rounds}
        async with (
            child(LOAD, load) as looking,
            child(SERVER, {**job, "pace_s": ENDS_S}) as serving,
        ):
            began = await heard(serving, SERVER)
            say(looking, began)
            first = await heard(looking, LOAD)
            say(serving, {})
            await asyncio.sleep(size.pages * PAUSE_S)
            say(serving, {})
            quiet = await heard(serving, SERVER)
            say(looking, {})
            looked = await heard(looking, LOAD)
            say(serving, {})
            busy = await heard(serving, SERVER)
    return {
        **busy,
        **first,
        **looked,
        "games": began["games"],
        **{f"quiet_{name}": value for name, value in quiet.items()},
        "made_cpu_ms": 1e3 * busy["apart_s"] / size.pages,
        "server_cpu_ms": 1e3 * max(0.0, busy["cpu_s"] - quiet["cpu_s"]) / size.pages,
    }


def _table(found: Sequence[Figures]) -> Table:
    columns = {
        "p50 ms": "p50_ms",
        "p99 ms": "p99_ms",
        "first ms": "cold_ms",
        "CPU ms": "made_cpu_ms",
        "server's": "server_cpu_ms",
        "held ms": "held_ms",
        "idle held": "quiet_held_ms",
        "late ms": "late_ms",
        "idle late": "quiet_late_ms",
    }
    rows = [
        (f"{run['games']:,.0f} games", *(shown(run[name]) for name in columns.values()))
        for run in found
    ]
    return Table(("", *columns), rows)


def _about(size: Size) -> str:
    return (
        f"The standings of a Swiss tournament of {size.cup_players} players in SQLite, of which a "
        f"page has the first 200 rows, {size.pages} times, each time after another game has ended; "
        "from the request to the last byte, over one connection. The first page is asked for as "
        "soon as the server listens. CPU is what the process spends on a page that makes it, and "
        "what the server's own one does. A hold is how late a beat every millisecond was, as far "
        "as the server's process can have caused it by what its threads used of the processor; "
        "late is all of that. Idle is the same server for as long before, while games end and "
        "nobody looks. Processes are not pinned."
    )
