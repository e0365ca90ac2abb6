"""Who sits where."""

from __future__ import annotations

import pytest

from croupier_common.rules import CLASSIC, FISH, Rules
from croupier_server.tournament.order import turn_order


@pytest.mark.parametrize(
    ("rules", "ages", "order"),
    [
        (FISH, [30, 20, 25], "bca"),
        (FISH, [20, 20, 10, 20], "cabd"),
        (FISH, [None, 20, None, 10], "dbac"),
        (FISH, [None, None, None], "abc"),
        (FISH, [0, None], "ab"),
        (CLASSIC, [30, 20, 25], "bca"),
        (CLASSIC, [30, 25, 20], "cab"),
        (CLASSIC, [20, 10, 10], "bca"),
        (CLASSIC, [None, None], "ab"),
        (Rules(turn_order="given"), [3, 2, 1], "abc"),
        (FISH, [], ""),
        (CLASSIC, [], ""),
    ],
)
def test_turn_order_by_rule(rules: Rules, ages: list[int | None], order: str) -> None:
    entrants = list(zip("abcd", ages, strict=False))
    assert "".join(turn_order(entrants, rules)) == order
