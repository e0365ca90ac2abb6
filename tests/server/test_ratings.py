"""Ratings: the final table's, and the running ladder's."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from itertools import pairwise
from math import exp, isfinite, log, log10, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from croupier_server.ratings import LadderRatings, Rating, ladder_ratings, rate
from croupier_server.ratings.davidson import Terms, fit
from croupier_server.ratings.final import ELO
from croupier_server.ratings.pairs import pairs
from croupier_server.tournament.model import Entrant, Field, History, Result
from support.results import field, histories, history, played, round_robin, shuffled

ABCDEF = field("abcdef")


def by_name(rated: tuple[Rating, ...]) -> dict[str, Rating]:
    return {rating.name: rating for rating in rated}


def games(*counts: tuple[str, int]) -> History:
    """So many games of two that "ab", a before b, or "a=b" ended in."""
    texts = [text for text, count in counts for _ in range(count)]
    return history(
        *(
            played(f"1.{at}", text.replace("=", "")) if "=" in text else played(f"1.{at}", *text)
            for at, text in enumerate(texts)
        )
    )


def points(of: Field, played_games: History, prior: float = 0.5) -> dict[str, float]:
    rated = rate(of, played_games, bootstraps=0, prior=prior)
    return {rating.name: rating.rating for rating in rated}


# -- closed forms


def test_three_to_one_is_odds_of_three() -> None:
    found = points(field("ab"), games(("ab", 3), ("ba", 1)), prior=0)
    assert found["a"] - found["b"] == pytest.approx(400 * log10(3), abs=1e-3)
    assert found["a"] + found["b"] == pytest.approx(3000, abs=1e-3)


def test_ties_take_the_share_that_the_model_gives_them() -> None:
    # at the maximum the expected wins, losses and ties are those seen: p/q = 6/2, and
    # v sqrt(pq) / (p + q) = 4/8
    model = fit(
        pairs(field("ab"), games(("ab", 6), ("ba", 2), ("a=b", 4))),
        Terms(np.array([np.nan, np.nan]), 0.0, 0.0),
    )
    assert model.strengths[0] - model.strengths[1] == pytest.approx(log(3))
    assert model.ties == pytest.approx(4 / 8 * (3 + 1) / sqrt(3))


def test_equals_who_tie_a_third_have_a_v_of_one() -> None:
    level = games(("ab", 2), ("ba", 2), ("a=b", 2))
    model = fit(pairs(field("ab"), level), Terms(np.array([np.nan, np.nan]), 0.0, 0.0))
    assert model.ties == pytest.approx(1)


def test_prior_is_half_a_game_drawn_with_an_average_player() -> None:
    # beside an anchor, the average player: 3 + 1/4 of 3 + 1/2 games are won
    found = points(field("ab", b=1500), games(("ab", 3)))
    assert found == {"a": pytest.approx(1500 + 400 * log10(3.25 / 0.25), abs=1e-3), "b": 1500}


def test_pairs_of_a_larger_table_weigh_a_share_each() -> None:
    found = pairs(field("abcd"), history(played("1.1", "a", "bc", failed="d")))
    assert found.won.tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0, 1 / 3, 1 / 3])
    assert found.tied.tolist() == pytest.approx([0, 0, 0, 1 / 3, 0, 0])
    assert not found.lost.any()


# -- what must hold


def test_anchors_stay_and_pull_the_others_to_their_scale() -> None:
    level = games(("ab", 10), ("ba", 10), ("bc", 10), ("cb", 10))
    rated = by_name(rate(field("abc", a=1800), level, bootstraps=20))
    assert (rated["a"].rating, rated["a"].low, rated["a"].high) == (1800, 1800, 1800)
    assert rated["a"].is_anchor
    assert rated["b"].rating == pytest.approx(1800, abs=1e-3)
    assert rated["c"].rating == pytest.approx(1800, abs=1e-3)


def test_only_wins_or_only_losses_or_only_ties_stay_finite() -> None:
    rated = rate(field("abc"), games(("ab", 30), ("ac", 30), ("bc", 30)), bootstraps=20)
    assert [rating.name for rating in rated] == ["a", "b", "c"]
    assert all(isfinite(rating.low) and isfinite(rating.high) for rating in rated)
    assert rated[0].rating < 3000
    level = rate(field("ab"), games(("a=b", 10)), bootstraps=20)
    assert [rating.rating for rating in level] == [1500, 1500]


def test_won_everything_is_not_taken_for_certain() -> None:
    few = rate(field("ab"), games(("ab", 2)))[0]
    many = rate(field("ab"), games(("ab", 40), ("ba", 20)))[0]
    assert few.high - few.low > 3 * (many.high - many.low)


def test_who_failed_has_lost_and_what_was_not_played_does_not_count() -> None:
    base = games(("ab", 2), ("ba", 2))
    more = [
        played("9.1", "a", failed="b", kind="forfeit"),
        played("9.2", "a", kind="bye"),
        played("9.3", "a", "b", kind="void"),
    ]
    assert rate(field("ab"), base) == rate(field("ab"), history(*base.results.values(), *more))
    failed = history(*base.results.values(), played("9.1", "a", failed="b"))
    lost = history(*base.results.values(), played("9.1", "a", "b"))
    assert rate(field("ab"), failed) == rate(field("ab"), lost)


def test_groups_that_never_met_are_told_apart() -> None:
    rated = by_name(rate(field("abcde"), games(("ab", 3), ("cd", 3), ("de", 1)), bootstraps=0))
    assert {name: rating.group for name, rating in rated.items()} == {
        "a": 2, "b": 2, "c": 1, "d": 1, "e": 1,
    }  # fmt: skip


def test_who_did_not_play_has_no_rating() -> None:
    assert [rating.name for rating in rate(field("cab"), games(("ab", 1)))] == ["a", "b"]
    assert rate(field("ab", a=1200), History()) == ()
    assert rate(field("ab"), history(played("1.1", failed="ab"))) == ()


def test_two_anchors_alone_need_no_fit() -> None:
    rated = rate(field("ab", a=1000, b=1400), games(("ab", 5)))
    assert [(rating.name, rating.rating) for rating in rated] == [("b", 1400), ("a", 1000)]


@settings(max_examples=25, deadline=None)
@given(histories(), st.integers(0, 99))
def test_order_of_games_changes_nothing(before: History, seed: int) -> None:
    own = rate(ABCDEF, before, bootstraps=5, seed=3)
    assert own == rate(ABCDEF, shuffled(before, seed), bootstraps=5, seed=3)


@settings(max_examples=25, deadline=None)
@given(histories())
def test_interval_has_the_rating_in_it(before: History) -> None:
    for rating in rate(ABCDEF, before, bootstraps=10):
        assert isfinite(rating.rating)
        assert rating.low <= rating.rating <= rating.high


@settings(max_examples=25, deadline=None)
@given(histories("abcd", most=12))
def test_equal_results_rate_equal(before: History) -> None:
    twin = str.maketrans("abcd", "badc")
    results = list(before.results.values())
    mirrored = [renamed(result, twin, f"9.{at}") for at, result in enumerate(results)]
    found = points(field("abcd"), history(*results, *mirrored))
    assert found.get("a") == pytest.approx(found.get("b"), abs=1e-4)
    assert found.get("c") == pytest.approx(found.get("d"), abs=1e-4)


def renamed(result: Result, names: dict[int, int], game: str) -> Result:
    """The same result of others."""
    ranking = tuple(tuple(n.translate(names) for n in group) for group in result.ranking)
    players = tuple(name.translate(names) for name in result.players)
    return Result(game, game, 9, players, result.kind, ranking)


def test_ratings_agree_with_a_naive_fit() -> None:
    before = round_robin({name: at / 3 for at, name in enumerate("abcdef")}, ties=0.1, seed=4)
    expected = naive(before, "abcdef")
    found = points(ABCDEF, before, prior=0)
    assert found == {name: pytest.approx(own, abs=0.01) for name, own in expected.items()}


def naive(before: History, names: str) -> dict[str, float]:
    """The likelihood climbed game by game."""
    strengths, ties = dict.fromkeys(names, 0.0), 0.0  # logarithms
    for _ in range(4_000):
        slopes, slope = dict.fromkeys(names, 0.0), 0.0
        for result in before.results.values():
            one, other = result.players
            p, q = exp(strengths[one]), exp(strengths[other])
            even = exp(ties) * sqrt(p * q)
            score = {1: 1.0, 2: 0.5}[len(result.winners)] if one in result.winners else 0.0
            pull = score - (p + even / 2) / (p + q + even)
            slopes[one] += pull
            slopes[other] -= pull
            slope += (len(result.winners) == 2) - even / (p + q + even)
        ties += 0.1 * slope
        for name in names:
            strengths[name] += 0.2 * slopes[name]
        if max(map(abs, [*slopes.values(), slope])) < 1e-9:
            break
    mean = sum(strengths.values()) / len(names)
    return {name: 1500 + ELO * (own - mean) for name, own in strengths.items()}


def test_resampling_depends_on_the_seed_alone() -> None:
    before = round_robin({name: at / 3 for at, name in enumerate("abcdef")}, seed=4)
    one, same = rate(ABCDEF, before, seed=1), rate(ABCDEF, before, seed=1)
    other = rate(ABCDEF, before, seed=2)
    assert one == same
    assert [rating.rating for rating in one] == [rating.rating for rating in other]
    assert [rating.low for rating in one] != [rating.low for rating in other]


def test_blocks_that_end_alike_widen_the_interval() -> None:
    def twice(same: bool) -> float:
        results = [
            played(
                f"1.{at}.{game}", *("ab" if at % 2 else "ba"), block=None if same else f"{at}{game}"
            )
            for at in range(30)
            for game in (1, 2)
        ]
        first = rate(field("ab"), history(*results))[0]
        return first.high - first.low

    assert twice(same=True) > 1.2 * twice(same=False)


@pytest.mark.full
@pytest.mark.timeout(600)
def test_intervals_hold_what_they_promise() -> None:
    strengths = {f"p{at}": at / 4 for at in range(8)}
    mean = sum(strengths.values()) / 8
    held = 0
    for seed in range(100):
        for rating in rate(
            Field(tuple(map(Entrant, strengths))), round_robin(strengths, seed=seed), seed=seed
        ):
            true = 1500 + ELO * (strengths[rating.name] - mean)
            held += rating.low <= true <= rating.high
    assert 0.93 <= held / 800 <= 0.99


def test_rating_is_plain_json() -> None:
    rated = rate(field("ab", b=1500), games(("ab", 3)), bootstraps=5)
    assert json.loads(json.dumps([rating.to_json() for rating in rated]))[1]["anchor"] is True


# -- the running ladder


def test_ladder_moves_only_with_games_that_were_played() -> None:
    ratings = LadderRatings(field("ab"))
    before = dict(ratings)
    ratings.update(played("1.1", "a", failed="b", kind="forfeit"))
    ratings.update(played("1.2", "a", kind="bye"))
    ratings.update(played("1.3", "a", "b", kind="void"))
    assert dict(ratings) == before
    ratings.update(played("1.4", "a", "b"))
    assert ratings["a"].mu > 1500 > ratings["b"].mu
    assert ratings["a"].games == 1
    assert [name for name, _ in ratings.ranked()] == ["a", "b"]


def test_anchors_are_pinned_and_pull_others_to_them() -> None:
    ratings = LadderRatings(field("ab", b=2000))
    for at in range(100):
        ratings.update(played(f"1.{at}", *("ab" if at % 2 else "ba")))
    assert (ratings["b"].mu, ratings["b"].sigma, ratings["b"].shown) == (2000, 0, 2000)
    assert 1900 < ratings["a"].mu < 2100


def test_ladder_is_on_elos_scale() -> None:
    draws = random.Random(1)
    results = [
        played(f"1.{at}", *("ab" if draws.random() < 10 / 11 else "ba")) for at in range(800)
    ]
    assert ladder_ratings(field("ab", b=1500), results)["a"].mu == pytest.approx(1900, abs=100)


def test_newcomer_gets_the_start_rating() -> None:
    ratings = ladder_ratings(field("a"), [played("1.1", "a", "b")])
    assert set(ratings) == {"a", "b"}
    assert ratings["b"].games == 1


@settings(max_examples=100, deadline=None)
@given(histories("abcd", most=1), st.integers(0, 30))
def test_lower_rank_never_gains_more_and_equals_gain_the_same(
    before: History, games_before: int
) -> None:
    for result in before.results.values():
        # all have played the same before, so that all start equal
        warm = [played(f"1.{at}", "abcd") for at in range(games_before)]
        ratings = ladder_ratings(field("abcd"), warm)
        start = ratings["a"].mu
        ratings.update(result)
        failed = tuple(name for name in result.players if name in result.verdicts)
        gains: list[list[float]] = [
            [ratings[name].mu - start for name in group] for group in (*result.ranking, failed)
        ]
        for group in gains:
            assert group == pytest.approx(group[:1] * len(group), abs=1e-9)
        if result.kind == "played":
            for better, worse in pairwise(group[0] for group in gains if group):
                assert better > worse


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(["ab", "ba", "ac", "cb", "bc"]), max_size=40),
    st.floats(500, 2500),
    st.integers(2, 4),
)
def test_lost_game_never_raises_what_is_shown(before: list[str], anchor: float, size: int) -> None:
    warm = [played(f"1.{at}", *pair) for at, pair in enumerate(before)]
    ratings = ladder_ratings(field("abcd", d=anchor), warm)
    for loser in "abc":
        others = [name for name in "dabc" if name != loser][: size - 1]
        after = ladder_ratings(field("abcd", d=anchor), [*warm, played("2.1", *others, loser)])
        assert after[loser].shown <= ratings[loser].shown


def test_start_of_the_command_line_does_not_wait_for_numbers() -> None:
    asked = "import sys, croupier_server.ratings as _, croupier_server.tournament.seat_bias as _; "
    asked += "sys.exit(bool({'numpy', 'openskill'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", asked], check=False, timeout=30).returncode == 0
