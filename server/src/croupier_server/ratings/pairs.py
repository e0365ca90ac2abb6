"""Games taken apart into pairs, as the model of ratings wants them.

A game of N players is N (N - 1) / 2 comparisons, of which each player has N - 1. They are of one
game and depend on each other, so each weighs 1 / (N - 1): a game weighs as much for each of its
players at every size of table. A player who failed in a game lost to all who have a place in it;
of two who failed neither was better, so that there is no comparison. Byes, forfeits and void games
tell nothing of strength.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from croupier_server.tournament.blocks import id_order
from croupier_server.tournament.model import Field, History, Result

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["PARTS", "Pairs", "pairs"]

PARTS: Final = 6
"""How many parts a comparison's weight has, so that 1, 1/2 and 1/3 are whole."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Who beat whom how often, block by block.

    Entries are all results of one pair in one block; those of a pair stand together.

    Attributes:
        names: those who played, in the field's order; all indices are into it.
        games: how many each played.
        first: by pair, one player.
        second: by pair, the other, a higher index.
        start: by pair, its first entry.
        block: by entry, the block's index.
        won: by entry, the weight of what the first won, in games.
        lost: likewise, of what the second won.
        tied: likewise, of ties.
        blocks: how many there are.
    """

    names: tuple[str, ...]
    games: tuple[int, ...]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    start: NDArray[np.int64]
    block: NDArray[np.int64]
    won: NDArray[np.float64]
    lost: NDArray[np.float64]
    tied: NDArray[np.float64]
    blocks: int


def pairs(field: Field, history: History) -> Pairs:
    """All comparisons of the games that were played; the same in whatever order they come."""
    import numpy as np

    played = [result for result in history.results.values() if result.kind == "played"]
    games: dict[str, int] = {}
    for result in played:
        for name in result.players:
            games[name] = games.get(name, 0) + 1
    names = tuple(name for name in field.names if name in games)
    index = {name: at for at, name in enumerate(names)}
    blocks = {b: at for at, b in enumerate(sorted({r.block for r in played}, key=id_order))}
    entries: dict[tuple[int, int, int], list[int]] = {}
    for result in played:
        _compare(entries, result, index, blocks[result.block])
    keys = sorted(entries)
    weights = np.array([entries[key] for key in keys], dtype=np.float64).reshape(-1, 3) / PARTS
    table = np.array(keys, dtype=np.int64).reshape(-1, 3)
    is_new = np.ones(len(keys), dtype=bool)
    is_new[1:] = (table[1:, :2] != table[:-1, :2]).any(axis=1)
    start = np.flatnonzero(is_new)
    return Pairs(
        names=names,
        games=tuple(games[name] for name in names),
        first=table[start, 0],
        second=table[start, 1],
        start=start,
        block=table[:, 2],
        won=weights[:, 0],
        lost=weights[:, 1],
        tied=weights[:, 2],
        blocks=len(blocks),
    )


def _compare(
    entries: dict[tuple[int, int, int], list[int]],
    result: Result,
    index: Mapping[str, int],
    block: int,
) -> None:
    weight = PARTS // (len(result.players) - 1)
    places = {name: at for at, equals in enumerate(result.ranking) for name in equals}
    last = len(result.ranking)
    found = sorted((index[name], places.get(name, last)) for name in result.players)
    for at, (one, its) in enumerate(found):
        for other, place in found[at + 1 :]:
            if its == place == last:
                continue
            entry = entries.setdefault((one, other, block), [0, 0, 0])
            entry[2 if its == place else int(its > place)] += weight
