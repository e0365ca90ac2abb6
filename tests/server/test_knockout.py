"""The course's knock-out: allocation, who goes on, when it ends, who has won."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from croupier_server.tournament.knockout import Knockout, allocate, winners
from croupier_server.tournament.model import Entrant, Finished, History, Pairing, Wait
from support.playing import (
    SIZES,
    Decide,
    Ranking,
    all_tie,
    by_lot,
    field_of,
    first_named_wins,
    issued,
    joined,
    nobody_stays,
    play_out,
    result_of,
    rounds_of,
    shuffled,
    with_next,
    with_results,
    without,
)

NAMES = [f"p{number}" for number in range(1_000)]
KNOCKOUT = Knockout()


@pytest.mark.parametrize(
    ("players", "sizes"),
    [
        (0, []),
        (1, [1]),
        (2, [2]),
        (3, [3]),
        (4, [4]),
        (5, [3, 2]),
        (6, [4, 2]),
        (7, [4, 3]),
        (8, [4, 4]),
        (9, [4, 3, 2]),
        (10, [4, 4, 2]),
        (11, [4, 4, 3]),
        (13, [4, 4, 3, 2]),
        (17, [4, 4, 4, 3, 2]),
        (100, [4] * 25),
    ],
)
def test_allocate_deals_games_of_four_and_takes_the_last_back(
    players: int, sizes: list[int]
) -> None:
    assert [len(game) for game in allocate(NAMES[:players])] == sizes


@given(st.integers(2, 1_000), st.integers(3, 4))
def test_allocate_seats_everybody_once_in_order(players: int, table: int) -> None:
    games = allocate(NAMES[:players], table)
    assert [name for game in games for name in game] == NAMES[:players]
    assert all(2 <= len(game) <= table for game in games)


def first_seats_win(*sizes: int) -> Decide:
    """A rule: so many of each game's first seats share the first place, by round."""

    def decide(pairing: Pairing) -> Ranking:
        size = sizes[min(pairing.round, len(sizes)) - 1]
        return (pairing.players[:size], *((name,) for name in pairing.players[size:]))

    return decide


def players_of(games: list[Pairing]) -> list[str]:
    return [name for game in games for name in game.players]


@pytest.mark.parametrize("players", SIZES)
def test_strongest_wins_whatever_the_field(players: int) -> None:
    history = play_out(KNOCKOUT, field_of(players), first_named_wins)
    assert winners(field_of(players), history) == ("p0",)
    assert all(game.game == game.block for game in history.issued)


@pytest.mark.parametrize("players", SIZES)
def test_everyone_tying_for_ever_ends_after_two_rounds(players: int) -> None:
    history = play_out(KNOCKOUT, field_of(players), all_tie)
    assert len(rounds_of(history)) == (0 if players == 1 else 1 if players <= 4 else 2)
    assert winners(field_of(players), history) == field_of(players).names


@pytest.mark.parametrize("players", SIZES[1:])
def test_nobody_wins_when_all_fail(players: int) -> None:
    history = play_out(KNOCKOUT, field_of(players), nobody_stays)
    assert winners(field_of(players), history) == ()


def test_four_or_fewer_play_one_final() -> None:
    history = play_out(KNOCKOUT, field_of(4), all_tie)
    assert [game.game for game in history.issued] == ["1.1"]


def test_top_finishers_go_on_in_order_ties_included() -> None:
    history = play_out(KNOCKOUT, field_of(9), first_seats_win(2, 1))
    assert players_of(rounds_of(history)[1]) == ["p0", "p1", "p4", "p5", "p7", "p8"]
    assert [game.game for game in rounds_of(history)[1]] == ["2.1", "2.2"]


def test_all_tying_once_is_not_yet_the_end() -> None:
    history = play_out(KNOCKOUT, field_of(8), first_seats_win(4, 1))
    assert len(rounds_of(history)) == 3


def test_next_round_waits_for_the_last_game_of_this_one() -> None:
    field = field_of(9)
    history = with_next(KNOCKOUT, field, History())
    partly = with_results(history, first_named_wins, history.issued[1:])
    assert KNOCKOUT.following(field, partly) == Wait()


def test_void_game_knocks_nobody_out() -> None:
    field = field_of(8)
    history = with_results(with_next(KNOCKOUT, field, History()), first_named_wins)
    void = replace(history.results["1.1"], kind="void", ranking=())
    history = replace(history, results={**history.results, "1.1": void})
    (game, rest) = issued(KNOCKOUT, field, history)
    assert (*game.players, *rest.players) == ("p0", "p1", "p2", "p3", "p4")


def test_forfeit_is_won_by_whom_its_ranking_says() -> None:
    field = without(field_of(5), "p0", "p1")
    history = with_next(KNOCKOUT, field_of(5), History())
    forfeit = replace(result_of(history.issued[0], (("p2",),)), kind="forfeit")
    history = with_results(history, first_named_wins)
    history = replace(history, results={**history.results, "1.1": forfeit})
    assert issued(KNOCKOUT, field, history)[0].players == ("p2", "p3")


def test_who_withdraws_between_rounds_does_not_go_on() -> None:
    field = field_of(12)
    history = with_results(with_next(KNOCKOUT, field, History()), first_named_wins)
    assert issued(KNOCKOUT, without(field, "p4"), history)[0].players == ("p0", "p8")


def test_lone_survivor_wins_without_another_game() -> None:
    field = field_of(8)
    history = with_results(with_next(KNOCKOUT, field, History()), first_named_wins)
    left = without(field, *(name for name in field.names if name != "p4"))
    assert KNOCKOUT.following(left, history) == Finished()
    assert winners(left, history) == ("p4",)


def test_everyone_out_ends_it_even_with_games_open() -> None:
    field = field_of(8)
    history = with_next(KNOCKOUT, field, History())
    nobody = without(field, *field.names)
    assert KNOCKOUT.following(nobody, history) == Finished()
    assert winners(nobody, history) == ()


def test_who_comes_late_is_not_let_in() -> None:
    field = field_of(8)
    history = with_results(with_next(KNOCKOUT, field, History()), all_tie)
    later = issued(KNOCKOUT, joined(field, Entrant("late")), history)
    assert "late" not in players_of(list(later))


def test_winner_who_is_put_out_at_the_end_has_lost() -> None:
    history = play_out(KNOCKOUT, field_of(4), first_named_wins)
    assert winners(without(field_of(4), "p0"), history) == ()


@given(st.integers(1, 100), st.integers(0, 1_000))
def test_every_tournament_ends_as_planned_and_alike_for_any_order_of_results(
    players: int, seed: int
) -> None:
    field = field_of(players)
    history = play_out(KNOCKOUT, field, by_lot(seed))
    plan = KNOCKOUT.plan(field.entrants)
    assert plan.rounds is not None
    assert plan.games is not None
    assert len(rounds_of(history)) <= plan.rounds
    assert len(history.issued) <= plan.games
    assert plan.first == tuple(rounds_of(history)[0] if history.issued else ())
    assert winners(field, history) == winners(field, shuffled(history, seed))
    if history.issued:
        assert set(winners(field, history)) <= set(players_of(rounds_of(history)[-1]))


def test_plan_of_a_hundred_tells_what_is_usual_and_what_is_most() -> None:
    plan = KNOCKOUT.plan(field_of(100).entrants)
    assert (plan.rounds, plan.at_once, plan.chain, plan.byes) == (98, 25, 4, 0)
    assert plan.note[0].startswith("with one winner a game: 4 rounds, 35 games")
