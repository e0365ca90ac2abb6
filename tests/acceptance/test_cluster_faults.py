"""A cluster whose parts are killed, cut off, slowed or set back: the standings stay the same."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from nats.js import JetStreamContext
from nats.js.api import RawStreamMsg
from nats.js.errors import NotFoundError
from sqlalchemy import Connection, func, select

from croupier_server.cluster.link import Link
from croupier_server.cluster.nats_server import NatsServer
from croupier_server.cluster.streams import jetstream
from croupier_server.storage.schema import games
from support.chaos_proxy import ChaosProxy
from support.faketime import SetClock, require_faketime
from support.fleet import ROLES, Fleet, Running, fleet
from support.hosts import require_cluster
from support.killed import Kept
from support.needs import require
from support.own_postgres import OwnPostgres
from support.same_end import NAMES, VALUES, right, same_end

pytestmark = [pytest.mark.timeout(240), pytest.mark.alone]

SLOW_MS = 400
STREAM = "croupier-1-games"
TAKEN = "another worker has this game now"
TAKEN_S = 40.0
"""How long it may take until a silent worker's games are given to another."""


@dataclass
class Cluster:
    """Two of each role, with a database and a NATS of their own."""

    fleet: Fleet
    nats: NatsServer
    postgres: OwnPostgres
    gateways: list[Running] = field(default_factory=list[Running])
    workers: list[Running] = field(default_factory=list[Running])
    managers: list[Running] = field(default_factory=list[Running])
    players: list[Running] = field(default_factory=list[Running])

    async def start(self) -> None:
        """Start all, one manager in front of the other, and let the players join."""
        self.managers = [await self.fleet.manager("manager-1")]
        self.workers = [await self.fleet.worker(f"worker-{number}") for number in (1, 2)]
        self.gateways = [await self.fleet.gateway(f"gateway-{number}") for number in (1, 2)]
        await self.managers[0].says("active")
        self.managers.append(await self.fleet.manager("manager-2"))
        self.players = await self.fleet.join(NAMES)
        for worker in self.workers:
            await worker.says("ready")
        await self.managers[1].says("standing by")

    async def alone(
        self, name: str, env: Mapping[str, str] | None = None, before: Sequence[str] = ROLES
    ) -> Running:
        """Have a new worker play all games from now on, and no other one."""
        lone = await self.fleet.start(self.named(name), ["worker", "-v"], env, before)
        await lone.says("ready")
        await self._end_workers()
        self.workers = [lone]
        await self.fleet.plays_on(5)
        return lone

    async def joined_by(self, name: str) -> None:
        """Start a worker that is not told of any fault."""
        worker = await self.fleet.worker(self.named(name))
        await worker.says("ready")
        self.workers.append(worker)

    @asynccontextmanager
    async def taken_over(self) -> AsyncGenerator[None]:
        """Wait at the end until a game was taken over since the beginning."""
        before = await self.fleet.look(_take_overs)
        yield
        async with asyncio.timeout(TAKEN_S):
            while await self.fleet.look(_take_overs) <= before:  # noqa: ASYNC110 - others write
                await asyncio.sleep(0.1)

    async def _end_workers(self) -> None:
        for worker in self.workers:
            await worker.kill(signal.SIGTERM)

    def named(self, name: str) -> str:
        """A name for a process that no other has."""
        return f"{name}-{len(self.fleet.running)}"

    async def finished(self) -> Kept:
        """Wait for the end, and see that it is the right one."""
        return await same_end(self.fleet, self.managers, self.players)


def _take_overs(connection: Connection) -> int:
    return connection.scalar(select(func.sum(games.c.epoch))) or 0


@asynccontextmanager
async def cluster(folder: Path) -> AsyncGenerator[Cluster]:
    require("posix", os.name == "posix", "SIGKILL is not known here")
    require_cluster()
    await asyncio.to_thread(right)
    async with (
        OwnPostgres() as postgres,
        NatsServer(folder / "nats") as nats,
        fleet(folder / "fleet", nats.url, postgres.url, **VALUES) as processes,
    ):
        yield Cluster(processes, nats, postgres)


Fault = Callable[[Cluster], Awaitable[None]]


async def worker_killed(cluster: Cluster) -> None:
    await cluster.workers.pop(0).kill()
    cluster.workers.append(await cluster.fleet.worker(cluster.named("worker")))


async def gateway_killed(cluster: Cluster) -> None:
    await cluster.gateways.pop(0).kill()
    cluster.gateways.append(await cluster.fleet.gateway(cluster.named("gateway")))


async def manager_killed(cluster: Cluster) -> None:
    active = cluster.managers.pop(0)
    await active.kill()
    await cluster.managers[0].says("active")
    cluster.managers.append(await cluster.fleet.manager(cluster.named("manager")))


async def nats_killed(cluster: Cluster) -> None:
    await cluster.nats.kill()
    await cluster.nats.start()


async def postgresql_killed(cluster: Cluster) -> None:
    await cluster.postgres.kill()
    await cluster.postgres.start()


async def worker_cut_off(cluster: Cluster) -> None:
    """Its games go to another while its players go on; then it comes back, and is too late."""
    async with ChaosProxy("127.0.0.1", cluster.nats.port) as wire:
        url = cluster.nats.url.replace(f":{cluster.nats.port}", f":{wire.port}")
        lone = await cluster.alone("cut-off", {"CROUPIER_CLUSTER__NATS": url})
        async with cluster.taken_over():
            wire.drop()
            await cluster.joined_by("takes-over")
        await cluster.fleet.plays_on(20)
        wire.heal()
        await lone.logs(TAKEN)
        await lone.kill()


async def worker_frozen(cluster: Cluster) -> None:
    """The same for one that stands still, and knows nothing of that when it goes on."""
    lone = await cluster.alone("frozen")
    async with cluster.taken_over():
        lone.signal(signal.SIGSTOP)
        await cluster.joined_by("thaws")
    await cluster.fleet.plays_on(20)
    lone.signal(signal.SIGCONT)
    await lone.logs(TAKEN)
    await lone.kill()


async def disk_slow(cluster: Cluster) -> None:
    """Each commit takes longer than a move may."""
    command = (sys.executable, "-m", "support.slow_disk", str(SLOW_MS))
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    slow = await cluster.alone("slow-disk", {"PYTHONPATH": path}, command)
    await cluster.fleet.plays_on(12)
    await cluster.joined_by("fast-disk")
    await slow.kill(signal.SIGTERM)


async def clock_set(cluster: Cluster) -> None:
    """The time of day is set by an hour, and back by two, while a worker plays."""
    with SetClock(cluster.fleet.folder) as clock:
        await cluster.alone("set-clock", clock.environment)
        for seconds in (3_600, -7_200):
            clock.jump(seconds)
            await cluster.fleet.plays_on(20)
        await cluster.joined_by("right-clock")
        await cluster.workers[0].kill(signal.SIGTERM)


async def _offers(streams: JetStreamContext) -> list[RawStreamMsg]:
    """What is in the queue: the games that wait, and those that are played."""
    state = (await streams.stream_info(STREAM)).state
    found: list[RawStreamMsg] = []
    for seq in range(state.first_seq, state.last_seq + 1):
        with suppress(NotFoundError):  # it is over
            found.append(await streams.get_msg(STREAM, seq=seq))
    return found


async def offered_twice(cluster: Cluster) -> None:
    """The queue is lost and filled again while its games are played: others play them too."""
    link = await Link.open(cluster.nats.url, name="test", root="croupier.1")
    try:
        streams = jetstream(link)
        offers = await _offers(streams)
        while not offers:
            await cluster.fleet.plays_on(1)
            offers = await _offers(streams)
        await streams.purge_stream(STREAM)
        for offer in offers:
            assert offer.subject is not None
            await streams.publish(offer.subject, offer.data or b"")
    finally:
        await link.close()
    await cluster.fleet.plays_on(10)


KILLS: list[Fault] = [
    worker_killed,
    gateway_killed,
    manager_killed,
    nats_killed,
    postgresql_killed,
]
OTHERS: list[Fault] = [worker_cut_off, worker_frozen, disk_slow, clock_set, offered_twice]


@pytest.mark.parametrize("faults", [KILLS, OTHERS], ids=["kills", "others"])
async def test_all_faults_in_turn_leave_the_standings_as_they_would_be(
    tmp_path: Path, faults: list[Fault]
) -> None:
    if clock_set in faults:
        require_faketime()
    async with cluster(tmp_path) as hurt:
        await hurt.start()
        for fault in faults:
            await hurt.fleet.plays_on(10)
            await fault(hurt)
        await hurt.finished()


@pytest.mark.full
@pytest.mark.parametrize("fault", [*KILLS, *OTHERS])
async def test_one_fault_again_and_again_leaves_the_standings_as_they_would_be(
    tmp_path: Path, fault: Fault
) -> None:
    if fault is clock_set:
        require_faketime()
    async with cluster(tmp_path) as hurt:
        await hurt.start()
        for _ in range(3):
            await hurt.fleet.plays_on(10)
            await fault(hurt)
        await hurt.finished()
