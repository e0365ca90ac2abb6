"""The minimax search against a slow, plain one, and by hand."""

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from croupier_common import (
    Board,
    Color,
    Move,
    Stage,
    State,
    Verdict,
)
from croupier_common.errors import InvalidStrategy
from croupier_common.grid import Grid
from croupier_common.kernel import Kernel
from croupier_common.strategies import make
from croupier_common.strategies.minimax import MAX_DEPTH, Minimax, best_move

Spot = tuple[int, int]

EVEN = [(-2, 0), (-1, 0), (1, 0), (2, 0), (1, -1), (-1, -1)]
ODD = [(-2, 0), (-1, 1), (1, 1), (2, 0), (1, 0), (-1, 0)]


@dataclass
class Plain:
    """A game as dicts and lists that are copied, with the rules written down once more."""

    fish: dict[Spot, int]
    penguins: list[list[Spot]]

    def moves(self, seat: int) -> Iterator[tuple[Spot, Spot]]:
        taken = {spot for own in self.penguins for spot in own}
        for start in sorted(self.penguins[seat]):
            ends: list[Spot] = []
            for direction in range(6):
                row, column = start
                while True:
                    step = (ODD if row % 2 else EVEN)[direction]
                    row, column = row + step[0], column + step[1]
                    if (row, column) not in self.fish or (row, column) in taken:
                        break
                    ends.append((row, column))
            yield from ((start, end) for end in sorted(ends))

    def after(self, seat: int, start: Spot, end: Spot) -> "Plain":
        fish = {spot: count for spot, count in self.fish.items() if spot != start}
        penguins = [list(own) for own in self.penguins]
        penguins[seat] = [end if spot == start else spot for spot in penguins[seat]]
        return Plain(fish, penguins)

    def worth(self, searcher: int, seat: int, turns: int, known: dict[object, int]) -> int:
        """What the searcher gains in `turns` turns of its own; a skip is not one of them.

        `known` spares the same position a second time, and nothing else.
        """
        key = frozenset(self.fish), tuple(map(frozenset, self.penguins)), seat, turns
        if key not in known:
            known[key] = self._worth(searcher, seat, turns, known)
        return known[key]

    def _worth(self, searcher: int, seat: int, turns: int, known: dict[object, int]) -> int:
        if turns == 0 or not any(True for s in range(len(self.penguins)) for _ in self.moves(s)):
            return 0
        following = (seat + 1) % len(self.penguins)
        left = turns - 1 if seat == searcher else turns
        values = [
            (self.fish[start] if seat == searcher else 0)
            + self.after(seat, start, end).worth(searcher, following, left, known)
            for start, end in self.moves(seat)
        ]
        if not values:
            return self.worth(searcher, following, turns, known)
        return max(values) if seat == searcher else min(values)

    def best(self, seat: int, depth: int) -> tuple[Spot, Spot] | None:
        best: tuple[Spot, Spot] | None = None
        most = -1
        following = (seat + 1) % len(self.penguins)
        known: dict[object, int] = {}
        for start, end in self.moves(seat):
            rest = self.after(seat, start, end).worth(seat, following, depth - 1, known)
            if self.fish[start] + rest > most:
                best, most = (start, end), self.fish[start] + rest
        return best

    def kernel(self, rows: int, columns: int) -> Kernel:
        grid = Grid.of(rows, columns)
        fish = [0] * grid.size
        free = 0
        taken = {spot for own in self.penguins for spot in own}
        for spot, count in self.fish.items():
            fish[grid.tile(spot)] = count
            free |= (spot not in taken) << grid.tile(spot)
        return Kernel(grid, fish, free, [list(map(grid.tile, own)) for own in self.penguins])


def compare(plain: Plain, rows: int, columns: int, seat: int, depth: int) -> None:
    kernel = plain.kernel(rows, columns)
    found = best_move(kernel, seat, depth)
    position = kernel.grid.position
    best = None if found is None else (position(found[0]), position(found[1]))
    assert best == plain.best(seat, depth), (plain, seat, depth)
    again = plain.kernel(rows, columns)
    assert (kernel.free, kernel.penguins, kernel.held) == (again.free, again.penguins, again.held)


SHAPES = [(3, 3), (5, 2), (4, 3), (2, 6), (7, 2), (5, 3), (4, 4), (5, 4)]


def some_game(draw: Callable[[int], int], tiles: int, seats: int) -> tuple[Plain, int, int]:
    """A game on about so many tiles; `draw(n)` gives a number below n. Equal fish abound."""
    shapes = [(rows, columns) for rows, columns in SHAPES if rows * columns >= tiles]
    rows, columns = shapes[draw(len(shapes))]
    most_fish = [1, 2, 3, 5, 1_000_000][draw(5)]
    spots = [(row, column) for row in range(rows) for column in range(columns)]
    for _ in range(len(spots) - tiles + draw(3)):
        spots.pop(draw(len(spots)))
    fish = {spot: 1 + draw(most_fish) for spot in spots}
    penguins: list[list[Spot]] = [[] for _ in range(seats)]
    each = 2 if draw(3) == 0 else 1
    for place in range(min(seats * each + draw(2), len(spots) - 2)):
        penguins[place % seats].append(spots.pop(draw(len(spots))))
    return Plain(fish, penguins), rows, columns


@pytest.mark.parametrize(
    ("seats", "depth", "tiles", "games"),
    [
        (1, 3, 12, 40),
        (2, 1, 16, 60),
        (2, 2, 13, 25),
        (2, 3, 10, 30),
        (3, 2, 12, 25),
        (3, 3, 11, 40),
        (4, 2, 13, 15),
        (4, 3, 12, 40),
        (5, 2, 13, 25),
    ],
)
def test_best_move_agrees_with_the_plain_search(
    seats: int, depth: int, tiles: int, games: int
) -> None:
    rng = random.Random(100 * seats + depth)
    for _ in range(games):
        plain, rows, columns = some_game(rng.randrange, tiles, seats)
        compare(plain, rows, columns, rng.randrange(seats), depth)


@given(st.randoms(use_true_random=False), st.integers(1, 4), st.integers(1, 3))
@settings(max_examples=20)
def test_best_move_agrees_with_the_plain_search_wherever_hypothesis_looks(
    rng: random.Random, seats: int, depth: int
) -> None:
    plain, rows, columns = some_game(rng.randrange, 10, seats)
    compare(plain, rows, columns, 0, depth)


def test_best_move_deeper_than_the_game_is_the_whole_game() -> None:
    rng = random.Random(6)
    for _ in range(20):
        plain, rows, columns = some_game(rng.randrange, 8, 2)
        compare(plain, rows, columns, 0, 7)
        kernel = plain.kernel(rows, columns)
        assert best_move(kernel, 0, 7) == best_move(kernel, 0, 10**9)


def test_best_move_of_a_seat_without_one_is_none() -> None:
    stuck = Plain({(0, 0): 1, (1, 0): 2, (4, 1): 1, (5, 1): 1}, [[(0, 0)], [(1, 0)], [(4, 1)], []])
    kernel = stuck.kernel(6, 2)
    assert [best_move(kernel, seat, 2) for seat in range(4)] == [None, None, (9, 11), None]


def test_best_move_keeps_away_from_where_an_enemy_shuts_it_in() -> None:
    # Red at [4,0] has 5 fish to the north, but the only way on from there is [1,0], and white
    # will take that; so red goes south, where 3 fish wait.
    fish = {(2, 0): 5, (4, 0): 1, (6, 0): 3, (8, 0): 1, (7, 0): 1, (0, 1): 1, (1, 0): 1}
    alone = Plain(fish, [[(4, 0)]])
    beset = Plain(fish, [[(4, 0)], [(0, 1)]])
    compare(alone, 9, 2, 0, 2)
    compare(beset, 9, 2, 0, 2)
    assert alone.best(0, 2) == ((4, 0), (2, 0))
    assert beset.best(0, 2) == ((4, 0), (6, 0))


def test_best_move_refuses_what_it_could_not_do() -> None:
    grid = Grid.of(40, 40)
    free = grid.everything ^ 0b111
    kernel = Kernel(grid, [1] * grid.size, free, [[0], [1], [2]])
    with pytest.raises(InvalidStrategy, match="depth 0: a search looks 1 turn ahead or more"):
        best_move(kernel, 0, 0)
    with pytest.raises(InvalidStrategy, match="at most 160 moves can be looked ahead"):
        best_move(kernel, 0, 100)
    with pytest.raises(InvalidStrategy, match="depth 1000 with 3 players and 1597 free tiles"):
        best_move(kernel, 0, 1000)
    assert best_move(kernel, 0, 2) is not None


def test_best_move_as_deep_as_it_goes_stays_within_the_stack() -> None:
    corridor = Plain({(row, 0): 1 for row in range(0, 322, 2)}, [[(0, 0)]])
    assert best_move(corridor.kernel(321, 1), 0, 160) == (0, 2)


def opening(seats: int, fish: list[int]) -> Kernel:
    grid = Grid.of(5, 5)
    placed = seats * (6 - seats)
    penguins = [list(range(seat, placed, seats)) for seat in range(seats)]
    return Kernel(grid, fish, grid.everything ^ ((1 << placed) - 1), penguins)


@pytest.mark.parametrize("seats", [2, 3, 4])
def test_best_move_from_the_opening_needs_far_less_than_a_second(seats: int) -> None:
    rng = random.Random(seats)
    boards = [[2] * 25, *([rng.randrange(1, 6) for _ in range(25)] for _ in range(9))]
    start = time.process_time()
    for fish in boards:
        assert best_move(opening(seats, fish), 0, 2) is not None
    assert time.process_time() - start < 0.5  # ten openings; 3 ms where this was written


def test_minimax_places_as_first_does_and_moves_by_best_move() -> None:
    state = State.begin(Board(5, 5, (2,) * 25), list(Color)[:3])
    first, minimax = make("first"), make("minimax")
    while state.stage is Stage.PLACEMENT:
        assert minimax.choose(state) == first.choose(state)
        state = state.apply(first.choose(state))
    while state.turn is not None:
        kernel = state.kernel()
        best = best_move(kernel, list(Color).index(state.turn), 2)
        assert best is not None
        move = Move(*map(kernel.grid.position, best))
        assert minimax.choose(state) == move
        state = state.apply(move)


def test_minimax_passes_over_the_ejected() -> None:
    state = State.begin(Board(5, 5, (1, 2, 3, 4, 5) * 5), list(Color)[:3])
    while state.stage is Stage.PLACEMENT:
        state = state.apply(make("first").choose(state))
    state, _ = state.eject(Color.RED, Verdict.TIMEOUT)
    assert state.turn is Color.WHITE
    assert make("minimax:3").choose(state) in state.legal_actions


def test_minimax_spec_has_the_depth() -> None:
    assert make("minimax") == Minimax(2)
    assert make("minimax:1") == Minimax(1)
    assert make(f"minimax:{MAX_DEPTH}") == Minimax(MAX_DEPTH)


@pytest.mark.parametrize("argument", ["", "0", "-1", "21", "2.0", "two", "²", "1" * 5000, " 1"])
def test_minimax_with_another_argument_is_refused(argument: str) -> None:
    with pytest.raises(InvalidStrategy, match=r"allowed is minimax or minimax:N, N from 1 to 20$"):
        make(f"minimax:{argument}")
