"""A cluster that is upgraded while it plays: one process after another, and by older messages."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from nats.js.errors import NotFoundError
from sqlalchemy import Connection

from croupier_server.app import App
from croupier_server.cluster.link import Link
from croupier_server.cluster.managing import run_manager
from croupier_server.cluster.nats_server import NatsServer
from croupier_server.cluster.queue import Delivery, Taker
from croupier_server.cluster.streams import jetstream
from croupier_server.gateway.player import session_key
from croupier_server.settings import Settings
from croupier_server.storage import catalogue
from croupier_server.storage.database import Database
from croupier_server.tournament.progress import TournamentResult
from support.clustered import Roles, roles
from support.databases import made_database
from support.fleet import Fleet, Running, fleet
from support.hand import PATIENCE_S, Hand
from support.killed import Kept, undisturbed
from support.needs import require
from support.wire import quick_settings

# -- one process after another

NAMES = ["eve", "finn"]
VALUES = {"players": 3 + len(NAMES), "format": "round-robin", "board": "6x6,fish=1-5"}
STOPPED = 128 + signal.SIGTERM


@cache
def right() -> Kept:
    """What the same file comes to in one process, by players that are quicker."""
    with TemporaryDirectory() as folder:
        return undisturbed(Path(folder) / "right", NAMES, think_s=0, **VALUES)


@dataclass
class Upgrade:
    """A cluster that plays, whose processes are replaced."""

    cluster: Fleet
    running: dict[str, Running] = field(default_factory=dict[str, Running])

    async def start(self) -> None:
        """Start two of each, and let the players join."""
        for at in (1, 2):
            await self.new("manager", f"manager-{at}")
            await self.new("gateway", f"gateway-{at}")
        await self.new("worker", "worker-1", CROUPIER_SERVER__DRAIN_MS="30000")
        await self.new("worker", "worker-2")
        await self.new("web", "web-1")
        self.players = await self.cluster.join(NAMES)

    async def new(self, role: str, name: str, **env: str) -> None:
        """Start one, and wait until it is of use."""
        if role == "gateway":
            self.running[name] = await self.cluster.gateway(name, env)
        elif role == "worker":
            self.running[name] = await self.cluster.worker(name, env)
            await self.running[name].says("ready to play")
        elif role == "manager":
            self.running[name] = await self.cluster.manager(name, env)
            await self.running[name].says("active" if name == "manager-1" else "standing by")
        else:
            self.running[name] = await self.cluster.start(name, ["web", "--port", "0"], env)
            await self.running[name].says("pages on")

    async def replace(self, old: str, new: str) -> Running:
        """Start a new one, and tell the old one to end; gives that."""
        await self.new(old.partition("-")[0], new)
        gone = self.running.pop(old)
        gone.signal(signal.SIGTERM)
        status = await gone.ended(35)
        assert status == (0 if old.startswith("web") else STOPPED), gone.told()
        assert "Traceback" not in gone.told()
        await self.cluster.plays_on(3)  # it is not over, and not held up
        return gone

    async def games(self) -> list[tuple[int, int]]:
        """Of each game that has begun, which attempt it is, and how often it was taken."""

        def work(connection: Connection) -> list[tuple[int, int]]:
            row = catalogue.find_tournament(connection, "crash")
            assert row is not None
            found = catalogue.games(connection, row.id)
            return [(game.attempt, game.epoch) for game in found]

        async with await Database.look(self.cluster.database) as database:
            return await database.read(work)


@pytest.mark.alone
@pytest.mark.timeout(180)
async def test_every_process_is_replaced_and_the_tournament_ends_as_it_would(
    tmp_path: Path, nats_server: NatsServer
) -> None:
    require("posix", os.name == "posix", "a signal that a program can answer to")
    await asyncio.to_thread(right)
    async with (
        made_database() as database,
        fleet(tmp_path / "fleet", nats_server.url, database, think_s=0.15, **VALUES) as cluster,
    ):
        upgrade = Upgrade(cluster)
        await upgrade.start()
        await cluster.plays_on(5)
        await upgrade.replace("manager-2", "manager-3")  # which stands by
        await upgrade.replace("manager-1", "manager-4")
        await upgrade.replace("worker-1", "worker-3")
        assert set(await upgrade.games()) == {(1, 0)}  # what it played it has played to the end
        await upgrade.replace("worker-2", "worker-4")
        await upgrade.replace("gateway-1", "gateway-3")
        await upgrade.replace("gateway-2", "gateway-4")
        await upgrade.replace("web-1", "web-2")
        managers = [upgrade.running[name] for name in ("manager-3", "manager-4")]
        for manager in managers:
            assert await manager.ended() == 0, manager.told()
        assert sorted("active" in manager.lines for manager in managers) == [False, True]
        for player in upgrade.players:
            assert await player.ended() == 0, player.told()
        kept = await cluster.kept()
        assert kept.status == "finished"
        assert kept.result["faults"] == {}
        assert kept.results == right().results
        assert kept.digests == right().digests
        assert kept.result["standings"] == right().result["standings"]
        assert {attempt for attempt, _ in await upgrade.games()} == {1}


async def test_worker_that_is_stopped_takes_nothing_more_whatever_comes_at_that_moment(
    cluster: Roles, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits, left = asyncio.Event(), 3

    async def take(_self: Taker, _most: int, _wait_s: float) -> Sequence[Delivery]:
        nonlocal left
        waits.set()
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:  # forgotten, as by asyncio.wait_for where something comes
            left -= 1
            if left < 0:
                raise
        return ()

    monkeypatch.setattr(Taker, "take", take)
    settings = quick_settings(lobby={"min_players": 9})
    async with managed(cluster, settings):
        worker = cluster.worker(settings)
        async with asyncio.timeout(PATIENCE_S):
            await waits.wait()
            worker.cancel()
            await asyncio.wait({worker})
    assert "take games" not in {task.get_name() for task in asyncio.all_tasks()}


# -- messages of an older version


class Old:
    """A role of an older version, as far as its messages go."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self.streams = jetstream(link)

    async def ask(self, subject: str, head: str, body: str = "") -> tuple[Any, str]:
        """The head and the body of an answer."""
        question = f"{head}\n{body}".encode()
        reply = await self._link.nats.request(f"{self._link.root}.{subject}", question, 10)
        line, _, rest = reply.data.decode().partition("\n")
        return json.loads(line), rest


@asynccontextmanager
async def older(nats: NatsServer) -> AsyncGenerator[Old]:
    link = await Link.open(nats.url, name="old", root="croupier.1")
    try:
        yield Old(link)
    finally:
        await link.close()


@pytest.fixture
async def cluster(nats_server: NatsServer) -> AsyncIterator[Roles]:
    async with made_database() as database, roles(nats_server.url, database) as found:
        yield found


@asynccontextmanager
async def managed(cluster: Roles, settings: Settings) -> AsyncGenerator[asyncio.Task[Any]]:
    """A manager that is active, as long as this is entered."""
    active = asyncio.Event()
    manager = asyncio.create_task(
        run_manager([cluster.settings(settings)], lambda _: active.set()), name="manager"
    )
    try:
        async with asyncio.timeout(PATIENCE_S):
            await active.wait()
        yield manager
    finally:
        manager.cancel()
        await asyncio.wait({manager})


async def test_gateway_serves_an_older_worker(cluster: Roles, nats_server: NatsServer) -> None:
    settings = quick_settings(lobby={"min_players": 9, "wait_ms": 60_000})
    async with managed(cluster, settings), older(nats_server) as old:
        hand = Hand(await cluster.gateway(settings), "hand")
        try:
            await hand.join()
            assert hand.session is not None
            seat = f"seat.{session_key(hand.session)}"
            asked = asyncio.create_task(
                old.ask(
                    seat,
                    '{"v":"1.0","op":"ask","from":"w1","id":"1.1:3","method":"move","mood":[7]}',
                    '{"jsonrpc":"2.0","id":"1.1:3","method":"move","params":{}}',
                )
            )
            heard = await hand.hear()
            assert (heard["id"], heard["method"]) == ("1.1:3", "move")
            await hand.send({"jsonrpc": "2.0", "id": "1.1:3", "result": [[0, 1], [2, 3]]})
            head, result = await asked
            assert (head["v"], head["re"]) == (1, "answer")
            assert 0 <= head["think_ms"] < 5_000
            assert json.loads(result) == [[0, 1], [2, 3]]
            told = '{"v":1,"op":"tell","from":"w1","game":"1.1","n":1,"method":"events","mood":""}'
            head, _ = await old.ask(seat, told, '{"jsonrpc":"2.0","method":"events"}')
            assert head["re"] == "ok"
            assert (await hand.hear())["method"] == "events"
            head, _ = await old.ask(seat, '{"v":1,"op":"ping","mood":{}}')
            assert head == {"v": 1, "re": "here", "is_here": True}
        finally:
            await hand.close()


async def test_manager_answers_an_older_gateway(cluster: Roles, nats_server: NatsServer) -> None:
    settings = quick_settings(lobby={"min_players": 9, "wait_ms": 60_000})
    async with managed(cluster, settings), older(nats_server) as old:
        key = "ab" * 32
        admit: dict[str, Any] = {
            "v": 1,
            "op": "admit",
            "key": key,
            "params": {"protocol": 1, "name": "old", "mood": 7},
            "mood": [],
        }
        for _ in range(2):  # it may not have heard the first answer
            head, _ = await old.ask("manager", json.dumps(admit))
            assert (head["re"], head["name"]) == ("admitted", "old")
            assert head["clocks"]["move_ms"] == settings.clocks.move_ms
        claim = {"v": "1.0", "op": "claim", "key": "cd" * 32, "mood": 7}
        head, _ = await old.ask("manager", json.dumps(claim))
        assert head["re"] == "unknown"
        assert "join without" in head["reason"]
        leave = {"v": 1, "op": "leave", "key": key, "mood": None}
        head, _ = await old.ask("manager", json.dumps(leave))
        assert (head["re"], head["is_gone"]) == ("left", True)


async def test_worker_plays_what_an_older_manager_offers(
    cluster: Roles, nats_server: NatsServer
) -> None:
    house = ["ada=greedy", "bo=random", "cleo=first"]
    settings = quick_settings(
        lobby={"house": house, "min_players": 3, "max_players": 3},
        tournament={"format": "round-robin", "games_at_once": 20},
        game={"board": "4x4"},
    )
    expected = await App(settings).run()
    async with managed(cluster, settings) as manager, older(nats_server) as old:
        offers = await all_offers(old, len(expected.games))
        await old.streams.purge_stream("croupier-1-games")
        for offer in offers:
            head = {"v": "1.0", **{key: offer[key] for key in FIELDS}, "mood": ["of 2019"]}
            await old.streams.publish(
                f"croupier.1.games.{offer['pairing']}", json.dumps(head).encode()
            )
        _ = cluster.worker(settings)
        async with asyncio.timeout(PATIENCE_S):
            found: TournamentResult = await manager
        assert found.standings == expected.standings
        assert found.games == expected.games


FIELDS = ("tournament", "pairing", "attempt", "unseated")


async def all_offers(old: Old, count: int) -> list[Any]:
    """The games that the manager has offered, once these are so many."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            with suppress(NotFoundError):  # the manager is about to make it
                state = (await old.streams.stream_info("croupier-1-games")).state
                if state.messages == count:
                    break
            await asyncio.sleep(0.05)
    raw = [await old.streams.get_msg("croupier-1-games", seq=seq) for seq in range(1, count + 1)]
    return [json.loads((message.data or b"").partition(b"\n")[0]) for message in raw]
