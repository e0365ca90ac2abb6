"""Steps: whole games, one after the other and at once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from croupier_client.check.checker import Checker
from croupier_client.check.results import Failed, Skipped
from croupier_client.check.table import Table, board, seated
from croupier_common.game import Game
from croupier_common.outcome import Color
from croupier_common.rules import CLASSIC, FISH, Rules

__all__ = ["STEPS"]

_QUIET_S: Final = 0.05
_PAUSE_S: Final = 0.3


async def _games(check: Checker, seat: int, players: int) -> None:
    """A game with each preset of rules, from a seat."""
    visit = await check.visit()
    colors = list(Color)[:players]
    for rules, ice in ((FISH, "5x5,fish=1-5"), (CLASSIC, "6x6,fish=1-3,one_fish=14")):
        game = Game(check.game_id(), board(ice, players, rules, seat), colors, rules)
        async with seated(visit, game, colors[seat - 1]) as table:
            await table.play()


async def game_from_seat_1(check: Checker) -> None:
    """It plays games of two from the first seat to the end, with the rules fish and classic."""
    await _games(check, 1, 2)


async def game_from_seat_2(check: Checker) -> None:
    """It plays games of two from the second seat to the end, with both rules."""
    await _games(check, 2, 2)


async def game_from_seat_3(check: Checker) -> None:
    """It plays games of three from the third seat to the end, with both rules."""
    await _games(check, 3, 3)


async def game_from_seat_4(check: Checker) -> None:
    """It plays games of four from the fourth seat to the end, with both rules."""
    await _games(check, 4, 4)


async def rules_by_option(check: Checker) -> None:
    """It plays with rules that are no preset, but options by their names."""
    rules = Rules(lift="penguin", last_tile="owner", ejected="with_tiles", placement_order="snake")
    visit = await check.visit()
    game = Game(check.game_id(), board("5x5,fish=1-5", 3), list(Color)[:3], rules)
    async with seated(visit, game, Color.WHITE) as table:
        await table.play()


async def game_end_unanswered(check: Checker) -> None:
    """It sends nothing when a game is over, and waits for the next one."""
    visit = await check.visit()
    game = Game(check.game_id(), board("3x3,fish=1-5"), [Color.RED, Color.WHITE])
    async with seated(visit, game, Color.RED) as table:
        await table.play()
    await visit.quiet(_QUIET_S, "game_end has no id: never reply to it.")


async def two_games(check: Checker) -> None:
    """It plays two games in a row, of another colour and on another board."""
    visit = await check.visit()
    for ice, you in (("6x3,fish=1-5", Color.WHITE), ("3x5,fish=2", Color.RED)):
        game = Game(check.game_id(), board(ice), [Color.RED, Color.WHITE])
        async with seated(visit, game, you) as table:
            await table.play()


async def interrupted_game(check: Checker) -> None:
    """A game is broken off by the server and played again under another id."""
    visit = await check.visit()
    game_id = check.game_id()
    for number, turns in (("", 5), ("-2", 1_000)):
        game = Game(game_id + number, board("4x4,fish=1-5"), [Color.RED, Color.WHITE])
        async with seated(visit, game, Color.RED) as table:
            await table.play(turns)


async def slow_opponents(check: Checker) -> None:
    """It waits in peace while others think."""
    visit = await check.visit()
    game = Game(check.game_id(), board("4x4,fish=1-5"), [Color.RED, Color.WHITE])
    async with seated(visit, game, Color.RED) as table:
        await table.turn()
        await visit.quiet(_PAUSE_S, "Send nothing until you are asked.")
        await table.play()


async def games_at_once(check: Checker) -> None:
    """It plays two games at the same time, if it says that it can (max_games)."""
    visit = await check.visit()
    if visit.params.max_games < 2:
        raise Skipped("it plays one game at a time: max_games is 1")
    colors = (Color.RED, Color.WHITE)
    tables = [
        Table(visit, Game(check.game_id(), board(ice), colors), you)
        for ice, you in (("5x4,fish=1-5", Color.WHITE), ("4x5,fish=2", Color.RED))
    ]
    try:
        await _at_once(tables)
    except Failed as problem:
        visit.log.freeze()
        if not problem.breaks:
            for table in tables:
                await table.end()
        raise


async def _at_once(tables: Sequence[Table]) -> None:
    visit = tables[0].visit
    for table in tables:
        await visit.post(f"{table.game.id}:0", "game_start", table.start_params())
    for table in reversed(tables):
        if await visit.answer(f"{table.game.id}:0") is not True:
            raise Failed("game_start is answered with true", "Answer each request on its own.")
        table.game.begin()
    running = list(tables)
    while running:
        asked = [table for table in running if table.request.color is table.you]
        for table in asked:
            request = table.request
            await visit.post(request.id, request.method, table.turn_params())
        for table in reversed(asked):  # whichever comes first
            request = table.request
            table.judge(request, await visit.answer(request.id))
        for table in running:
            if table not in asked:
                await table.act()
        for table in running:
            if table.game.request is None:
                await table.end()
        running = [table for table in running if table.game.request is not None]
        await asyncio.sleep(0)


STEPS: Final = (
    game_from_seat_1,
    game_from_seat_2,
    game_from_seat_3,
    game_from_seat_4,
    rules_by_option,
    game_end_unanswered,
    two_games,
    interrupted_game,
    slow_opponents,
    games_at_once,
)
