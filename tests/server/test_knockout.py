"""The course's knock-out: allocation, who goes on, when it ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from croupier_server.tournament.knockout import Finished, Round, allocate, knockout

NAMES = [f"p{number}" for number in range(1_000)]


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


@given(st.integers(2, 1_000))
def test_allocate_seats_everybody_once_in_order(players: int) -> None:
    games = allocate(NAMES[:players])
    assert [name for game in games for name in game] == NAMES[:players]
    assert all(2 <= len(game) <= 4 for game in games)


def play_out(players: int, sizes: list[int]) -> tuple[list[tuple[str, ...]], Finished]:
    """Rounds in which the first of so many players of each game win, and the end."""
    won: list[tuple[str, ...]] = []
    rounds: list[tuple[str, ...]] = []
    while isinstance(following := knockout(NAMES[:players], won), Round):
        size = sizes[min(len(won), len(sizes) - 1)]
        rounds.append(following.players)
        won.append(tuple(n for pairing in following.pairings for n in pairing.players[:size]))
        assert len(rounds) < 50
    return rounds, following


def test_four_or_fewer_play_one_final() -> None:
    rounds, end = play_out(4, [4])
    assert len(rounds) == 1
    assert end.winners == tuple(NAMES[:4])


def test_top_finishers_go_on_in_order_ties_included() -> None:
    rounds, end = play_out(9, [2, 1])
    assert rounds[1] == ("p0", "p1", "p4", "p5", "p7", "p8")
    assert end.winners == ("p0", "p7") or len(rounds) == 3


def test_everyone_tying_for_ever_ends_after_two_rounds() -> None:
    rounds, end = play_out(17, [4])
    assert len(rounds) == 2
    assert end.winners == tuple(NAMES[:17])


def test_all_tying_once_is_not_yet_the_end() -> None:
    rounds, _ = play_out(8, [4, 1])
    assert len(rounds) == 3


def test_too_few_left_for_a_game_ends_it() -> None:
    following = knockout(NAMES[:8], [["p3"]])
    assert following == Finished(("p3",))


def test_nobody_left_has_no_winner() -> None:
    assert knockout(NAMES[:8], [[]]) == Finished(())
    assert knockout([], []) == Finished(())


def test_lone_entrant_wins_unplayed() -> None:
    assert knockout(["p0"], []) == Finished(("p0",))


def test_order_in_which_winners_are_reported_changes_nothing() -> None:
    one = knockout(NAMES[:12], [["p0", "p4", "p5", "p9", "p11"]])
    other = knockout(NAMES[:12], [["p11", "p9", "p5", "p4", "p0"]])
    assert one == other
    assert isinstance(one, Round)
    assert [pairing.game for pairing in one.pairings] == ["2.1", "2.2"]


@given(st.integers(1, 200), st.lists(st.integers(1, 4), min_size=1, max_size=8))
def test_every_tournament_ends_with_winners_of_its_last_round(
    players: int, sizes: list[int]
) -> None:
    rounds, end = play_out(players, sizes)
    assert set(end.winners) <= set(rounds[-1] if rounds else NAMES[:players])
    assert end.winners
