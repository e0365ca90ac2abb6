"""States as JSON: both forms, both ways, and every state that is refused."""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from croupier_common.board import Board
from croupier_common.draft import Stage
from croupier_common.errors import InvalidBoard, InvalidRules, InvalidState
from croupier_common.grid import Position
from croupier_common.notation import (
    state_from_course,
    state_from_json,
    state_to_course,
    state_to_json,
)
from croupier_common.outcome import Color
from croupier_common.rules import CLASSIC, FISH, Rules
from croupier_common.state import PlayerState, State
from croupier_common.verdict import Verdict
from support.drawn import options, player_colors, random_game, small_boards, unchecked
from support.scenes import BROWN, RED, WHITE, at, column, moving

Json = dict[str, Any]


def through_text(value: object) -> Any:
    return json.loads(json.dumps(value))


# -- the project's own form


@given(
    board=small_boards(),
    option=options(),
    colors=player_colors(),
    seed=st.integers(0, 2**32),
)
def test_state_of_any_game_comes_back_from_its_json(
    board: list[list[int]], option: dict[str, str], colors: list[Color], seed: int
) -> None:
    random, rules = Random(seed), Rules(**option)
    state, _ = unchecked(Board.from_json(board), colors, rules).settle()
    while True:
        back = state_from_json(through_text(state_to_json(state)))
        assert back == state
        assert list(back.legal_actions) == list(state.legal_actions)
        if state.is_over:
            break
        if random.random() < 0.1:
            color = random.choice(state.active).color
            state, events = state.eject(color, Verdict.TIMEOUT)
            assert back.eject(color, Verdict.TIMEOUT) == (state, events)
        else:
            action = random.choice(list(state.legal_actions))
            state, events = state.step(action)
            assert back.step(action) == (state, events)


@pytest.mark.parametrize("absent", [[RED], [RED, WHITE], [RED, WHITE, BROWN]])
def test_state_with_players_absent_comes_back_from_its_json(absent: list[Color]) -> None:
    state = State.begin(column(*[1] * 9), [RED, WHITE, BROWN], absent=absent)
    assert state_from_json(through_text(state_to_json(state))) == state


def test_state_without_rules_takes_those_given() -> None:
    board = Board.from_json([[1] * 5] * 5)
    state = State.begin(board, [RED, WHITE], CLASSIC)
    value = through_text(state_to_json(state, whole=False))
    assert "rules" not in value
    assert "out" not in value
    assert state_from_json(value, CLASSIC) == state
    assert state_from_json(value).rules == FISH


def test_state_to_json_is_as_documented() -> None:
    state = moving(column(1, 2, 3), FISH, at(0), at(2), fish=(4, 5))
    assert state_to_json(state) == {
        "board": [[1], [2], [3]],
        "players": [
            {"color": "red", "fish": 4, "tiles": 0, "penguins": [[0, 0]]},
            {"color": "white", "fish": 5, "tiles": 0, "penguins": [[2, 0]]},
        ],
        "turn": "red",
        "stage": "movement",
        "penguins_each": 1,
        "rules": "fish",
        "out": {"ejected": 0, "islands": 0, "lifted": 0},
    }


def test_state_with_unknown_fields_is_read_without_them() -> None:
    value = scene()
    value["later"] = value["players"][0]["later"] = 1
    assert state_from_json(value) == state_from_json(scene())


def scene() -> Json:
    """A right state, to be made wrong: two players with two penguins on a ragged board."""
    return {
        "board": [[1, 2, 3], [0, 5], [1, 1, 1], [2, 2, 2]],
        "players": [
            {"color": "red", "fish": 3, "tiles": 1, "penguins": [[0, 0], [1, 1]]},
            {"color": "white", "fish": 0, "tiles": 0, "penguins": [[2, 0], [3, 2]]},
            {"color": "black", "fish": 0, "tiles": 0, "penguins": [], "ejected": True},
        ],
        "turn": "white",
        "stage": "movement",
        "penguins_each": 2,
        "rules": "fish",
        "out": {"ejected": 7, "islands": 0, "lifted": 0},
    }


class Gone:
    """Instead of a value: there is none."""

    def __repr__(self) -> str:
        return "gone"


GONE = Gone()


def changed(whole: Json, path: str, value: object) -> Json:
    """A copy of a state with another value at a path like `players.0.fish`."""
    copied = copy.deepcopy(whole)
    *way, last = [int(key) if key.isdigit() else key for key in path.split(".")]
    part: Any = copied
    for key in way:
        part = part[key]
    if isinstance(value, Gone):
        del part[last]
    else:
        part[last] = value
    return copied


REFUSED: list[tuple[str, object, str]] = [
    ("players.0.penguins", [[0, 0], [1, 0]], "a penguin at [1,0] stands on a hole"),
    ("players.0.penguins", [[0, 0], [1, 2]], "a penguin at [1,2] stands on a hole"),
    ("players.0.penguins", [[0, 0], [4, 0]], "at [4,0] is outside the board of 4 rows and 3"),
    ("players.0.penguins", [[0, 0], [-1, 0]], "at [-1,0] is outside the board"),
    ("players.0.penguins", [[0, 0], [0, 10**30]], "is outside the board"),
    ("players.0.penguins", [[0, 0], [0, 10**5000]], "is outside the board"),
    ("players.0.penguins", [[0, 0], [2, 0]], "two penguins stand on [2,0]"),
    ("players.0.penguins", [[0, 0], [0, 0]], "two penguins stand on [0,0]"),
    ("players.0.penguins", [[0, True], [1, 1]], "[0, True] in penguins of players[0] is not [row"),
    ("players.0.penguins", [[0, 0.0], [1, 1]], "is not [row, column]"),
    ("players.0.penguins", [["0", 0], [1, 1]], "is not [row, column]"),
    ("players.0.penguins", "none", "penguins of players[0] is not an array"),
    ("players.0.penguins", GONE, "players[0] has no 'penguins'"),
    ("players.0.penguins", [[0, 0]], "red has 1 penguins, not 2, in movement"),
    ("players.0.penguins", [], "red has 0 penguins, not 2, in movement"),
    ("penguins_each", 1, "red has 2 penguins; each player has 1"),
    ("penguins_each", 3, "red has 2 penguins, not 3, in movement"),
    ("penguins_each", 0, "penguins_each of the state is 0, not a whole number from 1 to 4"),
    ("penguins_each", 5, "penguins_each of the state is 5, not a whole number from 1 to 4"),
    ("penguins_each", True, "penguins_each of the state is True, not a whole number"),
    ("penguins_each", GONE, "the state has no 'penguins_each'"),
    ("players.1.color", "red", "two players have one colour: red, red, black"),
    (
        "players.1.color",
        "green",
        "colour 'green' in players[1]; there are red, white, brown, black",
    ),
    ("players.1.color", 7, "colour 7 in players[1]"),
    ("players.1.color", [[]], "colour [[]] in players[1]"),
    ("players.1.color", GONE, "players[1] has no 'color'"),
    ("players.0.fish", -1, "fish of players[0] is -1, not a whole number from 0"),
    ("players.0.fish", 1.0, "fish of players[0] is 1.0, not a whole number from 0"),
    ("players.0.fish", 10**5000, "fish of players[0] is a int too large to show, not a whole"),
    ("players.0.fish", GONE, "players[0] has no 'fish'"),
    ("players.0.tiles", "1", "tiles of players[0] is '1', not a whole number from 0"),
    ("players.2.ejected", 1, "players[2].ejected is 1, not true or false"),
    ("players.2.fish", 1, "black is ejected and holds fish or tiles"),
    ("players.2.tiles", 1, "black is ejected and holds fish or tiles"),
    ("players.2.penguins", [[2, 1]], "black is ejected and has penguins on the board"),
    ("players", [], "0 players; a game has 1 to 4"),
    ("players", {}, "players of the state is not an array"),
    ("players", GONE, "the state has no 'players'"),
    ("players.0", None, "players[0] is an object, not NoneType"),
    ("turn", "black", "turn is black; who is in the game are red, white"),
    ("turn", "brown", "turn is brown; who is in the game are red, white"),
    ("turn", None, "turn is None; who is in the game are red, white"),
    ("turn", GONE, "turn is None; who is in the game are red, white"),
    ("turn", "nobody", "colour 'nobody' in turn; there are red, white, brown, bl"),
    ("stage", "lunch", "stage is 'lunch'; it can be placement, movement, over"),
    ("stage", [[]], "stage is [[]]; it can be placement, movement, over"),
    ("stage", GONE, "the state has no 'stage'"),
    ("stage", "over", "the game is over and it is the turn of white"),
    ("stage", "placement", "all penguins are placed, and the stage is placement"),
    ("out.ejected", -1, "ejected of the state is -1, not a whole number from 0"),
    ("out", [], "out is an object, not list"),
]


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [pytest.param(*case, id=f"{case[0]}-{number}") for number, case in enumerate(REFUSED)],
)
def test_state_that_no_game_reaches_is_refused(path: str, value: object, message: str) -> None:
    state_from_json(scene())
    with pytest.raises(InvalidState) as caught:
        state_from_json(changed(scene(), path, value))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [None, [], "state", 7, True])
def test_state_that_is_no_object_is_refused(value: Any) -> None:
    with pytest.raises(InvalidState, match=r"^a state is an object, not "):
        state_from_json(value)
    with pytest.raises(InvalidState, match=r"^a state is an object, not "):
        state_from_course(value, 2)


@pytest.mark.parametrize(
    ("path", "value", "error"),
    [
        ("board", [[1, -2]], InvalidBoard),
        ("board", None, InvalidBoard),
        ("board", GONE, InvalidState),
        ("rules", "chess", InvalidRules),
    ],
)
def test_state_with_a_wrong_part_is_refused_as_that_part(
    path: str, value: object, error: type[Exception]
) -> None:
    with pytest.raises(error):
        state_from_json(changed(scene(), path, value))


def test_state_over_while_somebody_can_move_is_refused() -> None:
    value = scene()
    value |= {"stage": "over", "turn": None}
    with pytest.raises(InvalidState, match="the game is over, and red can move"):
        state_from_json(value)


def test_state_with_fewer_penguins_is_right_where_they_are_lifted() -> None:
    value = scene()
    value["players"][0]["penguins"].pop()
    value["rules"] = {"ejected": "with_tiles", "lift": "penguin"}
    assert len(state_from_json(value).player(RED).penguins) == 1
    value["rules"]["lift"] = "end"
    with pytest.raises(InvalidState, match="red has 1 penguins, not 2, in movement"):
        state_from_json(value)


def test_state_with_an_ejected_player_standing_is_right_where_it_blocks() -> None:
    value = scene()
    value["players"][2]["penguins"] = [[2, 1]]
    value["rules"] = {"ejected": "leave_blocking"}
    state = state_from_json(value)
    assert [2, 1] not in [action.to_json()[1] for action in state.legal_actions]
    assert state.kernel().penguins[2] == []


def placing(red: int, white: int, turn: str, *, fish: int = 1, **more: Any) -> Json:
    """A state in placement with so many penguins of each."""
    spots = [[row, 0] for row in range(9)]
    return {
        "board": [[fish]] * 9,
        "players": [
            {"color": "red", "fish": 0, "tiles": 0, "penguins": spots[:red]},
            {"color": "white", "fish": 0, "tiles": 0, "penguins": spots[red : red + white]},
        ],
        "turn": turn,
        "stage": "placement",
        "penguins_each": 4,
        **more,
    }


@pytest.mark.parametrize(
    ("red", "white", "turn", "rules"),
    [
        (0, 0, "red", {}),
        (1, 0, "white", {}),
        (2, 2, "red", {}),
        (4, 3, "white", {}),
        (1, 1, "white", {"placement_order": "snake"}),
        (1, 2, "red", {"placement_order": "snake"}),
    ],
)
def test_state_in_placement_is_right_in_rounds(
    red: int, white: int, turn: str, rules: dict[str, str]
) -> None:
    state = state_from_json(placing(red, white, turn, rules=rules))
    assert state.turn == turn
    assert state.settle() == (state, ())


@pytest.mark.parametrize(
    ("red", "white", "turn", "rules", "message"),
    [
        (0, 0, "white", {}, "it is red's turn to place, not white's"),
        (1, 0, "red", {}, "it is white's turn to place, not red's"),
        (1, 1, "red", {"placement_order": "snake"}, "it is white's turn to place, not red's"),
        (2, 0, "white", {}, "numbers of penguins [2, 0] can't arise from placing in rounds"),
        (0, 1, "red", {}, "numbers of penguins [0, 1] can't arise from placing in rounds"),
        (
            2,
            1,
            "white",
            {"placement_order": "snake"},
            "numbers of penguins [2, 1] can't arise from placing in snake",
        ),
        (
            1,
            0,
            "white",
            {"placement": "one_fish"},
            "a penguin at [0,0] was placed on 2 fish, with rules.placement = 'one_fish'",
        ),
        (4, 4, "red", {}, "all penguins are placed, and the stage is placement"),
    ],
)
def test_state_in_placement_out_of_rounds_is_refused(
    red: int, white: int, turn: str, rules: dict[str, str], message: str
) -> None:
    with pytest.raises(InvalidState) as caught:
        state_from_json(placing(red, white, turn, rules=rules, fish=2))
    assert message == str(caught.value)


@pytest.mark.parametrize("name", ["fish", "tiles"])
def test_state_in_placement_with_something_held_is_refused(name: str) -> None:
    value = placing(1, 0, "white")
    value["players"][0][name] = 1
    with pytest.raises(InvalidState, match="red holds fish or tiles, and nobody has moved yet"):
        state_from_json(value)


def ended(red: int, white: int, lift: str) -> Json:
    """A state that is over, since nobody can move, with so many of two penguins standing."""
    spots = [[0, 0], [3, 0], [6, 0], [9, 0]]
    return {
        "board": [[1], [0], [0]] * 4,
        "players": [
            {"color": "red", "fish": 1, "tiles": 1, "penguins": spots[:red]},
            {"color": "white", "fish": 0, "tiles": 0, "penguins": spots[2 : 2 + white]},
        ],
        "turn": None,
        "stage": "over",
        "penguins_each": 2,
        "rules": {"lift": lift},
    }


@pytest.mark.parametrize(
    ("red", "white", "lift", "message"),
    [
        (2, 2, "never", None),
        (0, 0, "end", None),
        (2, 1, "never", "white has 1 penguins on the board, not 2, with rules.lift = 'never'"),
        (0, 0, "never", "red has 0 penguins on the board, not 2, with rules.lift = 'never'"),
        (0, 2, "end", "white has 2 penguins on the board, not 0, with rules.lift = 'end'"),
    ],
)
def test_state_that_is_over_has_the_penguins_that_its_rules_leave(
    red: int, white: int, lift: str, message: str | None
) -> None:
    value = ended(red, white, lift)
    if message is None:
        assert state_from_json(value).is_over
        return
    with pytest.raises(InvalidState) as caught:
        state_from_json(value)
    assert str(caught.value) == f"the game is over, and {message}"


# -- the course's form


def course() -> Json:
    return {
        "players": [
            {"color": "white", "score": 4, "places": [[0, 1], [2, 2]]},
            {"color": "red", "score": 0, "places": [[0, 0], [1, 1]]},
        ],
        "board": [[1, 2, 3], [0, 5], [1, 1, 1]],
    }


def test_state_from_course_has_the_first_player_to_act() -> None:
    state = state_from_course(course(), 2)
    assert (state.turn, state.stage, state.penguins_each) == (WHITE, Stage.MOVEMENT, 2)
    assert state.players == (
        PlayerState(WHITE, 4, 0, (Position(0, 1), Position(2, 2))),
        PlayerState(RED, 0, 0, (Position(0, 0), Position(1, 1))),
    )


def test_state_from_course_and_back_is_the_same_but_for_padding() -> None:
    padded = course() | {"board": [[1, 2, 3], [0, 5, 0], [1, 1, 1]]}
    assert through_text(state_to_course(state_from_course(course(), 2))) == padded


def test_state_to_course_turns_the_players_and_leaves_the_ejected_out() -> None:
    for state in random_game(4, Board.from_json([[1, 2, 1, 3]] * 5), 4, FISH):
        colors = [player["color"] for player in state_to_course(state)["players"]]
        at_turn = list(Color).index(state.turn or RED)
        assert colors == [*list(Color)[at_turn:], *list(Color)[:at_turn]]
    state = moving(column(*[1] * 9), FISH, at(0), at(2), at(4), at(6))
    state, _ = state.eject(RED, Verdict.TIMEOUT)
    entries = state_to_course(state)["players"]
    assert [entry["color"] for entry in entries] == ["white", "brown", "black"]
    assert entries[0] == {"color": "white", "score": 0, "places": [[2, 0]]}


@pytest.mark.parametrize("players", [2, 3, 4])
def test_state_of_a_game_goes_through_the_course_form(players: int) -> None:
    for state in random_game(players, Board.from_json([[1, 2, 1, 3]] * 5), players, FISH):
        if state.is_over:
            break
        back = state_from_course(through_text(state_to_course(state)), state.penguins_each)
        assert list(back.legal_actions) == list(state.legal_actions)
        assert (back.turn, back.stage) == (state.turn, state.stage)
        if back.stage is Stage.PLACEMENT:
            assert back.settle() == (back, ())


def test_state_from_course_has_the_first_player_to_act_in_snake_order_too() -> None:
    value = {
        "players": [
            {"color": "white", "score": 0, "places": [[0, 1]]},
            {"color": "red", "score": 0, "places": [[0, 0]]},
        ],
        "board": [[1, 1, 1]] * 3,
    }
    assert state_from_course(value, 4, Rules(placement_order="snake")).turn is WHITE


def test_state_from_course_is_placement_until_all_have_placed() -> None:
    value = changed(course(), "players.0.places", [[0, 1]])
    state = state_from_course(changed(value, "players.0.score", 0), 2)
    assert (state.stage, state.turn) == (Stage.PLACEMENT, WHITE)
    with pytest.raises(InvalidState, match="white holds fish or tiles, and nobody has moved yet"):
        state_from_course(value, 2)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("players.0.places", [[0, 1], [2, 3]], "a penguin at [2,3] is outside the board of 3 rows"),
        ("players.0.places", [[0, 1], [1, 0]], "a penguin at [1,0] stands on a hole"),
        ("players.0.places", [[0, 0], [2, 2]], "two penguins stand on [0,0]"),
        ("players.0.places", [[0, 1], [2, 2.0]], "is not [row, column]"),
        ("players.0.places", [[0, 1], [2, 2], [2, 1]], "white has 3 penguins; each player has 2"),
        ("players.0.places", [], "numbers of penguins [0, 2] can't arise from placing in rounds"),
        ("players.1.color", "white", "two players have one colour: white, white"),
        ("players.1.color", "pink", "colour 'pink' in players[1]"),
        ("players.1.score", -1, "score of players[1] is -1, not a whole number from 0"),
        ("players.1.score", True, "score of players[1] is True, not a whole number from 0"),
        ("players.1.score", GONE, "players[1] has no 'score'"),
        ("players.1.places", GONE, "players[1] has no 'places'"),
        ("board", GONE, "the state has no 'board'"),
        ("players", [], "0 players; a game has 1 to 4"),
        ("players", [1], "players[0] is an object, not int"),
    ],
)
def test_state_from_course_refuses_what_no_game_reaches(
    path: str, value: object, message: str
) -> None:
    with pytest.raises(InvalidState) as caught:
        state_from_course(changed(course(), path, value), 2)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
