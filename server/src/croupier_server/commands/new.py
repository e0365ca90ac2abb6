"""``croupier new``: a file for a tournament, with all that there is to choose, explained."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["new"]


@click.command()
@click.argument(
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("tournament.toml"),
    required=False,
)
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["knockout", "round-robin", "swiss", "ladder"]),
    default="round-robin",
    show_default=True,
    help="How it is played (docs/tournaments.md).",
)
@click.option("--name", metavar="NAME", help="The tournament's name [that of the file].")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
def new(file: Path, format_name: str, name: str | None, force: bool) -> int:
    """Write a file for a tournament, tournament.toml if no FILE is named.

    It can be played as it is (`croupier run FILE`), and says what else can be set.
    """
    from croupier_server.commands.template import template
    from croupier_server.errors import UserError

    text = template(name or _name_of(file), format_name)
    try:
        with file.open("w" if force else "x", encoding="utf-8", newline="\n") as written:
            written.write(text)
    except FileExistsError:
        raise UserError(f"{file}: it is there already; --force writes over it") from None
    except OSError as problem:
        raise UserError(f"{file}: {problem.strerror}") from None
    click.echo(f"{file}: a {format_name} tournament; what it comes to: croupier plan {file}")
    return 0


def _name_of(file: Path) -> str:
    """A tournament's name like the file's."""
    name = "".join(c if c.isalnum() or c in "_.-" else "-" for c in file.stem)
    return name[:64] or "tournament"
