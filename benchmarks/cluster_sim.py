"""A hundred workers, simulated: what the manager's part of a game costs against playing it."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.cluster import PLAY, in_cluster
from benchmarks.cluster_site import Site, database, nats, site
from benchmarks.processes import Failed, heard, say
from benchmarks.report import Budget, Part, Table, shown
from benchmarks.sizes import Cup, Feigned, Size

__all__ = ["measure"]

DECIDING: Final = ("pairing", "fair queue", "standings")
"""Who plays whom and when, and how all stand: what must be little beside playing."""

RATINGS: Final = "ratings"

FORMATS: Final = ("round-robin", "swiss", "ladder")
SHARE: Final = 1.0
"""Percent of play that deciding who plays whom, and how all stand, may take."""

SLOTS: Final = 64
PATIENCE_S: Final = 400.0


@dataclass(frozen=True, slots=True)
class Found:
    """What a manager said of a tournament.

    Attributes:
        spent_us: a game's, by what for; ``cpu_us`` is all.
        again_ms: from a result to the offer of its players' next game, the median and p99.
    """

    games: int
    seconds: float
    cpu_us: float
    spent_us: Mapping[str, float]
    again_ms: tuple[float, float]

    @property
    def deciding_us(self) -> float:
        """Of a game: to pair it, to choose it, and to have it in the standings."""
        return sum(self.spent_us.get(what, 0.0) for what in DECIDING)


def measure(size: Size) -> Part:
    """Play some games for comparison, then pretend to play many."""
    return asyncio.run(_measure(size))


async def _measure(size: Size) -> Part:
    cup = size.cups[min(1, len(size.cups) - 1)]
    played = await in_cluster(cup)
    play_us = 1e6 * played.cpu(*PLAY) / played.games
    rows: list[tuple[str, ...]] = []
    figures = {"play us a game": play_us, "play turns a game": played.turns / played.games}
    budgets: list[Budget] = []
    for name in FORMATS:
        found = await _simulated(name, size.feigned)
        rows.append(_row(name, found, play_us))
        figures |= _figures(name, found, play_us)
        share = 100 * found.deciding_us / play_us
        budgets.append(Budget(f"{name}, deciding in % of play", share, SHARE, at_least=False))
    head = ("", "games", "games/s", "us/game", *DECIDING, RATINGS, "other", "decide %", "all %")
    table = Table((*head, "again p50", "p99 ms"), rows)
    kept = {name: value for name, value in figures.items() if value > 0}
    return Part("cluster-sim", _about(size.feigned, cup, play_us), table, kept, budgets)


def _about(feigned: Feigned, cup: Cup, play_us: float) -> str:
    return (
        f"{feigned.players:,} players in pairs, {feigned.workers} workers that decide games by "
        f"lot after {feigned.game_s:g} s in the mean; manager, formats, fair queue, NATS and "
        "PostgreSQL are real. The manager's processor time in microseconds a game, and in percent "
        f"of what the other roles took for a game that was played, {cup.at_once} at once: "
        f"{play_us / 1e3:,.1f} ms. Ratings with intervals are made once, in the end. `again` is "
        "from a result to the next game of one of its players being offered, so it has the wait "
        "for a free opponent in it, and in a Swiss tournament that for the next round."
    )


def _row(name: str, found: Found, play_us: float) -> tuple[str, ...]:
    spent = [found.spent_us.get(what, 0.0) for what in DECIDING]
    ratings = found.spent_us.get(RATINGS, 0.0)
    costs = (found.cpu_us, *spent, ratings, found.cpu_us - found.deciding_us - ratings)
    shares = (100 * found.deciding_us / play_us, 100 * found.cpu_us / play_us)
    rates = (found.games, found.games / found.seconds)
    return (name, *map(shown, (*rates, *costs, *shares, *found.again_ms)))


def _figures(name: str, found: Found, play_us: float) -> dict[str, float]:
    return {
        f"{name} games/s": found.games / found.seconds,
        f"{name} manager us a game": found.cpu_us,
        f"{name} deciding % of play": 100 * found.deciding_us / play_us,
        f"{name} manager % of play": 100 * found.cpu_us / play_us,
        f"{name} again p50 ms": found.again_ms[0],
        f"{name} again p99 ms": found.again_ms[1],
        **{f"{name} {what} us a game": us for what, us in found.spent_us.items()},
    }


async def _simulated(name: str, feigned: Feigned) -> Found:
    """A tournament of that format."""
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="croupier-bench-"))
        here = await stack.enter_async_context(site(Path(folder)))
        where, _ = await stack.enter_async_context(database())
        server = await stack.enter_async_context(nats(here))
        settings = _settings(name, feigned, where, server)
        told = await _played(here, settings, feigned)
    games = told["games"]
    median_ms, p99_ms = told["again_ms"]
    return Found(
        games,
        told["seconds"],
        1e6 * told["cpu_s"] / games,
        {what: 1e6 * seconds / games for what, seconds in told["spent_s"].items()},
        (median_ms, p99_ms),
    )


async def _played(here: Site, settings: Mapping[str, Any], feigned: Feigned) -> Mapping[str, Any]:
    common = {"core": None, "settings": settings}
    most = feigned.players * feigned.blocks
    manager = await here.child(
        "manager", "benchmarks.cluster_sim_manager", {**common, "most": most}
    )
    await heard(manager, "the manager")
    job = {**common, "workers": feigned.workers, "game_s": feigned.game_s}
    workers = await here.child("worker", "benchmarks.cluster_sim_workers", job)
    await heard(workers, "the workers")
    say(manager, {"begin": True})
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await heard(manager, "the manager")
    except TimeoutError:
        raise Failed(f"the tournament took longer than {PATIENCE_S:g} s") from None
    except Failed as problem:
        raise Failed(f"{problem}: {here.log('manager')}") from None


def _settings(name: str, feigned: Feigned, where: str, server: str) -> dict[str, dict[str, object]]:
    rounds = {"rounds": feigned.blocks} if name == "swiss" else {}
    blocks = {"blocks_per_entrant": feigned.blocks} if name == "round-robin" else {}
    return {
        "lobby": {"min_players": feigned.players, "max_players": feigned.players},
        "tournament": {
            "name": "feigned",
            "format": name,
            "games_at_once": feigned.players // 2,
            "seed": 3,
            **rounds,
            **blocks,
        },
        "storage": {"url": where},
        "cluster": {"nats": server, "games_per_worker": SLOTS},
    }
