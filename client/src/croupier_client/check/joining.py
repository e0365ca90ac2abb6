"""Steps: from the connection to the first game."""

from __future__ import annotations

from typing import Final

from croupier_client.check.checker import Checker
from croupier_client.check.results import Failed
from croupier_client.check.table import board, seated
from croupier_common.game import Game
from croupier_common.outcome import Color

__all__ = ["STEPS"]

_QUIET_S: Final = 0.1


async def connects(check: Checker) -> None:
    """A player can be started, and connects."""
    await check.connected()


async def join(check: Checker) -> None:
    """Its first message is a join that a server takes: version 1, and no unknown fields."""
    await check.at_the_door()


async def join_name(check: Checker) -> None:
    """Its name can be printed, and has no space at either end."""
    check.only("kit", "websocket")
    name = (await check.at_the_door()).params.name
    if not name.isprintable() or name != name.strip():
        raise Failed(
            f"the name {name!r} would be refused",
            "Choose a name of 1 to 32 printable characters without a space at either end.",
        )


async def join_answer(check: Checker) -> None:
    """It takes the answer to join, passes over fields in it that it does not know, and waits."""
    visit = await check.at_the_door()
    if not visit.has_joined:
        await visit.accept({"motd": "hello", "season": {"number": 2, "parts": [1, None, True]}})
    await visit.quiet(_QUIET_S, "After join, send nothing until the server asks you something.")


async def tournament_start(check: Checker) -> None:
    """It answers tournament_start with true."""
    await check.visit()


async def game_start(check: Checker) -> None:
    """It answers game_start with true, and its first placement is legal."""
    visit = await check.visit()
    game = Game(check.game_id(), board("4x3,fish=1-5"), [Color.RED, Color.WHITE])
    async with seated(visit, game, Color.RED) as table:
        await table.turn()


STEPS: Final = (connects, join, join_name, join_answer, tournament_start, game_start)
