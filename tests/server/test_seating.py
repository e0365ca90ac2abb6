"""Blocks: everybody in every seat once, and after others by turns."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from math import factorial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from croupier_server.tournament.model import Pairing
from croupier_server.tournament.seating import Seating, cyclic_orders
from support.playing import is_seat_complete


@given(st.permutations("abcdefg"), st.integers(2, 4), st.integers(1, 20))
def test_every_block_is_seat_complete(names: list[str], size: int, blocks: int) -> None:
    seating = Seating()
    for table in range(1, blocks + 1):
        block = seating.block(names[:size], 3, table)
        assert is_seat_complete(block)
        assert [game.game for game in block] == [f"3.{table}.{at}" for at in range(1, size + 1)]
        assert {(game.round, game.block) for game in block} == {(3, f"3.{table}")}


@pytest.mark.parametrize("size", [2, 3, 4])
def test_same_group_uses_all_cyclic_orders_in_turn(size: int) -> None:
    seating = Seating()
    group = "abcd"[:size]

    def around(players: tuple[str, ...]) -> tuple[str, ...]:
        at = players.index("a")
        return players[at:] + players[:at]

    orders = [around(seating.order(group)) for _ in range(2 * factorial(size - 1))]
    assert len(cyclic_orders(size)) == factorial(size - 1)
    assert set(Counter(orders).values()) == {2}
    assert len(set(orders[: len(orders) // 2])) == len(orders) // 2


@pytest.mark.parametrize("size", [3, 4])
def test_nobody_always_moves_after_the_same_player(size: int) -> None:
    seating = Seating()
    after: Counter[tuple[str, str]] = Counter()
    for table, group in enumerate(combinations("abcdefghij", size)):
        players = seating.block(group, 1, table)[0].players
        after.update(zip(players, players[1:] + players[:1], strict=True))
    even = sum(after.values()) / 90
    assert len(after) == 90
    assert even / 2 < min(after.values()) <= max(after.values()) < even * 1.5


@given(st.lists(st.permutations("abcde"), max_size=30), st.integers(2, 4))
def test_who_has_opened_fewest_blocks_opens(groups: list[list[str]], size: int) -> None:
    seating = Seating()
    opened: Counter[str] = Counter()
    for group in groups:
        opener = seating.order(group[:size])[0]
        assert opened[opener] == min(opened[name] for name in group[:size])
        opened[opener] += 1


@given(st.lists(st.permutations("abcde"), max_size=12), st.integers(2, 4))
def test_seats_go_on_from_what_was_issued(groups: list[list[str]], size: int) -> None:
    seating = Seating()
    issued: list[Pairing] = []
    for table, group in enumerate(groups, 1):
        block = Seating(issued).block(group[:size], 1, table)
        assert block == seating.block(group[:size], 1, table)
        issued.extend(block)
