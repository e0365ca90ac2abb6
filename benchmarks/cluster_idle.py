"""Many players at one gateway of a cluster, of whom few play: memory, no false verdict, time."""

from __future__ import annotations

import asyncio
import re
import signal
import tempfile
import time
from asyncio.subprocess import Process
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.request import urlopen

from sqlalchemy import Connection, func, select

from benchmarks.cluster_site import Site, database, nats, site
from benchmarks.cluster_usage import Usage
from benchmarks.processes import Failed
from benchmarks.report import Budget, Part, Table, median, shown
from benchmarks.sizes import Crowd, Size
from croupier_server.storage import catalogue
from croupier_server.storage.database import Database
from croupier_server.storage.schema import games, pairings, results

__all__ = ["measure"]

LARGEST: Final = 950
"""How many players a tournament here has; 1,000 is the most, at which it would begin by itself."""

WORKERS: Final = 2
LOADS: Final = 2
RATE: Final = 400
"""How many connect in a second."""

JOIN_S: Final = 300.0
START_S: Final = 60.0
LOOK_S: Final = 0.25
SETTLES_S: Final = 2.0

IDLE_KIB: Final = 60
"""What a waiting player may take of all roles together: the single process's, twice."""

OVERHEAD_MS: Final = 100
"""What the clock allows each answer for the network."""

ROLES: Final = ("gateway", "manager", "worker", "NATS", "PostgreSQL")


@dataclass(frozen=True, slots=True)
class Found:
    """What was seen.

    Attributes:
        usages: by moment, of each role: before anybody came, when all had joined, after a rest,
            when so many games were on, and in the end.
        told: the load's own figures.
    """

    usages: Mapping[str, Mapping[str, Usage]]
    told: Mapping[str, Any]
    joined: int
    games: int
    finished: int
    verdicts: int
    seconds: float


def measure(size: Size) -> Part:
    """Have a crowd join, rest, and play."""
    return asyncio.run(_measure(size.crowd))


async def _measure(crowd: Crowd) -> Part:
    found = await _run(crowd)
    between, turns = found.told["durations_ms"]["between"], found.told["turns"]
    figures: dict[str, float] = {
        "players": found.joined,
        "games at once": found.games,
        "turns/s": turns["count"] / found.seconds,
        "p50 ms": between["p50"],
        "p99 ms": between["p99"],
    }
    each = {role: _kib(found, "empty", "joined", role) / found.joined for role in ROLES[:-1]}
    figures |= {f"{role} KiB a player": kib for role, kib in each.items() if kib > 0}
    for role in ROLES:
        figures[f"{role} idle share of a core"] = _share(found, "joined", "rested", role, crowd)
    budgets = [
        Budget("false verdicts", found.verdicts, 0, at_least=False),
        Budget("games at once", found.games, _enough(crowd)),
        Budget("KiB of a player that waits, all roles", sum(each.values()), IDLE_KIB, False),
        Budget("p99 ms from a reply to the next request", between["p99"], OVERHEAD_MS, False),
    ]
    rows = [_row(found, role, crowd) for role in ROLES]
    head = ("", "MiB empty", "MiB joined", "KiB a player", "MiB in the end", "idle core", "core")
    kept = {name: value for name, value in figures.items() if value > 0}
    return Part("cluster-idle", _about(crowd, found), Table(head, rows), kept, budgets)


def _about(crowd: Crowd, found: Found) -> str:
    between, charged = (found.told["durations_ms"][name] for name in ("between", "charged"))
    return (
        f"{found.joined:,} players at one gateway, in {len(_sizes(crowd))} tournaments of one "
        "manager: first all wait in the lobbies, then all tournaments begin, and "
        f"{found.games:,} games are played at once by {WORKERS} workers; the "
        f"{found.joined - 2 * found.games:,} others wait for their turn. Who plays thinks for "
        f"{crowd.think_ms[0]:,} to {crowd.think_ms[1]:,} ms. {found.finished:,} games ended and "
        f"{found.told['turns']['count']:,} turns were played, {between['p50']:.1f} ms in the "
        f"median and {between['p99']:.1f} ms in 99 of 100 from a reply to the next request; "
        f"{charged.get('p99', 0):.1f} ms were charged beyond what was thought (p99). "
        f"Verdicts: {found.verdicts}. The clocks are the defaults."
    )


def _row(found: Found, role: str, crowd: Crowd) -> tuple[str, ...]:
    mib = [found.usages[moment][role].kib / 1024 for moment in ("empty", "joined", "end")]
    each = _kib(found, "empty", "joined", role) / found.joined
    shares = (
        _share(found, "joined", "rested", role, crowd),
        _share(found, "begun", "end", role, crowd),
    )
    if role == "PostgreSQL":  # its processes share most of their memory, and each counts it
        return (role, "", "", "", "", *map(shown, shares))
    return (role, *map(shown, (mib[0], mib[1], each, mib[2], *shares)))


def _kib(found: Found, before: str, after: str, role: str) -> float:
    return (found.usages[after][role] - found.usages[before][role]).kib


def _share(found: Found, before: str, after: str, role: str, crowd: Crowd) -> float:
    seconds = crowd.rest_s if after == "rested" else crowd.play_s
    return (found.usages[after][role] - found.usages[before][role]).cpu_s / seconds


# -- playing


def _enough(crowd: Crowd) -> int:
    """The games at once, but for a few: between two games of a player there is none."""
    return crowd.games - max(1, crowd.games // 33)


def _sizes(crowd: Crowd) -> Sequence[int]:
    """How many players each tournament has: as many as the others, or one more."""
    count = -(-crowd.players // LARGEST)
    return [crowd.players // count + (at < crowd.players % count) for at in range(count)]


def _settings(crowd: Crowd, number: int) -> dict[str, dict[str, object]]:
    count = len(_sizes(crowd))
    return {
        "lobby": {"min_players": 2, "max_players": 1_000, "wait_ms": 86_400_000},
        "tournament": {
            "name": f"cup-{number}",
            "format": "round-robin",
            "blocks_per_entrant": 2,
            "games_at_once": crowd.games // count + (number <= crowd.games % count),
            "seed": number,
        },
    }


async def _run(crowd: Crowd) -> Found:
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="croupier-bench-"))
        here = await stack.enter_async_context(site(Path(folder)))
        where, taken = await stack.enter_async_context(database())
        if taken is not None:
            here.meter.add("PostgreSQL", taken)
        urls = await _cluster(stack, here, where, crowd)
        looker = await stack.enter_async_context(await Database.look(where))
        usages = {"empty": here.meter.now()}
        load = await _join(here, urls, crowd)
        usages["joined"] = here.meter.now()
        await asyncio.sleep(crowd.rest_s)
        usages["rested"] = here.meter.now()
        await _begin(looker, crowd)
        usages["begun"] = here.meter.now()
        playing = await _play(looker, crowd)
        usages["end"] = here.meter.now()
        finished, verdicts = await looker.read(_ended)  # before those who leave are missed
        load.send_signal(signal.SIGINT)
        told = await here.loaded(load)
        joined = told["joins"]["joined"]
        seconds = told["turns"]["seconds"]
    return Found(usages, told, joined, playing, finished, verdicts, seconds)


async def _cluster(stack: AsyncExitStack, here: Site, where: str, crowd: Crowd) -> tuple[str, str]:
    """Start all roles; gives where players connect, and where the gateway tells its metrics."""
    server = await stack.enter_async_context(nats(here))
    common: dict[str, dict[str, object]] = {
        "storage": {"url": where},
        "cluster": {"games_per_worker": -(-crowd.games // WORKERS) + 8},
        "limits": {"max_unjoined": 0, "max_connections": crowd.players + 100},
    }
    own = here.write("roles", common)
    command = ("gateway", "--config", own, "--port", "0", "--operations-port", "0")
    watched = await here.role("gateway", *command, ready="metrics and health on ", nats=server)
    line = await here.says("gateway", "listening on ")
    files = [
        here.write(f"cup-{number}", {**common, **_settings(crowd, number)})
        for number in range(1, len(_sizes(crowd)) + 1)
    ]
    env = {"CROUPIER_CLUSTER__NATS": server}
    await here.start("manager", "benchmarks.cluster_manager", *files, env=env)
    await here.says("manager", "active")
    for number in range(1, WORKERS + 1):
        name = f"worker {number}"
        await here.role(name, "worker", "--config", own, ready="ready", nats=server)
    return line.partition("listening on ")[2], watched.partition(" on ")[2] + "metrics"


async def _join(here: Site, urls: tuple[str, str], crowd: Crowd) -> Process:
    """Have all join, each tournament's in turn; the load that they are."""
    url, metrics = urls
    rooms = [
        word for number in range(1, len(_sizes(crowd)) + 1) for word in ("--room", f"cup-{number}")
    ]
    least, most = crowd.think_ms
    load = await here.begin_load(
        url,
        *("--players", str(crowd.players), "--rate", str(RATE), "--think", f"{least}-{most}"),
        *("--processes", str(LOADS), *rooms),
    )
    async with _within(JOIN_S, "all players to join"):
        while await asyncio.to_thread(_connected, metrics) < crowd.players:
            if load.returncode is not None:
                await here.loaded(load)
                raise Failed("the load ended before all had joined")
            await asyncio.sleep(LOOK_S)
    await asyncio.sleep(SETTLES_S)
    return load


def _connected(metrics: str) -> int:
    """How many players the gateway has."""
    with urlopen(metrics, timeout=10) as answer:  # noqa: S310 - our own child's address
        text = answer.read().decode()
    found = re.search(r'^croupier_connections\{kind="websocket"\} (\S+)$', text, re.MULTILINE)
    return int(float(found[1])) if found else 0


async def _begin(looker: Database, crowd: Crowd) -> None:
    """Have the tournaments begin, one after another, as an operator would."""
    for number in range(1, len(_sizes(crowd)) + 1):
        row = await looker.read(partial(catalogue.find_tournament, name=f"cup-{number}"))
        assert row is not None
        give = partial(catalogue.give_order, tournament=row.id, verb="start", by="benchmark")
        await looker.run(give)
        async with _within(START_S, f"cup-{number} to begin"):
            while await looker.read(partial(_begun, tournament=row.id)) == 0:  # noqa: ASYNC110 - another process writes
                await asyncio.sleep(LOOK_S)
    async with _within(START_S, f"{crowd.games:,} games to be played"):
        while await looker.read(_running) < _enough(crowd):  # noqa: ASYNC110 - another process writes
            await asyncio.sleep(LOOK_S)


async def _play(looker: Database, crowd: Crowd) -> int:
    """Let them play for a while; gives how many games were running, in the middle of the looks."""
    until = time.monotonic() + crowd.play_s
    seen: list[int] = []
    while time.monotonic() < until:
        await asyncio.sleep(1.0)
        seen.append(await looker.read(_running))
    return int(median(seen))


@asynccontextmanager
async def _within(seconds: float, what: str) -> AsyncGenerator[None]:
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise Failed(f"waited {seconds:g} s in vain for {what}") from None


def _running(connection: Connection) -> int:
    query = select(func.count()).select_from(games).where(games.c.status == "running")
    return connection.scalar(query) or 0


def _begun(connection: Connection, tournament: int) -> int:
    query = (
        select(func.count())
        .select_from(games.join(pairings, pairings.c.id == games.c.pairing_id))
        .where(pairings.c.tournament_id == tournament)
    )
    return connection.scalar(query) or 0


def _ended(connection: Connection) -> tuple[int, int]:
    """How many games are finished, and how many verdicts there are."""
    finished = select(func.count()).select_from(games).where(games.c.status == "finished")
    verdicts = select(func.count()).select_from(results).where(results.c.verdict.is_not(None))
    return connection.scalar(finished) or 0, connection.scalar(verdicts) or 0
