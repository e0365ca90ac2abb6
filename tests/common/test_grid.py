"""The grid: steps, lines and sets of tiles, against the picture's geometry in the oracle."""

from __future__ import annotations

import copy
import json
import pickle
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from croupier_common.errors import InvalidBoard
from croupier_common.grid import DIRECTIONS, MAX_TILES, Grid, Position, tiles_of
from support.oracle import STEPS, neighbours, step

SHAPES = [
    (1, 1),
    (1, 6),
    (6, 1),
    (2, 2),
    (3, 2),
    (5, 5),
    (7, 6),
    (15, 4),
    (4, 11),
    (30, 1),
    (21, 3),
]

shapes = pytest.mark.parametrize(("rows", "columns"), SHAPES)


def spots_ahead(grid: Grid, spot: tuple[int, int], direction: str) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    ahead = step(spot, direction)
    while ahead in grid:
        found.append(ahead)
        ahead = step(ahead, direction)
    return found


def subset(grid: Grid, seed: int, share: float) -> int:
    random = Random(seed)
    return sum(1 << tile for tile in range(grid.size) if random.random() < share)


def test_directions_are_in_canonical_order() -> None:
    assert DIRECTIONS == ("N", "NE", "SE", "S", "SW", "NW")


@shapes
def test_grid_rays_are_the_lines_of_the_picture(rows: int, columns: int) -> None:
    grid = Grid.of(rows, columns)
    for tile in range(grid.size):
        here = grid.position(tile)
        for direction, ray in zip(DIRECTIONS, grid.rays[tile], strict=True):
            assert [grid.position(ahead) for ahead in ray] == spots_ahead(grid, here, direction)


def test_grid_steps_are_those_of_the_rules_in_both_parities() -> None:
    grid = Grid.of(6, 5)
    even = [grid.position(ray[0]) for ray in grid.rays[grid.tile((2, 2))]]
    odd = [grid.position(ray[0]) for ray in grid.rays[grid.tile((3, 2))]]
    assert even == [(0, 2), (1, 2), (3, 2), (4, 2), (3, 1), (1, 1)]
    assert odd == [(1, 2), (2, 3), (4, 3), (5, 2), (4, 2), (2, 2)]


@shapes
def test_grid_near_is_the_neighbours_and_mutual(rows: int, columns: int) -> None:
    grid = Grid.of(rows, columns)
    for tile in range(grid.size):
        around = [spot for spot in neighbours(grid.position(tile)) if spot in grid]
        assert list(grid.positions(grid.near[tile])) == sorted(around)
        assert all(grid.near[other] >> tile & 1 for other in tiles_of(grid.near[tile]))


@shapes
def test_grid_grow_is_the_union_of_the_neighbours(rows: int, columns: int) -> None:
    grid = Grid.of(rows, columns)
    for seed in range(20):
        tiles = subset(grid, seed, 0.3)
        union = 0
        for tile in tiles_of(tiles):
            union |= grid.near[tile]
        assert grid.grow(tiles) == union


@given(
    shape=st.sampled_from([*SHAPES, (20, 20), (40, 2)]),
    seed=st.integers(0, 2**32),
    share=st.sampled_from([0.5, 0.8, 0.95, 1.0]),
)
def test_grid_reach_ends_before_what_is_not_free(
    shape: tuple[int, int], seed: int, share: float
) -> None:
    grid = Grid.of(*shape)
    free = subset(grid, seed, share)
    tile = seed % grid.size
    wanted = 0
    for ray in grid.rays[tile]:
        for ahead in ray:
            if not free >> ahead & 1:
                break
            wanted |= 1 << ahead
    assert grid.reach(tile, free) == wanted


@given(shape=st.sampled_from(SHAPES), seed=st.integers(0, 2**32))
def test_grid_reachable_ice_is_what_is_connected_with_a_penguin(
    shape: tuple[int, int], seed: int
) -> None:
    grid = Grid.of(*shape)
    penguins = subset(grid, seed, 0.1)
    free = subset(grid, seed + 1, 0.6) & ~penguins
    found: set[int] = set()
    waiting = list(tiles_of(penguins))
    while waiting:
        for tile in tiles_of(grid.near[waiting.pop()] & free):
            if tile not in found:
                found.add(tile)
                waiting.append(tile)
    assert set(tiles_of(grid.reachable_ice(penguins, free))) == found


def test_grid_classic_lines_are_the_rows_of_the_boxed_board() -> None:
    grid = Grid.of(15, 4)
    for line in range(8):
        length = 7 + line % 2
        tiles = [grid.tile((2 * k + (7 - line) % 2, (7 - line) // 2)) for k in range(length)]
        assert grid.rays[tiles[0]][DIRECTIONS.index("S")] == tuple(tiles[1:])
        assert not grid.rays[tiles[0]][DIRECTIONS.index("N")]
    edges_in_lines, edges_between_lines = 4 * 6 + 4 * 7, 7 * 7 * 2
    ends = sum(near.bit_count() for near in grid.near)
    assert ends == 2 * (edges_in_lines + edges_between_lines)


def test_grid_first_and_last_tile_have_neighbours() -> None:
    grid = Grid.of(5, 5)
    assert grid.positions(grid.near[0]) == ((1, 0), (2, 0))
    assert grid.positions(grid.near[24]) == ((2, 4), (3, 3), (3, 4))


@shapes
def test_grid_tile_numbers_are_positions_in_canonical_order(rows: int, columns: int) -> None:
    grid = Grid.of(rows, columns)
    positions = grid.positions(grid.everything)
    assert list(positions) == sorted(positions)
    assert [grid.tile(position) for position in positions] == list(range(rows * columns))
    assert all(position in grid for position in positions)


@pytest.mark.parametrize("spot", [(-1, 0), (0, -1), (5, 0), (0, 4), (10**30, 0), (0, -(10**30))])
def test_grid_does_not_contain_what_is_outside(spot: tuple[int, int]) -> None:
    assert spot not in Grid.of(5, 4)


@pytest.mark.parametrize(
    ("rows", "columns"), [(0, 1), (1, 0), (-1, -1), (41, 40), (1, MAX_TILES + 1)]
)
def test_grid_shape_empty_or_too_large_is_refused(rows: int, columns: int) -> None:
    with pytest.raises(InvalidBoard, match=f"{rows} x {columns} spots.* at most {MAX_TILES}"):
        Grid.of(rows, columns)


def test_grid_of_largest_shape_is_built() -> None:
    assert Grid.of(40, 40).size == MAX_TILES


def test_grid_is_one_object_however_it_travels() -> None:
    grid = Grid.of(5, 4)
    assert Grid.of(5, 4) is grid
    assert copy.deepcopy(grid) is grid
    assert pickle.loads(pickle.dumps(grid)) is grid
    assert repr(grid) == "Grid.of(5, 4)"


def test_tiles_of_gives_each_tile_once_ascending() -> None:
    assert list(tiles_of(0)) == []
    assert list(tiles_of(0b1000_0000_0101)) == [0, 2, 11]


def test_steps_opposite_directions_cancel_out() -> None:
    for spot in ((4, 4), (5, 4)):
        for direction, opposite in zip(DIRECTIONS, (*DIRECTIONS[3:], *DIRECTIONS[:3]), strict=True):
            assert step(step(spot, direction), opposite) == spot
    assert tuple(STEPS) == DIRECTIONS


@pytest.mark.parametrize(
    "text", ["[0,0]", "[12,3]", "[-1,0]", "[0,123456789012345678901234567890]"]
)
def test_position_from_json_takes_two_whole_numbers(text: str) -> None:
    position = Position.from_json(json.loads(text))
    assert position is not None
    assert position.to_json() == json.loads(text)
    assert str(position) == text


@pytest.mark.parametrize(
    "text",
    [
        *("null", "true", "7", '"00"', '"[0,0]"', "{}", '{"row":0,"column":0}'),
        *("[]", "[0]", "[0,0,0]", "[[0,0]]", "[[0],0]", "[0,null]"),
        *("[true,0]", "[0,false]", "[1.0,0]", "[0,1.0]", "[1e0,0]", '["1",0]', '[0,"1"]'),
        *("[NaN,0]", "[0,Infinity]", "[0,-Infinity]"),
    ],
)
def test_position_from_json_refuses_all_else(text: str) -> None:
    assert Position.from_json(json.loads(text)) is None


def test_position_too_large_to_print_is_still_shown() -> None:
    assert str(Position(10**5000, 0)) == "[a int too large to show,0]"
