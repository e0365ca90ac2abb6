"""``croupier pause``, ``stop``, ``withdraw``...: the operator's orders to a tournament."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import click

from croupier_server.options import data_options

if TYPE_CHECKING:
    from croupier_server.commands.places import Place
    from croupier_server.storage.catalogue import OrderRow, TournamentRow

__all__ = ["disqualify", "pause", "replay", "resume", "stop", "void", "withdraw"]

PATIENCE_S: Final = 5.0
"""How long an answer is waited for; a server looks for orders four times a second."""

LOOK_S: Final = 0.1
"""How often it is looked whether the answer is there."""

_name = click.argument("name", required=False)
_reason = click.option("--reason", required=True, metavar="TEXT", help="Why; it is kept with it.")


@click.command()
@_name
@data_options
def pause(name: str | None, data: str | None, database: str | None) -> int:
    """Start no more games of the tournament NAME for now; those that run are played on."""
    return _order("pause", name, data, database)


@click.command()
@_name
@data_options
def resume(name: str | None, data: str | None, database: str | None) -> int:
    """Start games of the tournament NAME again, after a pause."""
    return _order("resume", name, data, database)


@click.command()
@_name
@data_options
def stop(name: str | None, data: str | None, database: str | None) -> int:
    """Play the games of the tournament NAME that run to their end, and leave the rest for later.

    `croupier run FILE` goes on with it.
    """
    return _order("stop", name, data, database)


@click.command()
@click.argument("player")
@_name
@data_options
def withdraw(player: str, name: str | None, data: str | None, database: str | None) -> int:
    """Take PLAYER out of the tournament NAME, through no fault of its own."""
    return _order("withdraw", name, data, database, player)


@click.command()
@click.argument("player")
@_name
@_reason
@data_options
def disqualify(
    player: str, name: str | None, reason: str, data: str | None, database: str | None
) -> int:
    """Put PLAYER out of the tournament NAME; the player is told the reason."""
    return _order("disqualify", name, data, database, player, reason)


@click.command()
@click.argument("game")
@_name
@_reason
@data_options
def void(game: str, name: str | None, reason: str, data: str | None, database: str | None) -> int:
    """Have GAME (1.1, say) of the tournament NAME count for nobody.

    It can be done after the end, too.
    """
    return _order("void", name, data, database, game, reason)


@click.command()
@click.argument("game")
@_name
@_reason
@data_options
def replay(game: str, name: str | None, reason: str, data: str | None, database: str | None) -> int:
    """Have GAME (1.1, say) of the tournament NAME played again, on the same board.

    After the end, `croupier run FILE` then plays it.
    """
    return _order("replay", name, data, database, game, reason)


def _order(
    verb: str,
    name: str | None,
    data: str | None,
    database: str | None,
    about: str = "",
    reason: str = "",
) -> int:
    """Give an order and wait for its answer; the exit code."""
    from croupier_server.commands.places import Place
    from croupier_server.errors import UserError

    place = Place.given(data, database)
    row = place.tournament(name)
    if row.status == "finished":
        from croupier_server.commands.afterwards import act

        click.echo(act(place.where, row, verb, about, reason, by=giver()))
        return 0
    order = _answered(place, _give(place, row, verb, about, reason))
    if order.outcome is None:
        click.echo(_unanswered(verb, row))
        return 0
    if order.outcome.startswith("refused:"):
        raise UserError(_named(row, order.outcome))
    click.echo(_named(row, order.outcome))
    return 0


def _give(place: Place, row: TournamentRow, verb: str, about: str, reason: str) -> OrderRow:
    from croupier_server.storage import catalogue
    from croupier_server.storage.once import look_once

    argument = {"about": about, "reason": reason}
    return look_once(
        place.where,
        lambda connection: catalogue.give_order(connection, row.id, verb, argument, by=giver()),
    )


def _answered(place: Place, order: OrderRow) -> OrderRow:
    """The order once it is answered, or as it is when patience ends."""
    from croupier_server.storage import catalogue

    number, until = order.id, time.monotonic() + PATIENCE_S
    while order.outcome is None and time.monotonic() < until:
        time.sleep(LOOK_S)
        found = place.read(lambda connection: catalogue.find_order(connection, number))
        order = found or order
    return order


def _unanswered(verb: str, row: TournamentRow) -> str:
    if row.status == "gathering":
        return _named(row, f"{verb} is noted; it is carried out once the tournament has begun")
    return _named(
        row,
        f"{verb} is noted, but no server plays it now; the order is carried out when it goes on: "
        "croupier run FILE",
    )


def _named(row: TournamentRow, text: str) -> str:
    from croupier_server.commands.places import safe

    return f"{safe(row.name)}: {safe(text, 300)}"


def giver() -> str:
    """Who gives orders from this command line."""
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a user without a name, as in a container
        return "operator"
