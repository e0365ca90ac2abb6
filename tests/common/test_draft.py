"""What follows from a change: who is next, skips, ejections, lifting, islands, the end."""

from __future__ import annotations

import pytest

from croupier_common.actions import Move, Placement
from croupier_common.board import Board
from croupier_common.draft import Stage, next_to_place
from croupier_common.errors import InvalidState
from croupier_common.events import Credited, Ejected, Event, Lifted, Moved, Placed, Skipped, Sunk
from croupier_common.grid import Position
from croupier_common.outcome import Color, Outcome
from croupier_common.rules import FISH, Rules
from croupier_common.state import OutOfGame, PlayerState, State
from croupier_common.verdict import Phase, Verdict
from support.scenes import (
    BLACK,
    BROWN,
    RED,
    WHITE,
    at,
    column,
    move,
    moving,
    outcome_of,
    turns_until,
)


@pytest.mark.parametrize(
    ("counts", "order", "seat"),
    [
        ([0, 0, 0], "rounds", 0),
        ([1, 0, 0], "rounds", 1),
        ([1, 1, 1], "rounds", 0),
        ([1, 1, 1], "snake", 2),
        ([1, 1, 2], "snake", 1),
        ([2, 2, 2], "snake", 0),
        ([None, 1, 2], "rounds", 1),
        ([None, 2, 2], "snake", 1),
        ([3, 3, 3], "rounds", None),
        ([None, None], "rounds", None),
    ],
)
def test_next_to_place_is_first_of_those_behind(
    counts: list[int | None], order: str, seat: int | None
) -> None:
    assert next_to_place(counts, 3, order) == seat


# -- skips and the end


def test_skip_is_recorded_and_the_turn_comes_back() -> None:
    # White on 0 is walled in by brown on 1 and the missing 2.
    state = moving(column(1, 1, 0, 1, 0, 1, 1, 1), FISH, at(6), at(0), at(1))
    state, events = state.step(move(6, 7))
    assert events[1:] == (Skipped(WHITE),)
    assert state.turn is BROWN
    state, events = state.step(move(1, 3))
    assert events[1:] == ()
    assert state.turn is RED


def test_turn_comes_back_to_the_only_one_that_can_move() -> None:
    state = moving(column(1, 1, 1, 1, 0, 0, 1), FISH, at(0), at(6))
    for step in (move(0, 1), move(1, 3)):
        state, events = state.step(step)
        assert events[1:] == (Skipped(WHITE),)
        assert state.turn is RED
    state, events = state.step(move(3, 2))
    assert events[1:] == ()
    assert state.is_over
    assert outcome_of(state).ranking == ((RED,), (WHITE,))


def test_end_comes_when_nobody_can_move_and_leaves_penguins_that_are_never_lifted() -> None:
    state = moving(column(2, 3, 1), FISH, at(0), at(1))
    state, events = state.step(move(0, 2))
    assert events == (Moved(RED, Position(0, 0), Position(2, 0), 2),)
    assert (state.stage, state.turn) == (Stage.OVER, None)
    assert state.player(WHITE).penguins == at(1)
    assert state.fish_in_play == 4


def test_end_before_any_move_is_shared_by_all() -> None:
    state = State.begin(column(*[2] * 9), list(Color)[:3])
    while not state.is_over:
        state = state.apply(next(iter(state.legal_actions)))
    assert outcome_of(state).ranking == ((RED, WHITE, BROWN),)
    assert outcome_of(state).fish == {RED: 0, WHITE: 0, BROWN: 0}


# -- ejection


def crowd(rules: Rules) -> State:
    """White is walled in by red and brown, who can both move."""
    return moving(column(5, 1, 2, 1, 1, 1), rules, at(1), at(0), at(2), fish=(7, 0, 0))


def test_ejection_frees_a_stuck_player() -> None:
    state, events = crowd(FISH).eject(RED, Verdict.ILLEGAL_ACTION)
    assert events == (Ejected(RED, Verdict.ILLEGAL_ACTION, Phase.MOVEMENT),)
    assert state.turn is WHITE
    assert list(state.legal_actions) == [move(0, 1)]
    assert state.player(RED) == PlayerState(RED, ejected=True)
    assert state.out == OutOfGame(ejected=7)


def test_ejection_out_of_turn_frees_a_stuck_player_and_leaves_the_turn() -> None:
    state, events = crowd(FISH).eject(BROWN, Verdict.DISCONNECTED)
    assert events == (Ejected(BROWN, Verdict.DISCONNECTED, Phase.MOVEMENT),)
    assert state.turn is RED
    assert state.apply(move(1, 3)).turn is WHITE


def test_ejection_with_tiles_takes_them_out_and_frees_nobody() -> None:
    state, events = crowd(Rules(ejected="with_tiles")).eject(RED, Verdict.TIMEOUT)
    assert [event.kind for event in events] == ["eject", "skip"]
    assert state.turn is BROWN
    assert state.board == column(5, 0, 2, 1, 1, 1)
    assert state.out == OutOfGame(ejected=8)


def test_ejection_leaving_penguins_blocks_on() -> None:
    state, events = crowd(Rules(ejected="leave_blocking")).eject(RED, Verdict.TIMEOUT)
    assert [event.kind for event in events] == ["eject", "skip"]
    assert state.player(RED) == PlayerState(RED, penguins=at(1), ejected=True)
    assert move(2, 1) not in state.legal_actions
    assert move(2, 3) in state.legal_actions


def test_ejection_of_all_but_one_lets_it_play_on() -> None:
    state, _ = crowd(FISH).eject(RED, Verdict.TIMEOUT)
    state, _ = state.eject(BROWN, Verdict.TIMEOUT)
    assert turns_until(state, Stage.OVER) == ["white"] * 5


def test_ejection_of_the_last_that_could_move_ends_the_game() -> None:
    state = moving(column(1, 1, 0, 0, 2), FISH, at(0), at(4), fish=(9, 3))
    state, events = state.eject(RED, Verdict.TIMEOUT)
    assert [event.kind for event in events] == ["eject"]
    assert outcome_of(state) == Outcome(((WHITE,),), (RED,), {WHITE: 3}, {WHITE: 0})


def test_ejection_of_everybody_leaves_no_winner() -> None:
    state = crowd(FISH)
    for color in (RED, WHITE, BROWN):
        state, _ = state.eject(color, Verdict.TIMEOUT)
    assert outcome_of(state) == Outcome((), (RED, WHITE, BROWN), {}, {})
    assert state.out == OutOfGame(ejected=7)
    assert state.fish_in_play == 11


def test_ejection_of_who_is_out_or_was_never_there_is_refused() -> None:
    state, _ = crowd(FISH).eject(RED, Verdict.TIMEOUT)
    for color in (RED, BLACK):
        with pytest.raises(InvalidState, match=f"{color} can't be ejected"):
            state.eject(color, Verdict.TIMEOUT)
    over, _ = moving(column(1, 1), FISH, at(0), at(1)).settle()
    with pytest.raises(InvalidState, match="can't be ejected from over"):
        over.eject(RED, Verdict.TIMEOUT)


# -- lifting

TRAPPED = (Position(0, 2), Position(3, 2), Position(3, 1))


def trap(rules: Rules) -> tuple[State, tuple[Event, ...]]:
    """Red goes to the middle of white's three penguins, and only its one in the corner goes on."""
    board = Board.from_json([[5, 0, 2], [4, 0, 1], [0, 0, 1], [0, 2, 2], [0, 0, 3]])
    red = (Position(1, 2), Position(0, 0), Position(4, 2))
    return moving(board, rules, red, TRAPPED).step(Move(Position(1, 2), Position(2, 2)))


def test_lift_penguin_takes_all_three_that_a_move_sticks() -> None:
    state, events = trap(Rules(lift="penguin", last_tile="owner", ejected="with_tiles"))
    assert events[1:] == (
        Lifted(RED, (Position(2, 2), Position(4, 2)), 4),
        Lifted(WHITE, TRAPPED, 6),
    )
    assert state.player(WHITE) == PlayerState(WHITE, 6, 3, ())
    assert state.player(RED) == PlayerState(RED, 5, 3, (Position(0, 0),))
    assert state.board == Board.from_json([[5, 0, 0], [4], [0], [0], [0]])
    assert state.turn is RED


def test_lift_player_turn_takes_all_of_a_player_at_its_turn() -> None:
    state, events = trap(Rules(lift="player_turn", ejected="with_tiles"))
    assert events[1:] == (Skipped(WHITE), Lifted(WHITE, TRAPPED, 0))
    assert state.out == OutOfGame(lifted=6)
    assert state.player(WHITE) == PlayerState(WHITE)
    assert len(state.player(RED).penguins) == 3  # two are stuck, but red can move


def test_lift_player_turn_waits_while_one_penguin_can_move() -> None:
    rules = Rules(lift="player_turn", ejected="with_tiles")
    state = moving(column(1, 1, 1, 0, 0, 1, 1, 1), rules, at(0, 5), at(1, 2))
    state, events = state.step(move(5, 7))
    assert events[1:] == (Skipped(WHITE), Lifted(WHITE, at(1, 2), 0))
    assert state.player(RED).penguins == at(0, 7)
    state, events = state.step(move(7, 6))
    assert events[1:] == (Lifted(RED, at(0, 6), 0),)
    assert state.is_over


def test_lift_leaves_no_turn_and_no_skip() -> None:
    rules = Rules(lift="player_turn", ejected="with_tiles")
    state = moving(column(1, 0, 0, 1, 1, 1), rules, at(3), at(0))
    state, events = state.step(move(3, 4))
    assert [event.kind for event in events] == ["move", "skip", "lift"]
    state, events = state.step(move(4, 5))
    assert [event.kind for event in events] == ["move", "lift"]


@pytest.mark.parametrize("lift", ["end", "penguin", "player_turn"])
def test_lift_at_the_end_takes_all_in_turn_order(lift: str) -> None:
    rules = Rules(lift=lift, last_tile="owner", ejected="with_tiles")
    state, events = moving(column(2, 3, 1), rules, at(0), at(1)).step(move(0, 2))
    assert events[1:] == (Lifted(RED, at(2), 1), Lifted(WHITE, at(1), 3))
    assert state.board == column(0, 0, 0)
    assert (state.player(RED).fish, state.player(RED).tiles) == (3, 2)
    assert (state.player(WHITE).fish, state.player(WHITE).tiles) == (3, 1)
    assert state.fish_in_play == 0


def test_lift_never_with_the_tile_to_its_owner_only_credits() -> None:
    rules = Rules(last_tile="owner")
    state, events = moving(column(2, 3, 1), rules, at(0), at(1)).step(move(0, 2))
    assert events[1:] == (Credited(RED, 1, 1), Credited(WHITE, 1, 3))
    assert state.board == column(0, 3, 1)
    assert state.player(WHITE) == PlayerState(WHITE, 3, 1, at(1))
    assert state.fish_in_play == 0


# -- islands


def test_islands_sink_after_the_last_placement() -> None:
    board = column(*[1] * 8, 1, 1, 0, 0, 3, 3)
    state = State.begin(board, [RED, WHITE], Rules(islands="remove"))
    for row in (0, 1, 2, 3, 4, 5, 6):
        state, events = state.step(Placement(Position(row, 0)))
        assert not any(isinstance(event, Sunk) for event in events)
    state, events = state.step(Placement(Position(7, 0)))
    assert events == (Placed(WHITE, Position(7, 0)), Sunk(at(12, 13)))
    assert state.out == OutOfGame(islands=6)
    assert state.board[12, 0] == 0


@pytest.mark.parametrize(
    ("islands", "sunk", "left"),
    [
        ("keep", (), column(1, 1, 0, 0, 2, 2)),
        ("remove", (Sunk(at(4, 5)),), column(1, 1, 0, 0, 0, 0)),
    ],
)
def test_islands_cut_off_by_a_move_sink(islands: str, sunk: tuple[Event, ...], left: Board) -> None:
    state = moving(column(1, 1, 0, 1, 2, 2), Rules(islands=islands), at(3), at(0))
    state, events = state.step(move(3, 1))
    assert events[1:] == sunk
    assert state.board == left
    assert state.out.islands == 4 * len(sunk)


def test_islands_that_only_the_ejected_could_reach_sink() -> None:
    rules = Rules(islands="remove", ejected="with_tiles")
    state = moving(column(1, 1, 0, 0, 1, 1), rules, at(0), at(4))
    state, events = state.eject(RED, Verdict.TIMEOUT)
    assert events[1:] == (Sunk(at(1)),)
    assert state.out == OutOfGame(ejected=1, islands=1)
