"""The client kit over a network that loses connections: the player sees nothing of it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

import pytest

from croupier_client.connection import Client
from croupier_client.ending import EndingKind
from croupier_client.joining import JoinOptions
from croupier_client.loader import Target
from croupier_client.player import Player, View
from croupier_common.actions import Action, Move, Placement
from croupier_common.grid import Position
from croupier_server.settings import Settings
from support.hosts import anywhere as anywhere  # noqa: PLC0414 - a fixture
from support.proxy import Proxy, proxy_to
from support.wire import Script, quick_settings, serving, thinks

pytestmark = pytest.mark.usefixtures("anywhere")

ASKED: Counter[tuple[str, int]] = Counter()
CUT: list[Proxy] = []
LOOP: list[asyncio.AbstractEventLoop] = []


class Unlucky(Player):
    """Plays the first legal action, and loses its connection at every third turn."""

    def place(self, view: View) -> Position:
        return self._choose(view).to_json()  # type: ignore[return-value]

    def move(self, view: View) -> Move:
        return self._choose(view)  # type: ignore[return-value]

    def _choose(self, view: View) -> Action:
        turn = sum(len(player.penguins) + player.tiles for player in view.state.players)
        ASKED[view.game, turn] += 1
        if len(ASKED) % 3 == 1:
            LOOP[0].call_soon_threadsafe(CUT[0].cut)
        return next(iter(view.legal_actions))


class Lucky(Player):
    """Plays the first legal action."""

    def place(self, view: View) -> Placement:
        return view.placements[0]

    def move(self, view: View) -> Move:
        return view.moves[0]


def lobby(**clocks: object) -> Settings:
    return quick_settings(
        lobby={"min_players": 2, "max_players": 2, "wait_ms": 20_000},
        clocks={"place_ms": 3_000, "move_ms": 3_000, "grace_ms": 10_000, "ack_ms": 3_000, **clocks},
    )


def client(port: int, heard: list[str], kind: type[Player] = Unlucky, **options: object) -> Client:
    target = Target("unlucky", kind)
    join = JoinOptions(name="unlucky", retry_s=10, **options)  # type: ignore[arg-type]
    return Client(f"ws://127.0.0.1:{port}", target, join, tell=heard.append, warn=heard.append)


async def test_kit_comes_back_and_the_player_is_asked_once_for_each_turn() -> None:
    ASKED.clear()
    heard: list[str] = []
    async with serving(lobby()) as (port, server), proxy_to(port) as proxy:
        CUT[:], LOOP[:] = [proxy], [asyncio.get_running_loop()]
        visiting = asyncio.create_task(client(proxy.port, heard).run())
        other = asyncio.create_task(Script("b", thinks("move", 0.01)).play(port))
        result = await server
        ending = await visiting
        await other
    assert not result.faults, heard
    assert ending.kind is EndingKind.ENDED
    assert proxy.connections > 3
    assert set(ASKED.values()) == {1}
    assert any("going back" in line for line in heard)


async def test_connection_lost_in_the_lobby_is_a_new_join() -> None:
    ASKED.clear()
    heard: list[str] = []
    async with serving(lobby()) as (port, server), proxy_to(port) as proxy:
        CUT[:], LOOP[:] = [proxy], [asyncio.get_running_loop()]
        visiting = asyncio.create_task(client(proxy.port, heard).run())
        await _said(heard, "joined", 1)
        proxy.cut()
        await _said(heard, "joined", 2)
        other = asyncio.create_task(Script("b").play(port))
        result = await server
        assert (await visiting).kind is EndingKind.ENDED
        await other
    assert not result.faults


class Swallowing(Proxy):
    """Loses the first connection once the server has answered the join, before the kit hears."""

    async def handle(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        if self.connections:
            await super().handle(near, back)
            return
        self.connections += 1
        far, forth = await asyncio.open_connection("127.0.0.1", self._target)
        try:
            forth.write(await near.readuntil(b"\r\n\r\n"))
            back.write(await far.readuntil(b"\r\n\r\n"))
            forth.write(await near.read(65_536))
            assert b'"session"' in await far.read(65_536)
        finally:
            for writer in (back, forth):
                writer.transport.abort()


async def test_connection_lost_before_the_join_is_answered_is_one_player_in_the_end() -> None:
    heard: list[str] = []
    CUT[:], LOOP[:] = [], [asyncio.get_running_loop()]
    async with serving(lobby()) as (port, server):
        proxy = Swallowing(port)
        listening = await asyncio.start_server(proxy.handle, "127.0.0.1", 0)
        async with listening:
            at = listening.sockets[0].getsockname()[1]
            visiting = asyncio.create_task(client(at, heard, Lucky).run())
            await _said(heard, "joined", 1)
            other = asyncio.create_task(Script("b").play(port))
            result = await server
            assert (await visiting).kind is EndingKind.ENDED
            await other
    assert proxy.connections == 2
    assert sorted(name for _, name in result.standings) == ["b", "unlucky"]
    assert not result.faults, heard


async def _said(heard: Sequence[str], text: str, times: int) -> None:
    async with asyncio.timeout(10):
        while sum(text in line for line in heard) < times:  # noqa: ASYNC110 - told by callbacks
            await asyncio.sleep(0.01)
