"""The course's programs `xboard`, `xstate`, `xtree`, `xstrategy` and `xref` as functions.

Each takes the JSON value that the program reads and gives the one that it writes. For input that
they don't take, all of them raise :class:`~croupier_server.errors.UserError` or, where the game
itself refuses it, :class:`~croupier_common.errors.FishError`: one clear line either way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from croupier_common.board import Board
from croupier_common.grid import Grid, Position
from croupier_common.state_checks import check_penguins
from croupier_common.strategies.minimax import best_move
from croupier_server.course import codec
from croupier_server.course.codec import CourseState
from croupier_server.course.match import winners
from croupier_server.errors import UserError

__all__ = ["HARNESSES", "xboard", "xref", "xstate", "xstrategy", "xtree"]


def xboard(value: object) -> int:
    """How many tiles a penguin reaches in one move from a position of an empty board.

    ``{"position": [row, column], "board": [[...], ...]}``
    """
    what = "the input"
    board = Board.from_json(codec.field(value, "board", what))
    at = codec.position(codec.field(value, "position", what), "position")
    check_penguins(board, [[at]])
    return board.grid.reach(board.grid.tile(at), board.mask).bit_count()


def xstate(value: object) -> Any:
    """The state after the first player's first penguin went one step, the players rotated.

    It goes in the first possible direction of N, NE, SE, S, SW, NW; false if there is none.
    """
    state = codec.state(value, "the input")
    if not state.players or not state.players[0].places:
        return False
    start = state.players[0].places[0]
    kernel = state.kernel()
    end = next(
        (tile for tile in _neighbours(kernel.grid, start) if kernel.free >> tile & 1),
        None,
    )
    if end is None:
        return False
    return _moved(state, 0, kernel.grid.position(end)).to_json()


def xtree(value: object) -> Any:
    """The second player's move next to where the first one just went; false if there is none.

    ``{"state": State, "from": [row, column], "to": [row, column]}``. It goes to the first
    neighbour of `to`, in the order of directions, that any of its penguins reaches; of several
    penguins, the one on the lowest row, then column, goes.
    """
    what = "the input"
    state = codec.state(codec.field(value, "state", what))
    start = codec.position(codec.field(value, "from", what), "from")
    to = codec.position(codec.field(value, "to", what), "to")
    slot = _slot(state, start, to)
    if len(state.players) < 2:
        return False
    after = _moved(state, slot, to)
    kernel = after.kernel()
    for end in _neighbours(kernel.grid, to):
        for penguin in sorted(kernel.penguins[0]):
            if kernel.grid.reach(penguin, kernel.free) >> end & 1:
                return _action(kernel.grid, (penguin, end))
    return False


def xstrategy(value: object) -> Any:
    """The first player's best move when it looks so many of its turns ahead; false if it has none.

    ``[depth, State]``
    """
    turns, rest = codec.pair(value, "the input", "[depth, state]")
    depth = codec.depth(turns, "the depth")
    state = codec.state(rest)
    if not state.players:
        return False
    kernel = state.kernel()
    best = best_move(kernel, 0, depth)
    return False if best is None else _action(kernel.grid, best)


def xref(value: object) -> list[str]:
    """The winners' names of a game between the given players, sorted by code points.

    ``{"row": r, "column": c, "players": [[name, depth], ...], "fish": f}``. A name stands there
    once for each winner that has it.
    """
    match = codec.match(value)
    return sorted(match.entrants[seat].name for seat in winners(match))


HARNESSES: Final[Mapping[str, Callable[[object], Any]]] = MappingProxyType(
    {"xboard": xboard, "xstate": xstate, "xtree": xtree, "xstrategy": xstrategy, "xref": xref}
)
"""The programs by name."""


def _neighbours(grid: Grid, at: Position) -> list[int]:
    """The tiles next to a position, in the order of directions."""
    return [ray[0] for ray in grid.rays[grid.tile(at)] if ray]


def _slot(state: CourseState, start: Position, to: Position) -> int:
    """The slot of the first player's penguin that makes a move.

    Raises:
        UserError: the move is not legal.
    """
    places = state.players[0].places if state.players else ()
    if start not in places:
        raise UserError(f"no penguin of the first player stands on from, {start!s:.60}")
    kernel = state.kernel()
    grid: Grid = kernel.grid
    if to not in grid or not grid.reach(grid.tile(start), kernel.free) >> grid.tile(to) & 1:
        raise UserError(f"{start} to {to!s:.60} is no legal move of the first player")
    return places.index(start)


def _moved(state: CourseState, slot: int, to: Position) -> CourseState:
    """The state after a legal move of the first player, who is then the last."""
    board, mover = state.board, state.players[0]
    start = mover.places[slot]
    after = replace(
        mover,
        score=mover.score + board[start],
        places=(*mover.places[:slot], to, *mover.places[slot + 1 :]),
    )
    return CourseState(
        board=board.without(1 << board.grid.tile(start)), players=(*state.players[1:], after)
    )


def _action(grid: Grid, move: tuple[int, int]) -> list[list[int]]:
    return [grid.position(tile).to_json() for tile in move]
