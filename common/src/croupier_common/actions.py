"""What a player can do: place a penguin or move one."""

from __future__ import annotations

from dataclasses import dataclass

from croupier_common.errors import NotAnAction
from croupier_common.grid import Position
from croupier_common.jsontypes import as_json, is_array

__all__ = ["Action", "Move", "Placement", "move_from_json", "placement_from_json"]


@dataclass(frozen=True, slots=True, order=True)
class Placement:
    """A penguin is put on a tile."""

    at: Position

    def to_json(self) -> list[int]:
        """``[row, column]``."""
        return [*self.at]

    def __str__(self) -> str:
        return str(self.at)


@dataclass(frozen=True, slots=True, order=True)
class Move:
    """A penguin goes from one tile to another."""

    start: Position
    end: Position

    def to_json(self) -> list[list[int]]:
        """``[[row, column], [row, column]]``, from and to."""
        return [[*self.start], [*self.end]]

    def __str__(self) -> str:
        return f"[{self.start},{self.end}]"


Action = Placement | Move


def placement_from_json(value: object) -> Placement:
    """The placement that a JSON value says.

    Raises:
        NotAnAction: it is not an array of exactly two whole numbers.
    """
    at = Position.from_json(value)
    if at is None:
        raise NotAnAction(f"a placement is [row, column], two whole numbers, not {as_json(value)}")
    return Placement(at)


def move_from_json(value: object) -> Move:
    """The move that a JSON value says.

    Raises:
        NotAnAction: it is not an array of exactly two positions.
    """
    if is_array(value) and len(value) == 2:
        start, end = Position.from_json(value[0]), Position.from_json(value[1])
        if start is not None and end is not None:
            return Move(start, end)
    raise NotAnAction(
        "a move is [[row, column], [row, column]], from and to in whole numbers, "
        f"not {as_json(value)}"
    )
