"""``croupier token``: new tokens for entrants."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["token"]


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option(
    "--roster",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("roster.toml"),
    show_default=True,
    metavar="FILE",
    help="The roster; it is made if there is none.",
)
@click.option("--age", type=click.IntRange(0, 1_000_000), help="The age of these entrants.")
def token(names: tuple[str, ...], path: Path, age: int | None) -> int:
    """Give entrants new tokens, and put them into the roster.

    Prints a line for each: the name, a tab, and the token. It is shown this once; the roster keeps
    a hash. Who has a token already gets a new one, and the old one is void.
    """
    from croupier_server.errors import UserError
    from croupier_server.roster import Roster, new_token

    twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
    if twice is not None:
        raise UserError(f"{twice!r} is there twice, and would get two tokens, one of them void")
    roster = Roster.read(path) if path.exists() else Roster(())
    given: list[tuple[str, str]] = []
    for name in names:
        new = new_token()
        roster = roster.with_token(name, new, age)
        given.append((name, new))
    roster.write(path)
    for name, new in given:
        click.echo(f"{name}\t{new}")
    return 0
