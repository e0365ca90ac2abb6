"""The driver of a game: who is asked for what, and what an answer or a fault does."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from croupier_common.actions import Move, Placement
from croupier_common.board import Board
from croupier_common.errors import IllegalAction, InvalidBoard, InvalidState
from croupier_common.events import Ejected, Ended, Moved, Placed, Skipped, event_from_json
from croupier_common.game import Game, NumberedEvent, Request, action_of
from croupier_common.grid import Position
from croupier_common.outcome import Color
from croupier_common.rules import CLASSIC, FISH, Rules
from croupier_common.state import PlayerState, Stage, State
from croupier_common.verdict import Fault, Phase, Verdict
from support.drawn import large_boards, options, player_colors
from support.oracle import Oracle
from support.scenes import BLACK, BROWN, RED, WHITE, at, column, move, moving

LATE = Fault(Verdict.TIMEOUT, Phase.MOVEMENT, "no reply in time")
NO_START = Fault(Verdict.NO_START, Phase.GAME_START, "no reply to the start")
FIELD = Board.from_json([[1, 2, 3, 1]] * 5)


def asked(game: Game) -> Request:
    assert game.request is not None
    return game.request


def first(game: Game) -> Any:
    """The first legal action of who is asked, as JSON."""
    return next(iter(asked(game).state.legal_actions)).to_json()


def begun(*colors: Color, board: Board = FIELD, rules: Rules = FISH) -> Game:
    game = Game("1.2", board, colors, rules)
    game.begin()
    return game


def resumed(*fish: int, penguins: tuple[tuple[int, ...], ...]) -> Game:
    return Game.resume("1.2", moving(column(*fish), FISH, *(at(*own) for own in penguins)))


def kinds(events: tuple[NumberedEvent, ...]) -> list[str]:
    return [numbered.event.kind for numbered in events]


# -- the start


def test_game_before_the_start_asks_nobody() -> None:
    game = Game("1.2", FIELD, [RED, WHITE])
    assert (game.request, game.outcome, game.state, game.events) == (None, None, None, [])
    with pytest.raises(InvalidState, match=r"no request is open in game 1\.2"):
        game.reply([0, 0])
    with pytest.raises(InvalidState, match=r"game 1\.2 has not begun"):
        game.fault(RED, LATE)


def test_game_begin_asks_the_first_to_place() -> None:
    game = Game("1.2", FIELD, [WHITE, RED])
    assert game.begin() == ()
    request = asked(game)
    assert (request.id, request.seq, request.method) == ("1.2:1", 1, "place")
    assert (request.color, request.phase, request.events) == (WHITE, Phase.PLACEMENT, ())
    assert request.state == game.state == State.begin(FIELD, [WHITE, RED])


def test_game_begins_only_once() -> None:
    with pytest.raises(InvalidState, match=r"game 1\.2 has begun before"):
        begun(RED, WHITE).begin()


def test_game_on_a_board_without_room_does_not_begin() -> None:
    game = Game("1.2", column(1), [RED, WHITE])
    with pytest.raises(InvalidBoard, match="need 8 tiles, and the board has 1"):
        game.begin()
    assert (game.state, game.events, game.request) == (None, [], None)


def test_game_begin_leaves_out_who_failed_before() -> None:
    game = Game("1.2", FIELD, [RED, WHITE, BROWN])
    events = game.begin({RED: NO_START})
    assert events == (NumberedEvent(1, Ejected(RED, Verdict.NO_START, Phase.GAME_START)),)
    request = asked(game)
    assert (request.color, request.id, request.events) == (WHITE, "1.2:2", events)
    assert request.state.penguins_each == 4
    assert game.faults == {RED: NO_START}


def test_game_with_one_left_is_won_unplayed() -> None:
    game = Game("1.2", FIELD, [RED, WHITE, BROWN])
    events = game.begin({RED: NO_START, BROWN: NO_START})
    assert kinds(events) == ["eject", "eject", "end"]
    assert game.request is None
    assert game.outcome is not None
    assert (game.outcome.winners, game.outcome.ejected) == ((WHITE,), (RED, BROWN))


def test_game_with_nobody_left_has_no_winner() -> None:
    game = Game("1.2", FIELD, [RED, WHITE])
    game.begin({RED: NO_START, WHITE: NO_START})
    assert game.outcome is not None
    assert game.outcome.winners == ()


# -- requests and replies


def test_request_has_the_number_of_the_event_that_its_answer_makes() -> None:
    game = begun(RED, WHITE, BROWN)
    while game.request is not None:
        request = game.request
        assert request.seq == len(game.events) + 1
        [numbered, *_] = game.reply(first(game))
        assert numbered.seq == request.seq
        assert request.id == f"1.2:{request.seq}"
        assert isinstance(numbered.event, Placed | Moved)
        assert numbered.event.color is request.color
    assert [numbered.seq for numbered in game.events] == list(range(1, len(game.events) + 1))
    assert isinstance(game.events[-1].event, Ended)
    assert game.events[-1].event.outcome == game.outcome


@pytest.mark.parametrize("rules", [FISH, CLASSIC], ids=["fish", "classic"])
@pytest.mark.parametrize("seed", range(4))
def test_request_tells_all_events_since_the_players_last_turn(rules: Rules, seed: int) -> None:
    game = begun(RED, WHITE, BROWN, board=Board.from_json([[1, 1, 2], [1, 0, 1]] * 3), rules=rules)
    news: dict[Color, list[NumberedEvent]] = {RED: [], WHITE: [], BROWN: []}
    random = Random(seed)
    while game.request is not None:
        color = game.request.color
        assert list(game.request.events) == news[color]
        failed = random.random() < 0.05
        if failed:
            events = game.fault(color, LATE)
        else:
            action = random.choice(list(game.request.state.legal_actions))
            events = game.reply(action.to_json())
        for other, before in news.items():
            own = other is color and not failed
            news[other] = [*events[1:]] if own else [*before, *events]


def test_request_tells_a_player_of_its_own_skips() -> None:
    game = resumed(1, 1, 0, 1, 0, 1, 1, 1, penguins=((6,), (0,), (1,)))
    game.reply([[6, 0], [7, 0]])
    game.fault(BROWN, LATE)  # its penguin has walled white in
    game.reply([[7, 0], [5, 0]])
    assert asked(game).color is WHITE
    assert [numbered.event for numbered in asked(game).events] == [
        Moved(RED, Position(6, 0), Position(7, 0), 1),
        Skipped(WHITE),
        Ejected(BROWN, Verdict.TIMEOUT, Phase.MOVEMENT),
        Moved(RED, Position(7, 0), Position(5, 0), 1),
    ]


def test_reply_to_a_placement_is_a_position_and_to_a_move_a_pair() -> None:
    game = begun(RED, WHITE)
    assert game.reply([4, 3])[0].event == Placed(RED, Position(4, 3))
    game = resumed(5, 1, 1, penguins=((0,), (2,)))
    assert asked(game).method == "move"
    events = game.reply([[0, 0], [1, 0]])
    assert events[0].event == Moved(RED, Position(0, 0), Position(1, 0), 5)


MALFORMED: list[Any] = [None, True, "00", 7, {}, [], [0], [0, 0, 0], [0, 0.0], [True, 0], [0, "0"]]


@pytest.mark.parametrize("result", [*MALFORMED, [[0, 0], [1, 0]]], ids=repr)
def test_reply_malformed_in_placement_ejects(result: Any) -> None:
    game = begun(RED, WHITE)
    events = game.reply(result)
    assert events[0].event == Ejected(RED, Verdict.MALFORMED, Phase.PLACEMENT)
    assert game.faults[RED].verdict is Verdict.MALFORMED
    assert game.faults[RED].detail.startswith("a placement is [row, column], two whole numbers")
    assert game.faults[RED].sent == json.dumps(result, separators=(",", ":"))
    assert asked(game).color is WHITE


@pytest.mark.parametrize("result", [*MALFORMED, [0, 0], [[0, 0], [1.0, 0]], False], ids=repr)
def test_reply_malformed_in_movement_ejects(result: Any) -> None:
    game = resumed(5, 1, 1, penguins=((0,), (2,)))
    assert game.reply(result)[0].event == Ejected(RED, Verdict.MALFORMED, Phase.MOVEMENT)
    assert game.faults[RED].detail.startswith("a move is [[row, column], [row, column]]")


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        ([[0, 0], [0, 0]], "a move goes at least one step"),
        ([[0, 0], [2, 0]], "a white penguin stands on [2,0]"),
        ([[2, 0], [1, 0]], "no red penguin stands on [2,0]"),
        ([[0, 0], [-1, 0]], "outside the board"),
        ([[0, 0], [10**30, 0]], "outside the board"),
        ([[0, 0], [10**5000, 0]], "outside the board"),
    ],
    ids=range(6),
)
def test_reply_illegal_ejects_with_the_reason(result: Any, reason: str) -> None:
    game = resumed(5, 1, 1, penguins=((0,), (2,)))
    assert game.reply(result)[0].event == Ejected(RED, Verdict.ILLEGAL_ACTION, Phase.MOVEMENT)
    fault = game.faults[RED]
    assert (fault.verdict, fault.phase) == (Verdict.ILLEGAL_ACTION, Phase.MOVEMENT)
    assert reason in fault.detail
    assert "\n" not in fault.detail
    assert game.outcome is None


def test_act_illegal_is_the_callers_own_mistake_and_changes_nothing() -> None:
    game = begun(RED, WHITE)
    request = asked(game)
    with pytest.raises(IllegalAction):
        game.act(Placement(Position(9, 9)))
    assert (game.request, game.events, game.faults) == (request, [], {})


def test_reply_after_the_end_is_refused() -> None:
    game = resumed(1, 1, penguins=((0,), (1,)))
    assert kinds(tuple(game.events)) == ["end"]
    with pytest.raises(InvalidState, match=r"no request is open in game 1\.2"):
        game.reply([[0, 0], [1, 0]])
    with pytest.raises(InvalidState, match=r"no request is open in game 1\.2"):
        game.act(move(0, 1))
    assert game.fault(RED, LATE) == ()


# -- faults


def test_fault_ejects_and_the_first_one_counts() -> None:
    game = begun(RED, WHITE, BROWN)
    assert kinds(game.fault(RED, LATE)) == ["eject"]
    assert game.fault(RED, NO_START) == ()
    assert game.faults == {RED: LATE}
    assert len(game.events) == 1
    assert asked(game).color is WHITE


def test_fault_of_a_player_that_is_not_asked_makes_another_request() -> None:
    game = begun(RED, WHITE, BROWN)
    game.fault(BROWN, LATE)
    assert (asked(game).color, asked(game).id) == (RED, "1.2:2")
    assert kinds(asked(game).events) == ["eject"]


def test_fault_of_who_does_not_play_is_the_callers_own_mistake() -> None:
    game = begun(RED, WHITE)
    with pytest.raises(InvalidState, match=r"game 1\.2 has no black player"):
        game.fault(BLACK, LATE)
    assert game.faults == {}


def test_fault_of_who_was_out_before_the_game_was_resumed_changes_nothing() -> None:
    state = State.begin(FIELD, [RED, WHITE, BROWN], absent=[RED])
    game = Game.resume("1.2", state)
    assert game.fault(RED, LATE) == ()
    assert game.events == []


def test_fault_of_all_ends_without_a_winner() -> None:
    game = begun(RED, WHITE)
    assert kinds(game.fault(RED, LATE)) == ["eject"]
    assert kinds(game.fault(WHITE, LATE)) == ["eject", "end"]
    assert game.outcome is not None
    assert game.outcome.winners == ()
    assert game.request is None


def test_game_goes_on_with_one_player() -> None:
    game = begun(RED, WHITE)
    game.fault(RED, LATE)
    while game.request is not None:
        assert game.request.color is WHITE
        game.reply(first(game))
    assert game.outcome is not None
    assert game.outcome.winners == (WHITE,)


def test_no_room_ejects_who_should_place_with_a_fault_of_its_own() -> None:
    players = (PlayerState(RED, penguins=at(0)), PlayerState(WHITE))
    state = State(column(1, 1), players, WHITE, Stage.PLACEMENT, 2)
    game = Game.resume("1.2", state)
    events = game.reply([1, 0])
    assert [numbered.event for numbered in events] == [
        Placed(WHITE, Position(1, 0)),
        Ejected(RED, Verdict.NO_ROOM, Phase.PLACEMENT),
    ]
    assert game.faults[RED].verdict is Verdict.NO_ROOM
    assert asked(game).color is WHITE  # on the tile that red's penguin has left


# -- resuming


def test_resume_does_at_once_what_is_due() -> None:
    game = resumed(1, 1, 0, 1, penguins=((0,), (1,)))
    assert game.events == [NumberedEvent(1, Skipped(RED))]
    assert (asked(game).color, asked(game).id) == (WHITE, "1.2:2")
    assert kinds(asked(game).events) == ["skip"]


def test_resume_takes_board_players_and_rules_from_the_state() -> None:
    state = State.begin(FIELD, [BROWN, RED], Rules(lift="end"))
    game = Game.resume("7.1", state)
    assert (game.board, game.colors, game.rules) == (FIELD, (BROWN, RED), Rules(lift="end"))
    assert asked(game).id == "7.1:1"


# -- whole games


@given(
    board=large_boards(),
    option=options(),
    colors=player_colors(),
    seed=st.integers(0, 2**32),
)
def test_game_makes_the_events_of_the_oracle(
    board: list[list[int]], option: dict[str, str], colors: list[Color], seed: int
) -> None:
    random = Random(seed)
    game = Game("1.2", Board.from_json(board), colors, Rules(**option))
    try:
        game.begin()
    except InvalidBoard:
        return
    oracle = Oracle(board, colors, option)
    wanted = list(oracle.events)
    while game.request is not None:
        color, legal = game.request.color, oracle.legal()
        if random.random() < 0.05:
            game.reply([[0, 0], [0, 0]] if oracle.stage == "movement" else [-1, 0])
            wanted += oracle.eject(color, "illegal_action")
        else:
            chosen = random.choice(legal)
            game.reply(chosen)
            wanted += oracle.act(chosen)
    told = [numbered.event.to_json() for numbered in game.events]
    assert told[:-1] == wanted
    assert [event_from_json(event) for event in told] == [n.event for n in game.events]
    assert told[-1]["outcome"]["ranking"] == oracle.ranking()


@pytest.mark.parametrize("rules", [FISH, CLASSIC], ids=["fish", "classic"])
def test_game_is_played_again_from_its_actions(rules: Rules) -> None:
    random = Random(5)
    board = Board.from_json([[1, 2, 1, 3]] * 6)
    game = begun(RED, WHITE, BROWN, board=board, rules=rules)
    while game.request is not None:
        game.act(random.choice(list(game.request.state.legal_actions)))
    again = begun(RED, WHITE, BROWN, board=board, rules=rules)
    for numbered in game.events:
        action = action_of(numbered.event)
        if action is not None:
            again.act(action)
    assert again.events == game.events
    assert again.state == game.state


def test_action_of_is_none_for_what_nobody_did() -> None:
    assert action_of(Placed(RED, Position(1, 2))) == Placement(Position(1, 2))
    assert action_of(Moved(RED, Position(1, 2), Position(3, 2), 4)) == Move(
        Position(1, 2), Position(3, 2)
    )
    assert action_of(Skipped(RED)) is None
