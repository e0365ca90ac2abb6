"""Programs and clients of the course's protocol in a cluster of processes, some of them killed."""

from __future__ import annotations

import asyncio
import signal
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from croupier_server.cluster.nats_server import NatsServer
from support.course_wire import CourseScript
from support.databases import made_database
from support.fleet import Fleet, Running, fleet
from support.hosts import require_cluster
from support.killed import Kept, players, prepared
from support.own_postgres import OwnPostgres
from support.stdio import command, processes_left

PATIENCE_S = 60.0


async def test_serve_with_workers_runs_programs_and_lets_clients_of_the_course_in(
    tmp_path: Path,
) -> None:
    require_cluster()
    numbers = ["--min-players", "4", "--max-players", "4", "--wait", "60", "--board", "5x5"]
    words = " ".join(f"'{word}'" for word in command())
    async with made_database() as database:
        options = ["--workers", "1", "--database", database, "--port", "0", "--course-port", "0"]
        server = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "croupier_server", "serve", *options, *numbers),
            *(f"--player=one={words}", f"--player=two={words}", f"--records={tmp_path}"),
            stdout=PIPE,
            stderr=PIPE,
        )
        assert server.stdout is not None
        try:
            async with asyncio.timeout(PATIENCE_S):
                line = (await server.stdout.readline()).decode()
                assert line.startswith("clients of the course's protocol: 127.0.0.1 port "), line
                port = int(line.split()[-1])
                wires = await asyncio.gather(
                    *(CourseScript(name).play(port) for name in ("ann", "bo"))
                )
                told, warned = await server.communicate()
        finally:
            if server.returncode is None:
                server.terminate()
                await server.wait()
    assert server.returncode == 0, warned.decode()
    assert [wire.called[-1] for wire in wires] == ["end", "end"]
    assert b"Ejected" not in told
    assert {path.name for path in (tmp_path / "1" / "logs").iterdir()} == {"one.log", "two.log"}


VALUES = {"players": 7, "format": "round-robin", "board": "4x5,fish=1-5", "think_s": 0.01}
NAMES = ["eve", "finn"]


def add_programs(folder: Path, *switches: str) -> None:
    """Two programs, in the file of a tournament."""
    lines: list[str] = []
    for age, name in enumerate(("pip", "pop"), 3):
        words = ", ".join(f"'{word}'" for word in command(*switches))
        pids = folder / f"{name}.pids"
        lines += ["[[lobby.programs]]", f'name = "{name}"', f"command = [{words}]", f"age = {age}"]
        lines += [f"env = {{ PIDS = '{pids}' }}"]
    with (folder / "t.toml").open("a", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def undisturbed(folder: Path) -> Kept:
    """What the same file comes to in one process; how long players think makes no difference."""
    with prepared(folder, folder / "data", **{**VALUES, "think_s": 0}) as server:
        add_programs(folder)
        server.start()
        with players(server.url, folder, NAMES):
            server.end()
    return asyncio.run(server.kept())


@dataclass
class Hurt:
    """A cluster of processes with programs, and what can be done to it."""

    processes: Fleet
    nats: NatsServer
    postgres: OwnPostgres
    managers: list[Running]
    workers: list[Running]

    async def kill_manager(self) -> None:
        """One of those that stand by takes over."""
        active = [one for one in self.managers if "active" in one.lines]
        for one in active:
            await one.kill()
            self.managers.remove(one)
        waiting = [asyncio.create_task(one.says("active")) for one in self.managers]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting)

    async def kill_worker_too(self) -> None:
        """Whoever goes on with its games knows nothing of how they were begun."""
        worker = self.workers.pop()
        worker.signal(signal.SIGKILL)
        await self.kill_manager()
        await worker.kill()

    async def kill_database(self) -> None:
        """The manager lets its programs go and starts them anew, or another one does."""
        await self.postgres.kill()
        await self.postgres.start()

    async def kill_nats(self) -> None:
        await self.nats.kill()
        await self.nats.start()


@asynccontextmanager
async def hurt(folder: Path) -> AsyncGenerator[Hurt]:
    async with (
        NatsServer(folder / "nats") as nats,
        OwnPostgres() as postgres,
        fleet(folder / "fleet", nats.url, postgres.url, **VALUES) as processes,
    ):
        await asyncio.to_thread(add_programs, processes.folder, "slow", "move", "0")
        managers = [await processes.manager("manager-1")]
        workers = [await processes.worker(f"worker-{number}") for number in (1, 2)]
        await processes.gateway("gateway")
        await managers[0].says("active")
        managers += [await processes.manager(f"manager-{number}") for number in (2, 3)]
        for one in managers[1:]:
            await one.says("standing by")
        for one in workers:
            await one.says("ready")
        yield Hurt(processes, nats, postgres, managers, workers)


Blow = Callable[[Hurt], Awaitable[None]]

FULL = [Hurt.kill_worker_too, Hurt.kill_database, Hurt.kill_nats]


@pytest.mark.timeout(240)
@pytest.mark.alone
@pytest.mark.parametrize(
    "faults",
    [
        [Hurt.kill_manager, Hurt.kill_manager],
        *(pytest.param([fault], marks=pytest.mark.full) for fault in FULL),
    ],
    ids=["manager", "worker", "database", "nats"],
)
async def test_faults_while_programs_play_leave_the_standings_as_they_would_be(
    faults: Sequence[Blow], tmp_path: Path
) -> None:
    require_cluster()
    async with hurt(tmp_path) as at:
        right = await asyncio.to_thread(undisturbed, tmp_path / "right")
        joined = await at.processes.join(NAMES)
        for fault in faults:
            await at.processes.plays_on(30)
            await fault(at)
        for one in [*at.managers, *joined]:
            assert await one.ended() == 0, one.told()
        kept = await at.processes.kept()
    assert not kept.result["faults"], kept.result["faults"]
    assert ("interrupted" in kept.statuses) is (faults != [Hurt.kill_nats])
    assert kept.results == right.results
    assert kept.result["standings"] == right.result["standings"]
    assert kept.result["games"] == right.result["games"]
    assert processes_left(at.processes.folder) == []
