"""Games that are played before anything is measured, so that answering costs nothing then."""

from __future__ import annotations

import json

from croupier_common.board import Board
from croupier_common.board_spec import CLASSIC_BOARD
from croupier_common.game import Game
from croupier_common.outcome import Color
from croupier_common.rules import PRESETS
from croupier_common.strategies import make

__all__ = ["COLORS", "answers", "board"]

COLORS = (Color.RED, Color.WHITE)
"""The seats of each table."""


def board(table: int) -> Board:
    """A table's board: the 60 tiles of the boxed game, shuffled by the table's number."""
    return CLASSIC_BOARD.build(table, rules=PRESETS["classic"], players=len(COLORS))


def answers(tables: int, rules: str) -> dict[str, str]:
    """By ``TABLE:SEQ``, the answers of two random players at so many tables."""
    found: dict[str, str] = {}
    for table in range(1, tables + 1):
        game = Game(str(table), board(table), COLORS, PRESETS[rules])
        player = make("random", seed=table)
        game.begin()
        while (request := game.request) is not None:
            action = player.choose(request.state)
            found[request.id] = json.dumps(action.to_json(), separators=(",", ":"))
            game.act(action)
    return found
