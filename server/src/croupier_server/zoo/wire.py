"""Players that speak the protocol by hand, honest or with one bad habit.

Nothing here uses the client kit: what these players send is what is written here.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from croupier_common.notation import state_from_json
from croupier_common.rules import Rules
from croupier_common.state import State
from croupier_common.strategies import make

__all__ = [
    "Call",
    "Habit",
    "Script",
    "Wire",
    "answers",
    "hangs_up",
    "honest",
    "results",
    "silent",
    "thinks",
]

Call = dict[str, Any]


@dataclass
class Wire:
    """One scripted player's connection, and what came over it.

    Attributes:
        connection: the newest one, where it came back.
        has_acted: whether it has done what its habit is.
    """

    name: str
    connection: ClientConnection
    rules: dict[str, Rules] = field(default_factory=dict[str, Rules])
    received: list[Call] = field(default_factory=list[Call])
    close_code: int | None = None
    close_reason: str = ""
    has_acted: bool = False
    url: str = ""

    async def ask_to_join(self, more: Mapping[str, Any]) -> None:
        """Send a join, with whatever it is to say more."""
        params = {"protocol": 1, "name": self.name, **more}
        await self.send({"jsonrpc": "2.0", "id": "j", "method": "join", "params": params})

    async def come_back(self) -> None:
        """Connect once more, and take up the session; what is open is asked again there."""
        session = next(call["result"]["session"] for call in self.received if "result" in call)
        self.connection = await _connected(self.url)
        await self.ask_to_join({"session": session})
        self.received.append(json.loads(await self.connection.recv()))

    def calls(self, method: str) -> list[Call]:
        """What came by that method."""
        return [call for call in self.received if call.get("method") == method]

    async def reply(self, call: Call, result: object) -> None:
        """Answer a call."""
        await self.send({"jsonrpc": "2.0", "id": call["id"], "result": result})

    async def send(self, message: object) -> None:
        """Send a message; text and bytes go as they are."""
        if not isinstance(message, str | bytes):
            message = json.dumps(message)
        await self.connection.send(message)

    def right_answer(self, call: Call) -> object:
        """What an honest player answers: true, or what `first` plays."""
        if call["method"] not in {"place", "move"}:
            return True
        return make("first", seed=0).choose(self.state(call)).to_json()

    def state(self, call: Call) -> State:
        """The state that a call for a placement or a move has."""
        params = call["params"]
        return state_from_json(params["state"], self.rules[params["game"]])


async def _connected(url: str, *, compression: bool = False) -> ClientConnection:
    return await connect(
        url,
        compression="deflate" if compression else None,
        ping_interval=None,
        max_size=None,
        proxy=None,
    )


Habit = Callable[[Wire, Call], Awaitable[bool]]
"""Called with every call of the server; True if it has dealt with it, else it is answered right."""


async def honest(_wire: Wire, _call: Call) -> bool:
    """No habit."""
    return False


@dataclass(frozen=True)
class Script:
    """A scripted player.

    Attributes:
        join: what its join says beside its name.
        compression: whether it offers to compress.
    """

    name: str
    habit: Habit = honest
    join: Mapping[str, Any] = field(default_factory=dict[str, Any])
    compression: bool = False

    async def play(self, port: int, joined: asyncio.Event | None = None) -> Wire:
        """Visit a server on this machine."""
        return await self.visit(f"ws://127.0.0.1:{port}", joined)

    async def visit(self, url: str, joined: asyncio.Event | None = None) -> Wire:
        """Connect, join and play until the connection is closed.

        `joined` is set when the server has answered the join, or has gone without an answer.
        """
        wire = Wire(self.name, await _connected(url, compression=self.compression), url=url)
        try:
            with suppress(ConnectionClosed):
                await wire.ask_to_join(self.join)
            await self._listen(wire, joined)
        finally:
            if joined is not None:
                joined.set()  # nobody waits for an answer that will not come
            await wire.connection.close()
        wire.close_code = wire.connection.close_code
        wire.close_reason = wire.connection.close_reason or ""
        return wire

    async def _listen(self, wire: Wire, joined: asyncio.Event | None) -> None:
        """Answer what comes, on the newest connection, until that one is closed."""
        connection = None
        while connection is not wire.connection:
            connection = wire.connection
            with suppress(ConnectionClosed):
                async for raw in connection:
                    if joined is not None:
                        joined.set()
                    await self._answer(wire, json.loads(raw))
                    if connection is not wire.connection:
                        break

    async def _answer(self, wire: Wire, call: Call) -> None:
        wire.received.append(call)
        if call.get("method") == "game_start":
            wire.rules[call["params"]["game"]] = Rules.from_json(call["params"]["rules"])
        if "method" not in call or "id" not in call or await self.habit(wire, call):
            return
        await wire.reply(call, wire.right_answer(call))


def answers(method: str, message: object, *, after: int = 0) -> Habit:
    """A habit of answering a method, after so many right answers, with a message as it stands.

    ``ID`` in a text is replaced by the call's id.
    """

    async def habit(wire: Wire, call: Call) -> bool:
        if call["method"] != method or len(wire.calls(method)) <= after:
            return False
        wire.has_acted = True
        await wire.send(message.replace("ID", call["id"]) if isinstance(message, str) else message)
        return True

    return habit


def results(method: str, result: object, *, after: int = 0) -> Habit:
    """A habit of answering a method, after so many right answers, with some result."""

    async def habit(wire: Wire, call: Call) -> bool:
        if call["method"] != method or len(wire.calls(method)) <= after:
            return False
        wire.has_acted = True
        await wire.reply(call, result)
        return True

    return habit


def silent(method: str, *, after: int = 0) -> Habit:
    """A habit of not answering a method."""

    async def habit(wire: Wire, call: Call) -> bool:
        if call["method"] != method or len(wire.calls(method)) <= after:
            return False
        wire.has_acted = True
        return True

    return habit


def thinks(method: str, seconds: float) -> Habit:
    """A habit of taking its time before the right answer."""

    async def habit(_wire: Wire, call: Call) -> bool:
        if call["method"] == method:
            await asyncio.sleep(seconds)
        return False

    return habit


def hangs_up(method: str, *, after: int = 0) -> Habit:
    """A habit of closing the connection instead of answering."""

    async def habit(wire: Wire, call: Call) -> bool:
        if call["method"] != method or len(wire.calls(method)) <= after:
            return False
        wire.has_acted = True
        await wire.connection.close()
        return True

    return habit
