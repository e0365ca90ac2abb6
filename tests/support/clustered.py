"""A cluster in the test's own process: its roles are tasks, NATS and PostgreSQL are real."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from croupier_server.cluster.managing import run_manager
from croupier_server.cluster.roles import run_gateway, run_worker
from croupier_server.settings import Settings
from croupier_server.tournament.progress import Progress, TournamentResult


@dataclass
class Roles:
    """Where the roles of a cluster meet, and those that run."""

    nats: str
    database: str
    running: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    def settings(self, settings: Settings) -> Settings:
        """The same settings, in this cluster."""
        storage = settings.storage.model_copy(update={"data": None, "url": self.database})
        cluster = settings.cluster.model_copy(update={"nats": (self.nats,), "lost_ms": 2_000})
        return settings.model_copy(update={"storage": storage, "cluster": cluster})

    async def gateway(self, settings: Settings) -> int:
        """Start a gateway; gives its port."""
        told: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        _ = self._start(run_gateway(self.settings(settings), _first(told)), "gateway")
        return int((await told).rpartition(":")[2])

    def worker(self, settings: Settings) -> asyncio.Task[None]:
        """Start a worker; it is ready once a manager has made the database."""
        return self._start(run_worker(self.settings(settings), lambda _: None), "worker")

    def _start(self, role: object, name: str) -> asyncio.Task[None]:
        assert asyncio.iscoroutine(role)
        task: asyncio.Task[None] = asyncio.create_task(role, name=name)
        self.running.add(task)
        return task

    async def stop(self) -> None:
        """End what runs; what has failed fails the test."""
        for task in self.running:
            task.cancel()
        if self.running:
            await asyncio.wait(self.running)
        for task in self.running:
            with suppress(asyncio.CancelledError):
                task.result()


@asynccontextmanager
async def roles(nats: str, database: str) -> AsyncGenerator[Roles]:
    """A cluster without roles so far."""
    cluster = Roles(nats, database)
    try:
        yield cluster
    finally:
        await cluster.stop()


async def run_clustered(
    nats: str,
    database: str,
    settings: Settings,
    listening: Callable[[int], None],
    progress: Callable[[Progress], None],
) -> TournamentResult:
    """A tournament in a cluster of a gateway, two workers and a manager."""
    async with roles(nats, database) as cluster:
        port = await cluster.gateway(settings)
        for _ in range(2):
            _ = cluster.worker(settings)

        def ready(line: str) -> None:
            if line == "active":
                listening(port)

        result = await run_manager([cluster.settings(settings)], ready, progress)
        assert result is not None
        return result


def _first(told: asyncio.Future[str]) -> Callable[[str], None]:
    def tell(line: str) -> None:
        if not told.done():
            told.set_result(line)

    return tell
