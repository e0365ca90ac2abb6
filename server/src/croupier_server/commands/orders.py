"""``croupier pause``, ``stop``, ``withdraw``...: the operator's orders to a tournament."""

from __future__ import annotations

import click

from croupier_server.options import data_options

__all__ = ["disqualify", "pause", "replay", "resume", "start", "stop", "void", "withdraw"]

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
def start(name: str | None, data: str | None, database: str | None) -> int:
    """Begin the tournament NAME with the players that are there, and wait for no more."""
    return _order("start", name, data, database)


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
    from croupier_server.commands.giving import give
    from croupier_server.commands.places import Place

    place = Place.given(data, database)
    row = place.tournament(name)
    click.echo(give(place, row, verb, about, reason, by=giver()))
    return 0


def giver() -> str:
    """Who gives orders from this command line."""
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a user without a name, as in a container
        return "operator"
