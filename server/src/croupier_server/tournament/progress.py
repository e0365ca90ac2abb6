"""What a tournament tells whoever watches, and what came of it.

Each piece of news has the name of its tournament, since a server may play several.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from croupier_common.verdict import Fault
from croupier_server.tournament.model import Pairing, Result

__all__ = [
    "GameOver",
    "GameStarts",
    "Paused",
    "PlayerOut",
    "Progress",
    "RoundBegins",
    "TournamentResult",
]


@dataclass(frozen=True, slots=True)
class RoundBegins:
    """So many games of a round are to be played."""

    number: int
    games: int
    tournament: str = field(default="", compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class GameStarts:
    """A game begins or goes on; ``name`` is the id that its players see."""

    pairing: Pairing
    name: str
    tournament: str = field(default="", compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class GameOver:
    """A pairing has its result; ``plies`` is how long its game was, where one was played."""

    pairing: Pairing
    result: Result
    plies: int | None
    tournament: str = field(default="", compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class PlayerOut:
    """A player is out of the tournament."""

    name: str
    fault: Fault
    tournament: str = field(default="", compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Paused:
    """No game is started for now, or games are started again."""

    is_paused: bool
    tournament: str = field(default="", compare=False, kw_only=True)


Progress = RoundBegins | GameStarts | GameOver | PlayerOut | Paused


@dataclass(frozen=True, slots=True)
class TournamentResult:
    """How a tournament ended.

    Attributes:
        winners: who won; nobody when all failed.
        standings: all players' places from 1, the ejected behind all; equals share the better
            place.
        faults: why each player that is out is.
        games: each pairing's result, in the order in which they were paired.
    """

    name: str
    seed: int
    winners: tuple[str, ...]
    standings: tuple[tuple[int, str], ...]
    faults: Mapping[str, Fault]
    games: tuple[tuple[Pairing, Result], ...]

    def to_json(self) -> dict[str, Any]:
        """The result as JSON."""
        return {
            "tournament": self.name,
            "seed": self.seed,
            "winners": list(self.winners),
            "standings": [{"place": place, "name": name} for place, name in self.standings],
            "faults": {name: fault.to_json() for name, fault in sorted(self.faults.items())},
            "games": [
                {
                    "game": pairing.game,
                    "players": list(pairing.players),
                    "kind": result.kind,
                    "ranking": [list(group) for group in result.ranking],
                }
                for pairing, result in self.games
            ],
        }
