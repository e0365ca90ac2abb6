"""Health: what makes a process fail its checks, and the words for it."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import httpx
import pytest
from sqlalchemy import Connection

from croupier_server.operations import health as module
from croupier_server.operations.health import Health, PhaseName, WriteProbe
from croupier_server.operations.metrics import Metrics
from croupier_server.operations.port import operations_app
from croupier_server.operations.tally import Gauges, Tally
from croupier_server.storage.database import Database


async def answer(health: Health, path: str) -> httpx.Response:
    app = operations_app(Metrics(Tally(), Gauges), health)
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
        return await client.get(path)


def serving() -> Health:
    health = Health()
    health.phase = "serving"
    return health


async def test_process_that_serves_is_alive_and_ready() -> None:
    health = serving()
    for path in ("/healthz", "/readyz"):
        answered = await answer(health, path)
        assert (answered.status_code, answered.json()) == (200, {"status": "ok"})
        assert answered.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("phase", ["starting", "draining", "stopping"])
async def test_process_that_starts_or_stops_is_alive_and_not_ready(phase: PhaseName) -> None:
    health = Health()
    health.phase = phase
    assert (await answer(health, "/healthz")).status_code == 200
    answered = await answer(health, "/readyz")
    assert answered.status_code == 503
    assert answered.json()["status"] == "failing"
    assert answered.json()["reasons"]["server"]


async def test_what_is_wrong_is_named_and_what_is_well_is_not() -> None:
    health = serving()

    async def well() -> None:
        return None

    async def ill() -> str:
        return "players can't connect"

    health.ready.update(database=well, gateway=ill)
    answered = await answer(health, "/readyz")
    assert answered.status_code == 503
    assert answered.json() == {"status": "failing", "reasons": {"gateway": "players can't connect"}}
    assert (await answer(health, "/healthz")).status_code == 200


async def test_unknown_path_and_method_are_refused() -> None:
    assert (await answer(serving(), "/")).status_code == 404
    app = operations_app(Metrics(Tally(), Gauges), serving())
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
        assert (await client.post("/metrics")).status_code == 405


async def test_database_that_is_open_can_be_written(tmp_path: Path) -> None:
    async with await Database.open(tmp_path) as database:
        probe = WriteProbe(database, tmp_path)
        assert await probe.is_alive() is None
        assert await probe.is_written() is None
        await probe.close()


async def test_write_that_does_not_come_through_is_told_and_tried_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PROBE_S", 0.05)
    released, tried = threading.Event(), list[int]()

    def nothing(_connection: Connection) -> None:
        tried.append(1)

    monkeypatch.setattr(module, "_nothing", nothing)
    async with await Database.open(tmp_path) as database:
        stuck = asyncio.create_task(database.run(lambda _: released.wait(30)))
        probe = WriteProbe(database, tmp_path)
        await asyncio.sleep(0)
        reasons = [await probe.is_written() for _ in range(3)]
        assert reasons == ["no write came through within 0.05 s"] * 3
        assert await probe.is_alive() is None
        released.set()
        await stuck
        await probe.close()
        assert len(tried) == 1
        assert await probe.is_written() is None
        await probe.close()


async def test_disk_that_is_nearly_full_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LEAST_FREE", 1 << 62)
    async with await Database.open(tmp_path) as database:
        probe = WriteProbe(database, tmp_path)
        assert str(tmp_path) in (await probe.is_written() or "")
        await probe.close()


async def test_writer_that_is_gone_makes_the_process_fail(tmp_path: Path) -> None:
    database = await Database.open(tmp_path)
    probe, health = WriteProbe(database, tmp_path), serving()
    health.alive["writer"] = probe.is_alive
    health.ready["database"] = probe.is_written
    await database.close()
    for path in ("/healthz", "/readyz"):
        answered = await answer(health, path)
        assert answered.status_code == 503
        assert "nothing can be written" in answered.json()["reasons"]["writer"]


async def test_commits_are_timed_and_reads_are_not(tmp_path: Path) -> None:
    tally = Tally()
    async with await Database.open(tmp_path, tally.store) as database:
        for _ in range(3):
            await database.read(lambda _: None)
        assert sum(tally.store.commits.counts) == 0
        await database.run(lambda _: None)
        assert sum(tally.store.commits.counts) == 1
        assert 0 < tally.store.commits.total < 5
    assert tally.store.failures == 0
