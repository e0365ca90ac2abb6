"""The course's knock-out, pure: results in, pairings out.

The top finishers of every game go on, ties included, and the order of age is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from croupier_common.rules import MAX_PLAYERS, MIN_PLAYERS

__all__ = ["Finished", "Pairing", "Round", "allocate", "knockout"]


@dataclass(frozen=True, slots=True)
class Pairing:
    """A game to be played: its id, round.table, and the players in turn order."""

    game: str
    players: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Round:
    """Games that are played at once."""

    number: int
    pairings: tuple[Pairing, ...]

    @property
    def players(self) -> tuple[str, ...]:
        """All players of the round, in order."""
        return tuple(name for pairing in self.pairings for name in pairing.players)


@dataclass(frozen=True, slots=True)
class Finished:
    """The tournament has ended; ``winners`` may be nobody."""

    winners: tuple[str, ...]


def allocate(players: Sequence[str]) -> list[tuple[str, ...]]:
    """Players dealt to games of 4, in order; the last games are smaller where 4 don't divide.

    When those left over can't form a game, the last game is taken back and made one smaller:
    5 = 3+2, 6 = 4+2, 7 = 4+3, 9 = 4+3+2.
    """
    games: list[tuple[str, ...]] = []
    at = 0
    while at < len(players):
        size = min(MAX_PLAYERS, len(players) - at)
        if len(players) - at - size == 1 and size > MIN_PLAYERS:
            size -= 1
        games.append(tuple(players[at : at + size]))
        at += size
    return games


def knockout(players: Sequence[str], winners: Sequence[Sequence[str]]) -> Round | Finished:
    """What comes next.

    Args:
        players: who takes part, in turn order.
        winners: for each round that was played, those of its players who won their game and are
            still in the tournament.

    Returns:
        the next round, or the end: too few are left for a game, the final (4 or fewer) has been
        played, or two rounds in a row have the same winners.
    """
    left = tuple(players)
    for number, round_winners in enumerate(winners):
        was_final = len(left) <= MAX_PLAYERS
        won = set(round_winners)
        same = number > 0 and won == set(left)
        left = tuple(name for name in left if name in won)
        if was_final or same:
            return Finished(left)
    if len(left) < MIN_PLAYERS:
        return Finished(left)
    number = len(winners) + 1
    return Round(
        number,
        tuple(Pairing(f"{number}.{table}", group) for table, group in enumerate(allocate(left), 1)),
    )
