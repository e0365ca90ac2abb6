"""When a test stops, and how often it errs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from croupier_server.errors import UserError
from croupier_server.tournament.blocks import block_scores
from croupier_server.tournament.model import Pairing
from croupier_server.tournament.sequential import SequentialTest, score_of_elo
from support.results import history, played

SCORES = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])


def test_test_decides_for_either_side_and_says_so() -> None:
    test = SequentialTest(0.5, 0.7)
    better = test.state(repeat(1.0, 100))
    assert better.outcome == "accept"
    assert better.llr_accept >= better.accept_at
    assert str(better).startswith(f"better, after {better.blocks} blocks")
    worse = test.state(repeat(0.0, 100))
    assert worse.outcome == "reject"
    assert worse.llr_reject >= worse.reject_at
    assert worse.is_over


def test_nothing_is_known_before_the_first_block() -> None:
    found = SequentialTest(0.5, 0.7).state([])
    assert (found.outcome, found.blocks, found.mean) == ("continue", 0, None)
    assert (found.llr_accept, found.llr_reject) == (0, 0)


def test_limit_ends_it_undecided() -> None:
    test = SequentialTest(0.5, 0.6, limit=4)
    assert test.state([0.5] * 3).outcome == "continue"
    found = test.state([0.5] * 9)
    assert (found.outcome, found.blocks) == ("undecided", 4)
    assert "not shown either way" in str(found)


def test_limit_on_the_block_that_decides_is_a_decision() -> None:
    needed = SequentialTest(0.5, 0.7).state(repeat(1.0, 100)).blocks
    assert SequentialTest(0.5, 0.7, limit=needed).state([1.0] * needed).outcome == "accept"


@given(st.lists(SCORES, max_size=60), st.lists(SCORES, max_size=20))
def test_what_is_decided_stays_decided(blocks: list[float], later: list[float]) -> None:
    test = SequentialTest(0.45, 0.65)
    found = test.state(blocks)
    if found.is_over:
        assert test.state(blocks + later) == found


def test_estimate_comes_near_what_it_takes() -> None:
    test = SequentialTest(0.5, 0.6)
    draws = random.Random(5)
    took = [test.state(games(draws, 0.6)).blocks for _ in range(60)]
    expected = test.expected_blocks()
    assert expected is not None
    assert 0.7 < sum(took) / len(took) / expected < 1.4
    assert test.expected_blocks(0.5501, variance=0.25) is None or expected < 1_000
    assert SequentialTest(0.5, 0.6, limit=10).expected_blocks() == 10


def test_estimate_of_what_is_missing_shrinks() -> None:
    test = SequentialTest(0.5, 0.6)
    early, late = test.state([0.75] * 5), test.state([0.75] * 15)
    assert early.more is not None
    assert late.more is not None
    assert late.more < early.more
    assert f"about {late.more} more" in str(late)


def test_elo_and_scores_agree() -> None:
    assert score_of_elo(0) == 0.5
    assert score_of_elo(400) == pytest.approx(10 / 11)
    test = SequentialTest.by_elo(0, 100, alpha=0.01, limit=50)
    assert test == SequentialTest(0.5, score_of_elo(100), 0.01, limit=50)


@pytest.mark.parametrize(
    ("score0", "score1", "alpha", "limit", "complaint"),
    [
        (0.6, 0.5, 0.05, None, "between the scores 0.6 and 0.5 can't be"),
        (0.0, 0.5, 0.05, None, "the first must be above 0"),
        (0.5, 0.6, 0.0, None, "between 0 and 1"),
        (0.5, 0.6, 0.05, 0, "1 is the least"),
    ],
)
def test_test_that_cannot_be_is_refused(
    score0: float, score1: float, alpha: float, limit: int | None, complaint: str
) -> None:
    with pytest.raises(UserError, match=complaint):
        SequentialTest(score0, score1, alpha, limit=limit)


def test_score_outside_is_refused() -> None:
    with pytest.raises(ValueError, match=r"block 2 is 1\.5"):
        SequentialTest().state([0.5, 1.5])


# -- how often it errs


def games(draws: random.Random, mean: float, size: int = 2, most: int = 3_000) -> Iterator[float]:
    """Blocks of some games, won with a chance each; with one game, a block is won or lost."""
    for _ in range(most):
        yield sum(draws.random() < mean for _ in range(size)) / size


def errors(test: SequentialTest, mean: float, wrong: str, size: int, times: int) -> float:
    draws = random.Random(f"{mean} {size}")
    made = (test.state(games(draws, mean, size)) for _ in range(times))
    return sum(found.outcome == wrong for found in made) / times


@pytest.mark.parametrize("size", [1, 2, 4])
def test_errors_stay_within_their_chances(size: int) -> None:
    test = SequentialTest(0.5, 0.65, alpha=0.1, beta=0.1)
    # at most 0.1 each; 0.16 is 3.5 standard errors above that
    assert errors(test, 0.5, "accept", size, 300) < 0.16
    assert errors(test, 0.65, "reject", size, 300) < 0.16
    assert errors(test, 0.5, "reject", size, 100) > 0.8
    assert errors(test, 0.65, "accept", size, 100) > 0.8


@pytest.mark.full
@pytest.mark.timeout(600)
@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("scores", [(0.5, 0.55), (0.5, 0.7), (0.8, 0.95)])
def test_errors_stay_within_their_chances_at_full_size(
    size: int, scores: tuple[float, float]
) -> None:
    test = SequentialTest(*scores)
    assert errors(test, scores[0], "accept", size, 4_000) < 0.061  # 3 standard errors
    assert errors(test, scores[1], "reject", size, 4_000) < 0.061


# -- blocks


def test_block_scores_are_of_blocks_that_are_over() -> None:
    results = history(
        played("1.1.1", "a", "b"),
        played("1.1.2", "b", "a"),
        played("1.10.1", "a", "b"),
        played("1.10.2", "a", failed="b", kind="forfeit"),
        played("1.2.1", "a", "b"),
        played("1.2.2", "a", "b", kind="void"),
        played("1.3.1", "a", "b"),
        played("1.4.1", "a", "b", "cd"),
        played("1.5.1", "a", kind="bye"),
        waiting=[Pairing("1.3.2", ("b", "a"), 1, "1.3")],
    )
    assert block_scores(results, "a") == (0.5, 1.0, 1.0)
    assert block_scores(results, "b") == pytest.approx((0.5, 2 / 3, 0.0))  # 1.4 is before 1.10
