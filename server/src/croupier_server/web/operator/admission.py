"""Putting entrants into the roster and taking them out, with a note among the orders."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from croupier_server.commands.places import safe
from croupier_server.errors import UserError
from croupier_server.roster import Roster, new_token
from croupier_server.storage import catalogue
from croupier_server.storage.once import look_once
from croupier_server.web.operator.forms import AdmitForm

if TYPE_CHECKING:
    from croupier_server.commands.places import Place
    from croupier_server.storage.catalogue import TournamentRow

__all__ = ["admit", "remove", "roster_of"]


def roster_of(row: TournamentRow) -> Path | None:
    """The file with who may play in a tournament; None where anybody may, or it is not here."""
    given = row.config.get("lobby", {}).get("roster")
    path = None if given is None else Path(str(given))
    return path if path is not None and path.is_file() else None


def admit(place: Place, row: TournamentRow, form: AdmitForm, *, by: str) -> tuple[str, str]:
    """Put somebody into the roster, or give it a new token; what was done, and the token.

    Raises:
        UserError: there is no roster, the name can't be, or it can't be written.
    """
    path, token = _path(row), new_token()

    def change() -> str:
        roster = Roster.read(path)
        before = len(roster.entrants)
        after = roster.with_token(form.name, token, form.age)
        after.write(path)
        return "done" if len(after.entrants) > before else "done; it has a new token"

    told = _noted(place, row, "admit", form.name, change, by)
    return f"{safe(form.name)} is in the roster: {told}", token


def remove(place: Place, row: TournamentRow, name: str, *, by: str) -> str:
    """Take somebody out of the roster; what was done. Who plays already plays on.

    Raises:
        UserError: there is no roster, or nobody of that name in it, or it can't be written.
    """
    path = _path(row)

    def change() -> str:
        Roster.read(path).without(name).write(path)
        return "done"

    _noted(place, row, "remove", name, change, by)
    return f"{safe(name)} is no longer in the roster; who has joined already stays until withdrawn"


def _path(row: TournamentRow) -> Path:
    path = roster_of(row)
    if path is None:
        raise UserError("This tournament has no roster: anybody may join it.")
    return path


def _noted(
    place: Place, row: TournamentRow, verb: str, about: str, change: Callable[[], str], by: str
) -> str:
    """Change the roster, and note it: as one, since the note is undone if the change fails.

    The note is answered when it is written, so that no server takes it for an order that waits.
    Two who change the roster come one after another, since the database has one who writes.
    """

    def work(connection: Connection) -> str:
        order = catalogue.give_order(connection, row.id, verb, {"about": about}, by=by)
        told = change()
        catalogue.answer_order(connection, order.id, told)
        return told

    return look_once(place.where, work)
