"""The quick text of a state is that of its JSON, whatever has happened to it."""

from __future__ import annotations

import json
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from croupier_common.board import Board
from croupier_common.errors import InvalidBoard
from croupier_common.notation import state_to_json
from croupier_common.outcome import Color
from croupier_common.rules import CLASSIC, FISH, Rules
from croupier_common.state import State
from croupier_common.state_text import StateWriter
from croupier_common.verdict import Verdict
from support.drawn import large_boards, options, player_colors, random_game
from support.scenes import RED, WHITE, at, column, moving


def plain(state: State) -> str:
    return json.dumps(state_to_json(state, whole=False), separators=(",", ":"))


def test_state_text_is_that_of_its_json_all_through_a_game() -> None:
    board = Board.from_json([[1, 12, 3, 1], [1, 1, 0, 5], [999, 1, 2, 1], [1, 1, 1, 1]])
    for rules in (FISH, CLASSIC):
        writer = StateWriter()
        for state in random_game(5, board, 2, rules):
            assert writer.text(state) == plain(state)


def test_state_text_of_the_same_state_is_the_same_again() -> None:
    state = moving(column(1, 2, 3, 4), FISH, at(0), at(3))
    writer = StateWriter()
    assert writer.text(state) == writer.text(state) == plain(state)


def test_state_text_has_the_penguins_that_an_ejected_player_leaves() -> None:
    rules = Rules(ejected="leave_blocking")
    state = moving(column(1, 1, 1, 1, 1, 1), rules, at(0), at(3), at(5))
    writer = StateWriter()
    assert writer.text(state) == plain(state)
    state, _ = state.eject(WHITE, Verdict.TIMEOUT)
    assert writer.text(state) == plain(state)
    assert '"penguins":[[3,0]],"ejected":true' in plain(state)
    state, _ = state.eject(RED, Verdict.TIMEOUT)
    assert writer.text(state) == plain(state)


@given(large_boards(), options(), player_colors(), st.integers(0, 2**32))
def test_state_text_is_that_of_its_json_with_any_options_and_ejections(
    board: list[list[int]], drawn: dict[str, str], colors: list[Color], seed: int
) -> None:
    random = Random(seed)
    try:
        state = State.begin(Board.from_json(board), colors, Rules(**drawn))
    except InvalidBoard:
        return
    writer = StateWriter()
    while not state.is_over:
        assert writer.text(state) == plain(state)
        if random.random() < 0.05:
            state, _ = state.eject(random.choice(state.active).color, Verdict.TIMEOUT)
        else:
            state = state.apply(random.choice(list(state.legal_actions)))
    assert writer.text(state) == plain(state)
