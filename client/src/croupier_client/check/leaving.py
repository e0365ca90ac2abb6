"""Steps: the end of a tournament, and all that needs a connection of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

from croupier_client.check.checker import Checker
from croupier_client.check.hosts import NoPlayer
from croupier_client.check.results import Failed, Skipped
from croupier_client.check.table import Table, board, seated
from croupier_client.check.visit import NewAgain, Visit, notification
from croupier_common.game import Game
from croupier_common.jsontypes import shown
from croupier_common.messages import ErrorCode
from croupier_common.outcome import Color
from croupier_common.verdict import Fault, Phase, Verdict

__all__ = ["AGAIN", "STEPS"]

_LEAVE_S: Final = 4.0
_BACK_S: Final = 5.0
_SLOW_S: Final = 0.4
_MUCH: Final = 0.5
_COME_BACK: Final = (
    "A lost connection then costs it the game. Connect again and join with the session: see "
    '"Coming back" in protocol.md.'
)


async def answers_in_time(check: Checker) -> None:
    """Its answers leave room for a slower machine: none took half of the budget."""
    if not {"place", "move"} & set(check.times_ms):
        visit = await check.visit()
        game = Game(check.game_id(), board("5x5,fish=1-5"), [Color.RED, Color.WHITE])
        async with seated(visit, game, Color.RED) as table:
            await table.play()
    for method, times in check.times_ms.items():
        if max(times) > check.budget_ms * _MUCH:
            check.warn(
                f"an answer to {method} took {max(times)} ms of {check.budget_ms} ms",
                "Stop to think earlier, by the request's budget_ms: the machine of a tournament "
                "may be slower, and shared.",
            )


async def tournament_end(check: Checker) -> None:
    """It answers tournament_end with true."""
    await (await check.visit()).end()


async def leaves(check: Checker) -> None:
    """It ends, or at least goes, when the tournament is over and the connection is closed."""
    visit = check.at_hand
    if visit is None or not visit.has_ended:
        visit = await check.visit()
        await visit.end()
    await visit.link.close(1000, "")
    told = await check.host.left(_LEAVE_S)
    check.dismissed()
    if not told:
        hint = "End when your standard input is closed, or the connection."
        if check.host.kind == "stdio":
            raise Failed("it did not end in time, and was stopped", hint)
        check.warn("it goes on, or connects again, after the tournament", hint)
    elif "exit status" in told and not told.endswith(" 0"):
        check.warn(told, "End with exit status 0 when all is well.")


async def slow_start(check: Checker) -> None:
    """It waits in peace for the answer to join, and for the start of the tournament."""
    visit = await check.connected()
    await visit.hear_join()
    hint = "Send nothing until you are asked; have no time-out of your own."
    if not visit.has_joined:
        await visit.quiet(_SLOW_S, hint)
        await visit.accept()
    await visit.quiet(_SLOW_S, hint)
    await visit.begin()
    game = Game(check.game_id(), board("4x3,fish=1-5"), [Color.RED, Color.WHITE])
    async with seated(visit, game, Color.RED) as table:
        await table.turn()


@asynccontextmanager
async def _table(check: Checker) -> AsyncGenerator[tuple[Visit, Table]]:
    check.only("kit", "websocket")
    if check.stays_away:
        raise Skipped(check.stays_away)
    visit = await check.visit()
    game = Game(check.game_id(), board("4x4,fish=1-5"), [Color.RED, Color.WHITE])
    async with seated(visit, game, Color.RED) as table:
        await table.turn()
        await table.act()
        yield visit, table


async def _drop(check: Checker, visit: Visit) -> None:
    """Lose the connection, and wait for the player to be back.

    Raises:
        Skipped: it does not come back, which is no fault.
    """
    await visit.link.drop()
    try:
        await visit.come_back(await check.host.back(_BACK_S))
    except NoPlayer as problem:
        check.stays_away = str(problem)
        check.dismissed()
        raise Skipped(f"{problem}. {_COME_BACK}") from None
    except NewAgain:
        check.stays_away = "it comes back without its session, as somebody new"
        await check.leave()
        raise Skipped(f"{check.stays_away}. {_COME_BACK}") from None


async def reconnects(check: Checker) -> None:
    """It comes back when the connection is lost while it waits, and plays on."""
    async with _table(check) as (visit, table):
        await _drop(check, visit)
        await table.play()


async def reconnects_while_asked(check: Checker) -> None:
    """It comes back when the connection is lost while it is asked, and then answers."""
    async with _table(check) as (visit, table):
        request = table.request
        await visit.post(request.id, request.method, table.turn_params())
        await _drop(check, visit)
        await table.turn()
        await table.play()


async def same_answer_again(check: Checker) -> None:
    """Asked again under the same id after it came back, it sends the same answer."""
    async with _table(check) as (visit, table):
        request, params = table.request, table.turn_params()
        first = await visit.ask(request.id, request.method, params)
        await _drop(check, visit)
        second = await visit.ask(request.id, request.method, params)
        table.judge(request, second)
        if first != second:
            raise Failed(
                f"it answered {request.id} with {shown(first, 60)}, and then with "
                f"{shown(second, 60)}",
                "Keep what you answered by id, and send the same again.",
            )
        await table.play()


async def ejected(check: Checker) -> None:
    """Told that it is out, it goes, and does not come back."""
    visit = await check.visit()
    game_id = check.game_id()
    fault = Fault(Verdict.TIMEOUT, Phase.MOVEMENT, "this is only a check", "nothing")
    table = Table(visit, Game(game_id, board("4x3,fish=1-5"), [Color.RED, Color.WHITE]), Color.RED)
    await table.start()
    await visit.send(notification("ejected", {"game": game_id, **fault.to_json()}))
    await visit.link.close(4000, fault.verdict)
    told = await check.host.left(_LEAVE_S)
    check.dismissed()
    if not told:
        check.warn(
            "it goes on, or connects again, after it was ejected",
            "The close code 4000 is for good: end, and show the reason.",
        )


async def refused(check: Checker) -> None:
    """Told that it may not join, it goes, and does not try again and again."""
    check.only("kit", "websocket")
    visit = await check.connected()
    await visit.hear_join()
    await visit.refuse("this is only a check", ErrorCode.CLOSED)
    told = await check.host.left(_LEAVE_S)
    check.dismissed()
    if not told:
        check.warn(
            "it goes on, or connects again, after it was refused",
            "The close code 4001 is for good: end, and show the error's message.",
        )


async def starts_anew(check: Checker) -> None:
    """It can be started again, and plays another tournament."""
    await check.leave()
    await asyncio.sleep(0)
    visit = await check.visit()
    game = Game(check.game_id(), board("4x4,fish=1-5"), [Color.RED, Color.WHITE])
    async with seated(visit, game, Color.WHITE) as table:
        await table.play()
    await visit.end()


STEPS: Final = (answers_in_time, tournament_end, leaves)
AGAIN: Final = (
    slow_start,
    reconnects,
    reconnects_while_asked,
    same_answer_again,
    ejected,
    refused,
    starts_anew,
)
