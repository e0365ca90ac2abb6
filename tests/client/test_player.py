"""What a player sees."""

from __future__ import annotations

import time
from dataclasses import FrozenInstanceError

import pytest

import croupier_client
from croupier_client.player import View
from croupier_common.grid import Position
from croupier_common.outcome import Color
from croupier_common.state import Stage, State
from croupier_common.verdict import Verdict
from support.scripted import BOARD


def begun(players: int = 3) -> State:
    board = type(BOARD).from_json([[1, 2, 3, 4, 5]] * 5)
    return State.begin(board, list(Color)[:players])


def test_view_shows_the_game_from_the_players_seat() -> None:
    state = begun()
    view = View(you=Color.WHITE, state=state)

    assert view.board[0, 1] == 2
    assert view.board[9, 9] == 0
    assert view.rules is state.rules
    assert view.me.color is Color.WHITE
    assert [player.color for player in view.opponents] == [Color.BROWN, Color.RED]
    assert len(view.placements) == len(view.legal_actions) == 25
    assert view.placements[0].at == (0, 0)
    assert view.moves == ()


def test_view_leaves_out_who_was_ejected() -> None:
    state, _ = begun().eject(Color.BROWN, Verdict.TIMEOUT)
    view = View(you=Color.WHITE, state=state)
    assert [player.color for player in view.opponents] == [Color.RED]


def test_view_has_moves_once_all_penguins_stand() -> None:
    state = begun(2)
    while state.stage is Stage.PLACEMENT:
        state = state.apply(next(iter(state.legal_actions)))
    view = View(you=Color.RED, state=state)
    assert view.placements == ()
    assert set(view.moves) == set(view.legal_actions)
    assert isinstance(view.moves[0].start, Position)


def test_view_does_not_change() -> None:
    view = View(you=Color.RED, state=begun())
    with pytest.raises(FrozenInstanceError):
        view.budget_ms = 3  # type: ignore[misc]


def test_time_left_is_what_is_left_of_the_budget() -> None:
    state = begun()
    assert View(you=Color.RED, state=state, budget_ms=700).time_left_ms() == 700
    now = time.monotonic()
    assert 8_000 < View(you=Color.RED, state=state, deadline=now + 10).time_left_ms() <= 10_000
    assert View(you=Color.RED, state=state, deadline=now - 1).time_left_ms() == 0


def test_public_names_are_all_there() -> None:
    for name in croupier_client.__all__:
        assert getattr(croupier_client, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = croupier_client.Nothing
