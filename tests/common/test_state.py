"""States and their transitions, against the oracle and case by case."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from croupier_common.actions import Action, Move, Placement, move_from_json, placement_from_json
from croupier_common.board import Board
from croupier_common.draft import Stage
from croupier_common.errors import IllegalAction, InvalidBoard, InvalidState
from croupier_common.events import Ejected, Event, Moved, Placed, Skipped
from croupier_common.grid import Position
from croupier_common.notation import state_to_json
from croupier_common.outcome import Color, Outcome
from croupier_common.rules import CLASSIC, FISH, Rules
from croupier_common.state import PlayerState, State
from croupier_common.verdict import Phase, Verdict
from support.drawn import (
    large_boards,
    options,
    player_colors,
    random_game,
    small_boards,
    unchecked,
)
from support.oracle import Oracle
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

seeds = st.integers(0, 2**32)
ejections = st.sampled_from((0.0, 0.05, 0.3))
"""How likely it is at every ply that somebody is ejected instead, whoever's turn it is."""

# -- against the oracle


def check_same(state: State, oracle: Oracle) -> None:
    """The state, its legal actions, its invariants."""
    told = state_to_json(state)
    del told["rules"]
    assert told == oracle.to_json()
    actions = list(state.legal_actions)
    assert [action.to_json() for action in actions] == oracle.legal()
    assert actions == sorted(actions, key=lambda action: action.to_json())
    assert len(state.legal_actions) == len(actions)
    assert bool(state.legal_actions) == bool(actions) == (not state.is_over)
    assert (state.turn is None) == state.is_over == (state.outcome is not None)
    assert state.is_over or not state.player(state.turn or Color.RED).ejected


def check_conserved(state: State, at_start: int) -> None:
    held = sum(player.fish for player in state.players)
    assert state.fish_in_play + held + state.out.total == at_start


def check_outcome(state: State, oracle: Oracle) -> None:
    outcome = state.outcome
    assert outcome is not None
    assert [list(group) for group in outcome.ranking] == oracle.ranking()
    assert list(outcome.ejected) == [p.color for p in oracle.players if p.ejected]
    assert outcome.fish == {p.color: p.fish for p in oracle.active()}
    assert outcome.tiles == {p.color: p.tiles for p in oracle.active()}


def told(events: tuple[Event, ...]) -> list[object]:
    return [event.to_json() for event in events]


def action_from(value: list[object], state: State) -> Action:
    return placement_from_json(value) if state.stage is Stage.PLACEMENT else move_from_json(value)


def play_beside_the_oracle(state: State, oracle: Oracle, random: Random, eject: float) -> None:
    at_start = oracle.fish_anywhere()
    while True:
        check_same(state, oracle)
        check_conserved(state, at_start)
        if state.is_over:
            break
        before, text = state, repr(state)
        if random.random() < eject:
            color = random.choice(state.active).color
            state, events = state.eject(color, Verdict.TIMEOUT)
            assert told(events) == oracle.eject(color, "timeout")
        else:
            chosen = random.choice(oracle.legal())
            state, events = state.step(action_from(chosen, state))
            assert told(events) == oracle.act(chosen)
        assert repr(before) == text
    check_outcome(state, oracle)


def check_game(
    board: list[list[int]], option: dict[str, str], colors: list[Color], seed: int, eject: float
) -> None:
    state, events = unchecked(Board.from_json(board), colors, Rules(**option)).settle()
    oracle = Oracle(board, colors, option)
    assert told(events) == oracle.events
    play_beside_the_oracle(state, oracle, Random(seed), eject)


@given(small_boards(), options(), player_colors(), seeds, ejections)
def test_state_plays_as_the_oracle_on_small_boards(
    board: list[list[int]], option: dict[str, str], colors: list[Color], seed: int, eject: float
) -> None:
    check_game(board, option, colors, seed, eject)


@given(large_boards(), options(), player_colors(), seeds, ejections)
def test_state_plays_as_the_oracle_on_boards_with_long_lines(
    board: list[list[int]], option: dict[str, str], colors: list[Color], seed: int, eject: float
) -> None:
    check_game(board, option, colors, seed, eject)


@given(
    board=small_boards() | large_boards(),
    option=options(),
    colors=player_colors(),
    absent=st.sets(st.sampled_from(list(Color))),
    seed=seeds,
)
def test_state_begins_as_the_oracle_or_has_too_little_room(
    board: list[list[int]],
    option: dict[str, str],
    colors: list[Color],
    absent: set[Color],
    seed: int,
) -> None:
    oracle = Oracle(board, colors, option, sorted(absent))
    present = len(set(colors) - absent)
    need = present * oracle.each if present > 1 else 0
    fish = [number for row in board for number in row if number]
    room = fish.count(1) if option["placement"] == "one_fish" else len(fish)
    given_board, rules, gone = Board.from_json(board), Rules(**option), sorted(absent)
    if room < need:
        with pytest.raises(InvalidBoard, match=f" need {need} tiles.*, and the board has {room}$"):
            State.begin(given_board, colors, rules, absent=gone)
    else:
        state = State.begin(given_board, colors, rules, absent=gone)
        play_beside_the_oracle(state, oracle, Random(seed), 0.1)


@given(board=small_boards(4, 4), option=options(), colors=player_colors(), seed=seeds)
def test_legal_actions_in_is_membership_in_the_list(
    board: list[list[int]], option: dict[str, str], colors: list[Color], seed: int
) -> None:
    random = Random(seed)
    state, _ = unchecked(Board.from_json(board), colors, Rules(**option)).settle()
    spots = [
        Position(row, column)
        for row in range(-1, state.board.rows + 1)
        for column in range(-1, state.board.columns + 1)
    ]
    every: list[Action] = [Placement(spot) for spot in spots]
    every += [Move(start, end) for start in spots for end in spots]
    for _ in range(4):
        actions = list(state.legal_actions)
        assert [action for action in every if action in state.legal_actions] == actions
        if state.is_over:
            break
        state = state.apply(random.choice(actions))


@given(board=small_boards(4, 3), option=options(), colors=player_colors(), seed=seeds)
def test_step_refuses_all_that_is_not_legal_and_changes_nothing(
    board: list[list[int]], option: dict[str, str], colors: list[Color], seed: int
) -> None:
    random = Random(seed)
    state, _ = unchecked(Board.from_json(board), colors, Rules(**option)).settle()
    for _ in range(12):
        text = repr(state)
        spots = [Position(random.randint(-1, 4), random.randint(-1, 3)) for _ in range(8)]
        for start, end in pairwise(spots):
            for action in (Placement(end), Move(start, end)):
                if action not in state.legal_actions:
                    with pytest.raises(IllegalAction) as caught:
                        state.step(action)
                    assert str(action) in str(caught.value)
                    assert "\n" not in str(caught.value)
        assert repr(state) == text
        if state.is_over:
            break
        state = state.apply(random.choice(list(state.legal_actions)))


# -- the start


@pytest.mark.parametrize(("players", "penguins", "need"), [(2, 4, 8), (3, 3, 9), (4, 2, 8)])
def test_begin_room_is_enough_to_the_tile(players: int, penguins: int, need: int) -> None:
    colors = list(Color)[:players]
    state = State.begin(column(*[2] * need), colors)
    assert (state.penguins_each, state.turn, state.stage) == (penguins, RED, Stage.PLACEMENT)
    message = (
        f"{players} players with {penguins} penguins each need {need} tiles, "
        f"and the board has {need - 1}"
    )
    with pytest.raises(InvalidBoard, match=f"^{message}$"):
        State.begin(column(0, *[2] * (need - 1)), colors)


def test_begin_room_on_one_fish_tiles_is_counted_apart() -> None:
    rules = Rules(placement="one_fish")
    State.begin(column(*[1] * 8, 2), [RED, WHITE], rules)
    with pytest.raises(InvalidBoard, match=r"need 8 tiles with one fish, and the board has 7$"):
        State.begin(column(*[1] * 7, 2, 2, 2), [RED, WHITE], rules)


@pytest.mark.parametrize("colors", [[], [RED, RED], [RED, WHITE, RED]])
def test_begin_players_none_or_of_one_colour_are_refused(colors: list[Color]) -> None:
    with pytest.raises(InvalidState, match="1 to 4 players of different colours"):
        State.begin(column(*[1] * 9), colors)


def test_begin_absent_players_do_not_count_for_penguins_and_room() -> None:
    state = State.begin(column(*[1] * 8), [RED, WHITE, BROWN], absent=[RED])
    assert (state.turn, state.penguins_each) == (WHITE, 4)
    assert [player.ejected for player in state.players] == [True, False, False]
    assert turns_until(state, Stage.OVER) == ["white", "brown"] * 4


def test_begin_with_one_left_has_won_unplayed() -> None:
    state = State.begin(column(1), [RED, WHITE, BROWN], absent=[RED, BROWN])
    assert state.is_over
    assert outcome_of(state) == Outcome(((WHITE,),), (RED, BROWN), {WHITE: 0}, {WHITE: 0})


def test_begin_with_nobody_left_has_no_winner() -> None:
    state = State.begin(column(1), [RED, WHITE], absent=[RED, WHITE])
    assert outcome_of(state).winners == ()


# -- placement


def test_placement_runs_in_rounds() -> None:
    state = State.begin(column(*[1] * 9), [BROWN, RED, WHITE])
    assert turns_until(state, Stage.OVER) == ["brown", "red", "white"] * 3


def test_placement_in_snake_order_turns_back_every_second_round() -> None:
    state = State.begin(column(*[1] * 9), list(Color)[:3], Rules(placement_order="snake"))
    forth, back = ["red", "white", "brown"], ["brown", "white", "red"]
    assert turns_until(state, Stage.OVER) == [*forth, *back, *forth]


def test_placement_is_not_scored_and_keeps_the_tile() -> None:
    board = column(*[3] * 9)
    state, events = State.begin(board, [RED, WHITE]).step(Placement(Position(8, 0)))
    assert events == (Placed(RED, Position(8, 0)),)
    assert (state.player(RED).fish, state.board, state.turn) == (0, board, WHITE)
    assert Placement(Position(8, 0)) not in state.legal_actions


def test_placement_on_one_fish_tiles_offers_no_other() -> None:
    state = State.begin(column(2, *[1] * 8, 3), [RED, WHITE], Rules(placement="one_fish"))
    assert list(state.legal_actions) == [Placement(spot) for spot in at(*range(1, 9))]


def test_placement_of_a_walled_in_penguin_costs_no_turn() -> None:
    state = State.begin(column(1, 0, 0, *[1] * 7), [RED, WHITE])
    state = state.apply(Placement(Position(0, 0)))  # nothing lies next to it
    assert turns_until(state, Stage.OVER) == ["white", *["red", "white"] * 3]


def test_placement_ejection_leaves_order_and_number_of_the_others() -> None:
    state = State.begin(column(*[1] * 20), list(Color)[:3])
    for _ in range(4):
        state = state.apply(next(iter(state.legal_actions)))
    assert state.turn is WHITE
    state, events = state.eject(WHITE, Verdict.TIMEOUT)
    assert events == (Ejected(WHITE, Verdict.TIMEOUT, Phase.PLACEMENT),)
    assert (state.turn, state.penguins_each) == (BROWN, 3)
    assert Placement(Position(1, 0)) in state.legal_actions  # where white's penguin stood
    assert turns_until(state, Stage.MOVEMENT) == ["brown", "red", "brown"]


def test_placement_ejection_out_of_turn_leaves_the_turn() -> None:
    state = State.begin(column(*[1] * 20), list(Color))
    state, _ = state.eject(BLACK, Verdict.DISCONNECTED)
    assert state.turn is RED
    assert turns_until(state, Stage.MOVEMENT) == ["red", "white", "brown"] * 2


def test_placement_ejection_of_the_last_to_place_starts_movement() -> None:
    state = State.begin(column(*[1] * 20), [RED, WHITE])
    for _ in range(7):
        state = state.apply(next(iter(state.legal_actions)))
    state, events = state.eject(WHITE, Verdict.MALFORMED)
    assert (state.stage, state.turn) == (Stage.MOVEMENT, RED)
    assert [event.kind for event in events] == ["eject"]


@pytest.mark.parametrize("rules", [FISH, CLASSIC, Rules(ejected="leave_blocking")])
def test_placement_with_all_ejected_is_over_without_a_winner(rules: Rules) -> None:
    state = State.begin(column(*[1] * 20), [RED, WHITE], rules)
    state = state.apply(next(iter(state.legal_actions)))
    for color in (RED, WHITE):
        assert not state.is_over
        state, _ = state.eject(color, Verdict.TIMEOUT)
    assert outcome_of(state) == Outcome((), (RED, WHITE), {}, {})


def test_placement_with_one_left_goes_on() -> None:
    state = State.begin(column(*[1] * 20), [RED, WHITE])
    state, _ = state.eject(RED, Verdict.TIMEOUT)
    assert turns_until(state, Stage.MOVEMENT) == ["white"] * 4


def test_placement_without_a_tile_ejects_who_should_place_and_frees_its_own() -> None:
    players = tuple(PlayerState(color, penguins=at(row)) for row, color in enumerate(Color))
    state = State(column(1, 1, 1, 1), players, RED, Stage.PLACEMENT, 2)
    state, events = state.settle()
    assert events == (Ejected(RED, Verdict.NO_ROOM, Phase.PLACEMENT),)
    assert list(state.legal_actions) == [Placement(Position(0, 0))]
    assert state.turn is WHITE


# -- moves


def test_move_gives_the_tile_that_it_leaves() -> None:
    state = moving(column(4, 5, 1, 2), FISH, at(0), at(3))
    after, events = state.step(move(0, 1))
    assert events == (Moved(RED, Position(0, 0), Position(1, 0), 4),)
    assert after.player(RED) == PlayerState(RED, 4, 1, at(1))
    assert after.board == column(0, 5, 1, 2)
    assert after.turn is WHITE
    assert state == moving(column(4, 5, 1, 2), FISH, at(0), at(3))


def test_move_keeps_the_penguin_in_its_slot() -> None:
    state = moving(column(*[1] * 9), FISH, at(4, 0), at(8, 6))
    assert state.apply(move(0, 1)).player(RED).penguins == at(4, 1)
    assert state.apply(move(4, 5)).player(RED).penguins == at(5, 0)


@pytest.mark.parametrize("fish", [[[1] * 5] * 5, [[1] * 4] * 15, [[1]] * 8, [[1, 1]] * 4])
def test_first_and_last_tile_can_be_placed_on_left_and_reached(fish: list[list[int]]) -> None:
    board = Board.from_json(fish)
    first, last = board.tiles()[0], board.tiles()[-1]
    for corner in (first, last):
        state = State.begin(board, [RED, WHITE]).apply(Placement(corner))
        assert state.player(RED).penguins == (corner,)
        near = board.grid.position(board.grid.near[board.grid.tile(corner)].bit_length() - 1)
        leaving = moving(board, FISH, (corner,))
        assert leaving.apply(Move(corner, near)).player(RED).fish == 1
        reaching = moving(board, FISH, (near,)).apply(Move(near, corner))
        assert reaching.player(RED).penguins == (corner,)


BOARD = Board.from_json([[1, 1, 1], [1, 0, 1], [1, 1, 1], [1, 1, 1], [1, 1, 1]])
HERE = Position(2, 0)
SCENE = moving(BOARD, FISH, (HERE, Position(4, 2)), (Position(3, 0), Position(0, 0)))


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        pytest.param(Move(HERE, HERE), "at least one step", id="same-tile"),
        pytest.param(Move(HERE, Position(2, 1)), "not in a straight line", id="out-of-line"),
        pytest.param(Move(HERE, Position(-1, 0)), "outside the board of 5 rows", id="negative"),
        pytest.param(Move(HERE, Position(5, 0)), "outside the board", id="below"),
        pytest.param(Move(HERE, Position(2, -2)), "outside the board", id="left"),
        pytest.param(Move(HERE, Position(10**30, 0)), "outside the board", id="huge"),
        pytest.param(Move(HERE, Position(10**5000, 0)), "outside the board", id="unprintable"),
        pytest.param(Move(HERE, Position(1, 1)), r"\[1,1\] is a hole", id="hole"),
        pytest.param(Move(HERE, Position(3, 0)), "a white penguin stands on", id="onto-another"),
        pytest.param(Move(HERE, Position(4, 2)), "a red penguin stands on", id="onto-own"),
        pytest.param(Move(HERE, Position(4, 1)), "stands or a tile is missing", id="over-penguin"),
        pytest.param(Move(Position(4, 2), Position(0, 0)), "a white penguin", id="onto-far"),
        pytest.param(
            Move(Position(0, 0), Position(1, 0)), r"no red penguin stands on \[0,0\]", id="foreign"
        ),
        pytest.param(Move(Position(2, 2), Position(0, 2)), "no red penguin", id="from-empty"),
        pytest.param(Move(Position(1, 1), Position(0, 1)), "no red penguin", id="from-hole"),
        pytest.param(Move(Position(-1, 0), HERE), "no red penguin", id="from-outside"),
        pytest.param(Placement(Position(2, 2)), "this is movement, and it is a pl", id="placement"),
    ],
)
def test_move_illegal_is_refused_with_its_reason(action: Action, reason: str) -> None:
    text = repr(SCENE)
    assert action not in SCENE.legal_actions
    with pytest.raises(IllegalAction, match=rf"^.{{3,120}} is not legal for red: .*{reason}"):
        SCENE.step(action)
    assert repr(SCENE) == text


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        (Placement(Position(0, 0)), "has 2 fish, and penguins are placed on tiles with one"),
        (Placement(Position(1, 0)), "a red penguin stands on"),
        (Placement(Position(2, 0)), "is a hole"),
        (Placement(Position(11, 0)), "outside the board"),
        (Placement(Position(0, -1)), "outside the board"),
        (move(1, 3), "this is placement, and it is a move"),
    ],
)
def test_placement_illegal_is_refused_with_its_reason(action: Action, reason: str) -> None:
    rules = Rules(placement="one_fish")
    state = State.begin(column(2, 1, 0, *[1] * 8), [RED, WHITE], rules)
    state = state.apply(Placement(Position(1, 0)))
    text = repr(state)
    with pytest.raises(IllegalAction, match=f"is not legal for white: .*{reason}"):
        state.step(action)
    assert repr(state) == text


def test_action_after_the_end_is_refused() -> None:
    state, _ = moving(column(1, 1), FISH, at(0), at(1)).settle()
    assert list(state.legal_actions) == []
    with pytest.raises(IllegalAction, match="the game is over"):
        state.step(move(0, 1))


def test_legal_actions_know_nothing_else() -> None:
    assert "[[2,0],[0,0]]" not in SCENE.legal_actions
    assert ((2, 0), (0, 0)) not in SCENE.legal_actions


def test_legal_actions_show_themselves() -> None:
    state = moving(column(1, 1, 1), FISH, at(0), at(2))
    assert repr(state.legal_actions) == "<LegalActions [[0,0],[1,0]]>"


# -- states as values


def test_state_never_changes() -> None:
    with pytest.raises(FrozenInstanceError):
        SCENE.turn = WHITE  # type: ignore[misc]


def test_state_with_equal_parts_is_equal_and_copies_are() -> None:
    for state in random_game(1, Board.from_json([[1, 2, 3]] * 5), 2, FISH):
        assert bool(state.legal_actions) != state.is_over  # and what is made when needed is made
        for other in (copy.copy(state), copy.deepcopy(state), pickle.loads(pickle.dumps(state))):
            assert other == state
            assert hash(other) == hash(state)
            assert list(other.legal_actions) == list(state.legal_actions)


def test_state_that_is_settled_stays_as_it_is() -> None:
    for rules in (FISH, CLASSIC):
        for state in random_game(2, Board.from_json([[1, 1, 3, 1]] * 5), 3, rules):
            assert state.settle() == (state, ())


def test_state_settle_skips_who_can_not_move() -> None:
    state, events = moving(column(1, 1, 0, 0, 1), FISH, at(4), at(0)).settle()
    assert events == (Skipped(RED),)
    assert state.turn is WHITE


def test_state_has_no_player_of_a_colour_that_does_not_play() -> None:
    with pytest.raises(KeyError):
        SCENE.player(BLACK)


def test_state_kernel_is_a_copy() -> None:
    kernel = SCENE.kernel()
    kernel.make(0, 0, SCENE.board.grid.tile((0, 0)))
    assert SCENE.kernel().held == [0, 0]
    assert Move(HERE, Position(1, 0)) in SCENE.legal_actions
