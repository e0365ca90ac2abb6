"""A real WebSocket server that says to the player kit what a test tells it to, word by word."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.server import ServerConnection, serve

from croupier_client.connection import Client
from croupier_client.ending import Ending
from croupier_client.joining import JoinOptions
from croupier_client.loader import Target
from croupier_client.player import Player
from croupier_common.board import Board
from croupier_common.game import Game, Request
from croupier_common.notation import state_to_json
from croupier_common.outcome import Color
from croupier_common.rules import FISH, Rules
from croupier_common.strategies import make

JOINED = {
    "protocol": 1,
    "server": "scripted",
    "session": "a-session",
    "name": "Pingu",
    "max_message": 65_536,
    "budgets_ms": {"place": 10_000, "move": 10_000},
}
BOARD = Board.from_json([[1, 2, 3], [4, 5, 1], [2, 3, 4], [5, 1, 2]])
COLORS = (Color.RED, Color.WHITE)


class Peer:
    """The server's end of one player's connection."""

    def __init__(self, connection: ServerConnection) -> None:
        self.connection = connection

    async def send(self, message: object) -> None:
        """Send a message; a text goes as it is."""
        await self.connection.send(message if isinstance(message, str) else json.dumps(message))

    async def receive(self) -> Any:
        """The next message from the player."""
        return json.loads(await self.connection.recv())

    async def join(self, **result: object) -> Any:
        """Take the join and accept it; give what it said."""
        join = await self.receive()
        await self.send({"jsonrpc": "2.0", "id": join["id"], "result": {**JOINED, **result}})
        return join

    async def refuse(self, code: int, message: str) -> None:
        """Take the join and refuse it."""
        join = await self.receive()
        error = {"code": code, "message": message}
        await self.send({"jsonrpc": "2.0", "id": join["id"], "error": error})
        await self.connection.close(4001, "join refused")

    async def call(self, call_id: str, method: str, **params: object) -> None:
        """Ask something."""
        params.setdefault("budget_ms", 10_000)
        await self.send({"jsonrpc": "2.0", "id": call_id, "method": method, "params": params})

    async def ask(self, call_id: str, method: str, **params: object) -> Any:
        """Ask something, and give the reply."""
        await self.call(call_id, method, **params)
        return await self.receive()

    async def notify(self, method: str, **params: object) -> None:
        """Say something that is not answered."""
        await self.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def game_start(self, game: str, rules: Rules = FISH, board: Board = BOARD) -> Any:
        """Begin a game in which the player is red, and give its reply."""
        players = [{"color": color, "name": f"the {color} one"} for color in COLORS]
        return await self.ask(
            f"{game}:0",
            "game_start",
            game=game,
            you="red",
            players=players,
            rules=rules.to_json(),
            board=board.to_json(),
            budgets_ms={"place": 10_000, "move": 10_000},
        )

    async def call_turn(self, request: Request, **params: object) -> None:
        """Ask for a turn."""
        events = [{"seq": told.seq, "event": told.event.to_json()} for told in request.events]
        await self.call(
            request.id,
            request.method,
            game=request.game,
            you=request.color.value,
            state=state_to_json(request.state, whole=False),
            events=events,
            **params,
        )

    async def turn(self, request: Request, **params: object) -> Any:
        """Ask for a turn, and give the reply."""
        await self.call_turn(request, **params)
        return await self.receive()

    async def play(self, game: Game) -> None:
        """Play a game, from its start to the message of its end, in which `first` plays white."""
        assert (await self.game_start(game.id, game.rules, game.board))["result"] is True
        if game.state is None:
            game.begin()
        first = make("first")
        while (request := game.request) is not None:
            if request.color is Color.RED:
                game.reply((await self.turn(request))["result"])
            else:
                game.act(first.choose(request.state))
        await self.game_end(game)

    async def game_end(self, game: Game) -> None:
        """Say that a game is over."""
        assert game.outcome is not None
        await self.notify("game_end", game=game.id, outcome=game.outcome.to_json(), events=[])

    async def eject(self, game: str | None, verdict: str = "illegal_action") -> None:
        """Send the player away."""
        await self.notify(
            "ejected",
            game=game,
            verdict=verdict,
            phase="movement",
            detail="no red penguin stands on [9,9]",
            fix="Answer with one of the request's legal actions.",
            link="protocol.md#illegal_action",
            sent="[[9, 9], [0, 0]]",
        )
        await self.connection.close(4000, verdict)

    async def end(self, won: bool = True, winners: tuple[str, ...] = ("Pingu",)) -> Any:
        """End the tournament, and give the reply."""
        reply = await self.ask(
            "end", "tournament_end", tournament="t", won=won, winners=list(winners)
        )
        await self.connection.close()
        return reply


Script = Callable[[Peer], Awaitable[None]]


@dataclass
class Visit:
    """How a player's visit to a scripted server went."""

    ending: Ending
    told: list[str] = field(default_factory=list[str])
    warned: list[str] = field(default_factory=list[str])

    @property
    def reports(self) -> str:
        """All that the player's author was warned of."""
        return "\n".join(self.warned)


def fresh_game(game_id: str = "1.1", rules: Rules = FISH) -> Game:
    """A game on the small board that has begun; red is to place."""
    game = Game(game_id, BOARD, COLORS, rules)
    game.begin()
    return game


@asynccontextmanager
async def serving_script(script: Script) -> AsyncGenerator[str]:
    """A server that does as scripted, by its address; what the script raises comes out."""
    problems: list[BaseException] = []

    async def handle(connection: ServerConnection) -> None:
        try:
            await script(Peer(connection))
        except BaseException as problem:
            problems.append(problem)
            raise

    async with serve(handle, "127.0.0.1", 0, ping_interval=None, close_timeout=1) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        yield f"ws://127.0.0.1:{port}"
    if problems:
        raise problems[0]


async def visit(script: Script, player: Callable[[], Player] | Target, **options: Any) -> Visit:
    """Have a player visit a server that does as scripted; what the script raises comes out."""
    target = player if isinstance(player, Target) else Target("Tester", player)
    told: list[str] = []
    warned: list[str] = []
    async with serving_script(script) as url:
        client = Client(
            url,
            target,
            JoinOptions(name="Pingu", retry_s=0, **options),
            tell=told.append,
            warn=warned.append,
        )
        async with asyncio.timeout(20):
            ending = await client.run()
    return Visit(ending, told, warned)
