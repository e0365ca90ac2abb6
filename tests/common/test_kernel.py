"""The kernel: perft against known numbers, playouts, and what the options must not change."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from croupier_common.board import Board
from croupier_common.draft import Stage
from croupier_common.grid import Grid, tiles_of
from croupier_common.kernel import Kernel
from croupier_common.outcome import Color
from croupier_common.rules import Rules
from croupier_common.state import State
from support.drawn import large_boards, player_colors, small_boards, unchecked

POSITIONS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "data" / "perft.json").read_text(encoding="utf-8")
)["positions"]
QUICK = 3_000_000
"""Depths with fewer sequences are counted on every run, the deeper ones on a full one."""

positions = pytest.mark.parametrize("known", POSITIONS, ids=[p["name"] for p in POSITIONS])
seeds = st.integers(0, 2**32)


def tile_of(number: int) -> int:
    """The tile of the grid that a tile of the data file is."""
    line = 0
    while number >= 7 + line % 2:
        number -= 7 + line % 2
        line += 1
    return (2 * number + (7 - line) % 2) * 4 + (7 - line) // 2


def known_kernel(known: dict[str, Any]) -> Kernel:
    there = (1 << 60) - 1 if known["tiles"] == "all" else int(known["tiles"], 16)
    free = sum(1 << tile_of(number) for number in tiles_of(there))
    penguins = [[tile_of(number) for number in own] for own in known["penguins"]]
    for own in penguins:
        for tile in own:
            assert free >> tile & 1
            free ^= 1 << tile
    return Kernel(Grid.of(15, 4), [1] * 60, free, penguins)


def placed(board: list[list[int]], colors: list[Color], rules: Rules, seed: int) -> State:
    """A state after all placements, made at random; over if nobody could place."""
    random = Random(seed)
    state, _ = unchecked(Board.from_json(board), colors, rules).settle()
    while state.stage is Stage.PLACEMENT:
        state = state.apply(random.choice(list(state.legal_actions)))
    return state


def told(kernel: Kernel) -> tuple[int, list[list[int]], list[int]]:
    return kernel.free, [list(own) for own in kernel.penguins], list(kernel.held)


# -- perft


@positions
def test_perft_finds_the_known_numbers(known: dict[str, Any]) -> None:
    kernel = known_kernel(known)
    before = told(kernel)
    for depth, number in enumerate(known["perft"], 1):
        if number < QUICK:
            assert kernel.perft(0, depth) == number
    assert told(kernel) == before


@pytest.mark.full
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("known", "depth"),
    [
        pytest.param(known, depth, id=f"{known['name']}-{depth}")
        for known in POSITIONS
        for depth, number in enumerate(known["perft"], 1)
        if number >= QUICK
    ],
)
def test_perft_finds_the_large_known_numbers(known: dict[str, Any], depth: int) -> None:
    assert known_kernel(known).perft(0, depth) == known["perft"][depth - 1]


def test_perft_of_no_move_is_one_sequence() -> None:
    assert Kernel(Grid.of(2, 1), [1, 1], 0b10, [[0]]).perft(0, 0) == 1


def test_perft_counts_no_sequence_that_the_end_cuts_short() -> None:
    kernel = Kernel(Grid.of(2, 1), [1, 1], 0b10, [[0], []])
    assert [kernel.perft(0, depth) for depth in range(4)] == [1, 1, 0, 0]
    assert kernel.perft(1, 1) == 1


def sequences(state: State, depth: int) -> int:
    """Perft once more, through the states of the public rules."""
    if depth == 0:
        return 1
    return sum(sequences(state.apply(action), depth - 1) for action in state.legal_actions)


@given(
    board=small_boards(5, 3),
    colors=player_colors(),
    lift=st.sampled_from(["never", "penguin", "player_turn", "end"]),
    islands=st.sampled_from(["keep", "remove"]),
    seed=seeds,
)
def test_perft_is_the_same_whatever_is_lifted_and_sunk(
    board: list[list[int]], colors: list[Color], lift: str, islands: str, seed: int
) -> None:
    rules = Rules(lift=lift, islands=islands, ejected="with_tiles")
    state = placed(board, colors, rules, seed)
    plain = placed(board, colors, Rules(ejected="with_tiles"), seed).kernel()
    seat = 0 if state.turn is None else colors.index(state.turn)
    for depth in (1, 2, 3):
        assert state.kernel().perft(seat, depth) == plain.perft(0, depth)
        assert sequences(state, depth) == plain.perft(0, depth)


# -- moves one by one


@given(board=small_boards(), colors=player_colors(), seed=seeds)
def test_kernel_moves_are_the_legal_actions(
    board: list[list[int]], colors: list[Color], seed: int
) -> None:
    state = placed(board, colors, Rules(), seed)
    kernel, position = state.kernel(), state.board.grid.position
    for seat, color in enumerate(colors):
        moves = [(position(start), position(end)) for start, end in kernel.moves(seat)]
        assert moves == sorted(moves)
        assert kernel.can_move(seat) == bool(moves)
        if color is state.turn:
            actions = [action.to_json() for action in state.legal_actions]
            assert actions == [[[*start], [*end]] for start, end in moves]


@given(board=small_boards() | large_boards(), colors=player_colors(), seed=seeds)
def test_kernel_unmake_takes_every_move_back(
    board: list[list[int]], colors: list[Color], seed: int
) -> None:
    kernel = placed(board, colors, Rules(), seed).kernel()
    before = told(kernel)
    for seat in range(len(colors)):
        for start, end in list(kernel.moves(seat)):
            slot = kernel.penguins[seat].index(start)
            kernel.make(seat, slot, end)
            assert kernel.penguins[seat][slot] == end
            assert not kernel.free >> end & 1
            assert kernel.held[seat] == kernel.fish[start]
            kernel.unmake(seat, slot, start)
            assert told(kernel) == before


def test_kernel_copy_shares_nothing_that_changes() -> None:
    kernel = Kernel(Grid.of(3, 1), [1, 2, 3], 0b110, [[0]])
    copied = kernel.copy()
    copied.make(0, 0, 1)
    assert told(kernel) == (0b110, [[0]], [0])
    assert told(copied) == (0b100, [[1]], [1])


def test_kernel_does_not_keep_the_lists_it_is_made_from() -> None:
    penguins, held = [[0]], [4]
    kernel = Kernel(Grid.of(3, 1), [1, 2, 3], 0b110, penguins, held)
    kernel.make(0, 0, 2)
    assert (penguins, held, kernel.held) == ([[0]], [4], [5])


def test_kernel_next_seat_goes_round_and_back_to_the_same() -> None:
    # A column of 7: tiles 0 1 2 3 4 5 6. Seat 1 is walled in by a missing tile and seat 2.
    kernel = Kernel(Grid.of(7, 1), [1] * 7, 0b0000110, [[0], [6], [5]])
    assert not kernel.can_move(1)
    assert [kernel.next_seat(after) for after in (-1, 0, 1, 2)] == [0, 0, 0, 0]
    kernel.free |= 0b0001000
    assert [kernel.next_seat(after) for after in (-1, 0, 1, 2)] == [0, 2, 2, 0]


def test_kernel_next_seat_is_none_when_nobody_can_move() -> None:
    assert Kernel(Grid.of(2, 1), [1, 1], 0, [[0], [1]]).next_seat(0) is None
    assert Kernel(Grid.of(2, 1), [1, 1], 0b11, [[], []]).next_seat(-1) is None


# -- playouts


def plain_playout(kernel: Kernel, seat: int, random: Callable[[], float]) -> int:
    """A playout by the kernel's other methods, with the moves of a turn in order of slots."""
    made = 0
    turn = kernel.next_seat(seat - 1)
    while turn is not None:
        moves = [
            (slot, end)
            for slot, start in enumerate(kernel.penguins[turn])
            for end in tiles_of(kernel.grid.reach(start, kernel.free))
        ]
        kernel.make(turn, *moves[int(random() * len(moves))])
        made += 1
        turn = kernel.next_seat(turn)
    return made


@given(board=small_boards() | large_boards(), colors=player_colors(), seed=seeds)
def test_playout_plays_as_one_move_after_the_other(
    board: list[list[int]], colors: list[Color], seed: int
) -> None:
    quick = placed(board, colors, Rules(), seed).kernel()
    plain = quick.copy()
    seat = seed % len(colors)
    made = quick.playout(seat, Random(seed).random)
    assert made == plain_playout(plain, seat, Random(seed).random)
    assert told(quick) == told(plain)
    assert not any(quick.can_move(seat) for seat in range(len(colors)))


class EnoughError(Exception):
    """Ends a playout after its first move."""


def first_move(kernel: Kernel, draw: float) -> tuple[int, int]:
    draws = [draw]

    def random() -> float:
        if not draws:
            raise EnoughError
        return draws.pop()

    played = kernel.copy()
    with pytest.raises(EnoughError):
        played.playout(0, random)
    [slot] = [
        slot for slot, tile in enumerate(played.penguins[0]) if tile != kernel.penguins[0][slot]
    ]
    return kernel.penguins[0][slot], played.penguins[0][slot]


@positions
def test_playout_gives_every_move_an_equal_share_of_the_draws(known: dict[str, Any]) -> None:
    kernel = known_kernel(known)
    moves = list(kernel.moves(0))
    ends = [(number + share) / len(moves) for number in range(len(moves)) for share in (0.01, 0.99)]
    drawn = [first_move(kernel, draw) for draw in ends]
    assert drawn[::2] == drawn[1::2]
    assert sorted(drawn[::2]) == moves


def test_playout_of_a_game_that_is_over_makes_no_move() -> None:
    kernel = Kernel(Grid.of(2, 1), [1, 1], 0, [[0], [1]])
    assert kernel.playout(1, Random(0).random) == 0


# -- what lifting and islands leave alone


def play(state: State, seed: int) -> tuple[list[str], State]:
    """The moves of a random game from a state on, and how it ended."""
    random = Random(seed)
    moves: list[str] = []
    while not state.is_over:
        action = random.choice(list(state.legal_actions))
        moves.append(f"{state.turn} {action} of {len(state.legal_actions)}")
        state = state.apply(action)
    return moves, state


def final_fish(state: State) -> Sequence[tuple[int, int]]:
    return [(player.fish, player.tiles) for player in state.players]


@given(
    board=small_boards() | large_boards(),
    colors=player_colors(),
    last_tile=st.sampled_from(["nobody", "owner"]),
    seed=seeds,
)
def test_scores_are_the_same_whenever_penguins_are_lifted(
    board: list[list[int]], colors: list[Color], last_tile: str, seed: int
) -> None:
    games = [
        play(placed(board, colors, rules, seed), seed)
        for lift in ("end", "penguin", "player_turn", "never")
        for islands in ("keep", "remove")
        for rules in [Rules(lift=lift, last_tile=last_tile, islands=islands, ejected="with_tiles")]
    ]
    moves, over = games[0]
    for other_moves, other_over in games[1:]:
        assert other_moves == moves
        assert final_fish(other_over) == final_fish(over)
