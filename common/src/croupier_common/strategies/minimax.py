"""The course's player: it looks N of its own turns ahead and takes every opponent for an enemy.

A position's worth is what the searching player gains from it in so many turns of its own, while
each opponent does what makes that least (not what is best for itself, and not the difference).
It places as `first` does. Equal moves: the lowest from-row, from-column, to-row, to-column.

A stuck player stays stuck where nobody is ejected, so a searcher that can't move gains nothing
more, and whether a skip uses up one of its turns is all the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from croupier_common.actions import Action, Move
from croupier_common.errors import InvalidStrategy
from croupier_common.grid import tiles_of
from croupier_common.jsontypes import shown
from croupier_common.kernel import Kernel
from croupier_common.state import Stage, State
from croupier_common.strategies import Setup, Strategy, nothing_to_choose

__all__ = ["FORM", "MAX_DEPTH", "Minimax", "best_move", "make"]

MAX_DEPTH: Final = 20
"""The greatest depth that a spec may have."""

FORM: Final = f"minimax or minimax:N, N from 1 to {MAX_DEPTH}"

_MAX_PLIES: Final = 160
"""How far is looked ahead at all: a ply takes up to four nested calls, and Python allows 1,000."""
_MAX_KNOWN: Final = 1 << 18
"""How many positions are remembered, a few hundred bytes each; beyond that only time is lost."""


@dataclass(frozen=True, slots=True)
class Minimax:
    """The strategy `minimax:depth`."""

    depth: int = 2

    def choose(self, state: State) -> Action:
        """The first legal tile, or the best move."""
        if state.turn is None:
            raise nothing_to_choose(state)
        if state.stage is Stage.PLACEMENT:
            return next(iter(state.legal_actions))
        kernel = state.kernel()
        seat = next(at for at, player in enumerate(state.players) if player.color is state.turn)
        best = best_move(kernel, seat, self.depth)
        if best is None:
            raise nothing_to_choose(state)
        return Move(kernel.grid.position(best[0]), kernel.grid.position(best[1]))


def make(setup: Setup) -> Strategy:
    """`minimax`, or `minimax:N` with its depth."""
    text = setup.argument
    if text is None:
        return Minimax()
    depth = int(text) if text.isascii() and text.isdecimal() and len(text) < 4 else 0
    if not 1 <= depth <= MAX_DEPTH:
        raise InvalidStrategy(f"{text!r:.40} is no depth of minimax; allowed is {FORM}")
    return Minimax(depth)


def best_move(kernel: Kernel, seat: int, depth: int) -> tuple[int, int] | None:
    """The move (from, to) by which a seat gains most in `depth` turns of its own, this one first.

    Of equal moves it is the lowest in canonical order; None when the seat has none. Any number of
    seats and penguins will do. The kernel is left as it was.

    Raises:
        InvalidStrategy: the depth is below 1, or it is so great, on so large a board, that the
            search is not even begun.
    """
    if depth < 1:
        raise InvalidStrategy(f"depth {depth}: a search looks 1 turn ahead or more")
    grid, free, seats = kernel.grid, kernel.free, len(kernel.penguins)
    own = sum(1 << tile for tile in kernel.penguins[seat])
    turns = min(depth, grid.reachable_ice(own, free).bit_count())  # each takes a tile
    if min(turns * seats, free.bit_count()) > _MAX_PLIES:
        raise InvalidStrategy(
            f"depth {shown(depth, 20)} with {seats} players and {free.bit_count()} free tiles is "
            f"too deep; at most {_MAX_PLIES} moves can be looked ahead"
        )
    return _Search(kernel, seat).best(free, turns) if turns else None


class _Search:
    """Whether one seat, the searcher, can gain so much; from such answers its best move follows.

    A position is the set of free tiles and, by seat, the set of tiles under its penguins; those
    are changed in place and put back. `turns` counts the searcher's turns that are left.
    """

    __slots__ = ("_fish", "_known", "_levels", "_lines", "_me", "_near", "_own", "_seats")

    def __init__(self, kernel: Kernel, seat: int) -> None:
        self._fish = kernel.fish
        self._lines = kernel.grid.lines
        self._near = kernel.grid.near
        self._me = seat
        self._seats = len(kernel.penguins)
        self._own = [sum(1 << tile for tile in tiles) for tiles in kernel.penguins]
        levels: dict[int, int] = {}
        for tile in tiles_of(kernel.free | self._own[seat]):
            levels[self._fish[tile]] = levels.get(self._fish[tile], 0) | 1 << tile
        self._levels = sorted(levels.items(), reverse=True)
        """The tiles by their fish, most first."""
        self._known: dict[tuple[int, ...], tuple[int, int]] = {}
        """The worth of positions, as far as it is known: at least, at most."""

    def best(self, free: int, turns: int) -> tuple[int, int] | None:
        """The searcher's best move, when it is to move."""
        movable = self._movable(free)
        if not movable:
            return None
        worth, most = self._most(movable, 1), self._most_gain(movable, free, turns)
        while worth < most:
            goal = (worth + most + 1) // 2
            if self._ours(free, turns, goal):
                worth = goal
            else:
                most = goal - 1
        for start in tiles_of(movable):
            for end in tiles_of(self._reach(start, free)):
                if self._moved(free, start, 1 << end, turns, worth):
                    return start, end
        raise AssertionError("unreachable: some move is worth what the position is")

    # -- the searcher's turns

    def _ours(self, free: int, turns: int, goal: int) -> bool:
        """Whether the searcher, who is to move, can gain `goal`."""
        movable = self._movable(free)
        if turns == 1 or not movable:
            return self._most(movable, 1) >= goal
        key = (free, turns, self._me, *self._own)
        least, most = self._known.get(key) or (0, self._most_gain(movable, free, turns))
        if least < goal <= most:
            if self._try_moves(movable, free, turns, goal):
                least = goal
            else:
                most = goal - 1
            self._know(key, least, most)
        return goal <= least

    def _try_moves(self, movable: int, free: int, turns: int, goal: int) -> bool:
        for gain, starts in self._levels:
            for start in tiles_of(starts & movable):
                others = movable ^ 1 << start
                if gain + self._most(others | free, turns - 1) < goal:
                    continue
                reach = self._reach(start, free)
                next_gain = self._most(others, 1)
                for fish, ends in self._levels:
                    if turns == 2 and gain + max(next_gain, fish) < goal:
                        break
                    for end in tiles_of(reach & ends):
                        if self._moved(free, start, 1 << end, turns, goal):
                            return True
        return False

    def _moved(self, free: int, start: int, end: int, turns: int, goal: int) -> bool:
        """Whether a move of the searcher leads to `goal`; `end` is the set of the to-tile."""
        goal -= self._fish[start]
        if goal <= 0 or turns == 1:
            return goal <= 0
        me = self._me
        before = self._own[me]
        self._own[me] = before ^ (1 << start | end)
        reached = self._theirs(free ^ end, me + 1, turns - 1, goal)
        self._own[me] = before
        return reached

    # -- the opponents' turns

    def _theirs(self, free: int, seat: int, turns: int, goal: int) -> bool:
        """Whether the searcher can gain `goal`, whatever the seats from `seat` to it do."""
        while True:
            if seat >= self._seats:
                seat = 0
            if seat == self._me:
                return self._ours(free, turns, goal)
            if self._can_move(seat, free):
                break
            seat += 1
        if turns == 1:
            return self._last(free, seat, goal)
        key = (free, turns, seat, *self._own)
        known = self._known.get(key)
        if known is None:
            known = 0, self._most_gain(self._movable(free), free, turns)
        least, most = known
        if least < goal <= most:
            if self._withstands(free, seat, turns, goal, self._around(free), everything=True):
                least = goal
            else:
                most = goal - 1
            self._know(key, least, most)
        return goal <= least

    def _last(self, free: int, seat: int, goal: int) -> bool:
        """:meth:`_theirs` before the searcher's last turn, with most answers found by counting.

        The searcher gains its goal if any of the penguins on tiles with so many fish can still
        move. To stop that, the opponents must take each free tile next to one of those; each of
        them takes one tile, and reaches no more of them then than it does now.
        """
        rich = 0
        for fish, tiles in self._levels:
            if fish < goal:
                break
            rich |= tiles
        exits = 0
        for tile in tiles_of(rich & self._own[self._me]):
            exits |= self._near[tile]
        exits &= free
        if not exits:
            return False
        to_take = exits.bit_count()
        takers = covered = 0
        at = seat
        while at != self._me and takers + (self._me - at) % self._seats >= to_take:
            reach = self._reach_of(at, free) & exits
            takers += bool(reach)
            covered |= reach
            at = at + 1 if at + 1 < self._seats else 0
        if takers < to_take or covered != exits:
            return True
        spare = takers > to_take or not self._reach_of(seat, free) & exits
        return self._withstands(free, seat, 1, goal, exits, everything=spare)

    def _withstands(
        self, free: int, seat: int, turns: int, goal: int, near: int, *, everything: bool
    ) -> bool:
        """Whether the goal is gained after each move of `seat`, those onto `near` tried first.

        The moves onto other tiles are tried if `everything` is to be.
        """
        own = self._own
        before = own[seat]
        for first in (True, False) if everything else (True,):
            for start in tiles_of(before):
                reach = self._reach(start, free) & (near if first else ~near)
                while reach:
                    end = reach & -reach
                    reach ^= end
                    own[seat] = before ^ (1 << start | end)
                    if not self._theirs(free ^ end, seat + 1, turns, goal):
                        own[seat] = before
                        return False
        own[seat] = before
        return True

    # -- what a position shows

    def _know(self, key: tuple[int, ...], least: int, most: int) -> None:
        if len(self._known) < _MAX_KNOWN or key in self._known:
            self._known[key] = least, most

    def _reach(self, tile: int, free: int) -> int:
        m0, t0, m1, t1, m2, t2 = self._lines[tile]
        return t0[free & m0] | t1[free & m1] | t2[free & m2]

    def _reach_of(self, seat: int, free: int) -> int:
        reach = 0
        for tile in tiles_of(self._own[seat]):
            reach |= self._reach(tile, free)
        return reach

    def _can_move(self, seat: int, free: int) -> bool:
        return any(self._near[tile] & free for tile in tiles_of(self._own[seat]))

    def _movable(self, free: int) -> int:
        """The searcher's penguins that can move."""
        movable = 0
        for tile in tiles_of(self._own[self._me]):
            if self._near[tile] & free:
                movable |= 1 << tile
        return movable

    def _around(self, free: int) -> int:
        """The free tiles next to the searcher's penguins."""
        around = 0
        for tile in tiles_of(self._own[self._me]):
            around |= self._near[tile]
        return around & free

    def _most(self, tiles: int, count: int) -> int:
        """The most fish on so many of these tiles."""
        total = 0
        for fish, level in self._levels:
            here = (tiles & level).bit_count()
            if here >= count:
                return total + fish * count
            total += fish * here
            count -= here
        return total

    def _most_gain(self, movable: int, free: int, turns: int) -> int:
        """A bound on what can be gained: the richest penguin that can move, and the best of all."""
        if not movable:
            return 0
        first = self._most(movable, 1)
        rest = movable
        for fish, level in self._levels:
            if fish == first:
                here = movable & level
                rest ^= here & -here
        within = self._reach_of(self._me, free) if turns == 2 else free
        return first + self._most(rest | within, turns - 1)
