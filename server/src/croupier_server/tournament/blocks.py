"""Blocks: the games that are played on one board, by which seats are fair together.

The games of a block depend on each other (one board, the same players), those of two blocks don't:
what is said about chance counts blocks, not games.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from croupier_server.tournament.model import History, Result
from croupier_server.tournament.points import PARTS, parts

__all__ = ["block_scores", "by_block", "closed_blocks", "id_order", "is_seat_complete"]


def id_order(identity: str) -> tuple[tuple[bool, int, str], ...]:
    """A key that puts ids of numbers and dots in the order they count: 2.9 before 2.10."""
    return tuple(
        (not part.isdecimal(), int(part) if part.isdecimal() else 0, part)
        for part in identity.split(".")
    )


def by_block(results: Iterable[Result]) -> dict[str, list[Result]]:
    """The results of each block; blocks and their games in the order of their ids."""
    found: dict[str, list[Result]] = {}
    for result in results:
        found.setdefault(result.block, []).append(result)
    for games in found.values():
        games.sort(key=lambda result: id_order(result.game))
    return {block: found[block] for block in sorted(found, key=id_order)}


def is_seat_complete(games: Sequence[Result]) -> bool:
    """Whether these are the same players in all games, each as often in every seat, to the end.

    A game in which somebody failed says nothing of seats, and leaves its block incomplete.
    """
    names = set(games[0].players)
    if any(game.kind != "played" or game.verdicts or set(game.players) != names for game in games):
        return False
    return all(
        len({seat.count(name) for seat in zip(*(game.players for game in games), strict=True)}) == 1
        for name in names
    )


def closed_blocks(history: History) -> dict[str, list[Result]]:
    """The blocks that are over: each of their pairings has a result, and none is void."""
    waiting = {pairing.block for pairing in history.open}
    return {
        block: games
        for block, games in by_block(history.results.values()).items()
        if block not in waiting and all(game.kind != "void" for game in games)
    }


def block_scores(history: History, name: str) -> tuple[float, ...]:
    """What a player scored on average in each block that is over, from 0 to 1, by their ids.

    A game that it failed in, or was not there to play, is one without a point: it counts. Byes
    don't.
    """
    found: list[float] = []
    for games in closed_blocks(history).values():
        own = [parts(game)[name] for game in games if name in game.players and game.kind != "bye"]
        if own:
            found.append(sum(own) / (PARTS * len(own)))
    return tuple(found)
