"""The ladder: always enough to play, against near and other opponents, from any history."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from croupier_common.rng import Draws
from croupier_server.ratings.running import RunningRatings
from croupier_server.tournament.ladder import Ladder
from croupier_server.tournament.ladder_estimate import LadderEstimate
from croupier_server.tournament.model import Entrant, Field, Finished, History, Issue, Pairing, Wait
from support.playing import (
    SIZES,
    Decide,
    all_tie,
    blocks_of,
    by_lot,
    field_of,
    first_named_wins,
    is_seat_complete,
    joined,
    nobody_stays,
    result_of,
    shuffled,
    with_results,
    without,
)

HOUSE = Entrant("house", anchor=1500.0, is_house=True)


def gone_on(
    ladder: Ladder, field: Field, games: int, decide: Decide = first_named_wins, seed: int = 0
) -> History:
    """So many games played, ended in an order drawn by lot."""
    history = History()
    draws = Draws(seed, "order")
    while len(history.results) < games:
        match ladder.following(field, history):
            case Issue(pairings):
                ids = {game.game for game in history.issued}
                assert ids.isdisjoint(game.game for game in pairings)
                history = replace(history, issued=(*history.issued, *pairings))
            case Wait():
                pass
            case Finished():
                raise AssertionError("a ladder has no end")
        history = with_results(history, decide, [draws.choice(history.open)])
    return history


def open_seats(history: History) -> Counter[str]:
    return Counter(name for game in history.open for name in game.players)


@pytest.mark.parametrize("table", [2, 3, 4])
@pytest.mark.parametrize("players", SIZES)
def test_keeps_enough_open_for_any_field(players: int, table: int) -> None:
    ladder, field = Ladder(table, at_once=4), field_of(players)
    if players == 1:
        assert ladder.following(field, History()) == Wait()
        return
    history = gone_on(ladder, field, 60)
    following = ladder.following(field, history)
    more = following.pairings if isinstance(following, Issue) else ()
    assert len(history.open) + len(more) >= 4
    seats = Counter(name for game in history.issued for name in game.players)
    assert len(seats) == players or players == 100


@pytest.mark.parametrize("decide", [all_tie, nobody_stays])
def test_goes_on_though_all_tie_or_all_fail(decide: Decide) -> None:
    assert len(gone_on(Ladder(3), field_of(7), 100, decide).results) == 100


def test_nobody_is_asked_for_two_games_while_others_are_free() -> None:
    history = gone_on(Ladder(2, at_once=5), field_of(12), 300)
    more = Ladder(2, at_once=5).following(field_of(12), history)
    assert isinstance(more, Issue | Wait)
    seats = open_seats(history)
    if isinstance(more, Issue):
        seats.update(name for game in more.pairings for name in game.players)
    assert len(seats) >= 10
    assert set(seats.values()) == {1}


def test_few_players_are_paired_again_to_keep_enough_open() -> None:
    following = Ladder(2, at_once=6).following(field_of(4), History())
    assert isinstance(following, Issue)
    seats = Counter(name for game in following.pairings for name in game.players)
    assert (len(following.pairings), set(seats.values())) == (6, {3})


@pytest.mark.parametrize("table", [2, 3, 4])
def test_blocks_are_completed_seat_by_seat(table: int) -> None:
    history = gone_on(Ladder(table, at_once=3), field_of(13), 200)
    blocks = list(blocks_of(history.issued).values())
    full = [block for block in blocks if len(block) == table]
    assert len(full) > len(blocks) * 0.8
    assert all(is_seat_complete(block) for block in full)


def test_same_opponent_is_not_met_twice_in_a_row() -> None:
    history = gone_on(Ladder(2, at_once=3), field_of(10), 300)
    last: dict[str, tuple[str, ...]] = {}
    for block in blocks_of(history.issued).values():
        pair = tuple(sorted(block[0].players))
        for name in pair:
            assert last.get(name) != pair
            last[name] = pair


def test_near_ratings_meet() -> None:
    field = field_of(20)
    given = {name: 100.0 * int(name[1:]) for name in field.names}

    def ratings(_field: Field, _history: History) -> dict[str, float]:
        return given

    history = gone_on(Ladder(2, at_once=4, ratings=ratings), field, 300)
    gaps = [abs(given[game.players[0]] - given[game.players[1]]) for game in history.issued]
    assert sum(gaps) / len(gaps) < 400  # 700 by lot


def test_own_estimate_finds_who_is_strong() -> None:
    field = field_of(8)
    history = gone_on(Ladder(2), field, 400)
    ratings = LadderEstimate()(field, history)
    assert max(ratings, key=ratings.__getitem__) == "p0"
    assert min(ratings, key=ratings.__getitem__) == "p7"


def test_anchor_keeps_its_rating_and_draws_the_others_to_it() -> None:
    field = Field((Entrant("p0"), Entrant("p1", anchor=2_000.0)))
    history = gone_on(Ladder(2), field, 300, all_tie)
    ratings = LadderEstimate()(field, history)
    assert ratings["p1"] == 2_000
    assert ratings["p0"] == pytest.approx(2_000, abs=50)


def test_house_player_fills_up_a_table_only_where_too_few_are_free() -> None:
    full = Ladder(2, at_once=2).following(joined(field_of(4), HOUSE), History())
    short = Ladder(2, at_once=2).following(joined(field_of(3), HOUSE), History())
    assert isinstance(full, Issue)
    assert isinstance(short, Issue)
    assert not any("house" in game.players for game in full.pairings)
    assert sum("house" in game.players for game in short.pairings) == 1


def test_house_players_do_not_play_each_other() -> None:
    field = Field((HOUSE, replace(HOUSE, name="other")))
    assert Ladder().following(field, History()) == Wait()


def test_everyone_out_waits_for_somebody_to_come() -> None:
    field = without(field_of(3), "p0", "p1", "p2")
    assert Ladder().following(field, History()) == Wait()
    assert isinstance(Ladder().following(joined(field, HOUSE, Entrant("late")), History()), Issue)


def test_who_is_out_is_in_no_new_game_nor_in_the_rest_of_its_block() -> None:
    history = gone_on(Ladder(2, at_once=3), field_of(6), 31)
    field = without(field_of(6), "p2")
    following = Ladder(2, at_once=6).following(field, with_results(history, all_tie))
    assert isinstance(following, Issue)
    assert not any("p2" in game.players for game in following.pairings)


def test_late_joiner_plays_next() -> None:
    history = with_results(gone_on(Ladder(2), field_of(6), 50), all_tie)
    following = Ladder(2, at_once=5).following(joined(field_of(6), Entrant("late")), history)
    assert isinstance(following, Issue)
    assert any("late" in game.players for game in following.pairings)


@pytest.mark.parametrize("ratings", [LadderEstimate, RunningRatings])
@settings(max_examples=20, deadline=None)
@given(st.integers(2, 9), st.integers(2, 4), st.integers(0, 10_000), st.integers(1, 60))
def test_answer_depends_on_nothing_but_its_arguments(
    ratings: type[LadderEstimate | RunningRatings], players: int, table: int, seed: int, games: int
) -> None:
    def ladder() -> Ladder:
        return Ladder(table, at_once=3, ratings=ratings())

    used, field = ladder(), field_of(players)
    history = gone_on(used, field, games, by_lot(seed), seed)
    some = Draws(seed).choice(list(history.results))
    void = replace(history.results[some], kind="void", ranking=())
    changed = replace(history, results={**history.results, some: void})
    again = {game: result for game, result in history.results.items() if game != some}
    cut = History(history.issued[: len(history.issued) // 2], history.results)
    for now in (history, changed, replace(history, results=again), cut, History(), history):
        for at in (field, without(field, "p0"), joined(field, replace(HOUSE, anchor=None))):
            assert used.following(at, now) == ladder().following(at, now)


def test_order_of_results_changes_nothing() -> None:
    used, field = Ladder(3, at_once=3), field_of(9)
    history = gone_on(used, field, 50, by_lot(1))
    following = used.following(field, history)
    assert used.following(field, shuffled(history, 2)) == following


def long_history(games: int, players: int) -> History:
    draws = Draws(1, "long")
    issued: list[Pairing] = []
    for number in range(1, games // 2 + 1):
        one = draws.below(players)
        pair = (f"p{one}", f"p{(one + 1 + draws.below(players - 1)) % players}")
        issued.append(Pairing(f"{number}.1.1", pair, number, f"{number}.1"))
        issued.append(Pairing(f"{number}.1.2", pair[::-1], number, f"{number}.1"))
    results = {game.game: result_of(game, first_named_wins(game)) for game in issued}
    return History(tuple(issued), results)


def test_a_long_history_is_read_once() -> None:
    ladder, field, history = Ladder(2), field_of(100), long_history(10_000, 100)
    ladder.following(field, history)
    begun = time.process_time()
    for _ in range(20):
        following = ladder.following(field, history)
        assert isinstance(following, Issue)
        history = replace(history, issued=(*history.issued, *following.pairings))
        results = {**history.results}
        for game in history.open[:4]:
            results[game.game] = result_of(game, all_tie(game))
        history = replace(history, results=results)
    assert (time.process_time() - begun) / 20 < 0.1


def test_one_game_that_does_not_end_has_nothing_read_again() -> None:
    field, history = field_of(1_000), long_history(20_000, 1_000)
    results = {**history.results}
    del results["1.1.1"]
    ladder = Ladder(2, at_once=2)
    now = History(history.issued, results)
    ladder.following(field, now)
    begun = time.process_time()
    for _ in range(20):
        assert isinstance(ladder.following(field, now), Issue)
    assert (time.process_time() - begun) / 20 < 0.05
