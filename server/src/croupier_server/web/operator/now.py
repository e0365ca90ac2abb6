"""The part of the operator's page that changes by itself, made where it holds up nothing."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from sqlalchemy import Connection, select

from croupier_server.storage.schema import entrants
from croupier_server.web.desk import Frame, Job, templates
from croupier_server.web.found import Finder, found_view
from croupier_server.web.operator.state import load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from croupier_server.lobby import SignUps

__all__ = ["now_job", "playing"]

TEMPLATE: Final = "operator_now.html"


def now_job(frame: Frame, tournament: str, server: str, sign_ups: SignUps | None) -> Job:
    """How to make it.

    Args:
        server: whether one plays the tournament: `yes`, `no` or `unknown`.
        sign_ups: who is in its lobby; None if that is over, or not known here.
    """
    return Job(partial(_text, frame, tournament, server, sign_ups), None, frame)


def playing(connection: Connection, tournament: int) -> Sequence[str]:
    """The names of those who are in."""
    table = entrants.c
    query = select(table.name).where(table.tournament_id == tournament, table.status == "in")
    return connection.scalars(query.order_by(table.number)).all()


def _text(
    frame: Frame,
    tournament: str,
    server: str,
    sign_ups: SignUps | None,
    connection: Connection,
    finder: Finder,
) -> str:
    state = load(connection, found_view(finder, connection, tournament))
    template = templates().get_template(TEMPLATE)
    return template.render(site=frame, state=state, server=server, lobby=sign_ups)
