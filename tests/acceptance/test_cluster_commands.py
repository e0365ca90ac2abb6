"""One tournament's file, played by one process and by many: the results are the same."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import pytest

from croupier_server.cluster.nats_server import NatsServer
from croupier_server.storage import catalogue
from croupier_server.storage.database import Database
from support.compose import launch
from support.databases import made_database
from support.fleet import ROLES, Fleet, Running, fleet
from support.hosts import require_cluster
from support.killed import Kept, players, prepared
from support.needs import require
from support.processes import all_gone

pytestmark = [pytest.mark.timeout(180), pytest.mark.alone]

NAMES = ["eve", "finn"]
VALUES = {
    "players": 3 + len(NAMES),
    "format": "round-robin",
    "board": "4x5,fish=1-5",
    "think_s": 0.02,
}
DEMO = ["greedy-1", "greedy-2", "minimax", "random"]

OWN_NATS = ("env", "-u", "CROUPIER_CLUSTER__NATS", "-u", "CROUPIER_STORAGE__URL", *ROLES)
"""Runs a command that is told of neither by the environment."""


@cache
def right() -> tuple[Kept, str]:
    """What one process comes to, and what it prints."""
    with TemporaryDirectory() as folder:
        here = Path(folder) / "right"
        with prepared(here, here / "data", **VALUES) as server:
            server.start()
            with players(server.url, here, NAMES):
                told = server.end()
            return asyncio.run(server.kept()), told


@asynccontextmanager
async def processes(folder: Path) -> AsyncGenerator[Fleet]:
    require("posix", os.name == "posix", "no signals that a program can answer to")
    require_cluster()
    await asyncio.to_thread(right)
    (folder / "tmp").mkdir()
    async with (
        made_database() as database,
        NatsServer(folder / "nats") as nats,
        fleet(folder / "fleet", nats.url, database, **VALUES) as found,
    ):
        yield found


async def same_as_in_one_process(cluster: Fleet) -> None:
    kept, expected = await cluster.kept(), right()[0]
    assert kept.status == "finished"
    assert kept.statuses == {"finished"}
    assert kept.results == expected.results
    assert kept.digests == expected.digests
    assert kept.result["standings"] == expected.result["standings"]
    assert kept.result["faults"] == expected.result["faults"] == {}
    assert json.dumps(kept.result["games"]) == json.dumps(expected.result["games"])


async def ended_well(players: Iterable[Running]) -> None:
    for player in players:
        assert await player.ended() == 0, player.told()


# -- croupier serve --workers


class Workers:
    """`croupier serve --workers 2`, again and again with the same options."""

    def __init__(self, cluster: Fleet, temporary: Path) -> None:
        self.cluster = cluster
        self.temporary = temporary
        self.family: set[int] = set()

    async def start(self, name: str, *options: str, **env: str) -> Running:
        """Start it."""
        command = ["serve", "--workers", "2", "--database", self.cluster.database, "--port", "0"]
        variables = {"TMPDIR": str(self.temporary), **env}
        return await self.cluster.start(name, [*command, *options], variables, OWN_NATS)

    async def play(self, name: str) -> Running:
        """Start it with the tournament's file; gives it once players can come."""
        running = await self.start(name, *self.config)
        port = int((await running.says("listening on ws://127.0.0.1:")).rpartition(":")[2])
        self.cluster.front.add("127.0.0.1", port)
        self.family = descendants(running.process.pid)
        return running

    @property
    def config(self) -> Sequence[str]:
        """The options that name the tournament's file, and ask for pages."""
        return ["--config", str(self.cluster.folder / "t.toml"), "--web-port", "0"]

    async def left_nothing(self) -> None:
        """See that all its processes are gone, and NATS's files with them."""
        assert len(self.family) >= 6  # NATS, a gateway, two workers, a manager, the pages
        assert not await all_gone(self.family)
        assert not await asyncio.to_thread(lambda: list(self.temporary.iterdir()))


def descendants(pid: int) -> set[int]:
    """The processes that a process has started, and those that they have."""
    require("linux", Path("/proc/self/stat").exists(), "there is no /proc")
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text(encoding="utf-8")
        except OSError:  # it has just ended
            continue
        parents[int(stat.parent.name)] = int(text.rpartition(")")[2].split()[1])
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


async def test_workers_give_what_one_process_gives_and_leave_nothing(tmp_path: Path) -> None:
    async with processes(tmp_path) as cluster:
        workers = Workers(cluster, tmp_path / "tmp")
        serving = await workers.play("serve")
        pages = (await serving.says("pages on ")).removeprefix("pages on ").rstrip("/")
        playing = await cluster.join(NAMES)
        async with httpx.AsyncClient() as browser:
            assert "crash" in (await browser.get(f"{pages}/")).text
        assert await serving.ended() == 0, serving.told()
        await ended_well(playing)
        await workers.left_nothing()
        await same_as_in_one_process(cluster)
        _, *told = serving.lines  # the first is where the pages are
        assert told[0].startswith("listening on ws://127.0.0.1:")
        expected = right()[1].splitlines()
        table = expected.index("Standings")
        assert sorted(told[1 : -len(expected[table:])]) == sorted(expected[:table])
        assert told[-len(expected[table:]) :] == expected[table:]
        again = await workers.start("again", *workers.config)
        assert await again.ended() == 2, again.told()
        assert again.lines == []
        assert "tournament crash is over" in again.told()


async def test_workers_that_are_interrupted_go_on_with_the_same_command(tmp_path: Path) -> None:
    async with processes(tmp_path) as cluster:
        workers = Workers(cluster, tmp_path / "tmp")
        first = await workers.play("first")
        playing = await cluster.join(NAMES)
        await cluster.plays_on(10)
        first.signal(signal.SIGINT)
        assert await first.ended(20) == 128 + signal.SIGINT, first.told()
        assert "the same command goes on from here" in first.told()
        assert "Traceback" not in first.told()
        await workers.left_nothing()
        assert (await cluster.kept()).status != "finished"
        second = await workers.play("second")
        assert await second.ended() == 0, second.told()
        await ended_well(playing)
        await workers.left_nothing()
        await same_as_in_one_process(cluster)


async def test_workers_without_a_file_begin_a_new_tournament_each_time(tmp_path: Path) -> None:
    async with processes(tmp_path) as cluster:
        workers = Workers(cluster, tmp_path / "tmp")
        for name in ("first", "second"):
            run = await workers.start(
                *(name, "--name", "friday", "--board", "4x4", "--seed", "3", "--max-players", "2"),
                CROUPIER_LOBBY__HOUSE='["ada=greedy", "bo=random"]',
            )
            assert await run.ended() == 0, run.told()
        async with await Database.look(cluster.database) as database:
            rows = await database.read(catalogue.tournaments)
    assert [row.status for row in rows] == ["finished", "finished"]
    assert sorted(row.name for row in rows) == ["friday", "friday-2"]


# -- the roles, one by one


async def test_roles_give_what_one_process_gives(tmp_path: Path) -> None:
    async with processes(tmp_path) as cluster:
        manager = await cluster.manager("manager")
        for number in (1, 2):
            await cluster.gateway(f"gateway-{number}")
            await (await cluster.worker(f"worker-{number}")).says("ready to play")
        await manager.says("active")
        playing = await cluster.join(NAMES)
        assert await manager.ended() == 0, manager.told()
        await ended_well(playing)
        await same_as_in_one_process(cluster)
        assert sorted(manager.lines[1:]) == sorted(right()[1].splitlines())


# -- the commands of docker-compose.yml


class Composed:
    """The services of docker-compose.yml as processes, with the NATS and PostgreSQL of here."""

    def __init__(self, cluster: Fleet) -> None:
        self.cluster = cluster
        self.urls = {
            "nats": cluster.nats,
            "postgres": cluster.database,
            "gateway": f"ws://127.0.0.1:{cluster.front.port}",
        }
        self.watched: dict[str, int] = {}
        self.pages = ""

    async def start(self, service: str, name: str = "", **env: str) -> Running:
        """Start one of a service's replicas."""
        here = launch(service, self.urls)
        running = await self.cluster.start(
            name or service, here.argv, {**here.environment, **env}, ()
        )
        if "operations" in here.ports:
            self.watched[running.name] = here.ports["operations"]
        if service == "gateway":
            self.cluster.front.add("127.0.0.1", here.ports["server"])
        if service == "web":
            self.pages = f"http://127.0.0.1:{here.ports['web']}"
        return running

    async def ready(self, *, within_s: float = 40) -> None:
        """Wait until each role's health check is content."""
        async with httpx.AsyncClient() as prober, asyncio.timeout(within_s):
            for port in self.watched.values():
                while not await is_ready(prober, port):  # noqa: ASYNC110 - another process
                    await asyncio.sleep(0.1)


async def is_ready(prober: httpx.AsyncClient, port: int) -> bool:
    try:
        return (await prober.get(f"http://127.0.0.1:{port}/readyz")).status_code == 200
    except httpx.TransportError:
        return False


async def by_rank(managers: Sequence[Running]) -> Sequence[Running]:
    """Of those that started together, the one that is active first."""
    first = asyncio.Event()
    telling = [asyncio.create_task(manager.says("active")) for manager in managers]
    for task in telling:
        task.add_done_callback(lambda _: first.set())
    await first.wait()
    order = sorted(zip(telling, managers, strict=True), key=lambda it: not it[0].done())
    for task in telling:
        task.cancel()
    await asyncio.wait(telling)
    return [manager for _, manager in order]


async def test_commands_of_the_compose_file_play_a_tournament(tmp_path: Path) -> None:
    async with processes(tmp_path) as cluster:
        composed = Composed(cluster)
        four = {"CROUPIER_LOBBY__MAX_PLAYERS": "4"}  # or they wait for more for half a minute
        await composed.start("web")  # the worst order: nobody has made the database
        for service in ("worker", "gateway"):
            for at in (1, 2):
                await composed.start(service, f"{service}-{at}")
        managers = [await composed.start("manager", f"manager-{at}", **four) for at in (1, 2)]
        await composed.ready()
        active, standby = await by_rank(managers)
        await standby.says("standing by")
        playing = [await composed.start(name) for name in DEMO]
        assert await active.ended() == 0, active.told()
        assert await standby.ended(20) == 0, standby.told()
        assert "nothing is left to do" in standby.lines[-1]
        await ended_well(playing)
        async with httpx.AsyncClient() as browser:
            page = (await browser.get(f"{composed.pages}/t/compose")).text
        assert [name for name in DEMO if name not in page] == []
        assert "ejected" not in active.told()
        table = active.lines[active.lines.index("Standings") :]
        assert {name for name in DEMO for line in table if name in line.split()} == set(DEMO)
