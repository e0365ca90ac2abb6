"""The rules' speed: the kernel, and the public values beside it, against a minimal bitboard."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks import bitboard
from benchmarks.processes import Failed
from benchmarks.report import Budget, Part, Table, median, shown
from benchmarks.sizes import Size
from croupier_common.board import Board
from croupier_common.grid import Grid
from croupier_common.kernel import Kernel
from croupier_common.outcome import Color
from croupier_common.state import PlayerState, Stage, State

__all__ = ["measure"]

PENGUINS = ((9, 20, 38, 50), (12, 24, 35, 47))
"""Two players on the boxed game's board with all tiles, by the bitboard's numbers."""

PERFT = (60, 3572, 179984, 8814895)
"""How many sequences of 1, 2, ... moves there are from here, for checking."""

Work = Callable[[], int]
"""Does a piece of work; gives how much that was: sequences, or playouts."""


@dataclass(frozen=True, slots=True)
class Contest:
    """Who does the same work in other ways, the yardstick first."""

    what: str
    contestants: dict[str, Work]


def state() -> State:
    """The position as a public value."""
    grid = Grid.of(15, 4)
    spots = [
        (2 * place + (7 - line) % 2, (7 - line) // 2)
        for line in range(8)
        for place in range(7 + line % 2)
    ]
    tiles = [grid.tile(spot) for spot in spots]
    players = tuple(
        PlayerState(color, penguins=tuple(grid.position(tiles[penguin]) for penguin in own))
        for color, own in zip((Color.RED, Color.WHITE), PENGUINS, strict=True)
    )
    board = Board(15, 4, tuple(1 for _ in range(grid.size)))
    return State(board, players, Color.RED, Stage.MOVEMENT, 4)


def bitboard_perft(depth: int) -> int:
    """The yardstick's perft."""
    own, other = map(list, PENGUINS)
    free = bitboard.ALL_TILES
    for tile in own + other:
        free ^= 1 << tile
    return bitboard.perft(free, own, other, depth)


def bitboard_playout(draw: Callable[[], float]) -> int:
    """The yardstick's playout."""
    own, other = map(list, PENGUINS)
    free = bitboard.ALL_TILES
    for tile in own + other:
        free ^= 1 << tile
    return bitboard.playout(free, own, other, draw)


def api_perft(at: State, depth: int) -> int:
    """Perft with nothing but what is public: legal actions, and the state after one."""
    if not depth:
        return 1
    return sum(api_perft(at.apply(action), depth - 1) for action in at.legal_actions)


def api_playout(at: State, draw: Callable[[], float]) -> int:
    """A playout with nothing but what is public."""
    made = 0
    while actions := list(at.legal_actions):
        at = at.apply(actions[int(draw() * len(actions))])
        made += 1
    return made


def contests(depth: int) -> list[Contest]:
    """Perft and playouts from the position."""
    start = state()
    kernel = start.kernel()
    draw = random.Random(1).random

    def playouts(play: Callable[[], int], times: int) -> Work:
        def work() -> int:
            for _ in range(times):
                play()
            return times

        return work

    return [
        Contest(
            "perft",
            {
                "bitboard": lambda: bitboard_perft(depth),
                "kernel": lambda: kernel.perft(0, depth),
                "public API": lambda: api_perft(start, min(depth, 2)),
            },
        ),
        Contest(
            "playouts",
            {
                "bitboard": playouts(lambda: bitboard_playout(draw), 40),
                "kernel": playouts(lambda: kernel.copy().playout(0, draw), 120),
                "public API": playouts(lambda: api_playout(start, draw), 8),
            },
        ),
    ]


def check(depth: int) -> None:
    """Check that all contestants do the same work."""
    kernel: Kernel = state().kernel()
    for plies, leaves in enumerate(PERFT[:depth], 1):
        found = {
            "bitboard": bitboard_perft(plies),
            "kernel": kernel.perft(0, plies),
            "public API": api_perft(state(), min(plies, 2)) if plies <= 2 else leaves,
        }
        if set(found.values()) != {leaves}:
            raise Failed(f"perft {plies} is {leaves}, and these say otherwise: {found}")


def measure(size: Size) -> Part:
    """Let all do their work in turn, for several rounds.

    Ratios are medians over the rounds; speeds are the best round's, since other programs on the
    machine only ever take away.
    """
    depth, rounds, seconds = size.perft_depth, size.rules_rounds, size.rules_seconds
    check(depth)
    rows: list[tuple[str, ...]] = []
    figures: dict[str, float] = {}
    for contest in contests(depth):
        speeds = race(contest.contestants, rounds, seconds)
        for name, speed in speeds.items():
            ratio = median(own / its for own, its in zip(speed, speeds["bitboard"], strict=True))
            figures[f"{contest.what} {name} per s"] = max(speed)
            figures[f"{contest.what} {name} to bitboard"] = ratio
            rows.append((f"{contest.what}, {name}", shown(max(speed)), shown(ratio)))
    return Part(
        "rules",
        "Two players with 4 penguins each on the boxed game's 60 tiles, in turn on one core. Perft "
        f"is counted to depth {depth} with every leaf made, by the public API to depth "
        f"{min(depth, 2)}. {rounds} rounds of {seconds:g} s each: the best round's speed, the "
        "median ratio.",
        Table(("", "per second", "to bitboard"), rows),
        figures,
        [
            Budget("kernel's perft to the bitboard's", figures["perft kernel to bitboard"], 0.5),
            Budget("kernel's playouts per second", figures["playouts kernel per s"], 8_000),
        ],
    )


def race(contestants: dict[str, Work], rounds: int, seconds: float) -> dict[str, list[float]]:
    """By contestant, how much it did per second in each round."""
    speeds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, work in contestants.items():
            done, started = 0, time.perf_counter()
            while (passed := time.perf_counter() - started) < seconds:
                done += work()
            speeds[name].append(done / passed)
    return speeds
