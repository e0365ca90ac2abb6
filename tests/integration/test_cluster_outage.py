"""NATS is away for longer than a lost process is waited for, and there is one gateway only."""

from __future__ import annotations

import asyncio

from croupier_server.cluster.managing import run_manager
from croupier_server.cluster.nats_server import NatsServer
from support.clustered import roles
from support.databases import made_database
from support.hosts import require_cluster
from support.wire import Call, Script, Wire, quick_settings, thinks

AWAY_S = 3.0
"""Longer than the `cluster.lost_ms` of such tests."""


async def test_players_who_could_go_nowhere_else_stay_and_play_on(
    nats_server: NatsServer,
) -> None:
    require_cluster()
    asked = asyncio.Event()

    slow = thinks("move", 0.05)

    async def slowly(wire: Wire, call: Call) -> bool:
        if call["method"] == "move":
            asked.set()
        return await slow(wire, call)

    settings = quick_settings(lobby={"min_players": 2, "max_players": 2})
    async with made_database() as database, roles(nats_server.url, database) as cluster:
        port = await cluster.gateway(settings)
        _ = cluster.worker(settings)
        active = asyncio.Event()
        async with asyncio.timeout(40), asyncio.TaskGroup() as group:
            running = group.create_task(
                run_manager([cluster.settings(settings)], lambda line: _note(line, active))
            )
            await active.wait()
            wires = [group.create_task(Script(name, slowly).play(port)) for name in "ab"]
            await asked.wait()
            await nats_server.kill()
            await asyncio.sleep(AWAY_S)
            assert not any(wire.done() for wire in wires)
            await nats_server.start()
        result = running.result()
        assert result is not None
        assert not result.faults
        assert [wire.result().close_code for wire in wires] == [1000, 1000]


def _note(line: str, active: asyncio.Event) -> None:
    if line == "active":
        active.set()
