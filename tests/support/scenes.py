"""Small states to start from, mostly on boards of one column.

There, row r lies next to r - 2, r - 1, r + 1 and r + 2, and r - 4 and r + 4 are further on in line.
"""

from __future__ import annotations

from croupier_common.actions import Move
from croupier_common.board import Board
from croupier_common.draft import Stage
from croupier_common.grid import Position
from croupier_common.outcome import Color, Outcome
from croupier_common.rules import Rules
from croupier_common.state import PlayerState, State

RED, WHITE, BROWN, BLACK = Color


def column(*fish: int) -> Board:
    return Board(len(fish), 1, fish)


def at(*rows: int) -> tuple[Position, ...]:
    return tuple(Position(row, 0) for row in rows)


def move(start: int, end: int) -> Move:
    return Move(Position(start, 0), Position(end, 0))


def moving(
    board: Board,
    rules: Rules,
    *penguins: tuple[Position, ...],
    turn: Color = RED,
    fish: tuple[int, ...] = (0, 0, 0, 0),
) -> State:
    """A state in movement of as many players as there are tuples of penguins."""
    players = tuple(
        PlayerState(color, held, 0, own)
        for color, own, held in zip(Color, penguins, fish, strict=False)
    )
    return State(board, players, turn, Stage.MOVEMENT, len(penguins[0]), rules)


def turns_until(state: State, stage: Stage) -> list[str]:
    """Whose turns follow while the first legal action is always taken."""
    turns: list[str] = []
    while state.stage is not stage:
        turns.append(str(state.turn))
        state = state.apply(next(iter(state.legal_actions)))
    return turns


def outcome_of(state: State) -> Outcome:
    assert state.outcome is not None
    return state.outcome
