"""The kernel: a position as integers that is changed in place, for everything that must be fast.

It knows tiles, penguins, fish and whose turn it is, and nothing of colours, options or JSON. The
options that are left to :mod:`croupier_common.state` (lifting, islands) never change which moves
there are: they only take away ice that nobody can use and penguins that can't move.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from croupier_common.grid import Grid, tiles_of

__all__ = ["Kernel"]


class Kernel:
    """A position during movement. Seats are numbers from 0, in turn order.

    ``free`` is the set of free tiles, ``penguins[seat]`` the tiles of a seat's penguins in their
    slots, ``held[seat]`` its fish, ``fish[tile]`` the fish of each tile as the board began.
    """

    __slots__ = ("fish", "free", "grid", "held", "penguins")

    def __init__(
        self,
        grid: Grid,
        fish: Sequence[int],
        free: int,
        penguins: Sequence[Sequence[int]],
        held: Sequence[int] | None = None,
    ) -> None:
        self.grid = grid
        self.fish = fish
        self.free = free
        self.penguins = [list(tiles) for tiles in penguins]
        self.held = list(held) if held is not None else [0] * len(penguins)

    def copy(self) -> Kernel:
        """An independent copy."""
        kernel = Kernel.__new__(Kernel)
        kernel.grid = self.grid
        kernel.fish = self.fish
        kernel.free = self.free
        kernel.penguins = [tiles[:] for tiles in self.penguins]
        kernel.held = self.held[:]
        return kernel

    def can_move(self, seat: int) -> bool:
        """Whether a seat has a legal move."""
        near = self.grid.near
        free = self.free
        for tile in self.penguins[seat]:  # noqa: SIM110 - any() takes three times as long
            if free & near[tile]:
                return True
        return False

    def moves(self, seat: int) -> Iterator[tuple[int, int]]:
        """A seat's legal moves as (from, to), in canonical order."""
        for start in sorted(self.penguins[seat]):
            for end in tiles_of(self.grid.reach(start, self.free)):
                yield start, end

    def next_seat(self, after: int) -> int | None:
        """The next seat with a move, from the one after `after` round to itself; None at the end.

        `after` = -1 begins with seat 0.
        """
        seats = len(self.penguins)
        for seat in range(after + 1, after + 1 + seats):
            if self.can_move(seat % seats):
                return seat % seats
        return None

    def make(self, seat: int, slot: int, end: int) -> None:
        """Move a seat's penguin in `slot` to `end`; what it leaves is a hole and its fish held."""
        penguins = self.penguins[seat]
        self.held[seat] += self.fish[penguins[slot]]
        penguins[slot] = end
        self.free ^= 1 << end

    def unmake(self, seat: int, slot: int, start: int) -> None:
        """Take back :meth:`make`; `start` is where the penguin came from."""
        penguins = self.penguins[seat]
        self.free ^= 1 << penguins[slot]
        penguins[slot] = start
        self.held[seat] -= self.fish[start]

    def perft(self, seat: int, depth: int) -> int:
        """How many sequences of exactly `depth` moves there are, every leaf made.

        A seat without a move is passed over and that is no ply; a game that ends sooner gives no
        sequence. `seat` is next to move (or the first after it that can).
        """
        near, lines, penguins = self.grid.near, self.grid.lines, self.penguins
        seats = len(penguins)

        def count(free: int, seat: int, depth: int) -> int:
            # `free` travels on the stack; the penguins are moved and put back.
            for _ in range(seats):
                own = penguins[seat]
                if any(free & near[tile] for tile in own):
                    break
                seat = (seat + 1) % seats
            else:
                return 0
            following = (seat + 1) % seats
            total = 0
            for slot, start in enumerate(own):
                m0, t0, m1, t1, m2, t2 = lines[start]
                reach = t0[free & m0] | t1[free & m1] | t2[free & m2]
                if depth == 1:
                    total += reach.bit_count()
                    while reach:
                        bit = reach & -reach
                        reach ^= bit
                        own[slot] = bit.bit_length() - 1
                else:
                    while reach:
                        bit = reach & -reach
                        reach ^= bit
                        own[slot] = bit.bit_length() - 1
                        total += count(free ^ bit, following, depth - 1)
                own[slot] = start
            return total

        return count(self.free, seat, depth) if depth else 1

    def playout(self, seat: int, random: Callable[[], float]) -> int:
        """Play random moves to the end, in place, every move of a turn as likely as the other.

        Returns:
            the number of moves made. `random` gives numbers in [0, 1).
        """
        lines, fish, free, held = self.grid.lines, self.fish, self.free, self.held
        seats = [*range(seat, len(self.penguins)), *range(seat)]
        turns = [(at, self.penguins[at], [-1] * len(self.penguins[at])) for at in seats]
        made = 0
        while turns:
            stuck: list[tuple[int, list[int], list[int]]] = []
            for turn in turns:
                at, own, reaches = turn
                count = 0
                for slot, reach in enumerate(reaches):
                    if reach & free != reach:  # ice only goes: a reach holds until it loses a tile
                        m0, t0, m1, t1, m2, t2 = lines[own[slot]]
                        reaches[slot] = t0[free & m0] | t1[free & m1] | t2[free & m2]
                    count += reaches[slot].bit_count()
                if not count:
                    stuck.append(turn)
                    continue
                pick = int(random() * count)
                slot = 0
                reach = reaches[0]
                while pick >= (here := reach.bit_count()):
                    pick -= here
                    slot += 1
                    reach = reaches[slot]
                while pick:
                    reach &= reach - 1
                    pick -= 1
                bit = reach & -reach
                held[at] += fish[own[slot]]
                own[slot] = bit.bit_length() - 1
                reaches[slot] = -1
                free ^= bit
                made += 1
            for turn in stuck:
                turns.remove(turn)
        self.free = free
        return made
