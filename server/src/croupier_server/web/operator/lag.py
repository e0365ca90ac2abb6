"""How long players take to answer, and how much of that is the server's or the network's."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, func, select

from croupier_common.jsontypes import is_array, is_object
from croupier_server.storage.schema import journal, pairings, results

if TYPE_CHECKING:
    from croupier_server.storage.catalogue import GameRow

__all__ = ["Lag", "lags"]

MAX_GAMES: Final = 48
MAX_LINES: Final = 32
"""How much is read of records: the last lines of the newest games."""


@dataclass(frozen=True, slots=True)
class Lag:
    """What is known of a player's answers; None for what is not.

    Attributes:
        turns: in games that are over.
        mean_ms: how long an answer took in those; `longest_ms` the longest.
        late_ms: how long one took of late.
        stall_ms: for how much of that the server itself was held up, in all; not charged.
        rtt_ms: the last round trip while the player had nothing to do.
    """

    turns: int = 0
    mean_ms: int | None = None
    longest_ms: int | None = None
    late_ms: int | None = None
    stall_ms: int | None = None
    rtt_ms: int | None = None


@dataclass(slots=True)
class _Late:
    """A player's answers of late."""

    thinks_ms: list[int] = field(default_factory=list[int])
    stall_ms: int = 0
    rtt_ms: int | None = None

    def add(self, obs: Mapping[str, Any]) -> None:
        self.thinks_ms.append(int(obs["think_ms"]))
        self.stall_ms += int(obs.get("stall_ms", 0))
        if "rtt_ms" in obs:
            self.rtt_ms = int(obs["rtt_ms"])


def lags(connection: Connection, tournament: int, games: Iterable[GameRow]) -> Mapping[str, Lag]:
    """By name, how players of a tournament answer.

    Args:
        games: all of it; those that run, and the last that ran, are looked into.
    """
    late = _late(connection, _newest(games))
    over = _over(connection, tournament)
    return {name: _lag(over.get(name), late.get(name)) for name in {**over, **late}}


def _lag(over: tuple[int, int, int] | None, late: _Late | None) -> Lag:
    turns, total_ms, longest_ms = over or (0, 0, 0)
    return Lag(
        turns=turns,
        mean_ms=total_ms // turns if turns else None,
        longest_ms=longest_ms if turns else None,
        late_ms=None if late is None else sum(late.thinks_ms) // len(late.thinks_ms),
        stall_ms=None if late is None else late.stall_ms,
        rtt_ms=None if late is None else late.rtt_ms,
    )


def _over(connection: Connection, tournament: int) -> dict[str, tuple[int, int, int]]:
    """By name: turns, time in all, and the longest answer, of games that are over."""
    table = results.c
    query = (
        select(
            table.name,
            func.sum(table.turns),
            func.sum(table.think_ms_total),
            func.max(table.think_ms_max),
        )
        .join(pairings, pairings.c.id == table.pairing_id)
        .where(pairings.c.tournament_id == tournament, table.turns.is_not(None))
        .group_by(table.name)
    )
    return {
        name: (int(turns), int(total or 0), int(longest or 0))
        for name, turns, total, longest in connection.execute(query)
    }


def _newest(games: Iterable[GameRow]) -> Sequence[GameRow]:
    """The games to look into: those that run first, then the newest; in the order they began."""
    ranked = sorted(games, key=lambda game: (game.status == "running", game.id))
    return sorted(ranked[-MAX_GAMES:], key=lambda game: game.id)


def _late(connection: Connection, games: Sequence[GameRow]) -> dict[str, _Late]:
    found: dict[str, _Late] = {}
    for game in games:
        names = _names(connection, game.id)
        for line in _last_lines(connection, game.id):
            event, obs = line.get("event"), line.get("obs")
            if is_object(event) and is_object(obs) and "think_ms" in obs:
                name = names.get(str(event.get("color")))
                if name is not None:
                    found.setdefault(name, _Late()).add(obs)
    return found


def _names(connection: Connection, game: int) -> dict[str, str]:
    """The names of a game's players, by colour."""
    query = select(journal.c.line).where(journal.c.game_id == game, journal.c.seq == 0)
    event = _parsed(connection.scalar(query) or "").get("event")
    players = event.get("players") if is_object(event) else None
    seats = filter(is_object, players) if is_array(players) else ()
    return {str(seat.get("color")): str(seat.get("name")) for seat in seats}


def _last_lines(connection: Connection, game: int) -> list[Mapping[str, Any]]:
    query = (
        select(journal.c.line)
        .where(journal.c.game_id == game, journal.c.seq > 0)
        .order_by(journal.c.seq.desc())
        .limit(MAX_LINES)
    )
    return [_parsed(line) for line in reversed(connection.scalars(query).all())]


def _parsed(line: str) -> Mapping[str, Any]:
    """A line of a record; an empty one if it is damaged, which `croupier verify` tells."""
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if is_object(found) else {}
