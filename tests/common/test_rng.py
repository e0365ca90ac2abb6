"""Draws: the documented arithmetic, so that any machine repeats them."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256

import pytest

from croupier_common.rng import Draws


def test_bits_are_sha_256_over_seed_labels_and_counter() -> None:
    draws = Draws(7, "board", "1.2", 3)
    key = sha256(b"1:7,5:board,3:1.2,1:3,").digest()
    for counter in range(3):
        digest = sha256(key + counter.to_bytes(8, "big")).digest()
        assert draws.bits() == int.from_bytes(digest[:8], "big")


def test_bits_are_these_on_every_machine() -> None:
    draws = Draws(7, "board", "1.2")
    assert [draws.bits() for _ in range(3)] == [
        8207364403026815741,
        9054748904620607546,
        13177762278548579836,
    ]
    assert Draws(7, "ä").bits() == 12604569521468478503
    assert Draws(-1).bits() == 4298457479286872886
    assert Draws(2**100).bits() == 14608087517027325917


def test_draws_differ_by_seed_and_by_every_label() -> None:
    streams = [
        Draws(7),
        Draws(8),
        Draws(7, "board"),
        Draws(7, "board", "1.2"),
        Draws(7, "board", "1", "2"),
        Draws(7, "board1.2"),
        Draws(7, "", "board"),
        Draws(78, "oard"),
    ]
    assert len({stream.bits() for stream in streams}) == len(streams)


def test_draws_of_equal_labels_are_equal() -> None:
    first, second = Draws(7, "board", 12), Draws(7, "board", "12")
    assert [first.bits() for _ in range(5)] == [second.bits() for _ in range(5)]


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 60])
def test_below_gives_every_number_about_as_often(limit: int) -> None:
    draws = Draws(1, "below", limit)
    counts = Counter(draws.below(limit) for _ in range(100 * limit))
    assert set(counts) == set(range(limit))
    assert max(counts.values()) < 150
    assert min(counts.values()) > 50 or limit == 1


def test_below_draws_again_rather_than_favour_the_low() -> None:
    limit = (1 << 63) + 1  # all draws from the limit up are thrown away, nearly half of them
    draws, again = Draws(3), Draws(3)
    kept = [bits for bits in (again.bits() for _ in range(40)) if bits < limit]
    assert [draws.below(limit) for _ in kept] == kept
    assert len(kept) < 40


@pytest.mark.parametrize("limit", [0, -1, (1 << 64) + 1])
def test_below_limit_that_can_not_be_is_refused(limit: int) -> None:
    with pytest.raises(ValueError, match=f"below\\({limit}\\): the limit must be from 1 to"):
        Draws(1).below(limit)


def test_shuffle_is_a_permutation_and_every_one_comes() -> None:
    draws = Draws(5, "shuffle")
    seen: Counter[str] = Counter()
    for _ in range(600):
        items = list("abc")
        draws.shuffle(items)
        seen["".join(items)] += 1
    assert sorted(seen) == ["abc", "acb", "bac", "bca", "cab", "cba"]
    assert min(seen.values()) > 60


def test_choice_is_one_of_the_options() -> None:
    draws = Draws(5, "choice")
    assert {draws.choice("xyz") for _ in range(50)} == set("xyz")


def test_weighted_follows_the_weights_and_never_gives_a_weightless_one() -> None:
    draws = Draws(5, "weighted")
    counts = Counter(draws.weighted([0, 3, 0, 1, 0]) for _ in range(400))
    assert set(counts) == {1, 3}
    assert 250 < counts[1] < 350
