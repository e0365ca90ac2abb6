"""``croupier backup``: a checked copy of a data directory, while a server plays on it."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["backup"]


@click.command()
@click.argument("data", type=click.Path(path_type=Path), metavar="DATA")
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--replace", is_flag=True, help="Let a FILE that is there already make way.")
def backup(data: Path, file: Path, replace: bool) -> int:
    """Copy the database of the data directory DATA into FILE.

    It may be played on meanwhile: the copy is of one moment, and nobody waits for it. It is checked
    before FILE is there, which then is whole. To go on from it, put it into an empty directory as
    croupier.db, and start `croupier serve --data DIRECTORY --resume`. A PostgreSQL database has
    pg_dump for this. Exit code: 0 if it is done, 2 if it can't be.
    """
    from croupier_server.errors import UserError
    from croupier_server.operations.backup import back_up

    if str(data).startswith(("postgres:", "postgresql:")):
        raise UserError("a PostgreSQL database is backed up by pg_dump; see docs/operations.md")
    made = back_up(data, file, is_replaced=replace)
    click.echo(
        f"{made.path}: {made.tournaments} tournaments, {made.games} games, {made.lines} lines of "
        f"records, {made.size:,} bytes; checked"
    )
    return 0
