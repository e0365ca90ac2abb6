"""``croupier plan``: what a tournament file comes to, before anybody waits for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from croupier_server.errors import UserError
from croupier_server.options import FiniteRange

if TYPE_CHECKING:
    from croupier_server.settings import Settings
    from croupier_server.tournament.model import Entrant, Pairing, Plan

__all__ = ["plan"]

MOST_LINES: Final = 24
"""How many blocks are shown without --all."""


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--players",
    type=click.IntRange(2, 1_000),
    metavar="N",
    help="So many take part; else those in the roster, and players of the house and programs.",
)
@click.option(
    "--move-time",
    type=FiniteRange(0.0, 86_400),
    default=0.1,
    show_default=True,
    metavar="SECONDS",
    help="What you think an answer takes.",
)
@click.option("--all", "all_blocks", is_flag=True, help="Show all pairings that are known.")
def plan(file: Path, players: int | None, move_time: float, all_blocks: bool) -> int:
    """Tell what the tournament in FILE comes to: pairings, games, and how long it takes.

    Exit code: 0, or 2 if it can't be played so.
    """
    from croupier_server.settings import load_settings
    from croupier_server.tournament.manager import format_of

    settings = load_settings(file)
    entrants = entrants_of(settings, players)
    found = format_of(settings, settings.tournament.seed or 0).plan(entrants)
    for line in _lines(settings, entrants, found, move_time, all_blocks=all_blocks):
        click.echo(line)
    return 0


def entrants_of(settings: Settings, players: int | None) -> list[Entrant]:
    """Who takes part, in the tournament's order, as far as that is known.

    Raises:
        UserError: too few or too many for the lobby.
    """
    from croupier_server.roster import Roster
    from croupier_server.tournament.model import Entrant
    from croupier_server.tournament.order import turn_order

    lobby = settings.lobby
    signed: list[tuple[Entrant, int | None]] = [
        (Entrant(entry.name, entry.rating, is_house=True), None) for entry in lobby.house
    ]
    roster = () if lobby.roster is None else Roster.read(lobby.roster).entrants
    ages = {entrant.name: entrant.age for entrant in roster}
    named = dict.fromkeys([*(program.name for program in lobby.programs), *ages])
    signed += [(Entrant(name), ages.get(name)) for name in named]
    known = len(signed)
    if players is not None and players < known:
        raise UserError(f"--players {players}: the file has {known} already, by name")
    taken = {entrant.name for entrant, _ in signed}
    for number in range(1, (players or 0) - known + 1):
        name = f"player {number}" if f"player {number}" not in taken else f"another {number}"
        signed.append((Entrant(name), None))
    _check_lobby(settings, len(signed))
    return turn_order(signed, settings.game.rules)


def _check_lobby(settings: Settings, players: int) -> None:
    lobby = settings.lobby
    if players < lobby.min_players:
        raise UserError(
            f"{players} players are known, and lobby.min_players is {lobby.min_players}; "
            "--players N says how many come"
        )
    if players > lobby.max_players:
        raise UserError(
            f"{players} players, and lobby.max_players is {lobby.max_players}: raise it, "
            "or the rest are turned away"
        )


def _lines(
    settings: Settings, entrants: Sequence[Entrant], found: Plan, move_s: float, *, all_blocks: bool
) -> Iterator[str]:
    from croupier_server.commands.duration import likely_lines, worst_lines

    tournament = settings.tournament
    yield f"{tournament.name}: {_title(settings)}, {len(entrants):,} players"
    if found.games is not None:
        most = "at most " if tournament.format == "knockout" else ""
        yield (
            f"{most}{_count(found.rounds or 0, 'round')}, {most}{_count(found.games, 'game')}, "
            f"{_count(found.byes, 'bye')}"
        )
    yield from found.note
    yield _seats_line(settings)
    if tournament.seed is None and _has_lots(settings):
        yield "no seed is set: who is paired by lot is an example"
    yield ""
    yield from _blocks(settings, found.first, all_blocks=all_blocks)
    yield ""
    yield from worst_lines(settings, found)
    yield from likely_lines(settings, found, move_s)


def _has_lots(settings: Settings) -> bool:
    """Whether a seed decides who is paired first."""
    tournament = settings.tournament
    return tournament.format == "swiss" or tournament.blocks_per_entrant is not None


def _title(settings: Settings) -> str:
    tournament = settings.tournament
    if tournament.format == "knockout":
        return "knockout, tables of 4"
    tables = "pairs" if tournament.table == 2 else f"tables of {tournament.table}"
    return f"{tournament.format}, {tables}"


def _seats_line(settings: Settings) -> str:
    if settings.tournament.format == "knockout":
        return "a game a table: who is first in the tournament's order moves first"
    size = settings.tournament.table
    return f"a block of {size} games a table, on one board: everybody sits in each seat once"


def _blocks(settings: Settings, first: Sequence[Pairing], *, all_blocks: bool) -> Iterator[str]:
    """The pairings, a line for each block."""
    blocks: dict[str, list[Pairing]] = {}
    for pairing in sorted(first, key=lambda one: one.round):
        blocks.setdefault(pairing.block, []).append(pairing)
    shown = len(blocks) if all_blocks else min(len(blocks), MOST_LINES)
    number = 0
    for games in list(blocks.values())[:shown]:
        if games[0].round != number:
            number = games[0].round
            yield f"round {number}"
        yield f"  {_block_line(games)}"
    if shown < len(blocks):
        yield f"  and {len(blocks) - shown:,} more; --all shows them"
    if settings.tournament.format in {"knockout", "swiss"} and blocks:
        yield "later rounds are paired from the results"


def _block_line(games: Sequence[Pairing]) -> str:
    from croupier_server.commands.places import safe

    first = games[0]
    names = " - ".join(map(safe, first.players))
    if first.is_bye:
        return f"{first.game}  {names} has a bye"
    span = first.game if len(games) == 1 else f"{first.game} to {games[-1].game}"
    return f"{span}  {names}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + "s" * (number != 1)
