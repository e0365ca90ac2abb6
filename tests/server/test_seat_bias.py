"""Whether seats matter, as far as blocks tell."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import pytest

from croupier_server.tournament.model import History, Result
from croupier_server.tournament.seat_bias import SeatBias, seat_bias
from support.results import history, played, shuffled


def blocks(count: int, rank: Callable[[str], str], names: str = "ab") -> list[Result]:
    """Seat-complete blocks whose games are ranked by who sits where."""
    return [
        played(f"1.{number}.{by}", *rank(seats), seats=seats)
        for number in range(1, count + 1)
        for by in range(len(names))
        for seats in [names[by:] + names[:by]]
    ]


def complete(games: History) -> SeatBias:
    return next(found for found in seat_bias(games) if found.scope == "complete blocks")


def test_first_seat_that_always_wins_is_told() -> None:
    found = complete(history(*blocks(20, lambda seats: seats)))
    assert [float(seat.score.mean) for seat in found.seats] == [1, 0]
    assert [seat.wins for seat in found.seats] == [1, 0]
    assert (found.games, found.blocks) == (40, 20)
    assert found.p_value < 0.001
    assert str(found).startswith(
        "With 2 players, over 40 games in complete blocks, seats matter: who moves first scores "
        "100.0%, who moves second 0.0% (p = "
    )


def test_strength_is_not_taken_for_a_seat() -> None:
    found = complete(history(*blocks(30, lambda seats: "".join(sorted(seats)), "abc")))
    assert [float(seat.score.mean) for seat in found.seats] == pytest.approx([0.5] * 3)
    assert found.p_value == 1
    assert "no seat is clearly better" in str(found)


def test_few_blocks_prove_nothing() -> None:
    found = complete(history(*blocks(3, lambda seats: seats)))
    assert found.p_value > 0.2


def test_incomplete_blocks_count_only_among_all_games() -> None:
    games = [
        *blocks(2, lambda seats: seats),
        played("2.1.1", "a", "b"),  # its other half is missing
        played("2.2.1", "a", "b"),
        played("2.2.2", "b", failed="a"),  # somebody failed
        played("2.3.1", "a", failed="b", kind="forfeit"),
    ]
    half, whole = seat_bias(history(*games))
    assert (half.scope, half.games, half.blocks) == ("complete blocks", 4, 2)
    assert (whole.scope, whole.games, whole.blocks) == ("all games", 7, 4)


def test_tables_of_each_size_are_told_apart() -> None:
    games = [
        *blocks(2, lambda seats: seats),
        played("3.1.1", "a", "b", "c", "d"),
        played("3.2.1", "a", "b", "c", seats="cab"),
    ]
    assert [(found.players, found.scope) for found in seat_bias(history(*games))] == [
        (2, "complete blocks"),
        (2, "all games"),
        (3, "all games"),
        (4, "all games"),
    ]


def test_order_of_results_changes_nothing() -> None:
    draws = random.Random(3)
    games = history(*blocks(25, lambda seats: "".join(draws.sample(seats, 3)), "abc"))
    assert seat_bias(games) == seat_bias(shuffled(games, 9))


def test_without_a_bias_the_test_rarely_finds_one() -> None:
    draws = random.Random(11)
    found = [
        complete(history(*blocks(12, lambda seats: "".join(draws.sample(seats, 4)), "abcd")))
        for _ in range(60)
    ]
    assert sum(bias.p_value < 0.1 for bias in found) <= 14  # 6 on average; 14 is 3.4 sigmas off


def test_report_is_plain_json() -> None:
    found = complete(history(*blocks(2, lambda seats: seats)))
    told = json.loads(json.dumps(found.to_json()))
    assert told["summary"] == str(found)
    assert told["seats"][0]["score"] == 1


def test_nothing_played_gives_no_report() -> None:
    assert seat_bias(history(played("1.1", "a", kind="bye"))) == ()
