"""The Swiss system: nobody meets twice while that can be, byes go round, seats are fair."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from croupier_common.rng import Draws
from croupier_server.errors import UserError
from croupier_server.tournament import matching
from croupier_server.tournament.matching import Candidate, pairs_of
from croupier_server.tournament.model import Entrant, Field, Finished, History, Pairing, Wait
from croupier_server.tournament.points import total_parts
from croupier_server.tournament.swiss import Swiss, default_rounds
from support.playing import (
    SIZES,
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
    rounds_of,
    shuffled,
    with_next,
    with_results,
    without,
)

Groups = list[frozenset[str]]


def groups_of(pairings: Sequence[Pairing]) -> Groups:
    blocks = blocks_of(pairings).values()
    assert all(is_seat_complete(block) for block in blocks)
    return [frozenset(block[0].players) for block in blocks]


def rematches(history: History) -> list[int]:
    """By round, how many pairs meet that have met before."""
    met: set[tuple[str, ...]] = set()
    found: list[int] = []
    for games in rounds_of(history):
        now = [pair for group in groups_of(games) for pair in combinations(sorted(group), 2)]
        found.append(len(met.intersection(now)))
        met.update(now)
    return found


def pairings_of(names: Sequence[str]) -> Iterator[list[tuple[str, ...]]]:
    """All ways to pair, with a bye in an odd field: the oracle."""
    if not names:
        yield []
        return
    first, rest = names[0], names[1:]
    if len(names) % 2:
        for others in pairings_of(rest):
            yield [(first,), *others]
    for other in rest:
        for others in pairings_of([name for name in rest if name != other]):
            yield [(first, other), *others]


def strain(pairs: Sequence[tuple[str, ...]], field: Sequence[Candidate]) -> int | None:
    """How many of the pairs are rematches; None if the bye is not for one of those with fewest."""
    found = {one.name: one for one in field}
    fewest = min(one.byes for one in field)
    if any(len(pair) == 1 and found[pair[0]].byes > fewest for pair in pairs):
        return None
    return sum(len(pair) == 2 and pair[1] in found[pair[0]].met for pair in pairs)


@st.composite
def candidates(draw: st.DrawFn) -> list[Candidate]:
    names = "abcdefgh"[: draw(st.integers(2, 8))]
    pairs = list(combinations(names, 2))
    met: dict[str, dict[str, int]] = {name: {} for name in names}
    for one, other in draw(st.lists(st.sampled_from(pairs), unique=True)):
        met[one][other] = met[other][one] = draw(st.integers(1, 2))
    scores = sorted((draw(st.integers(0, 5)) for _ in names), reverse=True)
    return [
        Candidate(name, score, draw(st.integers(0, 2)), met[name])
        for name, score in zip(names, scores, strict=True)
    ]


@settings(max_examples=100, deadline=None)
@given(candidates())
def test_as_few_rematches_as_there_can_be(field: list[Candidate]) -> None:
    pairs = pairs_of(field)
    assert sorted(name for pair in pairs for name in pair) == sorted(one.name for one in field)
    strains = [strain(every, field) for every in pairings_of([one.name for one in field])]
    assert strain(pairs, field) == min(found for found in strains if found is not None)


@settings(max_examples=40, deadline=None)
@given(candidates())
def test_bye_goes_to_the_lowest_who_can_have_it(field: list[Candidate]) -> None:
    pairs = pairs_of(field)
    assume(len(field) % 2 and strain(pairs, field) == 0)
    best = [
        pair[0]
        for every in pairings_of([one.name for one in field])
        if strain(every, field) == 0
        for pair in every
        if len(pair) == 1
    ]
    assert pairs[-1] == (max(best),)  # names are in the order of scores


@pytest.mark.parametrize("table", [2, 3, 4])
@pytest.mark.parametrize("players", SIZES)
def test_everybody_plays_every_round(players: int, table: int) -> None:
    field = field_of(players)
    chosen = Swiss(table)
    history = play_out(chosen, field, first_named_wins)
    plan = chosen.plan(field.entrants)
    rounds = rounds_of(history)
    assert len(rounds) == plan.rounds == default_rounds(players, table)
    for games in rounds:
        groups = groups_of(games)
        assert sorted(name for group in groups for name in group) == sorted(field.names)
        if table > 2:
            assert min(map(len, groups)) >= 2
    assert plan.games == sum(not game.is_bye for game in history.issued)
    assert plan.byes == sum(game.is_bye for game in history.issued)
    assert plan.first == tuple(rounds[0] if rounds else ())


@pytest.mark.parametrize("players", [2, 3, 4, 5, 8, 13, 16, 17])
def test_strongest_wins_and_nobody_meets_twice(players: int) -> None:
    history = play_out(Swiss(), field_of(players), first_named_wins)
    assert not any(rematches(history))
    points = total_parts(history.results.values())
    assert max(points, key=points.__getitem__) == "p0"


@pytest.mark.parametrize(("entrants", "table", "rounds"), [
    (1, 2, 0), (2, 2, 1), (3, 2, 2), (8, 2, 3), (9, 2, 4), (100, 2, 7), (1000, 2, 10),
    (4, 4, 1), (5, 4, 2), (16, 4, 3), (100, 4, 5), (9, 3, 3),
])  # fmt: skip
def test_default_rounds(entrants: int, table: int, rounds: int) -> None:
    assert default_rounds(entrants, table) == rounds


def test_five_at_tables_of_four_sit_as_three_and_two() -> None:
    groups = groups_of(Swiss(4).plan(field_of(5).entrants).first)
    assert sorted(map(len, groups)) == [2, 3]


def test_four_players_meet_all_others_in_three_rounds() -> None:
    for seed in range(20):
        history = play_out(Swiss(2, rounds=3), field_of(4), by_lot(seed))
        assert rematches(history) == [0, 0, 0]


def test_greedy_trap_in_round_three_has_its_only_way_out() -> None:
    met = {"a": "bc", "b": "ad", "c": "ad", "d": "bc"}
    scores = {"a": 4, "b": 2, "c": 2, "d": 0}
    field = [Candidate(n, scores[n], 0, dict.fromkeys(met[n], 1)) for n in "abcd"]
    assert pairs_of(field) == [("a", "d"), ("b", "c")]


@pytest.mark.parametrize("players", [3, 5, 7, 13])
def test_nobody_has_a_second_bye_before_all_had_one(players: int) -> None:
    history = play_out(Swiss(2, rounds=2 * players), field_of(players), by_lot(3))
    byes = [game.players[0] for game in history.issued if game.is_bye]
    assert len(set(byes[:players])) == players
    assert set(Counter(byes).values()) == {2}
    assert rematches(history)[:players] == [0] * players


def test_bye_counts_as_a_win() -> None:
    history = play_out(Swiss(2, rounds=1), field_of(3), all_tie)
    (bye,) = [game.players[0] for game in history.issued if game.is_bye]
    points = total_parts(history.results.values())
    assert points[bye] == 12
    assert sorted(points.values()) == [12, 12, 12]  # two tied games are worth as much


def test_goes_on_with_rematches_once_all_have_met() -> None:
    history = play_out(Swiss(2, rounds=7), field_of(4), first_named_wins)
    assert rematches(history) == [0, 0, 0, 2, 2, 2, 2]


@pytest.mark.parametrize("decide", [all_tie, nobody_stays])
def test_ends_though_all_tie_or_all_fail(decide: Decide) -> None:
    history = play_out(Swiss(), field_of(13), decide)
    assert not any(rematches(history))


def test_next_round_waits_for_the_last_game_of_this_one() -> None:
    history = with_next(Swiss(), field_of(9), History())
    partly = with_results(history, all_tie, history.issued[1:])
    assert Swiss().following(field_of(9), partly) == Wait()


def test_everyone_out_or_one_left_ends_it() -> None:
    field = field_of(9)
    history = with_results(with_next(Swiss(), field, History()), all_tie)
    assert Swiss().following(without(field, *field.names), history) == Finished()
    assert Swiss().following(without(field, *field.names[1:]), history) == Finished()


def test_late_joiner_enters_the_next_round_with_nothing() -> None:
    field = field_of(8)
    history = with_results(with_next(Swiss(), field, History()), first_named_wins)
    late = joined(field, Entrant("late"))
    games = issued(Swiss(), late, history)
    assert [game.players for game in games if game.is_bye] == [("late",)]
    assert {game.round for game in games} == {2}
    full = play_out(Swiss(), late, first_named_wins, history=history)
    assert len(rounds_of(full)) == 3  # as many as were planned


def coming_and_going(seed: int, field: Field, history: History) -> Field:
    """Between rounds, some leave and some come."""
    draws = Draws(seed, len(history.issued))
    if not history.issued:
        return field
    if len(field.active) > 3 and draws.below(2):
        field = without(field, draws.choice(field.active))
    if draws.below(2):
        field = joined(field, Entrant(f"p{len(field.entrants)}"))
    return field


@settings(max_examples=15, deadline=None)
@given(st.integers(6, 24), st.integers(0, 10_000))
def test_withdrawals_and_late_joiners_lead_to_no_rematch(players: int, seed: int) -> None:
    # with so many more players than rounds, there is a way in each
    change = partial(coming_and_going, seed)
    history = play_out(Swiss(2, rounds=3), field_of(players + 6), by_lot(seed), change)
    assert not any(rematches(history))
    byes = Counter(game.players[0] for game in history.issued if game.is_bye)
    assert max(byes.values(), default=1) == 1


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 12), st.integers(2, 4), st.integers(0, 10_000))
def test_order_of_results_changes_nothing(players: int, table: int, seed: int) -> None:
    field, chosen = field_of(players), Swiss(table, rounds=4, seed=seed)
    history = History()
    for _ in range(3):
        history = with_results(with_next(chosen, field, history), by_lot(seed))
        assert chosen.following(field, history) == chosen.following(field, shuffled(history, seed))


def test_who_has_opened_less_often_opens() -> None:
    history = play_out(Swiss(2, rounds=9), field_of(10), by_lot(1))
    openers = Counter(block[0].players[0] for block in blocks_of(history.issued).values())
    assert all(3 <= openers[name] <= 6 for name in field_of(10).names)


@pytest.mark.parametrize("table", [3, 4])
def test_tables_repeat_no_meeting_and_are_near_in_score(table: int) -> None:
    before = play_out(Swiss(table, rounds=2), field_of(48), first_named_wins)
    history = play_out(Swiss(table, rounds=3), field_of(48), first_named_wins)
    assert not any(rematches(history))
    points = total_parts(before.results.values())
    last = [sorted(points[name] for name in group) for group in groups_of(rounds_of(history)[-1])]
    spread = max(points.values()) - min(points.values())
    assert sum(group[-1] - group[0] for group in last) / len(last) < spread / 4


@pytest.mark.parametrize("players", [999])
def test_a_thousand_are_paired_quickly(players: int) -> None:
    field = field_of(players)
    chosen = Swiss(rounds=3)
    history = History()
    slowest = 0.0
    for _ in range(3):
        begun = time.process_time()
        history = with_next(chosen, field, history)
        slowest = max(slowest, time.process_time() - begun)
        history = with_results(history, first_named_wins)
    assert slowest < 5
    assert not any(rematches(history))


def test_field_whose_near_have_all_met_is_paired_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The quick attempts, along the order of scores, find nothing here."""
    monkeypatch.setattr(matching, "_STRETCH", 8)
    monkeypatch.setattr(matching, "_NEAR", 2)
    monkeypatch.setattr(matching, "_WIDE", 4)
    names = [f"p{number:02}" for number in range(40)]
    clubs = [Counter(names[:20]), Counter(names[20:])]
    field = [Candidate(name, 40 - at, 0, clubs[at // 20]) for at, name in enumerate(names)]
    assert all((one[0] < "p20") != (one[1] < "p20") for one in pairs_of(field))


def test_too_many_games_are_refused_with_the_arithmetic() -> None:
    with pytest.raises(UserError) as refused:
        Swiss(2, rounds=30).plan(field_of(1_000).entrants)
    assert str(refused.value) == (
        "1,000 entrants make 1,000 games a round, in 30 rounds 30,000, more than max_games = "
        "20,000; raise it, or set rounds"
    )


def test_void_game_counts_for_nobody_and_does_not_stop_it() -> None:
    field = field_of(4)
    history = with_results(with_next(Swiss(), field, History()), all_tie)
    void = {game: replace(result, kind="void") for game, result in history.results.items()}
    assert issued(Swiss(), field, replace(history, results=void))
