"""What a player's method returns, and what it raises."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from croupier_client.errors import BadAnswer
from croupier_client.player import ActionLike, Player, View
from croupier_client.turns import (
    Answered,
    Answering,
    Caller,
    Failed,
    Silence,
    Vanish,
    error_message,
    to_action,
)
from croupier_common.actions import Move, Placement
from croupier_common.grid import Position
from croupier_common.outcome import Color
from support.scripted import fresh_game


class Number:
    """A whole number of another library's."""

    def __index__(self) -> int:
        return 3


class Acting(Player):
    """Does what it is given."""

    def __init__(self, act: Callable[[], Any]) -> None:
        self.act = act

    def place(self, view: View) -> ActionLike:
        result: ActionLike = self.act()
        return result

    def move(self, view: View) -> ActionLike:
        return self.place(view)


def first_view(**fields: Any) -> View:
    state = fresh_game().state
    assert state is not None
    return View(you=Color.RED, state=state, **fields)


@pytest.mark.parametrize(
    "value",
    [Placement(Position(3, 1)), Position(3, 1), (3, 1), [3, 1], (Number(), 1), iter([3, 1])],
)
def test_placement_may_be_returned_as(value: object) -> None:
    assert to_action("place", value) == Placement(Position(3, 1))


@pytest.mark.parametrize(
    "value",
    [
        Move(Position(0, 1), Position(3, 0)),
        Move((0, 1), [3, 0]),  # type: ignore[arg-type]
        ((0, 1), (3, 0)),
        [[0, 1], [3, 0]],
        (Position(0, 1), [Number(), 0]),
    ],
)
def test_move_may_be_returned_as(value: object) -> None:
    assert to_action("move", value) == Move(Position(0, 1), Position(3, 0))


@pytest.mark.parametrize("method", ["place", "move"])
@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        "[0,1]",
        b"12",
        {},
        {0: 1, 2: 3},
        {0, 1},
        [],
        [0],
        [0, 1, 2],
        [True, 0],
        [0.0, 1.0],
        ["0", "1"],
        [None, None],
        [[0, 1], [2]],
        [[0, 1], None],
        [[0, 1], [2, True]],
        [[0, 1], [2, 10**5000]],
        [10**20, 0],
    ],
)
def test_value_that_is_no_action_is_refused(method: str, value: object) -> None:
    with pytest.raises(BadAnswer, match=r"^it returned .* and is to return a "):
        to_action(method, value)


def test_move_returned_for_a_placement_is_refused_and_the_other_way() -> None:
    with pytest.raises(BadAnswer, match="is to return a Placement"):
        to_action("place", Move(Position(0, 1), Position(3, 0)))
    with pytest.raises(BadAnswer, match="is to return a Move"):
        to_action("move", Placement(Position(0, 1)))


def test_turn_that_is_legal_warns_of_nothing() -> None:
    warned: list[str] = []

    answer = Caller("Me", warned.append).turn(Acting(lambda: (0, 1)), "place", first_view())

    assert answer == Answered([0, 1])
    assert warned == []


@pytest.mark.parametrize("problem", [ValueError("no\nidea"), SystemExit(3), RecursionError("deep")])
def test_turn_that_raises_fails(problem: BaseException) -> None:
    def fail() -> None:
        raise problem

    warned: list[str] = []
    answer = Caller("Me", warned.append).turn(Acting(fail), "place", first_view())

    text = " ".join(str(problem).split())
    assert answer == Failed(f"{type(problem).__name__}: {text}")
    assert "raise problem" in warned[0]


def test_turn_interrupted_from_the_keyboard_is_not_the_players_fault() -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Caller("Me", pytest.fail).turn(Acting(interrupt), "place", first_view())


def test_trick_is_passed_on_without_a_report() -> None:
    def trick(played: Exception) -> Callable[[], None]:
        def act() -> None:
            raise played

        return act

    caller = Caller("Me", pytest.fail)
    vanish = Vanish()
    assert caller.turn(Acting(trick(vanish)), "place", first_view()) is vanish
    assert isinstance(caller.turn(Acting(trick(Silence())), "move", first_view()), Silence)
    answer = Answering(Answered("nonsense"))
    assert caller.turn(Acting(trick(answer)), "place", first_view()) == Answered("nonsense")


def test_turn_that_takes_most_of_its_time_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = count(0, 9.1)
    monkeypatch.setattr("croupier_client.turns.time.monotonic", lambda: next(clock))
    warned: list[str] = []
    caller = Caller("Me", warned.append)

    caller.turn(Acting(lambda: (0, 1)), "place", first_view(budget_ms=10_000))
    caller.turn(Acting(lambda: (0, 1)), "place", first_view(budget_ms=12_000))
    caller.hook("game_start", lambda: None, 5_000)
    caller.hook("game_end", lambda: None)

    assert warned == [
        "Me.place() took 9.1 s of 10 s",
        "Me.game_start() took 9.1 s of 5 s",
    ]


def test_error_message_is_one_line_that_can_be_sent() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert error_message(KeyError("x")) == "KeyError: 'x'"
    assert error_message(ValueError()) == "ValueError"
    assert error_message(Mute()) == "Mute"
    assert error_message(ValueError("a\ud800b")) == "ValueError: a?b"
    assert len(error_message(ValueError("x" * 10_000))) == 500
