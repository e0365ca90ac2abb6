"""Giving an order, and waiting for what comes of it: for the command line, and for the pages."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from croupier_server.commands.places import Place, safe
from croupier_server.errors import UserError

if TYPE_CHECKING:
    from croupier_server.storage.catalogue import OrderRow, TournamentRow

__all__ = ["GAMES", "PLAYERS", "REASONS", "VERBS", "give"]

PLAYERS: Final = frozenset({"withdraw", "disqualify"})
"""The orders that are about a player."""

GAMES: Final = frozenset({"void", "replay"})
"""The orders that are about a game."""

LOBBY: Final = frozenset({"start", "stop"})
"""The orders that a server carries out while it waits for players."""

VERBS: Final = frozenset({"pause", "resume"}) | LOBBY | PLAYERS | GAMES

REASONS: Final = GAMES | {"disqualify"}
"""The orders that need a reason."""

PATIENCE_S: Final = 5.0
"""How long an answer is waited for; a server looks for orders four times a second."""

LOOK_S: Final = 0.1
"""How often it is looked whether the answer is there."""


def give(
    place: Place,
    row: TournamentRow,
    verb: str,
    about: str = "",
    reason: str = "",
    *,
    by: str,
    patience_s: float = PATIENCE_S,
) -> str:
    """Give an order and wait a while for its answer; what came of it, in words.

    Not for an event loop: it waits, and runs loops of its own.

    Args:
        about: which player or game.
        by: who gives it.

    Raises:
        UserError: it was refused, or can't be done.
    """
    if row.status == "finished":
        from croupier_server.commands.afterwards import act

        return act(place.where, row, verb, about, reason, by=by)
    order = _answered(place, _give(place, row, verb, about, reason, by), patience_s)
    if order.outcome is None:
        return _unanswered(verb, row)
    if order.outcome.startswith("refused:"):
        raise UserError(_named(row, order.outcome))
    return _named(row, order.outcome)


def _give(
    place: Place, row: TournamentRow, verb: str, about: str, reason: str, by: str
) -> OrderRow:
    from croupier_server.storage import catalogue
    from croupier_server.storage.once import look_once

    argument = {"about": about, "reason": reason}
    return look_once(
        place.where,
        lambda connection: catalogue.give_order(connection, row.id, verb, argument, by=by),
    )


def _answered(place: Place, order: OrderRow, patience_s: float) -> OrderRow:
    """The order once it is answered, or as it is when patience ends."""
    from croupier_server.storage import catalogue

    number, until = order.id, time.monotonic() + patience_s
    while order.outcome is None and time.monotonic() < until:
        time.sleep(LOOK_S)
        found = place.read(lambda connection: catalogue.find_order(connection, number))
        order = found or order
    return order


def _unanswered(verb: str, row: TournamentRow) -> str:
    if row.status == "gathering" and verb not in LOBBY:
        when = "the player is there" if verb == "withdraw" else "the tournament has begun"
        return _named(row, f"{verb} is noted; it is carried out once {when}")
    return _named(
        row,
        f"{verb} is noted, but no server plays it now; the order is carried out when it goes on: "
        "croupier run FILE",
    )


def _named(row: TournamentRow, text: str) -> str:
    return f"{safe(row.name)}: {safe(text, 300)}"
