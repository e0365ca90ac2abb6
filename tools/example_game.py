"""Plays the game that protocol.md prints: two real players, a real server, one of them listened to.

Both players do what the quick start's program does: they answer with the first legal action. What
differs from run to run (the session's token, the version, the times) is made the same in print.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from croupier_common.jsontypes import is_array, is_object
from croupier_server.app import App
from croupier_server.settings import Clocks, load_settings

__all__ = ["BOARD", "Passed", "folded", "play_example", "transcript"]

BOARD = [[0, 2, 1, 3, 0], [1, 3, 2, 1, 0], [2, 1, 1, 3, 2]]
"""So small that the game is short, and of a shape in which one player runs out of moves first."""

WIDTH = 96
WAIT_S = 20


@dataclass(frozen=True, slots=True)
class Passed:
    """A message that passed between a player and the server, or the code of the closing."""

    sender: str
    message: Any


async def play_example() -> list[Passed]:
    """All that passed on the first player's connection, in order."""
    settings = load_settings(
        None,
        {
            "server": {"host": "127.0.0.1", "port": 0},
            "lobby": {"min_players": 2, "max_players": 2, "ages": "sign_up"},
            "clocks": Clocks().model_dump(),
            "game": {"rules": "fish", "board": {"tiles": BOARD}},
            "tournament": {"name": "example", "seed": 1},
            "storage": {"data": ""},
        },
    )
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    joined = asyncio.Event()
    async with asyncio.timeout(WAIT_S), asyncio.TaskGroup() as group:
        group.create_task(App(settings, listening=port.set_result).run())
        first = group.create_task(_visit(await port, "Ada", joined))
        await joined.wait()
        group.create_task(_visit(await port, "Ben", asyncio.Event()))
    return first.result()


async def _visit(port: int, name: str, joined: asyncio.Event) -> list[Passed]:
    """Join as that name and play; `joined` is set when the server has answered the join."""
    passed: list[Passed] = []
    async with connect(f"ws://127.0.0.1:{port}", compression=None) as socket:
        params = {"protocol": 1, "name": name, "legal_actions": True}
        await _send(socket, passed, {"id": "join", "method": "join", "params": params})
        async for text in socket:
            message = json.loads(text)
            passed.append(Passed("server", _the_same_each_time(message)))
            joined.set()
            if "method" in message and "id" in message:
                actions = message["params"].get("legal_actions")
                result = actions[0] if actions else True
                await _send(socket, passed, {"id": message["id"], "result": result})
        passed.append(Passed("server", socket.close_code))
    return passed


async def _send(socket: ClientConnection, passed: list[Passed], message: dict[str, Any]) -> None:
    message = {"jsonrpc": "2.0", **message}
    passed.append(Passed("player", message))
    await socket.send(json.dumps(message))


def _the_same_each_time(message: dict[str, Any]) -> dict[str, Any]:
    if "result" in message:
        message["result"] |= {"server": "croupier 1.2.3", "session": "a-random-token"}
    last = message.get("params", {}).get("last")
    if last is not None:
        last.update(think_ms=2, stall_ms=0, rtt_ms=1)
    return message


# -- in print


def transcript(passed: list[Passed]) -> str:
    """The messages as Markdown, each with a number, its direction and a remark."""
    parts: list[str] = []
    asked: str | None = None
    for number, one in enumerate(passed, 1):
        if isinstance(one.message, int):
            parts.append(
                f"**{number}. The server closes** the connection, with code {one.message}."
            )
            continue
        arrow = "Ada → server" if one.sender == "player" else "Server → Ada"
        parts.append(f"**{number}. {arrow}:** {_remark(one, asked)}")
        parts.append(f"```json {one.sender}\n{folded(one.message)}\n```")
        asked = one.message.get("method", asked)
    return "\n\n".join(parts)


def _remark(one: Passed, asked: str | None) -> str:
    """What a message is about; `asked` is the method before it."""
    message = one.message
    method = message.get("method")
    if one.sender == "player" and method is None:
        return {
            "tournament_start": "She is there.",
            "game_start": "She is ready to play.",
            "place": "The first of the legal placements.",
            "move": "The first of the legal moves.",
            "tournament_end": "She has heard it. Without this she would not be a winner.",
        }[str(asked)]
    if method in {"place", "move"}:
        return _remark_on_turn(message)
    return {
        "join": "Ada says who she is, and asks for the legal actions.",
        None: "She is in. The numbers are this server's settings.",
        "tournament_start": "Ben has joined too. All players are told that it begins.",
        "game_start": "Game 1.1. She is red, and red is first. A 0 on the board is a hole.",
        "game_end": "Nobody can move any more. She has more fish, so she has won.",
        "tournament_end": "There were only two players, so that game was the final.",
    }[method]


def _remark_on_turn(request: dict[str, Any]) -> str:
    params = request["params"]
    kinds = [entry["event"]["kind"] for entry in params["events"]]
    if not kinds:
        return "Her first turn. Nothing has happened yet, so `events` is empty."
    if "skip" in kinds:
        return "After her move Ben had none: he is skipped, and it is her turn again."
    if request["method"] == "place":
        if len(params["state"]["players"][0]["penguins"]) > 1:
            return "One penguin a turn, in turn."
        return "Ben has placed one, as `events` tells. `last` says how her last answer was taken."
    if params["state"]["players"][0]["tiles"] == 0:
        return "All penguins stand. Now it is about moves, and legal actions have from and to."
    return "Ben has moved. The tiles that were left, hers and his, are holes now."


def folded(value: object, indent: str = "", key: str = "") -> str:
    """A JSON value on as few lines as are needed for none to be too long."""
    flat = key + json.dumps(value, ensure_ascii=False)
    if len(indent) + len(flat) < WIDTH or not (is_object(value) or is_array(value)):
        return flat
    left, right = "{}" if is_object(value) else "[]"
    inner = f"{indent}  "
    body = f",\n{inner}".join(_packed(list(_parts(value, inner)), len(inner)))
    return f"{key}{left}\n{inner}{body}\n{indent}{right}"


def _parts(value: object, indent: str) -> Iterator[str]:
    if is_object(value):
        for name, part in value.items():
            yield folded(part, indent, f"{json.dumps(name)}: ")
    elif is_array(value):
        for part in value:
            yield folded(part, indent)


def _packed(parts: list[str], indent: int) -> Iterator[str]:
    """Parts on lines of their own, but short ones (positions, moves) as many on a line as fit."""
    if any(part[0] != "[" or len(part) > 16 for part in parts):
        yield from parts
        return
    line = parts[0]
    for part in parts[1:]:
        if indent + len(line) + len(part) + 3 > WIDTH:
            yield line
            line = part
        else:
            line += f", {part}"
    yield line
