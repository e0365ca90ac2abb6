"""Actions: notation, and what is no notation."""

from __future__ import annotations

import json
from typing import Any

import pytest

from croupier_common.actions import Move, Placement, move_from_json, placement_from_json
from croupier_common.errors import NotAnAction
from croupier_common.grid import Position

NUMBERS_THAT_ARE_NONE = [
    "true",
    "false",
    "1.0",
    "1e0",
    '"1"',
    "null",
    "NaN",
    "Infinity",
    "[1]",
    "{}",
]


@pytest.mark.parametrize("text", ["[0,0]", "[3,2]", "[-1,0]", "[0,99999999999999999999999999]"])
def test_placement_from_json_reads_positions_on_any_board_or_none(text: str) -> None:
    placement = placement_from_json(json.loads(text))
    assert placement == Placement(Position(*json.loads(text)))
    assert placement.to_json() == json.loads(text)
    assert str(placement) == text


@pytest.mark.parametrize("text", ["[[0,0],[2,0]]", "[[0,0],[0,0]]", "[[-1,-1],[99999999999999,0]]"])
def test_move_from_json_reads_two_positions_on_any_board_or_none(text: str) -> None:
    start, end = json.loads(text)
    move = move_from_json(json.loads(text))
    assert move == Move(Position(*start), Position(*end))
    assert move.to_json() == json.loads(text)
    assert str(move) == text


@pytest.mark.parametrize("bad", NUMBERS_THAT_ARE_NONE)
def test_placement_from_json_refuses_what_is_no_whole_number(bad: str) -> None:
    for text in (f"[{bad},0]", f"[0,{bad}]"):
        with pytest.raises(NotAnAction, match=r"^a placement is \[row, column\], two whole numb"):
            placement_from_json(json.loads(text))


@pytest.mark.parametrize("bad", NUMBERS_THAT_ARE_NONE)
@pytest.mark.parametrize("at", range(4))
def test_move_from_json_refuses_what_is_no_whole_number(bad: str, at: int) -> None:
    numbers = ["0", "1", "2", "3"]
    numbers[at] = bad
    value = json.loads("[[{},{}],[{},{}]]".format(*numbers))
    with pytest.raises(NotAnAction, match=r"^a move is \[\[row, column\], \[row, column\]\], from"):
        move_from_json(value)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "null",
            "false",
            "0",
            '"[0,0]"',
            "{}",
            "[]",
            "[0]",
            "[0,0,0]",
            "[[0,0]]",
            "[[0,0],[0,0]]",
        ),
        *("[[0],[0]]", '{"row":0,"column":0}', '[{"row":0},1]'),
    ],
)
def test_placement_from_json_refuses_other_shapes(text: str) -> None:
    with pytest.raises(NotAnAction):
        placement_from_json(json.loads(text))


@pytest.mark.parametrize(
    "text",
    [
        *("null", "false", "0", '"x"', "{}", "[]", "[0,0]", "[[0,0]]", "[[0,0],[0,0],[0,0]]"),
        *("[[0,0],[0]]", "[[0,0,0],[0,0]]", "[[0,0],null]", "[[[0,0]],[0,0]]"),
    ],
)
def test_move_from_json_refuses_other_shapes(text: str) -> None:
    with pytest.raises(NotAnAction):
        move_from_json(json.loads(text))


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("parse", [placement_from_json, move_from_json])
def test_message_of_a_refusal_is_short_whatever_was_sent(parse: Any) -> None:
    deep = nested(100_000)
    for value in (deep, [deep, deep], [deep, 0], ["x" * 10**5, 0], [10**5000], "\n\n"):
        with pytest.raises(NotAnAction) as caught:
            parse(value)
        assert len(str(caught.value)) < 250
        assert "\n" not in str(caught.value)


def test_actions_sort_by_row_and_column_from_then_to() -> None:
    spots = [Position(0, 2), Position(10, 0), Position(1, 0), Position(0, 1)]
    in_order = [(0, 1), (0, 2), (1, 0), (10, 0)]
    assert [place.at for place in sorted(map(Placement, spots))] == in_order
    moves = [Move(start, end) for start in spots for end in spots]
    wanted = [(start, end) for start in in_order for end in in_order]
    assert [(move.start, move.end) for move in sorted(moves)] == wanted
