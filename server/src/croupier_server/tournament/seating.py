"""Who sits where: blocks of games on one board in which everybody sits in every seat once.

A block of N players has N games: all rotations of one cyclic order. There are (N - 1)! cyclic
orders; they are taken in turn, so that nobody always moves after the same other player.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import permutations

from croupier_server.tournament.model import Pairing

__all__ = ["Seating", "cyclic_orders", "openings", "rotated"]


@cache
def cyclic_orders(size: int) -> tuple[tuple[int, ...], ...]:
    """All orders of so many around a table, each once: the first stands for where one begins."""
    return tuple((0, *rest) for rest in permutations(range(1, size)))


def rotated(players: tuple[str, ...], by: int) -> tuple[str, ...]:
    """The same order around the table, begun so many seats later."""
    by %= len(players)
    return players[by:] + players[:by]


def openings(issued: Iterable[Pairing]) -> dict[str, tuple[str, ...]]:
    """By block, the turn order of its first game; in the order in which they were issued."""
    found: dict[str, tuple[str, ...]] = {}
    for pairing in issued:
        found.setdefault(pairing.block, pairing.players)
    return found


class Seating:
    """Who sits where in the next block, given the blocks so far: same blocks, same seats.

    Of the cyclic orders, that one is taken that this group has had least often, and of equals
    that in which the players have followed each other least often. Who has opened fewest blocks
    opens this one; of equals, who is named first.
    """

    __slots__ = ("_follows", "_opened", "_used")

    def __init__(self, issued: Iterable[Pairing] = ()) -> None:
        self._used: Counter[tuple[str, ...]] = Counter()
        self._follows: Counter[tuple[str, str]] = Counter()
        self._opened: Counter[str] = Counter()
        for players in openings(issued).values():
            self.note(players)

    def note(self, players: tuple[str, ...]) -> None:
        """A block has begun with this turn order."""
        if len(players) < 2:
            return
        self._opened[players[0]] += 1
        if len(players) > 2:  # two have one cyclic order only
            self._used[_from_least(players)] += 1
            self._follows.update(zip(players, rotated(players, 1), strict=True))

    def copy(self) -> Seating:
        """The same, to go on from apart."""
        twin = Seating()
        twin._used = self._used.copy()
        twin._follows = self._follows.copy()
        twin._opened = self._opened.copy()
        return twin

    def order(self, group: Sequence[str]) -> tuple[str, ...]:
        """The turn order of the first game of a new block of this group; it is noted."""
        best = tuple(group)
        if len(best) > 2:
            orders = (tuple(group[at] for at in order) for order in cyclic_orders(len(group)))
            best = min(orders, key=self._worn)
        opener = min(best, key=lambda name: (self._opened[name], group.index(name)))
        players = rotated(best, best.index(opener))
        self.note(players)
        return players

    def block(self, group: Sequence[str], number: int, table: int) -> tuple[Pairing, ...]:
        """All the games of a new block: ids ``round.table.1`` and on."""
        players = self.order(group)
        name = f"{number}.{table}"
        return tuple(
            Pairing(f"{name}.{game}", rotated(players, game - 1), number, name)
            for game in range(1, len(players) + 1)
        )

    def _worn(self, players: tuple[str, ...]) -> tuple[int, int]:
        follows = zip(players, rotated(players, 1), strict=True)
        return (self._used[_from_least(players)], sum(self._follows[pair] for pair in follows))


def _from_least(players: tuple[str, ...]) -> tuple[str, ...]:
    """The same cyclic order, begun with the name that sorts first: one form for all rotations."""
    return rotated(players, players.index(min(players)))
