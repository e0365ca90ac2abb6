"""Steps: messages of all kinds are read as the protocol has it."""

from __future__ import annotations

import json
from typing import Any, Final

from croupier_client.check.checker import Checker
from croupier_client.check.links import WebSocketLink
from croupier_client.check.results import Failed
from croupier_client.check.table import Table, board, seated
from croupier_client.check.visit import notification
from croupier_common.game import Game
from croupier_common.messages import ErrorCode
from croupier_common.outcome import Color

__all__ = ["STEPS"]

_NO_METHOD: Final = int(ErrorCode.METHOD_NOT_FOUND)
_QUIET_S: Final = 0.05
_PONG_S: Final = 2.0
_NO_REPLY: Final = "Never reply to a message that has no id."
_ODD_IDS: Final = ("007", "1e3", "null", 'a "quoted" \\ one', "é→𝄞", "check:x:1")


def _game(check: Checker, ice: str = "4x3,fish=1-5") -> Game:
    return Game(check.game_id(), board(ice), [Color.RED, Color.WHITE])


async def ids(check: Checker) -> None:
    """Its replies have the very ids of the requests, whatever strings they are."""
    visit = await check.visit()
    async with seated(visit, _game(check), Color.RED) as table:
        for odd in _ODD_IDS:
            while table.game.request is not None and table.request.color is not Color.RED:
                await table.act()
            request = table.request
            result = await visit.ask(odd, request.method, table.turn_params())
            table.judge(request, result)


async def unknown_fields(check: Checker) -> None:
    """It passes over fields that it does not know, wherever they are."""

    def add(message: dict[str, Any]) -> None:
        message["meta"] = {"trace": "0a1b", "deep": [[[{}]]]}
        params = message["params"]
        params["weather"] = "snow"
        params["state"]["round"] = 7
        for player in params["state"]["players"]:
            player["rating"] = 1500
        for told in params["events"]:
            told["at_ms"] = 12
            told["event"]["note"] = None

    visit = await check.visit()
    async with seated(visit, _game(check), Color.WHITE) as table:
        await table.act()
        await table.turn(add)


async def unknown_notification(check: Checker) -> None:
    """It passes over a notification that it does not know, and sends nothing in return."""
    visit = await check.visit()
    async with seated(visit, _game(check), Color.RED) as table:
        await visit.tell("weather", {"game": table.game.id, "snow": True})
        await visit.send({"jsonrpc": "2.0", "method": "applause"})
        await visit.quiet(_QUIET_S, _NO_REPLY)
        await table.turn()


async def unknown_method(check: Checker) -> None:
    """It answers a request whose method it does not know with error -32601, and goes on."""
    visit = await check.visit()
    hint = f"Answer a method that you don't know with an error of code {_NO_METHOD}."
    try:
        await visit.post("unknown", "swim", {"budget_ms": min(check.budget_ms, 1_000)})
        reply = await visit.reply("unknown")
    except Failed as problem:
        if problem.breaks and visit.last_ms("swim") is None and "no answer" in str(problem):
            check.warn("it does not answer a request of an unknown method", hint)
        else:
            raise
    else:
        if reply.error is None or reply.error.code != _NO_METHOD:
            check.warn("its answer to an unknown method is no error of that code", hint)
    check.times_ms.pop("swim", None)
    async with seated(visit, _game(check), Color.RED) as table:
        await table.turn()


async def unknown_event(check: Checker) -> None:
    """It passes over events of a kind that it does not know."""

    def add(message: dict[str, Any]) -> None:
        events = message["params"]["events"]
        events.append({"seq": len(events) + 1, "event": {"kind": "thaw", "at": [[0, 0]]}})

    visit = await check.visit()
    async with seated(visit, _game(check), Color.RED) as table:
        await table.turn(add)


async def json_forms(check: Checker) -> None:
    """It reads JSON in any form: spaces, escapes, and fields in another order."""
    visit = await check.visit()
    async with seated(visit, _game(check), Color.RED) as table:
        request = table.request
        message = visit.request(request.id, request.method, table.turn_params())
        turned = {
            "params": dict(reversed(message["params"].items())),
            "method": message["method"],
            "id": message["id"],
            "jsonrpc": "2.0",
        }
        text = json.dumps(turned, indent=3).replace('"method"', '"\\u006dethod"')
        await visit.send(text)
        table.judge(request, await visit.answer(request.id))


async def joined_messages(check: Checker) -> None:
    """It reads each of several messages that come at once: the end of a game, then the next one."""
    visit = await check.visit()
    old = Table(visit, _game(check), Color.RED)
    old.game.begin()
    await old.start()
    new = Table(visit, _game(check), Color.WHITE)
    start = visit.request(f"{new.game.id}:0", "game_start", new.start_params())
    await visit.send(
        notification("game_end", old.end_params()), notification("applause", {}), start
    )
    if await visit.answer(f"{new.game.id}:0") is not True:
        raise Failed("game_start is answered with true", "Answer each request on its own.")
    new.game.begin()
    await new.act()
    await new.turn()
    await new.end()


async def split_message(check: Checker) -> None:
    """It reads a message that comes in several frames."""
    check.only("kit", "websocket")
    visit = await check.visit()
    async with seated(visit, _game(check), Color.RED) as table:
        request = table.request
        await visit.send_split(visit.request(request.id, request.method, table.turn_params()))
        table.judge(request, await visit.answer(request.id))


async def clocks(check: Checker) -> None:
    """It takes requests with a bank of time, and with times of its last answer, or without."""

    def add(message: dict[str, Any]) -> None:
        message["params"]["bank_ms"] = 5_000
        message["params"]["last"] = {"think_ms": 3, "stall_ms": 1, "rtt_ms": 1, "verdict": "ok"}

    def take(message: dict[str, Any]) -> None:
        message["params"].pop("last", None)

    visit = await check.visit()
    async with seated(visit, _game(check), Color.RED) as table:
        await table.turn(add)
        await table.act()
        await table.turn(take)


async def legal_actions(check: Checker) -> None:
    """It plays right where requests list the legal actions, even if it did not ask for that."""

    def add(message: dict[str, Any]) -> None:
        message["params"]["legal_actions"] = [
            action.to_json() for action in table.request.state.legal_actions
        ]

    visit = await check.visit()
    async with seated(visit, _game(check), Color.RED) as table:
        while table.game.request is not None:
            if table.request.color is Color.RED:
                await table.turn(add)
            else:
                await table.act()


async def pings(check: Checker) -> None:
    """It answers a ping while it has nothing else to do."""
    check.only("kit", "websocket")
    visit = await check.visit()
    if isinstance(visit.link, WebSocketLink) and not await visit.link.ping(_PONG_S):
        check.warn(
            f"no pong came within {_PONG_S:g} s",
            "Read from the connection even while you wait; the library then answers pings.",
        )


STEPS: Final = (
    ids,
    unknown_fields,
    unknown_notification,
    unknown_method,
    unknown_event,
    json_forms,
    joined_messages,
    split_message,
    clocks,
    legal_actions,
    pings,
)
