"""One process against a cluster of processes on the same machine: what the hop over NATS costs."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.cluster_site import Site, database, nats, site
from benchmarks.cluster_usage import Usage
from benchmarks.report import Budget, Part, Table, quantile, shown
from benchmarks.sizes import Cup, Size

__all__ = ["PLAY", "Found", "in_cluster", "measure"]

ALONE, SQLITE, CLUSTER = "one process", "one process, SQLite", "cluster"
WORKERS: Final = 2

PLAY: Final = ("gateway", "worker", "NATS", "PostgreSQL")
"""The roles whose time a game takes; the manager's is for pairing it."""

HOP_MS: Final = 10.0
"""What the hop may add to the median turn; a wish, and no budget of the issue's."""


@dataclass(frozen=True, slots=True)
class Found:
    """What was seen of a tournament.

    Attributes:
        between_ms: from a player's reply to the next request, the median and p99.
        asked_ms: what an answer took, as the croupier saw it: the player's time, and the way.
        cpu_s: by role, the load among them.
    """

    turns: int
    games: int
    per_second: float
    between_ms: tuple[float, float]
    asked_ms: tuple[float, float]
    cpu_s: Mapping[str, float]

    def cpu(self, *roles: str) -> float:
        """The processor's time of some roles; of all but the load's if none is named."""
        named = roles or tuple(role for role in self.cpu_s if role != "load")
        return sum(self.cpu_s.get(role, 0.0) for role in named)


def measure(size: Size) -> Part:
    """Play the same tournaments in one process and in a cluster."""
    return asyncio.run(_measure(size))


async def _measure(size: Size) -> Part:
    rows: list[tuple[str, ...]] = []
    figures: dict[str, float] = {}
    budgets: list[Budget] = []
    for cup in size.cups:
        found = {
            ALONE: await _alone(cup, on_sqlite=False),
            SQLITE: await _alone(cup, on_sqlite=True),
            CLUSTER: await in_cluster(cup),
        }
        rows += _rows(cup, found)
        figures |= _figures(cup, found)
        alone, cluster = found[ALONE], found[CLUSTER]
        hop = cluster.between_ms[0] - alone.between_ms[0]
        what = f"{cup.at_once} at once, ms that the hop adds to the median turn"
        budgets.append(Budget(what, hop, HOP_MS, at_least=False))
    head = ("", "turns/s", "ratio", "p50 ms", "p99 ms", "asked p50", "p99", "us/turn", "ms/game")
    return Part("cluster", _about(size), Table(head, rows), figures, budgets)


def _about(size: Size) -> str:
    several = ", ".join(str(cup.at_once) for cup in size.cups)
    return (
        f"Round robins of {several} games of two at once, by players that answer at random as "
        f"soon as they can: in one process, and in a gateway, {WORKERS} workers and a manager with "
        "NATS; all with their load and PostgreSQL on this machine. Milliseconds are from a "
        "player's reply to the next request; `asked` is what an answer took, as the croupier saw "
        "it. Processor time is without the load's, and without what starting takes."
    )


def _rows(cup: Cup, found: Mapping[str, Found]) -> list[tuple[str, ...]]:
    base = found[ALONE].per_second
    rows: list[tuple[str, ...]] = []
    for name, one in found.items():
        speeds = (one.per_second, one.per_second / base, *one.between_ms, *one.asked_ms)
        costs = (1e6 * one.cpu() / one.turns, 1e3 * one.cpu() / one.games)
        rows.append((f"{cup.at_once}, {name}", *map(shown, (*speeds, *costs))))
    cluster = found[CLUSTER]
    for role in sorted(set(cluster.cpu_s)):
        costs = (
            1e6 * cluster.cpu(role) / cluster.turns,
            1e3 * cluster.cpu(role) / cluster.games,
        )
        rows.append((f"    {role}", *[""] * 6, *map(shown, costs)))
    return rows


def _figures(cup: Cup, found: Mapping[str, Found]) -> dict[str, float]:
    figures: dict[str, float] = {}
    for name, one in found.items():
        title = f"{cup.at_once} {name}"
        figures |= {
            f"{title} turns/s": one.per_second,
            f"{title} to one process": one.per_second / found[ALONE].per_second,
            f"{title} p50 ms": one.between_ms[0],
            f"{title} p99 ms": one.between_ms[1],
            f"{title} asked p50 ms": one.asked_ms[0],
            f"{title} asked p99 ms": one.asked_ms[1],
            f"{title} us a turn": 1e6 * one.cpu() / one.turns,
            f"{title} ms a game": 1e3 * one.cpu() / one.games,
            f"{title} turns a game": one.turns / one.games,
        }
        for role in one.cpu_s:
            figures[f"{title} {role} us a turn"] = 1e6 * one.cpu(role) / one.turns
    return {name: value for name, value in figures.items() if value > 0}


# -- playing


async def _alone(cup: Cup, *, on_sqlite: bool) -> Found:
    """A tournament in one process."""
    async with AsyncExitStack() as stack:
        here = await _site(stack)
        place: tuple[str, str | Path] = ("--data", here.folder / "data")
        if not on_sqlite:
            place = ("--database", await _database(stack, here))
        config = here.write("cup", _settings(cup))
        command = ("serve", "--config", config, "--port", "0", *place)
        line = await here.role("croupier", *command, ready="listening on ")
        return await _load(here, line, cup, "croupier")


async def in_cluster(cup: Cup) -> Found:
    """A tournament in a cluster."""
    async with AsyncExitStack() as stack:
        here = await _site(stack)
        url = await _database(stack, here)
        server = await stack.enter_async_context(nats(here))
        config = here.write("cup", _settings(cup))
        common = ("--config", config, "--database", url)
        gateway = ("gateway", "--port", "0", *common)
        line = await here.role("gateway", *gateway, ready="listening on ", nats=server)
        await here.role("manager", "manager", *common, ready="active", nats=server)
        for number in range(1, WORKERS + 1):
            name = f"worker {number}"
            await here.role(name, "worker", *common, ready="ready", nats=server)
        return await _load(here, line, cup, "manager")


async def _site(stack: AsyncExitStack) -> Site:
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="croupier-bench-"))
    return await stack.enter_async_context(site(Path(folder)))


async def _database(stack: AsyncExitStack, here: Site) -> str:
    url, taken = await stack.enter_async_context(database())
    if taken is not None:
        here.meter.add("PostgreSQL", taken)
    return url


def _settings(cup: Cup) -> dict[str, dict[str, object]]:
    return {
        "lobby": {"min_players": cup.players, "max_players": cup.players, "wait_ms": 60_000},
        "limits": {"max_unjoined": 0},
        "tournament": {
            "name": "cup",
            "format": "round-robin",
            "blocks_per_entrant": cup.blocks,
            "games_at_once": cup.at_once,
            "seed": 5,
        },
    }


async def _load(here: Site, line: str, cup: Cup, leader: str) -> Found:
    """Have players play to the end, and see what that takes.

    Args:
        leader: whoever ends when the tournament is over.
    """
    url = line.partition("listening on ")[2]
    before = here.meter.now()
    told = await here.load(url, cup.seconds, "--players", str(cup.players), "--rate", "1000")
    after = here.meter.now()
    await here.over(leader)
    await here.stop()
    return _found(told, here.asked_ms(), before, after)


def _found(
    told: Mapping[str, Any],
    asked_ms: list[float],
    before: Mapping[str, Usage],
    after: Mapping[str, Usage],
) -> Found:
    between = told["durations_ms"]["between"]
    return Found(
        turns=told["turns"]["count"],
        games=told["games"]["over"],
        per_second=told["turns"]["per_second"],
        between_ms=(between["p50"], between["p99"]),
        asked_ms=(quantile(asked_ms, 0.5), quantile(asked_ms, 0.99)) if asked_ms else (0.0, 0.0),
        cpu_s={role: (after[role] - before.get(role, Usage())).cpu_s for role in after},
    )
