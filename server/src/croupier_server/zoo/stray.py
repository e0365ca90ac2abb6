"""Actions against the rules, of every kind: each has one thing wrong with it, and no more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from croupier_common.grid import Position
from croupier_common.outcome import Color
from croupier_common.state import Stage, State

__all__ = ["MOVES", "PLACEMENTS", "stray_action"]

PLACEMENTS: Final = ("outside", "hole", "taken")
"""The kinds of placements that no rules allow."""

MOVES: Final = (
    "same",
    "outside",
    "negative",
    "huge",
    "out-of-line",
    "hole",
    "occupied",
    "through",
    "foreign",
    "nobody",
)
"""The kinds of moves that no rules allow."""

_HUGE: Final = 10**18


def stray_action(state: State, kind: str) -> object:
    """An action of that kind for whoever is to act, as JSON has it; None if there can be none.

    There is none where the last other penguin has left the board, say, and a foreign one is to
    be moved.
    """
    found = _placement if state.stage is Stage.PLACEMENT else _move
    return found(state, kind)


def _placement(state: State, kind: str) -> object:
    places = {
        "outside": iter([[state.board.rows, state.board.columns]]),
        "hole": (list(spot) for spot in _spots(state) if not state.board[spot]),
        "taken": (list(spot) for player in state.players for spot in player.penguins),
    }
    return next(places[kind], None)


def _move(state: State, kind: str) -> object:
    own = state.player(_turn(state)).penguins
    if kind in {"same", "outside", "negative", "huge"}:
        ends = {
            "same": own[0],
            "outside": (state.board.rows, state.board.columns),
            "negative": (-1, -1),
            "huge": (_HUGE, _HUGE),
        }
        return [list(own[0]), list(ends[kind])]
    if kind in {"foreign", "nobody"}:
        return next(_of_others(state, kind), None)
    return next((move for start in own for move in _onto(state, start, kind)), None)


def _of_others(state: State, kind: str) -> Iterator[object]:
    """Moves that would be legal if the penguin were there, and the player's own."""
    foreign = (spot for p in state.players if p.color is not state.turn for spot in p.penguins)
    starts = foreign if kind == "foreign" else (s for s in _spots(state) if _is_free(state, s))
    for start in starts:
        for ray in _rays(state, start):
            if ray and _is_free(state, ray[0]):
                yield [list(start), list(ray[0])]


def _onto(state: State, start: Position, kind: str) -> Iterator[object]:
    """Moves of an own penguin whose end is wrong."""
    rays = list(_rays(state, start))
    if kind == "out-of-line":
        in_line = {start, *(spot for ray in rays for spot in ray)}
        for spot in _spots(state):
            if spot not in in_line and _is_free(state, spot):
                yield [list(start), list(spot)]
        return
    for ray in rays:
        at = next((n for n, spot in enumerate(ray) if not _is_free(state, spot)), len(ray))
        wrong = {
            "hole": (spot for spot in ray[at : at + 1] if not state.board[spot]),
            "occupied": (spot for spot in ray[at : at + 1] if state.board[spot]),
            "through": (spot for spot in ray[at + 1 :] if _is_free(state, spot)),
        }
        for spot in wrong[kind]:
            yield [list(start), list(spot)]


def _turn(state: State) -> Color:
    assert state.turn is not None, "whoever is asked has the turn"
    return state.turn


def _spots(state: State) -> tuple[Position, ...]:
    grid = state.board.grid
    return grid.positions(grid.everything)


def _rays(state: State, start: Position) -> Iterator[list[Position]]:
    grid = state.board.grid
    for ray in grid.rays[grid.tile(start)]:
        yield [grid.position(tile) for tile in ray]


def _is_free(state: State, spot: Position) -> bool:
    return state.board[spot] > 0 and all(spot not in p.penguins for p in state.players)
