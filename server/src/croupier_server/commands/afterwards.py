"""Orders about a tournament that is over: no server answers them, so they are done at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import update

from croupier_server.commands.places import safe
from croupier_server.commands.view import View
from croupier_server.errors import UserError
from croupier_server.storage import catalogue
from croupier_server.storage.once import own_once
from croupier_server.storage.schema import tournaments
from croupier_server.tournament.knockout import Knockout
from croupier_server.tournament.model import Result

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from croupier_server.storage.catalogue import TournamentRow
    from croupier_server.storage.pairings import PairingRow

__all__ = ["act"]


def act(
    where: Path | str, row: TournamentRow, verb: str, about: str, reason: str, *, by: str
) -> str:
    """Carry an order out, and keep it with its answer; what came of it, in words.

    Raises:
        UserError: it can't be done, or a server uses the database; then nothing is changed.
    """
    name = safe(row.name)
    if verb not in {"void", "replay"}:
        raise UserError(f"{name} is over: {verb} changes nothing any more")

    def work(connection: Connection) -> str:
        view = View.of(connection, row)
        if not view.is_over:  # it has been taken up again since
            raise UserError(f"{name} goes on again; give the order once more")
        pairing = _pairing(view, about)
        told = _void(connection, view, pairing, reason) if verb == "void" else None
        told = told or _replay(connection, view, pairing)
        argument = {"about": about, "reason": reason}
        order = catalogue.give_order(connection, row.id, verb, argument, by=by)
        catalogue.answer_order(connection, order.id, told)
        return f"{name}: {told}"

    return own_once(where, work)


def _pairing(view: View, game: str) -> PairingRow:
    """The pairing of a game that can still be changed."""
    name = safe(view.row.name)
    found = next((pairing for pairing in view.pairings if pairing.game == game), None)
    if found is None:
        raise UserError(f"{name}: refused: no game {safe(game)!r}; games are called like 1.1")
    last = max(pairing.round for pairing in view.pairings)
    if isinstance(view.format, Knockout) and found.round < last:
        raise UserError(f"{name}: refused: round {last} was paired from the result of {game}")
    return found


def _void(connection: Connection, view: View, pairing: PairingRow, reason: str) -> str:
    """Void a game; then the tournament has another result, or goes on, if the format wants that."""
    before = view.results.get(pairing.game)
    if before is not None and before.kind == "void":
        raise UserError(f"{safe(view.row.name)}: refused: game {pairing.game} is void already")
    result = Result(pairing.game, pairing.block, pairing.round, pairing.players, kind="void")
    catalogue.void_result(connection, pairing.id, result, reason)
    after = View.of(connection, view.row)
    if not after.has_ended():
        catalogue.set_status(connection, view.row.id, "running")
        return "done; now there is more to play: croupier run FILE"
    _rewrite(connection, after)
    return "done; the standings are made without it"


def _rewrite(connection: Connection, view: View) -> None:
    """Put the result that there is now in the place of the old one; the end was when it was."""
    changed = update(tournaments).where(tournaments.c.id == view.row.id)
    connection.execute(changed.values(result=view.result_json()))


def _replay(connection: Connection, view: View, pairing: PairingRow) -> str:
    """Open a game again, and the tournament with it."""
    if pairing.pairing.is_bye:
        raise UserError(
            f"{safe(view.row.name)}: refused: {pairing.game} is a bye, with no game to play again"
        )
    catalogue.reopen(connection, pairing.id)
    catalogue.set_status(connection, view.row.id, "running")
    return "done; it is played again: croupier run FILE"
