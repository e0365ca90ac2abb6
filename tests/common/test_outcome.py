"""How games end: rankings, ties and winners."""

from __future__ import annotations

from typing import Any

import pytest

from croupier_common.draft import Stage
from croupier_common.outcome import Color, Outcome
from croupier_common.rules import FISH, Rules
from croupier_common.state import PlayerState, State
from support.scenes import BLACK, RED, WHITE, column, outcome_of


def over(rules: Rules, **held: tuple[int, int] | None) -> Outcome:
    """The outcome of players with so many fish and tiles, None for one that was ejected."""
    players = tuple(
        PlayerState(Color(color), ejected=True)
        if merit is None
        else PlayerState(Color(color), *merit)
        for color, merit in held.items()
    )
    return outcome_of(State(column(1), players, None, Stage.OVER, 2, rules))


@pytest.mark.parametrize(
    ("held", "ranking", "by_tiles"),
    [
        ({"red": (5, 1), "white": (7, 2)}, "white > red", "white > red"),
        ({"red": (5, 1), "white": (5, 1)}, "red = white", "red = white"),
        ({"red": (5, 1), "white": (5, 2)}, "red = white", "white > red"),
        (
            {"red": (5, 2), "white": (5, 2), "brown": (5, 2)},
            "red = white = brown",
            "red = white = brown",
        ),
        (
            {"red": (5, 2), "white": (5, 2), "brown": (5, 3)},
            "red = white = brown",
            "brown > red = white",
        ),
        (
            {"black": (5, 2), "white": (9, 1), "brown": (5, 3), "red": (0, 0)},
            "white > black = brown > red",
            "white > brown > black > red",
        ),
        (
            {"red": None, "white": (0, 0), "brown": None, "black": (3, 1)},
            "black > white",
            "black > white",
        ),
    ],
)
def test_outcome_ranks_by_fish_then_tiles_where_they_count(
    held: dict[str, Any], ranking: str, by_tiles: str
) -> None:
    for rules, wanted in ((FISH, ranking), (Rules(tie_break="tiles"), by_tiles)):
        outcome = over(rules, **held)
        assert " > ".join(" = ".join(group) for group in outcome.ranking) == wanted
        assert outcome.winners == outcome.ranking[0]
        assert set(outcome.ejected) == {color for color, merit in held.items() if merit is None}


def test_outcome_place_counts_the_better_ones() -> None:
    outcome = over(FISH, red=(5, 1), white=(7, 1), brown=(5, 1), black=None)
    assert [outcome.place(color) for color in Color] == [2, 1, 2, None]
    last = over(FISH, red=(5, 1), white=(7, 1), brown=(5, 1), black=(1, 1))
    assert last.place(BLACK) == 4


def test_outcome_is_none_until_the_end() -> None:
    assert State.begin(column(*[1] * 8), [RED, WHITE]).outcome is None


def test_outcome_to_json_and_back() -> None:
    outcome = over(FISH, red=(5, 1), white=(7, 1), brown=(5, 1), black=None)
    assert Outcome.from_json(outcome.to_json()) == outcome
    assert outcome.to_json()["ranking"] == [["white"], ["red", "brown"]]
