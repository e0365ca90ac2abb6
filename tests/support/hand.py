"""A player led by hand: each message is waited for and answered by the test itself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from croupier_common.rules import Rules
from croupier_server.settings import Settings
from croupier_server.tournament.progress import TournamentResult
from support import wire
from support.wire import Call, Script, Wire

PATIENCE_S = 20


class Hand:
    """A player with one connection at a time; `drop` it, and `join` again with its session."""

    def __init__(self, port: int, name: str, **join: object) -> None:
        self.port = port
        self.name = name
        self.join_params = join
        self.session: str | None = None
        self.rules: dict[str, Rules] = {}
        self.heard: list[Call] = []
        self._connections: list[ClientConnection] = []

    @property
    def connection(self) -> ClientConnection:
        return self._connections[-1]

    async def join(self, *, again: bool = False, **params: object) -> Call:
        """Connect and join, with the session if it is `again`; gives the server's answer."""
        await self.connect()
        join = {"protocol": 1, "name": self.name, **self.join_params, **params}
        if again:
            join["session"] = self.session
        await self.send({"jsonrpc": "2.0", "id": "j", "method": "join", "params": join})
        answer = await self.hear()
        if "result" in answer:
            self.session = answer["result"]["session"]
        return answer

    async def connect(self) -> None:
        """Connect, and say nothing."""
        connection = await connect(
            f"ws://127.0.0.1:{self.port}", compression=None, ping_interval=None, max_size=None
        )
        self._connections.append(connection)

    async def send(self, message: object) -> None:
        await self.connection.send(json.dumps(message))

    async def hear(self) -> Call:
        """The next message, whatever it is."""
        async with asyncio.timeout(PATIENCE_S):
            call: Call = json.loads(await self.connection.recv())
        self.heard.append(call)
        if call.get("method") == "game_start":
            self.rules[call["params"]["game"]] = Rules.from_json(call["params"]["rules"])
        return call

    async def until(self, *methods: str) -> Call:
        """The next message of a method; calls before it are answered right."""
        while (call := await self.hear()).get("method") not in methods:
            if "id" in call:
                await self.answer(call)
        return call

    async def answer(self, call: Call) -> None:
        """Answer a call as an honest player does."""
        wire = Wire(self.name, self.connection, self.rules)
        await wire.reply(call, wire.right_answer(call))

    async def play_on(self) -> list[Call]:
        """Answer right until the connection is closed; gives what was heard."""
        first = len(self.heard)
        with suppress(ConnectionClosed):
            while True:
                call = await self.hear()
                if "method" in call and "id" in call:
                    await self.answer(call)
        return self.heard[first:]

    def drop(self) -> None:
        """Lose the connection, without a word."""
        self.connection.transport.abort()

    async def close(self) -> None:
        for connection in self._connections:
            connection.transport.abort()
            await connection.wait_closed()


@asynccontextmanager
async def table(
    settings: Settings, hand: str = "hand", *scripts: Script, **join: object
) -> AsyncGenerator[tuple[Hand, asyncio.Task[TournamentResult]]]:
    """A server, a player that has joined by hand, and scripted ones that joined after it."""
    players = 1 + len(scripts)
    lobby = settings.lobby.model_copy(update={"min_players": players, "max_players": players})
    settings = settings.model_copy(update={"lobby": lobby})
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    server = asyncio.create_task(wire.host.run(settings, port.set_result, lambda _: None))
    player = Hand(await port, hand, **join)
    playing: list[asyncio.Task[Wire]] = []
    try:
        await player.join()
        for script in scripts:
            joined = asyncio.Event()
            playing.append(asyncio.create_task(script.play(await port, joined)))
            await joined.wait()
        yield player, server
    finally:
        await player.close()
        if not server.done():
            server.cancel()
        await asyncio.wait({server, *playing}, timeout=PATIENCE_S)


def events_of(calls: list[Call]) -> list[Mapping[str, Any]]:
    """The events in `events` notifications, with their numbers."""
    return [
        entry
        for call in calls
        if call.get("method") == "events"
        for entry in call["params"]["events"]
    ]
