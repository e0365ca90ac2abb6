"""The client kit over a network that loses connections: the player sees nothing of it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

from croupier_client.connection import Client
from croupier_client.ending import EndingKind
from croupier_client.joining import JoinOptions
from croupier_client.loader import Target
from croupier_client.player import Player, View
from croupier_common.actions import Action, Move
from croupier_common.grid import Position
from croupier_server.settings import Settings
from support.proxy import Proxy, proxy_to
from support.wire import Script, quick_settings, serving, thinks

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


def lobby(**clocks: object) -> Settings:
    return quick_settings(
        lobby={"min_players": 2, "max_players": 2, "wait_ms": 20_000},
        clocks={"place_ms": 3_000, "move_ms": 3_000, "grace_ms": 10_000, "ack_ms": 3_000, **clocks},
    )


def client(port: int, heard: list[str], **options: object) -> Client:
    target = Target("unlucky", Unlucky)
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


async def _said(heard: Sequence[str], text: str, times: int) -> None:
    async with asyncio.timeout(10):
        while sum(text in line for line in heard) < times:  # noqa: ASYNC110 - told by callbacks
            await asyncio.sleep(0.01)
