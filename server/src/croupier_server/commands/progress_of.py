"""How far a tournament is, and how long the rest may take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from croupier_server.errors import UserError
from croupier_server.tournament.knockout import allocate

if TYPE_CHECKING:
    from croupier_server.commands.view import View

__all__ = ["Left", "knockout_rest", "left"]

RECENT: Final = 50
"""From how many of the last games the pace is told."""


@dataclass(frozen=True, slots=True)
class Left:
    """How far it is.

    Attributes:
        games: how many are finished, running, open (waiting), and still to come, unpaired; the
            last is None where nobody can know.
        rest: the last three together.
        seconds: how long the rest may take at the pace of late; None if nobody can know.
    """

    games: Mapping[str, int | None]
    rest: int | None
    seconds: float | None


def left(view: View) -> Left:
    """How far a tournament is, and how long the rest may take."""
    pairings = [pairing for pairing in view.pairings if len(pairing.players) > 1]
    over = sum(pairing.game in view.results for pairing in pairings)
    running = sum(game.status == "running" for game in view.games)
    waiting = max(0, len(pairings) - over - running)
    to_come = 0 if view.is_over else _to_come(view)
    games = {"finished": over, "running": running, "open": waiting, "to_come": to_come}
    rest = None if to_come is None else running + waiting + to_come
    seconds = None if view.is_over or rest is None else _seconds(view, rest)
    return Left(games, rest, seconds)


def _to_come(view: View) -> int | None:
    """How many games will be paired, as far as can be said; None if it never ends, or unknown."""
    form = view.format
    issued = sum(len(pairing.players) > 1 for pairing in view.pairings)
    if form.is_endless or not view.entrants:
        return None
    if view.row.format == "knockout":
        last = max((pairing.round for pairing in view.pairings), default=0)
        tables = sum(pairing.round == last for pairing in view.pairings)
        return knockout_rest(tables) if last else None
    try:
        games = view.planned()
    except UserError:  # so many have come late that it would not have begun
        return None
    return None if games is None else max(0, games - issued)


def knockout_rest(tables: int) -> int:
    """How many games follow a round of so many, if each has one winner."""
    games = 0
    while tables > 1:
        tables = len(allocate(range(tables)))
        games += tables
    return games


def _seconds(view: View, rest: int) -> float | None:
    """So many games at the pace of the last ones."""
    ended = sorted(
        (game.ended_ms, game.started_ms)
        for game in view.games
        if game.ended_ms is not None and game.status == "finished"
    )[-RECENT:]
    if not ended or not rest:
        return 0.0 if not rest else None
    took_ms = max(ended)[0] - min(started for _, started in ended)
    return max(took_ms, 1) / len(ended) * rest / 1000
