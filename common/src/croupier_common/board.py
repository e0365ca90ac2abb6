"""Boards: a grid with fish on its tiles and holes where there is no tile."""

from __future__ import annotations

from dataclasses import dataclass, field

from croupier_common.errors import InvalidBoard
from croupier_common.grid import MAX_TILES, Grid, Position, tiles_of
from croupier_common.jsontypes import is_array, is_whole, shown

__all__ = ["MAX_FISH", "Board"]

MAX_FISH = 1_000_000
"""The most fish that one tile may have."""


@dataclass(frozen=True, slots=True)
class Board:
    """Fish by tile, row by row; 0 is a hole. Boards are values; removing tiles makes a new one.

    Raises:
        InvalidBoard: a shape or a number of fish that can't be.
    """

    rows: int
    columns: int
    fish: tuple[int, ...]
    mask: int = field(default=-1, repr=False, compare=False)
    """The set of tiles that are there."""
    grid: Grid = field(init=False, repr=False, compare=False)
    """The geometry of this board's shape."""
    _ones: int = field(default=-1, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        grid = Grid.of(self.rows, self.columns)
        object.__setattr__(self, "grid", grid)
        if self.mask < 0:
            if len(self.fish) != grid.size:
                raise InvalidBoard(
                    f"{len(self.fish)} spots for a board of {self.rows} x {self.columns}"
                )
            if not all(0 <= fish <= MAX_FISH for fish in self.fish):
                raise InvalidBoard(f"a tile has from 1 to {MAX_FISH} fish and a hole has 0")
            object.__setattr__(
                self, "mask", sum(1 << tile for tile, fish in enumerate(self.fish) if fish)
            )

    def __getitem__(self, position: tuple[int, int]) -> int:
        """The fish at a position; 0 for a hole and for anywhere outside."""
        return self.fish[self.grid.tile(position)] if position in self.grid else 0

    def __len__(self) -> int:
        """The number of tiles."""
        return self.mask.bit_count()

    def tiles(self) -> tuple[Position, ...]:
        """The positions that have a tile, in canonical order."""
        return self.grid.positions(self.mask)

    def ones(self) -> int:
        """The set of tiles with exactly one fish."""
        if self._ones < 0:
            ones = sum(1 << tile for tile, fish in enumerate(self.fish) if fish == 1)
            object.__setattr__(self, "_ones", ones)
        return self._ones

    def without(self, tiles: int) -> Board:
        """The board with a set of its tiles gone."""
        fish = list(self.fish)
        for tile in tiles_of(tiles):
            fish[tile] = 0
        return Board(self.rows, self.columns, tuple(fish), self.mask & ~tiles)

    def to_json(self) -> list[list[int]]:
        """The board as an array of rows of equal length, holes as 0."""
        width = self.columns
        return [list(self.fish[at : at + width]) for at in range(0, len(self.fish), width)]

    @classmethod
    def from_json(cls, value: object) -> Board:
        """A board from an array of rows, which may be of unequal length.

        The longest row sets the width, and what is missing is holes.

        Raises:
            InvalidBoard: it is no such array, it is empty or too large, or a number is not a
                whole one from 0 to ``MAX_FISH``.
        """
        if not is_array(value) or not value:
            raise InvalidBoard("a board is an array of one or more rows")
        rows: list[list[object]] = []
        for number, row in enumerate(value):
            if not is_array(row):
                raise InvalidBoard(f"row {number} of the board is not an array")
            rows.append(row)
        columns = max(len(row) for row in rows)
        if columns * len(rows) > MAX_TILES:
            raise InvalidBoard(
                f"the board has {len(rows)} x {columns} spots; at most {MAX_TILES} are allowed"
            )
        if not columns:
            raise InvalidBoard("the board has no spots")
        fish: list[int] = []
        for number, row in enumerate(rows):
            for column, count in enumerate(row):
                if not is_whole(count) or not 0 <= count <= MAX_FISH:
                    raise InvalidBoard(
                        f"the board has {shown(count, 40)} at [{number},{column}]; a tile has "
                        f"from 1 to {MAX_FISH} fish and a hole has 0"
                    )
                fish.append(count)
            fish.extend([0] * (columns - len(row)))
        return cls(len(rows), columns, tuple(fish))
