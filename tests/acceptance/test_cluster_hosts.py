"""A cluster over hosts that are cut off, and over links that are bad: its end stays the same."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import TypeVar

import pytest
from sqlalchemy import Connection, func, select

from croupier_server.cluster.nats_server import NatsServer
from croupier_server.storage.schema import journal
from support.chaos_proxy import ChaosProxy
from support.fleet import Fleet, Place, Running, fleet
from support.hosts import require_cluster
from support.netns import Host, Net
from support.own_postgres import OwnPostgres
from support.same_end import NAMES, THINK_S, VALUES, right, same_end
from support.stalls import stalls
from support.tcp_link import Side

T = TypeVar("T")

pytestmark = [pytest.mark.timeout(240), pytest.mark.alone]

NOTICED_S = 30.0
"""How long it may take until a part that is cut off is missed, or finds that it was."""

THINK_MS = 1_000 * THINK_S
DELAY_MS, HELD_S, DROPPED_S = 80, 3.0, 5.0
GATEWAYS, WORKERS, MANAGERS = "ab", "xy", "mn"
"""Where roles are that are behind bad links."""

SIDES: Sequence[Side] = ("client", "target")

STALL_S = 15.0
"""How long a game may stand still. What takes longest is that the database misses a host that is
cut off, after 10 s.
"""

LONG_STALL_S = 25.0
"""The same for players who have to be found by another gateway, and by another manager then."""

SENT_ON = "players are sent on"
LINK_LOST, LINK_BACK = "link lost", "link is back"


@dataclass
class Cluster:
    """Processes at several places; players reach the gateways by the fleet's front.

    Attributes:
        hosts: the places that are hosts of their own.
    """

    fleet: Fleet
    places: dict[str, Place]
    hosts: dict[str, Host] = field(default_factory=dict[str, Host])
    gateways: dict[str, Running] = field(default_factory=dict[str, Running])
    workers: dict[str, Running] = field(default_factory=dict[str, Running])
    managers: dict[str, Running] = field(default_factory=dict[str, Running])
    players: list[Running] = field(default_factory=list[Running])

    async def start(
        self, gateways: Iterable[str], workers: Iterable[str], managers: Sequence[str]
    ) -> None:
        """Start roles at these places, the active manager at the first of two, and the players."""
        first, second = managers
        at = self.places
        self.managers[first] = await self.fleet.manager(f"manager-{first}", at=at[first])
        for place in workers:
            self.workers[place] = await self.fleet.worker(f"worker-{place}", at=at[place])
        for place in gateways:
            self.gateways[place] = await self.fleet.gateway(f"gateway-{place}", at=at[place])
        await self.managers[first].says("active")
        self.managers[second] = await self.fleet.manager(f"manager-{second}", at=at[second])
        self.players = await self.fleet.join(NAMES)
        for worker in self.workers.values():
            await worker.says("ready")
        await self.managers[second].says("standing by")

    @property
    def returns(self) -> int:
        """How often players have come back to a gateway."""
        return sum(line.startswith("back at") for one in self.players for line in one.lines)

    async def players_return(self, before: int) -> None:
        """Wait until one more has come back than had before."""
        async with asyncio.timeout(NOTICED_S):
            while self.returns <= before:  # noqa: ASYNC110 - another process writes
                await asyncio.sleep(0.05)

    async def bears(
        self,
        faults: Sequence[Callable[[T], Awaitable[None]]],
        hurt: T,
        stall_s: float = STALL_S,
    ) -> None:
        """Have all happen in turn; the end is right, and no game stands still for long."""
        async with stalls(self.fleet.database) as stood:
            for fault in faults:
                await self.fleet.plays_on(10)
                await fault(hurt)
            await same_end(self.fleet, list(self.managers.values()), self.players)
        assert not stood.beyond(stall_s), stood.beyond(0)


@asynccontextmanager
async def over_hosts(folder: Path) -> AsyncGenerator[Cluster]:
    require_cluster()
    with Net() as net:
        await asyncio.to_thread(right)
        here = net.here()
        hosts = {name: net.host(name) for name in "abcd"}
        async with (
            OwnPostgres(here) as postgres,
            NatsServer(folder / "nats") as nats,
            ChaosProxy("127.0.0.1", nats.port, host=here) as to_nats,
            fleet(folder / "fleet", nats.url, postgres.url, **VALUES) as processes,
        ):
            env = {
                "CROUPIER_CLUSTER__NATS": _at(nats, here, to_nats.port),
                "CROUPIER_STORAGE__URL": postgres.url_at(here),
            }
            places = {
                name: Place(host.address, env, host.inside([])) for name, host in hosts.items()
            }
            yield Cluster(processes, places, hosts)


def _at(nats: NatsServer, address: str, port: int) -> str:
    return nats.url.replace(f"127.0.0.1:{nats.port}", f"{address}:{port}")


# -- hosts

Cut = Callable[[Cluster], Awaitable[None]]


async def gateway_and_worker_cut_off(cluster: Cluster, host: str = "b") -> None:
    """Players come back by the other gateway, and games go on at the other workers."""
    gateway, returns = cluster.gateways[host], cluster.returns
    lost, back = gateway.logged(LINK_LOST), gateway.logged(LINK_BACK)
    cluster.hosts[host].cut()
    await cluster.players_return(returns)
    await cluster.fleet.plays_on(20)
    await gateway.logs(LINK_LOST, before=lost)
    cluster.hosts[host].join()
    await gateway.logs(LINK_BACK, before=back)


async def all_players_cut_off(cluster: Cluster) -> None:
    """The same for the other host, where all players are by then; the standby manager is there."""
    await gateway_and_worker_cut_off(cluster, "a")


async def worker_cut_off(cluster: Cluster) -> None:
    """Its games go to others; what it comes back with is too late."""
    worker = cluster.workers["d"]
    lost, back = worker.logged(LINK_LOST), worker.logged(LINK_BACK)
    cluster.hosts["d"].cut()
    await worker.logs(LINK_LOST, before=lost)
    await cluster.fleet.plays_on(20)
    cluster.hosts["d"].join()
    await worker.logs(LINK_BACK, before=back)


async def manager_cut_off(cluster: Cluster) -> None:
    """The other one takes over; the first finds that when it is back, and stands by."""
    cluster.hosts["c"].cut()
    await cluster.managers["a"].says("active", NOTICED_S)
    await cluster.fleet.plays_on(10)
    cluster.hosts["c"].join()
    await cluster.managers["c"].says("standing by", NOTICED_S)


async def manager_and_gateway_cut_off(cluster: Cluster) -> None:
    """Players come back while nobody can say who they are."""
    returns = cluster.returns
    for host in "cb":
        cluster.hosts[host].cut()
    await cluster.managers["a"].says("active", NOTICED_S)
    await cluster.players_return(returns)
    await cluster.fleet.plays_on(10)
    for host in "cb":
        cluster.hosts[host].join()
    await cluster.managers["c"].says("standing by", NOTICED_S)


CUTS: Sequence[Cut] = [gateway_and_worker_cut_off, worker_cut_off, manager_cut_off]


async def test_hosts_that_are_cut_off_in_turn_leave_the_standings_as_they_would_be(
    tmp_path: Path,
) -> None:
    async with over_hosts(tmp_path) as hurt:
        await hurt.start("ab", "abd", "ca")
        await hurt.bears(CUTS, hurt)


@pytest.mark.full
@pytest.mark.parametrize(
    "cuts",
    [
        [gateway_and_worker_cut_off, all_players_cut_off, gateway_and_worker_cut_off],
        [worker_cut_off] * 2,
    ],
    ids=["gateways", "worker"],
)
async def test_hosts_that_are_cut_off_again_and_again_leave_the_standings_as_they_would_be(
    tmp_path: Path, cuts: Sequence[Cut]
) -> None:
    async with over_hosts(tmp_path) as hurt:
        await hurt.start("ab", "abd", "ca")
        await hurt.bears(cuts, hurt)


@pytest.mark.full
async def test_hosts_that_are_cut_off_together_leave_the_standings_as_they_would_be(
    tmp_path: Path,
) -> None:
    async with over_hosts(tmp_path) as hurt:
        await hurt.start("ab", "abd", "ca")
        await hurt.bears([manager_and_gateway_cut_off], hurt, LONG_STALL_S)


# -- links


@dataclass
class Links:
    """What leads each place to NATS and to the database."""

    cluster: Cluster
    nats: dict[str, ChaosProxy]
    database: dict[str, ChaosProxy]

    def kinds(self) -> Sequence[Sequence[ChaosProxy]]:
        """The links to NATS from gateways and from the others, and those to the database."""
        gateways = [link for place, link in self.nats.items() if place in GATEWAYS]
        others = [link for link in self.nats.values() if link not in gateways]
        return gateways, others, list(self.database.values())

    def all(self) -> Sequence[ChaosProxy]:
        return [link for links in self.kinds() for link in links]


@asynccontextmanager
async def over_links(folder: Path) -> AsyncGenerator[Links]:
    require_cluster()
    await asyncio.to_thread(right)
    async with (
        OwnPostgres() as postgres,
        NatsServer(folder / "nats") as nats,
        AsyncExitStack() as stack,
        fleet(folder / "fleet", nats.url, postgres.url, **VALUES) as processes,
    ):
        links = Links(Cluster(processes, {}), {}, {})
        for place in [*GATEWAYS, *WORKERS, *MANAGERS]:
            links.nats[place] = to_nats = ChaosProxy("127.0.0.1", nats.port)
            links.database[place] = to_database = ChaosProxy("127.0.0.1", postgres.port)
            for link in (to_nats, to_database):
                await stack.enter_async_context(link)
            env = {
                "CROUPIER_CLUSTER__NATS": _at(nats, "127.0.0.1", to_nats.port),
                "CROUPIER_STORAGE__URL": postgres.url_at("127.0.0.1", to_database.port),
            }
            links.cluster.places[place] = Place(env=env)
        yield links


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn: how long the player's clock ran, and how long it took in all."""

    think_ms: int
    took_ms: int


def last_line(connection: Connection) -> int:
    return connection.scalar(select(func.max(journal.c.position))) or 0


def turns_after(connection: Connection, position: int) -> list[Turn]:
    """The turns whose lines were written after that one, and the one before them in their game."""
    rows = connection.execute(
        select(journal.c.game_id, journal.c.line)
        .where(journal.c.position > position)
        .order_by(journal.c.game_id, journal.c.seq)
    )
    seen = [(game, json.loads(line)["obs"]) for game, line in rows]
    return [
        Turn(obs["think_ms"], obs["t_ms"] - before["t_ms"])
        for (game, before), (same, obs) in pairwise(seen)
        if game == same and "think_ms" in obs and "t_ms" in before
    ]


async def delayed(links: Links) -> None:
    """No player's clock has any of it."""
    processes = links.cluster.fleet
    for link in links.all():
        link.delay_ms = DELAY_MS
    await processes.plays_on(8)  # what was under way before
    first = await processes.look(last_line)
    await processes.plays_on(30)
    turns = await processes.look(lambda connection: turns_after(connection, first))
    far = [turn for turn in turns if turn.think_ms >= THINK_MS]
    assert median(turn.took_ms for turn in far) > THINK_MS + 4 * DELAY_MS
    assert median(turn.think_ms for turn in far) < THINK_MS + DELAY_MS
    for link in links.all():
        link.delay_ms = 0


async def reset(links: Links) -> None:
    """All connections break off at once, and then again."""
    for _ in range(2):
        for link in links.all():
            link.reset()
        await links.cluster.fleet.plays_on(10)


async def half_closed(links: Links) -> None:
    """One side is told that the other sends no more: each kind of link and each side in turn."""
    for some in links.kinds():
        for side in SIDES:
            for link in some:
                link.half_close(side)
            await links.cluster.fleet.plays_on(4)


async def held(links: Links) -> None:
    for link in links.all():
        link.hold()
    await asyncio.sleep(HELD_S)
    for link in links.all():
        link.release()


async def dropped(links: Links) -> None:
    for link in links.all():
        link.drop()
    await asyncio.sleep(DROPPED_S)
    for link in links.all():
        link.heal()


async def gateway_without_nats(links: Links) -> None:
    """Its players are sent on to the other one, before they are taken to be absent."""
    link, cluster = links.nats["a"], links.cluster
    gateway = cluster.gateways["a"]
    sent, back = gateway.logged(SENT_ON), gateway.logged(LINK_BACK)
    link.refuse()
    link.reset()
    await gateway.logs(SENT_ON, before=sent)
    await cluster.fleet.plays_on(10)
    link.accept()
    await gateway.logs(LINK_BACK, before=back)


async def worker_without_database(links: Links) -> None:
    """Its games go to the other one, although it goes on to say that it is at them."""
    for worker in WORKERS:
        links.database[worker].drop()
        await links.cluster.fleet.plays_on(30)
        links.database[worker].heal()
        await links.cluster.fleet.plays_on(30)


FAULTS: Sequence[Callable[[Links], Awaitable[None]]] = [
    delayed,
    reset,
    half_closed,
    held,
    dropped,
    gateway_without_nats,
]


async def test_links_that_are_bad_in_turn_leave_the_standings_as_they_would_be(
    tmp_path: Path,
) -> None:
    async with over_links(tmp_path) as links:
        await links.cluster.start(GATEWAYS, WORKERS, MANAGERS)
        await links.cluster.bears(FAULTS, links)


@pytest.mark.full
@pytest.mark.parametrize("fault", [reset, half_closed, held, dropped])
async def test_links_that_are_bad_again_and_again_leave_the_standings_as_they_would_be(
    tmp_path: Path, fault: Callable[[Links], Awaitable[None]]
) -> None:
    async with over_links(tmp_path) as links:
        await links.cluster.start(GATEWAYS, WORKERS, MANAGERS)
        await links.cluster.bears([fault] * 3, links)


@pytest.mark.full
@pytest.mark.parametrize("fault", [gateway_without_nats, worker_without_database])
async def test_role_that_lacks_one_link_leaves_the_standings_as_they_would_be(
    tmp_path: Path, fault: Callable[[Links], Awaitable[None]]
) -> None:
    async with over_links(tmp_path) as links:
        await links.cluster.start(GATEWAYS, WORKERS, MANAGERS)
        await links.cluster.bears([fault], links)
