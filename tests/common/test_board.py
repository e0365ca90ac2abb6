"""Boards: JSON both ways, holes, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from croupier_common.board import MAX_FISH, Board
from croupier_common.errors import InvalidBoard
from croupier_common.grid import MAX_TILES, Grid, Position
from support.drawn import small_boards


def test_board_from_json_fills_rows_up_with_holes() -> None:
    board = Board.from_json([[1, 2], [], [3, 0, 4]])
    assert (board.rows, board.columns) == (3, 3)
    assert board.to_json() == [[1, 2, 0], [0, 0, 0], [3, 0, 4]]
    assert len(board) == 4
    assert board.tiles() == ((0, 0), (0, 1), (2, 0), (2, 2))


@given(small_boards())
def test_board_to_json_and_back_is_equal(rows: list[list[int]]) -> None:
    board = Board.from_json(rows)
    assert Board.from_json(json.loads(json.dumps(board.to_json()))) == board
    assert {len(row) for row in board.to_json()} == {max(map(len, rows))}
    assert hash(Board.from_json(board.to_json())) == hash(board)


@given(small_boards())
def test_board_spots_are_tiles_or_holes(rows: list[list[int]]) -> None:
    board = Board.from_json(rows)
    for row in range(-1, board.rows + 1):
        for column in range(-1, board.columns + 1):
            inside = 0 <= row < len(rows) and 0 <= column < len(rows[row])
            fish = rows[row][column] if inside else 0
            assert board[row, column] == fish
            assert (Position(row, column) in board.tiles()) == bool(fish)
    ones = [spot for spot in board.tiles() if board[spot] == 1]
    assert list(board.grid.positions(board.ones())) == ones
    assert list(board.grid.positions(board.mask)) == list(board.tiles())


def test_board_without_is_another_board() -> None:
    board = Board.from_json([[1, 2], [3, 1]])
    assert board.ones() == 0b1001
    less = board.without(0b1010)
    assert less == Board.from_json([[1, 0], [3, 0]])
    assert (len(less), less.ones(), less.mask) == (2, 0b0001, 0b0101)
    assert board == Board.from_json([[1, 2], [3, 1]])


def test_board_knows_its_grid_and_says_how_it_is_made() -> None:
    board = Board.from_json([[1, 2], [3, 0]])
    assert board.grid is Grid.of(2, 2)
    assert repr(board) == "Board(rows=2, columns=2, fish=(1, 2, 3, 0))"


@pytest.mark.parametrize("size", [1, 25, 26, 60])
def test_board_fish_and_size_have_no_limit_of_the_course(size: int) -> None:
    board = Board.from_json([[MAX_FISH] * size])
    assert (len(board), board[0, size - 1]) == (size, MAX_FISH)


REFUSED: list[tuple[Any, str]] = [
    (None, "a board is an array of one or more rows"),
    ([], "a board is an array of one or more rows"),
    ({}, "a board is an array of one or more rows"),
    ("[[1]]", "a board is an array of one or more rows"),
    ([[1], 2], "row 1 of the board is not an array"),
    ([[1], None], "row 1 of the board is not an array"),
    ([[], []], "the board has no spots"),
    (
        [[1, -1]],
        "the board has -1 at [0,1]; a tile has from 1 to 1000000 fish and a hole has 0",
    ),
    ([[1], [MAX_FISH + 1]], "the board has 1000001 at [1,0]; a tile has from 1 to"),
    ([[1, True]], "the board has True at [0,1]"),
    ([[1.0]], "the board has 1.0 at [0,0]"),
    ([["1"]], "the board has '1' at [0,0]"),
    ([[None]], "the board has None at [0,0]"),
    ([[[1]]], "the board has [1] at [0,0]"),
    ([[10**5000]], "the board has a int too large to show at [0,0]"),
    ([[float("nan")]], "the board has nan at [0,0]"),
    ([[1] * (MAX_TILES + 1)], "the board has 1 x 1601 spots; at most 1600 are allowed"),
    ([[]] * MAX_TILES + [[1]], "the board has 1601 x 1 spots; at most 1600 are allowed"),
]


@pytest.mark.parametrize(("value", "message"), REFUSED)
def test_board_from_json_refuses_with_one_line(value: Any, message: str) -> None:
    with pytest.raises(InvalidBoard) as caught:
        Board.from_json(value)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("fish", "message"),
    [
        ((1,), "1 spots for a board of 1 x 2"),
        ((1, -1), "a tile has from 1 to 1000000 fish and a hole has 0"),
        ((1, MAX_FISH + 1), "a tile has from 1 to 1000000 fish and a hole has 0"),
    ],
)
def test_board_of_fish_that_can_not_be_is_refused(fish: tuple[int, ...], message: str) -> None:
    with pytest.raises(InvalidBoard, match=f"^{message}$"):
        Board(1, 2, fish)
