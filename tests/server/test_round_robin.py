"""The round robin: every group once or a balanced sample of them, nobody waiting long."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from croupier_server.errors import UserError
from croupier_server.tournament.model import Entrant, Finished, History, Pairing, Wait
from croupier_server.tournament.round_robin import RoundRobin
from support.playing import (
    Decide,
    all_tie,
    blocks_of,
    by_lot,
    field_of,
    first_named_wins,
    is_seat_complete,
    issued,
    joined,
    nobody_stays,
    play_out,
    shuffled,
    with_next,
    with_results,
    without,
)


def groups_of(pairings: Iterable[Pairing]) -> list[frozenset[str]]:
    """Who plays in each block; and each block is complete."""
    blocks = blocks_of(pairings).values()
    assert all(is_seat_complete(block) for block in blocks)
    return [frozenset(block[0].players) for block in blocks]


def assert_nobody_plays_twice_a_round(pairings: Iterable[Pairing]) -> None:
    blocks = [block[0] for block in blocks_of(pairings).values()]
    seats = Counter((game.round, name) for game in blocks for name in game.players)
    assert max(seats.values(), default=1) == 1


@pytest.mark.parametrize("table", [2, 3, 4])
@pytest.mark.parametrize("players", [*range(1, 14), 17])
def test_every_group_meets_exactly_once(players: int, table: int) -> None:
    field = field_of(players)
    history = play_out(RoundRobin(table), field, first_named_wins)
    size = min(table, players)
    found = Counter(groups_of(history.issued))
    expected = combinations(field.names, size) if size > 1 else ()
    assert found == Counter(frozenset(group) for group in expected)
    assert_nobody_plays_twice_a_round(history.issued)
    plan = RoundRobin(table).plan(field.entrants)
    assert (plan.games, plan.first) == (len(history.issued), history.issued)


@pytest.mark.parametrize("decide", [all_tie, nobody_stays])
def test_ends_though_all_tie_or_all_fail(decide: Decide) -> None:
    history = play_out(RoundRobin(3), field_of(6), decide)
    assert len(history.issued) == comb(6, 3) * 3


@pytest.mark.parametrize("players", [2, 7, 8, 100])
def test_pairs_come_in_rounds_in_which_all_play(players: int) -> None:
    pairings = RoundRobin().plan(field_of(players).entrants).first
    games = Counter(pairing.round for pairing in pairings)
    assert set(games.values()) == {players // 2 * 2}
    assert [pairing.round for pairing in pairings] == sorted(pairing.round for pairing in pairings)


def test_two_hundred_in_pairs_are_planned_quickly() -> None:
    begun = time.process_time()
    plan = RoundRobin(max_games=40_000).plan(field_of(200).entrants)
    assert time.process_time() - begun < 2
    assert (plan.games, plan.rounds, plan.at_once, plan.chain) == (39_800, 199, 100, 398)


def test_waits_at_no_cost_while_games_are_open() -> None:
    chosen, field = RoundRobin(max_games=40_000), field_of(100)
    history = with_next(chosen, field, History())
    half = with_results(history, first_named_wins, history.issued[:5_000])
    begun = time.process_time()
    for _ in range(20):
        assert chosen.following(field, half) == Wait()
    assert time.process_time() - begun < 0.4


def test_too_many_games_are_refused_with_the_arithmetic() -> None:
    with pytest.raises(UserError) as refused:
        RoundRobin().plan(field_of(200).entrants)
    assert str(refused.value) == (
        "200 entrants in groups of 2 make 19,900 blocks of 2 games = 39,800, more than "
        "max_games = 20,000; raise it, or set blocks_per_entrant"
    )
    with pytest.raises(UserError, match=r"in 300 blocks each, make 15,000 blocks of 4 games"):
        RoundRobin(4, blocks_per_entrant=300).plan(field_of(200).entrants)


@given(st.integers(2, 16), st.integers(2, 4), st.integers(1, 20), st.integers(0, 99))
def test_sample_is_balanced_and_repeats_nothing(
    players: int, table: int, per_entrant: int, seed: int
) -> None:
    chosen = RoundRobin(table, 10**6, per_entrant, seed)
    field = field_of(players)
    plan = chosen.plan(field.entrants)
    assert plan == RoundRobin(table, 10**6, per_entrant, seed).plan(field.entrants)
    groups = groups_of(plan.first)
    assert len(set(groups)) == len(groups)
    blocks = Counter(name for group in groups for name in group)
    target = min(per_entrant, comb(players - 1, min(table, players) - 1))
    assert {blocks[name] for name in field.names} <= {target, target + 1}
    assert_nobody_plays_twice_a_round(plan.first)


@pytest.mark.parametrize(("table", "per_entrant"), [(2, 10), (3, 10), (4, 10)])
def test_sample_spreads_opponents(table: int, per_entrant: int) -> None:
    groups = groups_of(RoundRobin(table, 10**6, per_entrant).plan(field_of(17).entrants).first)
    met = Counter(frozenset(pair) for group in groups for pair in combinations(sorted(group), 2))
    meetings = [met[frozenset(pair)] for pair in combinations(field_of(17).names, 2)]
    assert max(meetings) - min(meetings) <= {2: 1, 3: 3, 4: 3}[table]


def test_seed_decides_the_sample() -> None:
    one, other = (RoundRobin(2, 20_000, 3, seed).plan(field_of(20).entrants) for seed in (1, 2))
    assert set(groups_of(one.first)) != set(groups_of(other.first))


@pytest.mark.parametrize("table", [2, 3, 4])
def test_late_joiner_gets_all_blocks_that_contain_it(table: int) -> None:
    chosen, field = RoundRobin(table), field_of(7)
    history = with_next(chosen, field, History())
    late = joined(field, Entrant("late"))
    more = issued(chosen, late, history)
    assert set(groups_of(more)) == {
        frozenset((*rest, "late")) for rest in combinations(field.names, table - 1)
    }
    assert min(game.round for game in more) > max(game.round for game in history.issued)
    assert chosen.following(late, replace(history, issued=(*history.issued, *more))) == Wait()


def test_late_joiner_of_a_sample_gets_as_many_blocks_as_the_others() -> None:
    chosen, field = RoundRobin(3, 20_000, 4), field_of(17)
    history = with_next(chosen, field, History())
    more = groups_of(issued(chosen, joined(field, Entrant("late")), history))
    assert len(more) == 4
    assert all("late" in group for group in more)
    assert max(Counter(name for group in more for name in group - {"late"}).values()) == 1


def test_who_is_out_gets_no_new_blocks_and_leaves_no_smaller_groups() -> None:
    chosen, field = RoundRobin(4), without(field_of(4), "p3")
    history = with_results(with_next(chosen, field_of(4), History()), all_tie)
    assert chosen.following(field, history) == Finished()
    late = issued(chosen, joined(field, Entrant("late")), history)
    assert groups_of(late) == [frozenset(("p0", "p1", "p2", "late"))]


def test_nobody_left_ends_it() -> None:
    field = field_of(5)
    assert RoundRobin().following(without(field, *field.names), History()) == Finished()


def test_half_issued_round_robin_is_completed_from_the_ids() -> None:
    chosen, field = RoundRobin(), field_of(9)
    every = chosen.plan(field.entrants).first
    history = with_results(History(every[:20]), by_lot(1))
    missing = groups_of(issued(RoundRobin(), field, history))
    assert sorted(map(sorted, [*groups_of(every[:20]), *missing])) == sorted(
        map(sorted, groups_of(every))
    )


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 7), st.integers(2, 4), st.integers(0, 99), st.data())
def test_answer_depends_on_nothing_but_its_arguments(
    players: int, table: int, seed: int, data: st.DataObject
) -> None:
    used, field = RoundRobin(table), field_of(players)
    history = with_next(used, field, History())
    some = data.draw(st.lists(st.sampled_from(history.issued), unique=True))
    partly = with_results(history, by_lot(seed), some)
    for at in (partly, History(), history, shuffled(partly, seed)):
        for now in (field, without(field, "p0"), joined(field, Entrant("late"))):
            assert used.following(now, at) == RoundRobin(table).following(now, at)
    assert used.following(field, partly) == used.following(field, shuffled(partly, seed))
