"""``croupier operator-token``: a new token for the operator's pages."""

from __future__ import annotations

import click

from croupier_server.options import data_options

__all__ = ["operator_token"]


@click.command("operator-token")
@data_options
def operator_token(data: str | None, database: str | None) -> int:
    """Make a new token for the operator's pages, and print it.

    It is shown this once: only a hash of it is kept, in the data directory. The one before it is
    void, and whoever is signed in by that is signed out. For a PostgreSQL database, the hash is
    printed too, for the setting web.operator_token_hash.
    """
    from pathlib import Path

    from croupier_server.commands.places import Place
    from croupier_server.web.operator.token import hash_of, keep, new_token

    place, token = Place.given(data, database), new_token()
    if isinstance(place.where, Path):
        path = keep(place.where, token)
        click.echo(token)
        click.echo(f"its hash is in {path}", err=True)
        return 0
    click.echo(token)
    click.echo("put this into the server's file, and start it again:", err=True)
    click.echo(f'[web]\noperator_token_hash = "{hash_of(token)}"', err=True)
    return 0
