"""Which games of a submission its report shows: those that there is most to learn from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from croupier_server.grading.evidence import Evidence, GamePlayed

__all__ = ["MOST", "lead", "worst_games"]

MOST: Final = 3
"""How many games a report shows at most."""


def worst_games(evidence: Evidence) -> Sequence[GamePlayed]:
    """The games to show, of those that have a record: lost by a verdict first, then by most fish.

    Each verdict has its turn before one comes again, and so has each opponent among the defeats.
    """
    games = [game for match in evidence.matches.values() for game in match.games if game.record]
    faults = [(str(game.mishap.verdict), game) for game in games if game.mishap is not None]
    lost = sorted((lead(game), at) for at, game in enumerate(games) if is_lost(game))
    defeats = [(_opponents(games[at]), games[at]) for _, at in lost]
    return [*_in_turns(faults), *_in_turns(defeats)][:MOST]


def is_lost(game: GamePlayed) -> bool:
    """Whether it was lost on the board: somebody had more fish."""
    return game.mishap is None and lead(game) < 0


def lead(game: GamePlayed) -> int:
    """How many fish it had more than the best of the others; fewer, if negative."""
    own = game.players[game.seat]
    others = [fish for name, fish in game.fish.items() if name != own]
    return game.fish.get(own, 0) - max(others, default=0)


def _opponents(game: GamePlayed) -> str:
    return "\n".join(name for at, name in enumerate(game.players) if at != game.seat)


def _in_turns(kinds: Iterable[tuple[str, GamePlayed]]) -> Sequence[GamePlayed]:
    """The first of each kind, then the second of each, and so on."""
    seen: dict[str, int] = {}
    rounds: list[tuple[int, GamePlayed]] = []
    for kind, game in kinds:
        seen[kind] = seen.get(kind, 0) + 1
        rounds.append((seen[kind], game))
    return [game for _, game in sorted(rounds, key=lambda one: one[0])]
