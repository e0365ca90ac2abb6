"""The grid of hexagons: positions, directions, and the integer tables that all rules stand on.

A tile is a number, ``row * columns + column``, so ascending tiles are positions in canonical
order; a set of tiles is an ``int`` with bit *n* for tile *n*. Hexagons are flat-top and odd rows
are shifted right by half a tile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

from croupier_common.errors import InvalidBoard
from croupier_common.jsontypes import is_array, shown

__all__ = ["DIRECTIONS", "MAX_TILES", "Grid", "Position", "tiles_of"]

MAX_TILES = 1_600
"""The largest grid that is built at all, in tiles: 40 x 40, or any shape with as many."""

DIRECTIONS = ("N", "NE", "SE", "S", "SW", "NW")
"""The six directions in canonical order."""

_EVEN_ROW = ((-2, 0), (-1, 0), (1, 0), (2, 0), (1, -1), (-1, -1))
_ODD_ROW = ((-2, 0), (-1, 1), (1, 1), (2, 0), (1, 0), (-1, 0))
_TABLED_LINE = 8
"""Lines with up to so many other tiles get a table (2**8 entries); longer ones are computed."""


class Position(NamedTuple):
    """A spot on a board, both numbers from 0, row 0 at the top."""

    row: int
    column: int

    def to_json(self) -> list[int]:
        """The position as ``[row, column]``."""
        return [self.row, self.column]

    @classmethod
    def from_json(cls, value: object) -> Position | None:
        """The position that an array of exactly two whole numbers says; None for all else."""
        if is_array(value) and len(value) == 2:
            row, column = value
            if type(row) is int and type(column) is int:  # no bool, which is an int too
                # what cls(row, column) does, without the function around it
                return tuple.__new__(cls, value)  # pyright: ignore[reportUnknownMemberType]
        return None

    def __str__(self) -> str:
        return f"[{shown(self.row, 40)},{shown(self.column, 40)}]"


def tiles_of(mask: int) -> Iterator[int]:
    """The tiles in a set, ascending."""
    while mask:
        bit = mask & -mask
        yield bit.bit_length() - 1
        mask ^= bit


Lines = tuple[int, dict[int, int], int, dict[int, int], int, dict[int, int]]
"""For each axis through a tile: the set of its other tiles; free ones among them -> reachable."""


class _LongLine(dict[int, int]):
    """A line too long for a table: looked up like one, but each answer is computed.

    Tile numbers rise along every axis, so a penguin reaches the free tiles between the nearest
    number below and above its own that is not free.
    """

    __slots__ = ("above", "below")

    def __init__(self, tile: int, others: int) -> None:
        super().__init__()
        self.below = others & ((1 << tile) - 1)
        self.above = others ^ self.below

    def __missing__(self, free: int) -> int:
        below = self.below & ~free
        above = self.above & ~free
        return free & -(1 << below.bit_length()) & ((above & -above) - 1)


def _line(tile: int, ray: tuple[int, ...], opposite: tuple[int, ...]) -> tuple[int, dict[int, int]]:
    others = sum(1 << other for other in ray + opposite)
    compute = _LongLine(tile, others)
    if len(ray) + len(opposite) > _TABLED_LINE:
        return others, compute
    return others, {free: compute[free] for free in _subsets(others)}


def _subsets(mask: int) -> Iterator[int]:
    """Every subset of a set, from all of it down to the empty one."""
    subset = mask
    while True:
        yield subset
        if not subset:
            return
        subset = (subset - 1) & mask


def _grower(rows: int, columns: int) -> Callable[[int], int]:
    """The function from a set of tiles on such a grid to the union of their neighbours."""
    line = (1 << columns) - 1
    even = sum(line << row * columns for row in range(0, rows, 2))
    odd = sum(line << row * columns for row in range(1, rows, 2))
    first = sum(1 << row * columns for row in range(rows))
    inner_even = even & ~first
    inner_odd = odd & ~(first << columns - 1)
    whole = even | odd
    two, left, right = 2 * columns, columns - 1, columns + 1

    def grow(tiles: int) -> int:
        evens, odds = tiles & inner_even, tiles & inner_odd
        return (
            tiles >> two
            | tiles << two
            | tiles >> columns
            | tiles << columns
            | evens >> right
            | evens << left
            | odds >> left
            | odds << right
        ) & whole

    return grow


class Grid:
    """The geometry of a board shape; get one from :meth:`of`, which keeps those in use.

    ``near[t]`` is the set of tile t's neighbours, and ``grow`` gives the union of those of a set
    of tiles. ``lines[t]`` are, flat, for each of the three axes through t, the set of the other
    tiles on it and a table from the free ones among them to those that a penguin on t reaches.
    ``rays[t][d]`` are the tiles from t in direction d, nearest first. Building costs time and
    memory in proportion to the tiles times the length of the lines. ``position`` gives the position
    of a tile, ``tile_at`` the tile of a position, or None if that is not on the grid.
    """

    __slots__ = (
        "columns",
        "everything",
        "grow",
        "lines",
        "near",
        "position",
        "rays",
        "rows",
        "size",
        "tile_at",
    )

    def __init__(self, rows: int, columns: int) -> None:
        if rows < 1 or columns < 1 or rows * columns > MAX_TILES:
            raise InvalidBoard(
                f"a board of {rows} x {columns} spots: at least 1 x 1 and at most "
                f"{MAX_TILES} spots are allowed"
            )
        self.rows = rows
        self.columns = columns
        self.size = rows * columns
        self.everything = (1 << self.size) - 1
        self.grow = _grower(rows, columns)
        positions = tuple(Position(row, column) for row in range(rows) for column in range(columns))
        self.position: Callable[[int], Position] = positions.__getitem__
        self.tile_at: Callable[[Position], int | None] = {
            position: tile for tile, position in enumerate(positions)
        }.get
        self.rays = tuple(
            tuple(tuple(self._ray(tile, direction)) for direction in range(6))
            for tile in range(self.size)
        )
        self.near = tuple(sum(1 << ray[0] for ray in rays if ray) for rays in self.rays)
        self.lines: tuple[Lines, ...] = tuple(
            (
                *_line(tile, rays[0], rays[3]),
                *_line(tile, rays[1], rays[4]),
                *_line(tile, rays[2], rays[5]),
            )
            for tile, rays in enumerate(self.rays)
        )

    @staticmethod
    @lru_cache(maxsize=32)
    def of(rows: int, columns: int) -> Grid:
        """The grid of that shape, built once while it is in use.

        Raises:
            InvalidBoard: the shape is empty or has more than ``MAX_TILES`` spots.
        """
        return Grid(rows, columns)

    def _ray(self, tile: int, direction: int) -> Iterator[int]:
        row, column = divmod(tile, self.columns)
        while True:
            d_row, d_column = (_ODD_ROW if row % 2 else _EVEN_ROW)[direction]
            row += d_row
            column += d_column
            if not (0 <= row < self.rows and 0 <= column < self.columns):
                return
            yield row * self.columns + column

    def __repr__(self) -> str:
        return f"Grid.of({self.rows}, {self.columns})"

    def __reduce__(self) -> tuple[Callable[[int, int], Grid], tuple[int, int]]:
        """A copy, or what another process gets, is that process's own grid of the shape."""
        return Grid.of, (self.rows, self.columns)

    def __contains__(self, position: tuple[int, int]) -> bool:
        return 0 <= position[0] < self.rows and 0 <= position[1] < self.columns

    def tile(self, position: tuple[int, int]) -> int:
        """The number of the tile at a position that is on the grid."""
        return position[0] * self.columns + position[1]

    def positions(self, mask: int) -> tuple[Position, ...]:
        """The positions of a set of tiles, in canonical order."""
        return tuple(self.position(tile) for tile in tiles_of(mask))

    def reach(self, tile: int, free: int) -> int:
        """The set of tiles that a penguin on `tile` can move to, given the free ones."""
        m0, t0, m1, t1, m2, t2 = self.lines[tile]
        return t0[free & m0] | t1[free & m1] | t2[free & m2]

    def reachable_ice(self, penguins: int, free: int) -> int:
        """The free tiles that any of a set of penguins could ever get to, in however many moves."""
        grow = self.grow
        edge = grow(penguins) & free
        found = edge
        while edge and found != free:
            edge = grow(edge) & free & ~found
            found |= edge
        return found
