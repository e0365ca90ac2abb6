"""What a game is worth: the share of opponents beaten, exactly."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from croupier_server.tournament.model import Result, ResultKind
from croupier_server.tournament.points import PARTS, parts, points, total_parts


def result(players: str, ranking: str, kind: ResultKind = "played") -> Result:
    """``"a bc"``: first a, then b and c, equal."""
    groups = tuple(tuple(group) for group in ranking.split())
    return Result("1.1.1", "1.1", 1, tuple(players), kind, groups)


@pytest.mark.parametrize(
    ("players", "ranking", "expected"),
    [
        ("ab", "a b", [1, 0]),
        ("ab", "ab", [0.5, 0.5]),
        ("ab", "b", [0, 1]),
        ("ab", "", [0, 0]),
        ("abcd", "a b c d", [1, 2 / 3, 1 / 3, 0]),
        ("abcd", "abcd", [0.5] * 4),
        ("abcd", "d ab", [0.5, 0.5, 0, 1]),
        ("abc", "bc", [0, 0.75, 0.75]),
        ("abc", "c", [0, 0, 1]),
    ],
)
def test_share_of_opponents_beaten(players: str, ranking: str, expected: list[float]) -> None:
    assert list(points(result(players, ranking)).values()) == pytest.approx(expected)


def test_bye_is_a_point_and_void_is_nothing() -> None:
    assert points(result("a", "a", "bye")) == {"a": 1}
    assert points(result("ab", "a b", "void")) == {}


def test_forfeit_is_worth_what_its_ranking_says() -> None:
    assert points(result("ab", "b", "forfeit")) == {"a": 0, "b": 1}
    assert points(result("ab", "", "forfeit")) == {"a": 0, "b": 0}


@given(st.permutations("abcd"), st.integers(2, 4), st.lists(st.booleans(), min_size=4, max_size=4))
def test_parts_are_whole_and_add_up_to_half_of_the_seats(
    names: list[str], size: int, breaks: list[bool]
) -> None:
    players = "".join(names[:size])
    ranking = "".join(name + " " * new for name, new in zip(players, breaks, strict=False))
    found = parts(result(players, ranking))
    assert sum(found.values()) == Fraction(size, 2) * PARTS
    beaten = {
        name: sum(ranking.split().index(b) > at for b in ranking.split() for _ in b)
        + Fraction(len(group) - 1, 2)
        for at, group in enumerate(ranking.split())
        for name in group
    }
    assert found == {name: PARTS * beaten[name] / (size - 1) for name in players}


def test_totals_tie_exactly_however_they_were_earned() -> None:
    thirds = [result("abcd", "b c a d")] * 3  # a third of a point each
    total = total_parts([*thirds, result("xy", "x y")])
    assert total["a"] == total["x"] == PARTS
