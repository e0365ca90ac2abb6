"""The lobby of a cluster: managers come and go while players are waiting in it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from croupier_server.cluster.managing import run_manager
from croupier_server.cluster.nats_server import NatsServer
from croupier_server.settings import Settings
from croupier_server.tournament.progress import TournamentResult
from support.clustered import Roles, roles
from support.databases import made_database
from support.hosts import require_cluster
from support.wire import Script, Wire, quick_settings

PATIENCE_S = 20.0

CLOSED_S = 0.3
"""A connection whose join was refused is closed by then."""


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncGenerator[Roles]:
    require_cluster()
    async with (
        made_database() as database,
        NatsServer(tmp_path / "nats") as nats,
        roles(nats.url, database) as running,
    ):
        yield running


@asynccontextmanager
async def manager(
    cluster: Roles, settings: Settings
) -> AsyncGenerator[asyncio.Task[TournamentResult | None]]:
    """A manager that is active; it ends with this."""
    active = asyncio.Event()

    def ready(line: str) -> None:
        if line == "active":
            active.set()

    task = asyncio.create_task(run_manager([cluster.settings(settings)], ready))
    async with asyncio.timeout(PATIENCE_S):
        await active.wait()
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})


async def joined(group: asyncio.TaskGroup, port: int, name: str) -> asyncio.Task[Wire]:
    """A player that has joined, if need be once somebody has left."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            answered = asyncio.Event()
            task = group.create_task(Script(name).play(port, answered))
            await answered.wait()
            await asyncio.wait({task}, timeout=CLOSED_S)
            if not task.done() or "error" not in task.result().received[0]:
                return task


def settings_for(players: int) -> Settings:
    return quick_settings(lobby={"min_players": players, "max_players": players, "wait_ms": 60_000})


async def test_who_has_signed_up_is_in_the_lobby_of_the_next_manager(cluster: Roles) -> None:
    settings = settings_for(3)
    ports = [await cluster.gateway(settings) for _ in range(2)]
    _ = cluster.worker(settings)
    async with asyncio.TaskGroup() as group:
        async with manager(cluster, settings):
            wires = [await joined(group, ports[0], "a"), await joined(group, ports[1], "b")]
        async with manager(cluster, settings) as playing:
            wires.append(await joined(group, ports[0], "c"))
            async with asyncio.timeout(PATIENCE_S):
                result = await playing
    assert result is not None
    assert not result.faults
    assert {name for _, name in result.standings} == {"a", "b", "c"}
    assert [wire.result().close_code for wire in wires] == [1000] * 3


async def test_names_are_taken_on_all_gateways_and_by_all_managers(cluster: Roles) -> None:
    settings = settings_for(3)
    ports = [await cluster.gateway(settings) for _ in range(2)]
    async with asyncio.TaskGroup() as group:
        async with manager(cluster, settings):
            first = await joined(group, ports[0], "a")
        async with manager(cluster, settings):
            wire = await Script("A").play(ports[1])
            assert "taken" in wire.received[-1]["error"]["message"]
            assert not first.done()
            await cluster.stop()
    assert first.result().close_code == 1012


async def test_player_that_leaves_the_lobby_frees_its_place_wherever_it_was(
    cluster: Roles,
) -> None:
    settings = settings_for(2)
    ports = [await cluster.gateway(settings) for _ in range(2)]
    _ = cluster.worker(settings)
    async with manager(cluster, settings) as playing, asyncio.TaskGroup() as group:
        gone = await joined(group, ports[0], "a")
        gone.cancel()
        await asyncio.wait({gone})
        for name, port in zip("ab", ports, strict=True):
            _ = await joined(group, port, name)
        async with asyncio.timeout(PATIENCE_S):
            result = await playing
    assert result is not None
    assert {name for _, name in result.standings} == {"a", "b"}
