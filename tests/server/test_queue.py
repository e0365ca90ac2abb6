"""The fair queue: nobody holds up others, on a simulated clock."""

from __future__ import annotations

import heapq
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from croupier_server.tournament.model import Pairing
from croupier_server.tournament.queue import FairQueue
from croupier_server.tournament.round_robin import RoundRobin
from support.playing import field_of

QUICK, SLOW = 1.0, 20.0


@dataclass(slots=True)
class Played:
    """A simulated run: when each game ended, and in what order they began."""

    ended: dict[str, float] = field(default_factory=dict[str, float])
    order: list[str] = field(default_factory=list[str])

    def last(self, games: Sequence[Pairing]) -> float:
        return max(self.ended[game.game] for game in games)


def simulated(
    pairings: Sequence[Pairing],
    slots: int,
    seconds: Callable[[str], float],
    capacity: Callable[[str], int] = lambda _: 1,
) -> Played:
    """Play them all; a game takes as long as its slowest player's games do."""
    queue, played, now = FairQueue(slots), Played(), 0.0
    queue.add(pairings)
    running: list[tuple[float, int, Pairing]] = []
    seats: Counter[str] = Counter()
    while True:
        while (pairing := queue.next(capacity)) is not None:
            queue.started(pairing.game)
            seats.update(pairing.players)
            assert all(seats[name] <= capacity(name) for name in pairing.players)
            played.order.append(pairing.game)
            end = now + max(map(seconds, pairing.players))
            heapq.heappush(running, (end, len(played.order), pairing))
            assert len(running) <= slots
        if not running:
            break
        now, _, pairing = heapq.heappop(running)
        queue.finished(pairing.game, max(map(seconds, pairing.players)))
        seats.subtract(pairing.players)
        played.ended[pairing.game] = now
    assert len(queue) == queue.running == 0
    return played


def round_robin(players: int, table: int = 2) -> tuple[Pairing, ...]:
    return RoundRobin(table, max_games=40_000).plan(field_of(players).entrants).first


def slow_are(*names: str) -> Callable[[str], float]:
    return lambda name: SLOW if name in names else QUICK


def game(block: str, *players: str) -> Pairing:
    return Pairing(f"{block}.1", players, int(block[0]), block)


def games_with(pairings: Sequence[Pairing], *names: str) -> list[Pairing]:
    return [it for it in pairings if set(names) & set(it.players)]


def games_without(pairings: Sequence[Pairing], *names: str) -> list[Pairing]:
    return [it for it in pairings if not set(names) & set(it.players)]


@pytest.mark.parametrize("slots", [2, 4, 8])
def test_one_slow_player_ends_the_tournament_when_its_own_games_are_done(slots: int) -> None:
    pairings = round_robin(12)
    played = simulated(pairings, slots, slow_are("p3"))
    in_a_row = len(games_with(pairings, "p3")) * SLOW
    assert in_a_row <= played.last(pairings) <= in_a_row * 1.05


@pytest.mark.parametrize("slots", [2, 4, 8])
def test_one_slow_player_does_not_hold_up_the_quick_ones(slots: int) -> None:
    pairings = round_robin(12)
    played = simulated(pairings, slots, slow_are("p3"))
    assert played.last(games_without(pairings, "p3")) < played.last(pairings) / 3


@pytest.mark.parametrize("slots", [1, 2, 4])
def test_many_slow_players_do_not_starve_the_quick_ones(slots: int) -> None:
    pairings = round_robin(16)
    slow = [f"p{number}" for number in range(10)]
    played = simulated(pairings, slots, slow_are(*slow))
    assert played.last(games_without(pairings, *slow)) < played.last(pairings) / 3


def test_players_of_one_pace_keep_all_slots_busy() -> None:
    pairings = round_robin(9)
    assert simulated(pairings, 4, slow_are()).last(pairings) <= len(pairings) / 4 + 1


def test_long_and_quick_games_take_turns_at_a_single_slot() -> None:
    queue = FairQueue(1)
    queue.add([Pairing("1.1.1", ("a", "slow"), 1, "1.1")])
    queue.started("1.1.1")
    queue.finished("1.1.1", 50)
    queue.add([game("2.1", "b", "c"), game("2.2", "d", "e"), game("2.3", "f", "slow")])
    # the quick had no time so far
    assert queue.next(lambda _: 1) == game("2.1", "b", "c")
    queue.started("2.1.1")
    queue.finished("2.1.1", 80)
    assert queue.next(lambda _: 1) == game("2.3", "f", "slow")


def test_busy_player_is_passed_over() -> None:
    queue = FairQueue(8)
    queue.add(
        [Pairing(f"1.{n}.1", tuple(pair), 1, f"1.{n}") for n, pair in enumerate(["ab", "ac", "cd"])]
    )
    started: list[tuple[str, ...]] = []
    while (pairing := queue.next(lambda _: 1)) is not None:
        started.append(pairing.players)
        queue.started(pairing.game)
    assert started == [("a", "b"), ("c", "d")]
    queue.finished("1.0.1", 1)
    assert queue.next(lambda _: 1) is None  # c plays on
    queue.finished("1.2.1", 1)
    assert queue.next(lambda _: 1) == Pairing("1.1.1", ("a", "c"), 1, "1.1")


def test_player_that_takes_more_games_gets_them_when_its_capacity_grows() -> None:
    queue = FairQueue(8)
    queue.add([Pairing(f"1.{n}.1", ("a", other), 1, f"1.{n}") for n, other in enumerate("bcd")])
    queue.started("1.0.1")
    assert queue.next(lambda _: 1) is None
    assert queue.next(lambda name: 2 if name == "a" else 1) is not None


def test_away_player_is_passed_over_until_it_is_back() -> None:
    queue = FairQueue(8)
    queue.add([Pairing("1.1.1", ("a", "b"), 1, "1.1"), Pairing("1.2.1", ("c", "d"), 1, "1.2")])
    away = queue.next(lambda name: int(name != "a"))
    assert away is not None
    queue.started(away.game)
    assert away.players == ("c", "d")
    assert queue.next(lambda name: int(name != "a")) is None
    assert queue.next(lambda _: 1) is not None


def test_removed_game_is_not_started_and_added_ones_are_known_once() -> None:
    queue = FairQueue(8)
    pairing = Pairing("1.1.1", ("a", "b"), 1, "1.1")
    queue.add([pairing, pairing])
    queue.add([pairing])
    assert len(queue) == 1
    queue.remove("1.1.1")
    queue.remove("1.1.1")
    assert queue.next(lambda _: 1) is None
    queue.add([pairing])
    assert queue.next(lambda _: 1) == pairing


def test_new_games_are_found_after_nothing_could_be_started() -> None:
    queue = FairQueue(8)
    queue.add([Pairing("1.1.1", ("a", "b"), 1, "1.1"), Pairing("1.1.2", ("b", "a"), 1, "1.1")])
    queue.started("1.1.1")
    assert queue.next(lambda _: 1) is None
    queue.add([Pairing("2.1.1", ("c", "d"), 2, "2.1")])
    assert queue.next(lambda _: 1) == Pairing("2.1.1", ("c", "d"), 2, "2.1")


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 7), st.integers(2, 3), st.integers(1, 5), st.integers(1, 3), st.randoms())
def test_every_game_is_played_once_and_no_slot_is_idle_without_need(
    players: int, table: int, slots: int, most: int, random: Random
) -> None:
    pairings = round_robin(players, table)
    queue = FairQueue(slots)
    queue.add(pairings)
    waiting = {game.game: game for game in pairings}
    running: dict[str, Pairing] = {}
    while waiting or running:
        pairing = queue.next(lambda _: most)
        seats = Counter(name for game in running.values() for name in game.players)
        could = [g for g in waiting.values() if all(seats[name] < most for name in g.players)]
        assert (pairing is not None) == bool(could and len(running) < slots)
        if pairing is not None:
            assert pairing in could
            running[pairing.game] = waiting.pop(pairing.game)
            queue.started(pairing.game)
        else:
            ended = random.choice(sorted(running))
            del running[ended]
            queue.finished(ended, random.random() * 9)


def test_same_calls_give_the_same_games() -> None:
    pairings = round_robin(10)
    one, other = (simulated(pairings, 3, slow_are("p1", "p4")).order for _ in range(2))
    assert one == other


@pytest.mark.parametrize("slots", [8])
def test_thousands_of_games_cost_no_quadratic_time(slots: int) -> None:
    pairings = round_robin(100)  # 9,900
    begun = time.process_time()
    simulated(pairings, slots, slow_are("p3", "p50"))
    assert time.process_time() - begun < 2


@pytest.mark.full
@pytest.mark.parametrize("slots", [1, 8, 50])
def test_two_hundred_players_in_pairs(slots: int) -> None:
    pairings = round_robin(200)
    begun = time.process_time()
    played = simulated(pairings, slots, slow_are("p3"))
    assert time.process_time() - begun < 5
    assert played.last(pairings) <= max(398 * SLOW, (len(pairings) - 398) / slots + 398 * SLOW)
