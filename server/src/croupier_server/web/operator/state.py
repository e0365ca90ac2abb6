"""A tournament as its operator sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sqlalchemy import Connection, func, select

from croupier_common.jsontypes import is_object
from croupier_server.storage.schema import journal
from croupier_server.web.found import Heading
from croupier_server.web.operator.lag import Lag, lags

if TYPE_CHECKING:
    from croupier_common.verdict import Fault
    from croupier_server.commands.view import View
    from croupier_server.storage.catalogue import OrderRow

__all__ = ["Given", "Player", "Running", "State", "load"]

MAX_ORDERS: Final = 50
MAX_LISTED: Final = 100
"""How many orders and games are shown; the export has all."""

NO_LAG: Final = Lag()


@dataclass(frozen=True, slots=True)
class Player:
    """An entrant.

    Attributes:
        fault: why it is out, if it is.
        strikes: how many ejections it has had.
    """

    name: str
    kind: str
    status: str
    fault: Fault | None
    strikes: int
    lag: Lag


@dataclass(frozen=True, slots=True)
class Running:
    """A game that is being played; `events` are the lines of its record so far."""

    game: str
    players: tuple[str, ...]
    started_ms: int
    events: int


@dataclass(frozen=True, slots=True)
class Given:
    """An order that was given; `outcome` is None while it waits."""

    verb: str
    about: str
    reason: str
    by: str
    given_ms: int
    outcome: str | None

    @classmethod
    def of(cls, row: OrderRow) -> Given:
        """An order as it is in the database."""
        told = row.argument if is_object(row.argument) else {}
        return cls(
            row.verb,
            str(told.get("about") or ""),
            str(told.get("reason") or ""),
            row.by,
            row.given_ms,
            row.outcome,
        )


@dataclass(frozen=True, slots=True)
class State:
    """A tournament as it is now.

    Attributes:
        running: the first of the games that are being played, of `heading.running`.
        failed: the newest games that came to nothing, each with what became of it.
        orders: the newest first.
    """

    heading: Heading
    players: Sequence[Player]
    running: Sequence[Running]
    failed: Sequence[tuple[str, str]]
    orders: Sequence[Given]

    @property
    def playing(self) -> Sequence[str]:
        """The names of those who are in."""
        return [player.name for player in self.players if player.status == "in"]


def load(connection: Connection, view: View) -> State:
    """The tournament of that view, as the database has it now."""
    return State(
        Heading.of(view),
        _players(view, lags(connection, view.row.id, view.games)),
        _running(connection, view),
        _failed(view),
        [Given.of(row) for row in reversed(view.orders[-MAX_ORDERS:])],
    )


def _players(view: View, known: Mapping[str, Lag]) -> Sequence[Player]:
    faults = view.faults()
    return [
        Player(
            row.name,
            row.kind,
            row.status,
            faults.get(row.name),
            row.strikes,
            known.get(row.name, NO_LAG),
        )
        for row in view.entrants
    ]


def _running(connection: Connection, view: View) -> Sequence[Running]:
    games = [game for game in view.games if game.status == "running"][:MAX_LISTED]
    players = {pairing.id: pairing.players for pairing in view.pairings}
    query = (
        select(journal.c.game_id, func.max(journal.c.seq))
        .where(journal.c.game_id.in_([game.id for game in games]))
        .group_by(journal.c.game_id)
    )
    events: dict[int, int] = {game: last for game, last in connection.execute(query)}  # noqa: C416
    return [
        Running(
            game.name, players.get(game.pairing_id, ()), game.started_ms, events.get(game.id, 0)
        )
        for game in games
    ]


def _failed(view: View) -> Sequence[tuple[str, str]]:
    """Games that were interrupted, or are void: the operator may want to see to them."""
    games = [game for game in view.games if game.status in {"interrupted", "void"}]
    return [(game.name, game.status) for game in reversed(games[-MAX_LISTED:])]
