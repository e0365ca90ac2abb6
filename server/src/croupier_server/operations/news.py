"""What a tournament tells that no game counts by itself."""

from __future__ import annotations

from typing import Final

from croupier_common.verdict import Phase
from croupier_server.operations.tally import Tally
from croupier_server.tournament.progress import GameOver, PlayerOut, Progress

__all__ = ["count"]

_IN_GAMES: Final = frozenset({Phase.GAME_START, Phase.PLACEMENT, Phase.MOVEMENT})
"""Where the croupier has counted the verdict."""


def count(tally: Tally, news: Progress) -> None:
    """Count pairings that end without a game, and verdicts outside of games."""
    match news:
        case GameOver(_, result, None) if result.kind in {"forfeit", "void"}:
            tally.ended["void" if result.kind == "void" else "forfeit"] += 1
        case PlayerOut(_, fault) if fault.phase not in _IN_GAMES:
            tally.verdict(fault)
        case _:
            pass
