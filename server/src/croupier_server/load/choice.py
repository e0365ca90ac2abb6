"""A legal answer at little cost: any free tile, or any single step of an own penguin.

Who can move at all can move one step, so this finds something whenever there is something; and it
holds for all rules, since these differ in where penguins are placed, and in nothing else that is
asked. Playing at random makes for long games, and games that differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from croupier_common.grid import Grid, tiles_of
from croupier_common.rules import Rules

__all__ = ["answer", "is_one_fish"]

Call = dict[str, Any]


def answer(call: Call, one_fish: bool, random: Random) -> object:
    """What to answer a request to place or to move; None if nothing is found.

    Args:
        one_fish: whether penguins are placed on tiles with one fish only.
    """
    params = call["params"]
    if actions := params.get("legal_actions"):
        return random.choice(actions)
    state = params["state"]
    if call["method"] == "place":
        return _placement(state, one_fish, random)
    return _step(state, params["you"], random)


def is_one_fish(rules: object) -> bool:
    """Whether a game's rules, as `game_start` tells them, place penguins on one fish only."""
    return Rules.from_json(rules).placement == "one_fish"


def _placement(state: Call, one_fish: bool, random: Random) -> object:
    taken = {tuple(spot) for player in state["players"] for spot in player["penguins"]}
    free = [
        [row, column]
        for row, fishes in enumerate(state["board"])
        for column, fish in enumerate(fishes)
        if fish and (fish == 1 or not one_fish) and (row, column) not in taken
    ]
    return random.choice(free) if free else None


def _step(state: Call, you: str, random: Random) -> object:
    board: Sequence[Sequence[int]] = state["board"]
    columns = len(board[0])
    grid = Grid.of(len(board), columns)
    free, bit = 0, 1
    for row in board:
        for fish in row:
            if fish:
                free |= bit
            bit <<= 1
    own: list[int] = []
    for player in state["players"]:
        tiles = [row * columns + column for row, column in player["penguins"]]
        for tile in tiles:
            free &= ~(1 << tile)
        if player["color"] == you:
            own = tiles
    random.shuffle(own)
    for start in own:
        if ends := list(tiles_of(grid.near[start] & free)):
            return [divmod(start, columns), divmod(random.choice(ends), columns)]
    return None
