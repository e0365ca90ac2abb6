"""A server, players beside it, and one connection of which everything is written down.

A transcript's lines are JSON objects with `from`: `player`, `server`, `close` or `note`;
docs/transcripts/README.md says what else they have.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from croupier_server.app import App
from croupier_server.settings import load_settings

__all__ = ["SESSION", "Connection", "Line", "connected", "replay"]

Line = dict[str, Any]

SESSION: Final = "SESSION"
"""Stands for the session's token, in both directions."""

VERSION: Final = "croupier VERSION"
WAIT_S: Final = 20


class _Others:
    """The players beside the one that is written down: they play the first legal action.

    They answer `tournament_end` only when that one is asked too or is done, so that the server is
    there for as long as it is needed.
    """

    def __init__(self) -> None:
        self.ejection_heard = asyncio.Event()
        self.may_end = asyncio.Event()

    async def play(self, port: int, other: Mapping[str, Any], joined: asyncio.Event) -> None:
        """Join and play to the end; `plays` is `first`, or `error` for one that soon fails."""
        async with connect(f"ws://127.0.0.1:{port}", compression=None) as socket:
            with suppress(ConnectionClosed):
                await self._talk(socket, other, joined)

    async def _talk(
        self, socket: ClientConnection, other: Mapping[str, Any], joined: asyncio.Event
    ) -> None:
        params = {
            "protocol": 1,
            "name": other["name"],
            "legal_actions": True,
            "events": True,
        }
        await _send(socket, {"id": 1, "method": "join", "params": params})
        async for text in socket:
            joined.set()
            message = json.loads(text)
            if message.get("method") == "events":
                self._look_for_ejection(message["params"]["events"])
            if "method" not in message or "id" not in message:
                continue
            if message["method"] == "tournament_end":
                await self.may_end.wait()
            await _send(socket, {"id": message["id"], **_answer(message, other["plays"])})

    def _look_for_ejection(self, events: Sequence[Mapping[str, Any]]) -> None:
        if any(entry["event"]["kind"] == "eject" for entry in events):
            self.ejection_heard.set()


def _answer(message: Mapping[str, Any], plays: str) -> dict[str, Any]:
    if plays == "error" and message["method"] == "move":
        return {"error": {"code": 1, "message": "IndexError in move()"}}
    actions = message["params"].get("legal_actions")
    return {"result": actions[0] if actions else True}


async def _send(socket: ClientConnection, message: dict[str, Any]) -> None:
    await socket.send(json.dumps({"jsonrpc": "2.0", **message}))


class Connection:
    """The player's connections, one after the other; `lines` has all that passed."""

    def __init__(self, port: int, others: _Others) -> None:
        self.lines: list[Line] = []
        self.has_joined = asyncio.Event()
        self._port = port
        self._others = others
        self._session = ""
        self._socket: ClientConnection | None = None

    @property
    def socket(self) -> ClientConnection:
        """The connection now."""
        if self._socket is None:
            raise RuntimeError("the player has not connected")
        return self._socket

    async def connect(self) -> None:
        """Open a connection."""
        self.lines.append({"from": "player", "connects": True})
        self._socket = await connect(
            f"ws://127.0.0.1:{self._port}", compression=None, ping_interval=None
        )

    async def send(self, message: dict[str, Any]) -> None:
        """Send a message."""
        self.lines.append({"from": "player", "message": message})
        text = json.dumps(message).replace(f'"{SESSION}"', json.dumps(self._session))
        await self._send_text(text)

    async def send_raw(self, raw: str) -> None:
        """Send a text as it is."""
        self.lines.append({"from": "player", "raw": raw})
        await self._send_text(raw)

    async def _send_text(self, text: str) -> None:
        with suppress(ConnectionClosed):  # what is received tells
            await self.socket.send(text)

    async def hear(self) -> dict[str, Any] | None:
        """The next message; None if the server has closed the connection."""
        try:
            async with asyncio.timeout(WAIT_S):
                message = json.loads(await self.socket.recv())
        except ConnectionClosed:
            closed: Line = {"from": "close", "by": "server", "code": self.socket.close_code}
            self.lines.append({**closed, "reason": self.socket.close_reason or ""})
            return None
        self.lines.append({"from": "server", "message": self._normal(message)})
        if "result" in message:
            self.has_joined.set()
        if message.get("method") == "tournament_end":
            self._others.may_end.set()
        return dict(message)

    async def close(self, code: int | None) -> None:
        """Close the connection; without a code, lose it without a word."""
        self.lines.append({"from": "close", "by": "player", "code": code})
        if code is None:
            self.socket.transport.abort()
            await self.socket.wait_closed()
        else:
            await self.socket.close(code)

    async def wait_for_ejection(self, note: Line) -> None:
        """Do nothing until another player has heard of an ejection."""
        self.lines.append(note)
        async with asyncio.timeout(WAIT_S):
            await self._others.ejection_heard.wait()

    def note(self, note: Line) -> None:
        """Put in a remark."""
        self.lines.append(note)

    def _normal(self, message: dict[str, Any]) -> dict[str, Any]:
        """The message without what differs from run to run."""
        message = json.loads(json.dumps(message))
        if "result" in message:
            self._session = message["result"]["session"]
            message["result"] |= {"server": VERSION, "session": SESSION}
        last = message.get("params", {}).get("last")
        if last is not None:
            last.pop("rtt_ms", None)
            last |= {"think_ms": 0, "stall_ms": 0}
        return dict(message)


@asynccontextmanager
async def connected(head: Line) -> AsyncGenerator[Connection]:
    """A server as a transcript's first line wants it, with the other players."""
    settings = load_settings(
        None,
        {"server": {"host": "127.0.0.1", "port": 0}, "storage": {"data": ""}} | head["settings"],
    )
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    others = _Others()
    async with asyncio.TaskGroup() as group:
        tasks: list[asyncio.Task[Any]] = []
        tasks.append(group.create_task(App(settings, listening=port.set_result).run()))

        async def join(when: str) -> None:
            for other in head["others"]:
                if other["joins"] == when:
                    joined = asyncio.Event()
                    playing = others.play(await port, other, joined)
                    tasks.append(group.create_task(playing))
                    await joined.wait()

        async def join_after() -> None:
            await connection.has_joined.wait()
            await join("after")

        connection = Connection(await port, others)
        await join("before")
        tasks.append(group.create_task(join_after()))
        try:
            yield connection
        finally:
            others.may_end.set()
            for task in tasks:
                task.cancel()


async def replay(lines: Sequence[Line]) -> list[Line]:
    """What passes when a transcript's player does again what it did, before a real server."""
    async with connected(lines[0]) as connection:
        connection.note(lines[0])
        for line in lines[1:]:
            await _step(connection, line)
    return connection.lines


async def _step(connection: Connection, line: Line) -> None:
    if line["from"] == "note" and line.get("until") == "ejected":
        await connection.wait_for_ejection(line)
    elif line["from"] == "note":
        connection.note(line)
    elif line["from"] == "server" or line.get("by") == "server":
        await connection.hear()
    elif line["from"] == "close":
        await connection.close(line["code"])
    elif "connects" in line:
        await connection.connect()
    elif "raw" in line:
        await connection.send_raw(line["raw"])
    else:
        await connection.send(line["message"])
