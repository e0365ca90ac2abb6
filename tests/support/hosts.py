"""Tests that hold wherever a tournament is run: in one process, and in a cluster."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import pytest

from croupier_server.cluster.nats_server import NatsServer
from croupier_server.settings import Settings
from croupier_server.tournament.progress import Progress, TournamentResult
from support import wire
from support.databases import made_database, require_postgresql
from support.nats import has_nats
from support.needs import require

HOSTS = ("one process", "cluster")


def require_cluster() -> None:
    """Skip where there is no NATS."""
    require("nats", has_nats(), "the extra [cluster] is not installed")


@pytest.fixture(params=HOSTS)
async def anywhere(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[str]:
    """Have tournaments run in one process, and then in a cluster; gives which."""
    if request.param == "one process":
        yield request.param
        return
    require_cluster()
    require_postgresql()
    from support.clustered import run_clustered

    async with NatsServer(tmp_path / "nats") as nats:

        async def run(
            settings: Settings,
            listening: Callable[[int], None],
            progress: Callable[[Progress], None],
        ) -> TournamentResult:
            async with made_database() as database:
                return await run_clustered(nats.url, database, settings, listening, progress)

        monkeypatch.setattr(wire.host, "run", run)
        yield request.param
