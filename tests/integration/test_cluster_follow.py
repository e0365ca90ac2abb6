"""Pages beside a cluster: told by the stream of events when there is something to look at."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from sqlalchemy import Connection

from croupier_common.events import Skipped
from croupier_common.game import NumberedEvent
from croupier_common.outcome import Color
from croupier_server import spectators as module
from croupier_server.cluster.follow import FollowedEvents
from croupier_server.cluster.link import Link
from croupier_server.cluster.managing import run_manager
from croupier_server.cluster.nats_server import NatsServer
from croupier_server.cluster.told import EventStream, ToldSink
from croupier_server.croupier import GameReport
from croupier_server.spectators import Spectators
from croupier_server.storage import catalogue
from croupier_server.storage.database import Database
from croupier_server.web.server import WebServer
from support.clustered import roles
from support.databases import made_database
from support.viewers import Ear, Played, Told, begin_cup, parsed, soon
from support.wire import quick_settings

ROOT = "croupier.1"
NEVER_S = 60.0


class Rings(asyncio.Event):
    """Counts how often a bell was rung."""

    times = 0

    def set(self) -> None:
        """Ring."""
        self.times += 1
        super().set()


class Written:
    """A game that a worker writes: into the database, and then says so on the stream."""

    def __init__(self, played: Played, link: Link) -> None:
        self.played = played
        self._sink = ToldSink(self, link, played.row.id)

    async def write(
        self,
        events: Sequence[tuple[NumberedEvent, Mapping[str, Any]]],
        report: GameReport | None = None,
    ) -> None:
        """Into the database; the lines are no real ones."""
        await self.played.go_on(len(events))

    async def go_on(self) -> None:
        """Write a line, and say so."""
        event = NumberedEvent(self.played.seq + 1, Skipped(Color.RED))
        await self._sink.write([(event, {})])


@dataclass
class Scene:
    """A database with games, pages' spectators beside it, and a worker's link."""

    nats: NatsServer
    database: Database
    games: list[Written]
    bell: FollowedEvents
    rings: Rings
    crowd: Spectators

    async def heard(self, ear: Ear, game: Written, within_s: float = 10) -> float:
        """Wait until somebody has all lines of a game; gives how long that took."""
        began = time.monotonic()
        await soon(lambda: ear.seqs()[-1:] == [game.played.seq], within_s)
        return time.monotonic() - began

    async def follows(self, *games: Written) -> None:
        """Wait until the bell is rung for these games: told of them, it rings."""
        for game in games:
            before = self.rings.times
            async with asyncio.timeout(10):
                while self.rings.times == before:
                    await game.go_on()
                    await asyncio.sleep(0.02)


@pytest.fixture
async def scene(nats_server: NatsServer) -> AsyncIterator[Scene]:
    async with (
        made_database() as where,
        await Database.open(where) as database,
        linked(nats_server, "worker") as worker,
        linked(nats_server, "web") as link,
    ):
        await EventStream(worker).open()
        games = [Written(played, worker) for played in await begin_cup(database, 3)]
        bell, rings = FollowedEvents(link), Rings()
        bell.rung = rings
        crowd = Spectators(database, where, bell=bell)
        yield Scene(nats_server, database, games, bell, rings, crowd)
        await crowd.close()


@asynccontextmanager
async def linked(nats: NatsServer, name: str) -> AsyncGenerator[Link]:
    link = await Link.open(nats.url, name=name, root=ROOT)
    try:
        yield link
    finally:
        await link.close()


async def test_line_comes_long_before_the_next_look_would_have_brought_it(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "UNTOLD_S", NEVER_S)
    game, ear = scene.games[0], Ear()
    async with scene.crowd.game("cup", "1.1") as tail:
        tail.begin(ear)
        await scene.follows(game)
        for _ in range(6):
            await game.go_on()
            assert await scene.heard(ear, game) < NEVER_S / 20
        assert ear.seqs() == list(range(1, game.played.seq + 1))


async def test_game_that_nobody_watches_rings_nothing(scene: Scene) -> None:
    watched, other, left = scene.games
    await scene.bell.follow([watched.played.row.id, left.played.row.id])
    await left.go_on()
    await soon(lambda: scene.rings.times == 1)
    await scene.bell.follow([watched.played.row.id])  # nobody looks at it any more
    for _ in range(3):
        await other.go_on()
        await left.go_on()
    await watched.go_on()  # what was sent before it has arrived before it
    await soon(lambda: scene.rings.times >= 2)
    assert scene.rings.times == 2
    await scene.bell.follow([])


async def test_ring_that_was_lost_is_made_up_for_by_a_look(scene: Scene) -> None:
    game, ear = scene.games[0], Ear()
    async with scene.crowd.game("cup", "1.1") as tail:
        tail.begin(ear)
        await scene.follows(game)
        before = scene.rings.times
        for _ in range(3):
            await game.played.go_on()  # and nobody says so
            assert await scene.heard(ear, game) < 10 * module.UNTOLD_S
        assert scene.rings.times == before


async def test_game_is_shown_while_nats_is_away_and_rings_again_when_it_is_back(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, _ = scene.games
    ears = Ear(), Ear()
    async with scene.crowd.game("cup", "1.1") as tail:
        tail.begin(ears[0])
        await scene.follows(first)
        await scene.nats.kill()
        await first.go_on()
        await scene.heard(ears[0], first)
        async with scene.crowd.game("cup", "1.2") as another:  # one that comes meanwhile
            another.begin(ears[1])
            await second.go_on()
            await scene.heard(ears[1], second)
            await scene.nats.start()
            await scene.follows(first, second)
            monkeypatch.setattr(module, "UNTOLD_S", NEVER_S)
            for _ in range(3):  # at most one of them is found by a look that was due
                for game, ear in zip((first, second), ears, strict=True):
                    await game.go_on()
                    await scene.heard(ear, game)
    for game, ear in zip((first, second), ears, strict=True):
        assert ear.seqs() == list(range(1, game.played.seq + 1))


async def test_page_beside_a_cluster_shows_a_game_line_by_line_to_its_end(
    nats_server: NatsServer,
) -> None:
    settings = quick_settings(
        lobby={"house": ["ada=greedy", "bo=random"], "min_players": 2, "max_players": 2},
        clocks={"pace_ms": 100},
        tournament={"name": "cup"},
        game={"board": "5x5"},
        web={"port": 0, "host": "127.0.0.1"},
    )
    async with (
        made_database() as where,
        roles(nats_server.url, where) as cluster,
        linked(nats_server, "web") as link,
    ):
        given, active = cluster.settings(settings), asyncio.Event()
        manager = asyncio.create_task(run_manager([given], lambda _: active.set()))
        await active.wait()
        pages = WebServer(given, services={"bell": FollowedEvents(link)})
        await pages.start()
        try:
            async with httpx.AsyncClient(base_url=pages.url, timeout=30) as browser:
                _ = cluster.worker(settings)
                kinds, lines = await watched(browser)
        finally:
            await pages.stop()
        assert await manager is not None
        async with await Database.look(where) as database:
            kept = await database.read(the_lines)
        assert kinds.count("lines") > 10  # and not in a few lumps
        assert kinds[-1] == "end"
        assert lines == kept[1:]


async def watched(browser: httpx.AsyncClient) -> tuple[list[str], list[Any]]:
    """Watch the tournament's one game as soon as there is one, to its end."""
    told: list[Told] = []
    while not told:
        async with browser.stream("GET", "/t/cup/g/1.1/events") as stream:
            if stream.status_code == 200:
                told = parsed(b"".join([part async for part in stream.aiter_bytes()]))
        await asyncio.sleep(0.05)
    lines = [line for one in told for line in one.data.get("lines", [])]
    return [one.kind for one in told], lines


def the_lines(connection: Connection) -> list[Any]:
    """What the database has of the only tournament's only game."""
    (tournament,) = catalogue.tournaments(connection)
    (game,) = catalogue.games(connection, tournament.id)
    return [json.loads(line) for line in catalogue.lines(connection, game.id)]
