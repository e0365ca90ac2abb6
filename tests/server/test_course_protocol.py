"""The words of the course's protocol: names, states, actions; and what its players answer."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from croupier_common.board_spec import BoardSpec
from croupier_common.errors import FishError
from croupier_common.game import Game
from croupier_common.messages import EventEntry, StateEntry
from croupier_common.notation import state_to_course, state_to_json
from croupier_common.outcome import Color
from croupier_common.rules import FISH
from croupier_common.strategies import make
from croupier_common.verdict import Fault, Phase, Verdict
from croupier_server.course.players import answer, name_of
from croupier_server.course.protocol import actions_since, course_state, encode, is_name
from croupier_server.errors import UserError
from croupier_server.turn_call import event_entries

STATE: dict[str, Any] = {
    "players": [
        {"color": "red", "score": 0, "places": [[0, 0]]},
        {"color": "white", "score": 0, "places": [[0, 1]]},
    ],
    "board": [[1, 2], [3, 4], [5, 5]],
}


def test_names_have_1_to_12_ascii_letters() -> None:
    for name in ("a", "Ann", "abcdefghijkl"):
        assert is_name(name)
    for other in (
        "",
        "abcdefghijklm",
        "ann2",
        "an n",
        "ann\n",
        "änn",
        "\uff41nn",
        1,
        None,
        ["ann"],
    ):
        assert not is_name(other)


def test_values_are_sent_without_white_space_around_them() -> None:
    assert encode(["start", [True]]) == b'["start",[true]]'


def test_state_is_the_courses_with_the_asked_player_first_and_no_ejected_ones() -> None:
    board = BoardSpec.from_text("5x5,holes=2,fish=1-5").build(3, rules=FISH, players=4)
    game = Game("1.1", board, list(Color), FISH)
    game.begin()
    first = make("first")
    plies = 0
    while (request := game.request) is not None:
        entry = cast("StateEntry", state_to_json(request.state, whole=False))
        assert course_state(entry, request.color.value) == state_to_course(request.state)
        plies += 1
        if plies in {5, 12}:
            game.fault(request.color, Fault(Verdict.TIMEOUT, Phase.MOVEMENT, ""))
        else:
            game.reply(first.choose(request.state).to_json())


def entries(*events: dict[str, Any]) -> list[EventEntry]:
    return [{"seq": seq, "event": event} for seq, event in enumerate(events, 1)]


MOVED = {"kind": "move", "color": "red", "from": [0, 0], "to": [2, 0], "fish": 1}
SKIPPED = {"kind": "skip", "color": "white"}
EJECTED = {"kind": "eject", "color": "brown", "verdict": "timeout", "phase": "movement"}


def test_actions_are_moves_and_skips_and_none_after_an_ejection() -> None:
    assert actions_since([]) == []
    assert actions_since(entries(MOVED, SKIPPED)) == [[[0, 0], [2, 0]], False]
    assert actions_since(entries(MOVED, EJECTED, SKIPPED)) == []


def test_actions_of_a_game_lead_from_a_players_state_to_its_next() -> None:
    """What a client that keeps its own copy of the game sees."""
    board = BoardSpec.from_text("5x5,fish=2").build(1, rules=FISH, players=3)
    game = Game("1.1", board, [Color.RED, Color.WHITE, Color.BROWN], FISH)
    game.begin()
    strategy = make("minimax:1")
    turns: dict[Color, int] = {}
    while (request := game.request) is not None:
        if request.method == "move":
            others = actions_since(event_entries(request.events))
            turns[request.color] = turns.get(request.color, 0) + 1
            if turns[request.color] > 1:
                assert len(others) == 2
        game.reply(strategy.choose(request.state).to_json())
    assert min(turns.values()) > 3


def test_names_of_many_players_are_letters_and_differ() -> None:
    names = [name_of(number) for number in range(1_000)]
    assert names[:2] == ["a", "b"]
    assert names[25:28] == ["z", "aa", "ab"]
    assert len(set(names)) == 1_000
    assert all(map(is_name, names))


@pytest.mark.parametrize("name", ["start", "playing-as", "playing-with", "end"])
def test_player_hears_what_it_is_told(name: str) -> None:
    assert answer([name, [True]], 1) == "void"


def test_player_places_on_the_first_free_tile_and_moves_by_strategy() -> None:
    assert answer(["setup", [STATE]], 1) == [1, 0]
    nothing: list[Any] = []
    assert answer(["take-turn", [STATE, nothing]], 1) == [[0, 0], [1, 0]]
    assert answer(["take-turn", [STATE, nothing]], 2) == [[0, 0], [2, 1]]
    stuck = {**STATE, "board": [[1, 2]]}
    assert answer(["take-turn", [stuck, nothing]], 1) is False


@pytest.mark.parametrize(
    "call",
    [
        "start",
        ["start"],
        ["dance", []],
        [["setup"], []],
        ["setup", []],
        ["setup", STATE],
        ["setup", [{**STATE, "board": [[1, 1]]}]],
        ["take-turn", [{"board": [[1]]}]],
        ["setup", [{**STATE, "board": [[0, 2]]}]],
    ],
)
def test_player_gives_up_on_what_is_no_call(call: object) -> None:
    with pytest.raises((UserError, FishError)):
        answer(json.loads(json.dumps(call)), 1)
