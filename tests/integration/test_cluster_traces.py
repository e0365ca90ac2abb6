"""Traces of games that a worker plays with players whom a gateway holds: one tree for each."""

from __future__ import annotations

import asyncio
from pathlib import Path

from croupier_server.cluster.nats_server import NatsServer
from support.clustered import run_clustered
from support.collector import collecting
from support.databases import made_database
from support.hosts import require_cluster
from support.wire import Script, quick_settings


async def test_what_the_gateway_asks_belongs_to_the_worker_s_turn(tmp_path: Path) -> None:
    require_cluster()
    with collecting() as collector:
        settings = quick_settings(operations={"traces": collector.url})
        settings = settings.model_copy(
            update={"lobby": settings.lobby.model_copy(update={"min_players": 2, "max_players": 2})}
        )
        port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        async with (
            made_database() as database,
            NatsServer(tmp_path / "nats") as nats,
            asyncio.TaskGroup() as group,
        ):
            running = group.create_task(
                run_clustered(nats.url, database, settings, port.set_result, lambda _: None)
            )
            for name in "ab":
                _ = group.create_task(Script(name).play(await port))
        assert not running.result().faults
    by_id = {span.span_id: span for span in collector.spans}
    at_gateways = [span for span in collector.spans if span.name == "gateway ask"]
    parents = [by_id[span.parent_span_id] for span in at_gateways]
    turns = [by_id[span.parent_span_id] for span in parents if span.name == "ask"]
    assert {span.name for span in parents} == {"ask", "game"}
    assert {span.name for span in turns} == {"turn"}
    assert len(turns) == len([span for span in collector.spans if span.name == "turn"])
    assert len({span.trace_id for span in collector.spans}) == 1
