"""The game of `xref`, from the first placement to the winners.

It is the course's game without its limits: any number of players, and a board that may be too
small. The players are in turn order, all place on the first free tile, and all move by minimax.
"""

from __future__ import annotations

from croupier_common.draft import next_to_place
from croupier_common.grid import Grid, tiles_of
from croupier_common.kernel import Kernel
from croupier_common.rules import penguins_for
from croupier_common.strategies.minimax import best_move
from croupier_server.course.codec import Match

__all__ = ["winners"]


def winners(match: Match) -> list[int]:
    """The seats that have most fish in the end; none when no player got all its penguins placed.

    A single player has won unplayed.
    """
    seats = len(match.entrants)
    if seats < 2:
        return list(range(seats))
    grid = Grid.of(match.rows, match.columns)
    fish = [match.fish] * grid.size
    kernel = Kernel(grid, fish, grid.everything, [[] for _ in range(seats)])
    left = _place(kernel, penguins_for(seats))
    _move(kernel, match)
    most = max((kernel.held[seat] for seat in left), default=0)
    return [seat for seat in left if kernel.held[seat] == most]


def _place(kernel: Kernel, each: int) -> list[int]:
    """Let all seats place so many penguins in rounds, and give the seats that could.

    A player that finds no tile is out: its penguins leave, and their tiles are free again.
    """
    seats = range(len(kernel.penguins))
    out: set[int] = set()
    while True:
        counts = [None if seat in out else len(kernel.penguins[seat]) for seat in seats]
        seat = next_to_place(counts, each, "rounds")
        if seat is None:
            return [seat for seat in seats if seat not in out]
        if kernel.free:
            tile = next(tiles_of(kernel.free))
            kernel.penguins[seat].append(tile)
            kernel.free ^= 1 << tile
        else:
            out.add(seat)
            for tile in kernel.penguins[seat]:
                kernel.free |= 1 << tile
            kernel.penguins[seat].clear()


def _move(kernel: Kernel, match: Match) -> None:
    """Let all seats move until none can."""
    seat = kernel.next_seat(-1)
    while seat is not None:
        move = best_move(kernel, seat, match.entrants[seat].depth)
        assert move is not None
        start, end = move
        kernel.make(seat, kernel.penguins[seat].index(start), end)
        seat = kernel.next_seat(seat)
