"""Steps: boards of all shapes, played on to the end."""

from __future__ import annotations

from typing import Final

from croupier_client.check.checker import Checker
from croupier_client.check.table import board, seated
from croupier_common.board import Board
from croupier_common.game import Game
from croupier_common.outcome import Color
from croupier_common.rules import CLASSIC, FISH, Rules

__all__ = ["STEPS"]

_BIG_TURNS: Final = 12


async def _play(
    check: Checker, ice: Board, rules: Rules = FISH, you: Color = Color.RED, turns: int = 1_000
) -> None:
    visit = await check.visit()
    game = Game(check.game_id(), ice, [Color.RED, Color.WHITE], rules)
    async with seated(visit, game, you) as table:
        await table.play(turns)


async def board_with_holes(check: Checker) -> None:
    """It neither places on holes nor moves over them."""
    await _play(check, board("6x5,holes=9,fish=1-5"))


async def board_without_origin(check: Checker) -> None:
    """It plays on a board whose corners, the first tile among them, are holes."""
    fish = [[0, 0, 0, 2], [0, 1, 3, 0], [2, 1, 4, 1], [1, 5, 1, 2], [0, 2, 1, 0], [3, 1, 0, 0]]
    await _play(check, Board.from_json(fish), you=Color.WHITE)


async def board_of_one_row(check: Checker) -> None:
    """It places on a board of a single row, where nobody can ever move."""
    await _play(check, Board.from_json([[1, 2, 3, 4, 5, 4, 3, 2, 1]]))


async def board_of_one_column(check: Checker) -> None:
    """It plays on a board of a single column."""
    await _play(check, Board.from_json([[1 + at % 5] for at in range(14)]))


async def board_for_one_fish(check: Checker) -> None:
    """With the rules classic, it places on tiles with one fish only."""
    await _play(check, board("5x5,fish=1-5,one_fish=9", rules=CLASSIC), CLASSIC)


async def board_of_400_tiles(check: Checker) -> None:
    """It copes with a board of 20 by 20, whose messages are large."""
    await _play(check, board("20x20,holes=30,fish=1-5"), turns=_BIG_TURNS)


async def board_with_many_fish(check: Checker) -> None:
    """It copes with tiles that have more fish than fit into 16 bits."""
    fish = [[1, 100_000, 3, 1], [1_000_000, 1, 70_000, 2], [5, 65_536, 1, 1], [1, 2, 3, 40_000]]
    await _play(check, Board.from_json(fish))


STEPS: Final = (
    board_with_holes,
    board_without_origin,
    board_of_one_row,
    board_of_one_column,
    board_for_one_fish,
    board_of_400_tiles,
    board_with_many_fish,
)
