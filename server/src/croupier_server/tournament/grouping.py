"""Who plays whom at tables of 3 and 4: near in score, with few repeated meetings.

The best grouping is out of reach of any quick search, so a first one along the order of scores is
improved by exchanging two players of near tables, as long as that helps and within a bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from croupier_server.tournament.knockout import allocate
from croupier_server.tournament.matching import Candidate

__all__ = ["groups_of"]

_PASSES: Final = 8
_REACH: Final = 3
"""How many tables away a player may be sent at a time; in a small field, anywhere."""
_SMALL: Final = 12


def groups_of(order: Sequence[Candidate], table: int) -> list[tuple[str, ...]]:
    """Tables of `table`, the last ones smaller where it must be; nobody is alone.

    Args:
        order: all of them, the highest score first.
    """
    tables = [list(group) for group in allocate(order, table)]
    spread = (order[0].score - order[-1].score) ** 2 if order else 0
    # no nearness makes up for a meeting again
    per_meeting = spread * table * table + 1
    reach = len(tables) if len(tables) <= _SMALL else _REACH
    for _ in range(_PASSES):
        improved = False
        for one, other in _near(len(tables), reach):
            improved |= _exchange(tables[one], tables[other], per_meeting)
        if not improved:
            break
    place = {one.name: at for at, one in enumerate(order)}
    return [tuple(sorted((it.name for it in group), key=place.__getitem__)) for group in tables]


def _near(tables: int, reach: int) -> Iterator[tuple[int, int]]:
    for one in range(tables):
        for other in range(one + 1, min(tables, one + 1 + reach)):
            yield one, other


def _exchange(one: list[Candidate], other: list[Candidate], per_meeting: int) -> bool:
    """Make the exchange that helps most, if any does."""
    best = 0
    swap: tuple[int, int] | None = None
    for here, mine in enumerate(one):
        stay = one[:here] + one[here + 1 :]
        for there, theirs in enumerate(other):
            rest = other[:there] + other[there + 1 :]
            gain = (
                _strain(mine, stay, per_meeting)
                + _strain(theirs, rest, per_meeting)
                - _strain(theirs, stay, per_meeting)
                - _strain(mine, rest, per_meeting)
            )
            if gain > best:
                best, swap = gain, (here, there)
    if swap is None:
        return False
    one[swap[0]], other[swap[1]] = other[swap[1]], one[swap[0]]
    return True


def _strain(name: Candidate, others: Sequence[Candidate], per_meeting: int) -> int:
    """What it costs to have somebody at a table with these."""
    return sum(
        (name.score - other.score) ** 2 + per_meeting * name.met.get(other.name, 0)
        for other in others
    )
