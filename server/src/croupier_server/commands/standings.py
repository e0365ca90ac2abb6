"""``croupier standings``: who stands where, while it is played and afterwards."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from croupier_server.errors import UserError
from croupier_server.options import data_options

if TYPE_CHECKING:
    from croupier_server.commands.view import View
    from croupier_server.tournament.cross_table import Cell

__all__ = ["standings"]


@click.command()
@click.argument("name", required=False)
@click.option("--without-forfeits", is_flag=True, help="Count only games that were played.")
@click.option("--ratings", is_flag=True, help="Ratings by all results, with intervals, instead.")
@click.option("--cross-table", is_flag=True, help="Who scored what against whom, instead.")
@click.option("--seats", is_flag=True, help="Whether it matters who moves first, instead.")
@click.option("--json", "as_json", is_flag=True, help="All of these, as JSON.")
@click.option("--csv", "as_csv", is_flag=True, help="As CSV; of the table that is asked for.")
@data_options
def standings(
    name: str | None,
    without_forfeits: bool,
    ratings: bool,
    cross_table: bool,
    seats: bool,
    as_json: bool,
    as_csv: bool,
    data: str | None,
    database: str | None,
) -> int:
    """Print the table of the tournament NAME: now, or as it ended.

    NAME can be left out if there is only one, or only one that is unfinished.
    """
    from croupier_server.commands.places import Place
    from croupier_server.commands.view import View

    if ratings + cross_table + seats > 1 or (as_json and as_csv) or (as_csv and seats):
        raise UserError("only one of --ratings, --cross-table and --seats, and --json or --csv")
    place = Place.given(data, database)
    row = place.tournament(name)
    view = place.read(lambda connection: View.of(connection, row))
    if as_json:
        click.echo(json.dumps(report(view, count_forfeits=not without_forfeits), indent=2))
    elif as_csv:
        _write_csv(view, ratings, cross_table, not without_forfeits)
    elif seats:
        click.echo("\n".join(_seat_lines(view)))
    else:
        _heading(view)
        if ratings:
            _show_ratings(view)
        elif cross_table:
            _show_cross(view, not without_forfeits)
        else:
            _show_table(view, not without_forfeits)
    return 0


def report(view: View, *, count_forfeits: bool = True) -> dict[str, Any]:
    """All tables, as JSON."""
    from croupier_server.tournament.seat_bias import seat_bias

    return {
        "tournament": view.row.name,
        "format": view.row.format,
        "status": view.row.status,
        "winners": list(view.winners()),
        "standings": view.table(count_forfeits=count_forfeits).to_json(),
        "ratings": [rating.to_json() for rating in view.ratings()],
        "cross_table": view.cross_table(count_forfeits=count_forfeits).to_json(),
        "seats": [found.to_json() for found in seat_bias(view.history)],
    }


def _heading(view: View) -> None:
    from croupier_server.commands.places import safe

    played = sum(result.kind == "played" for result in view.results.values())
    click.echo(
        f"{safe(view.row.name)}: {view.row.format}, {view.row.status}, {played:,} games played"
    )


def _show_table(view: View, count_forfeits: bool) -> None:
    from croupier_server.commands.csv_files import number
    from croupier_server.commands.places import safe
    from croupier_server.commands.point_text import point_text
    from croupier_server.commands.tables import Column, show

    table, won, faults = view.table(count_forfeits=count_forfeits), view.winners(), view.faults()
    columns = [
        *(Column("place"), Column("name", is_text=True), Column("points")),
        *(Column("games", rank=1), Column("wins", rank=2), Column("ties", rank=3)),
        *(Column("losses", rank=3), Column("fish", rank=4)),
        *(Column(tie, rank=5 + at) for at, tie in enumerate(table.by) if tie not in _HAS_COLUMN),
        Column("", is_text=True, rank=1),
    ]
    ties = [at for at, tie in enumerate(table.by) if tie not in _HAS_COLUMN]
    show(
        columns,
        [
            [
                *(str(row.place), row.name, point_text(row.points), str(row.games + row.byes)),
                *(str(row.wins), str(row.ties), str(row.losses), str(row.fish)),
                *(
                    (point_text if table.by[at] == "head_to_head" else number)(row.tie_breaks[at])
                    for at in ties
                ),
                "winner"
                if row.name in won
                else faults[row.name].verdict.value
                if row.name in faults
                else "",
            ]
            for row in [*table.rows, *table.out]
        ],
    )
    click.echo(f"ranked by {', then '.join(table.by)}")
    if not table.rows and table.out:
        click.echo("nobody is left")
    for name, fault in faults.items():
        click.echo(
            f"{safe(name)} is out: {fault.verdict} in {fault.phase}: {safe(fault.detail, 200)}"
        )


_HAS_COLUMN = frozenset({"points", "wins", "fish"})
"""Tie-breaks that have a column in any case."""


def _show_ratings(view: View) -> None:
    from croupier_server.commands.tables import Column, show

    ratings = view.ratings()
    show(
        [
            *(Column("place"), Column("name", is_text=True), Column("rating")),
            *(Column("95% from", rank=1), Column("to", rank=1), Column("games", rank=2)),
            *(Column("group", rank=3), Column("", is_text=True, rank=4)),
        ],
        [
            [
                *(str(place), one.name, f"{one.rating:.0f}"),
                *(f"{one.low:.0f}", f"{one.high:.0f}", str(one.games), str(one.group)),
                "anchor" if one.is_anchor else "",
            ]
            for place, one in enumerate(ratings, 1)
        ],
    )
    if not ratings:
        click.echo("no game compares anybody yet")
    if any(one.group > 1 for one in ratings):
        click.echo("ratings of different groups can't be compared: they never met")


def _show_cross(view: View, count_forfeits: bool) -> None:
    from croupier_server.commands.tables import Column, show

    cross = view.cross_table(count_forfeits=count_forfeits)
    names = cross.names
    columns = [Column(""), Column("name", is_text=True)]
    columns += [Column(str(at), rank=at) for at in range(1, len(names) + 1)]
    show(
        columns,
        [
            [str(at), name, *(_cell(cell) for cell in cross.row(name))]
            for at, name in enumerate(names, 1)
        ],
    )
    click.echo("points/games against the one whose number is above; a win 1, a tie ½")


def _cell(cell: Cell | None) -> str:
    from croupier_server.commands.point_text import point_text

    return "-" if cell is None else f"{point_text(cell.points)}/{cell.games}"


def _seat_lines(view: View) -> Iterator[str]:
    from croupier_server.tournament.seat_bias import seat_bias

    found = seat_bias(view.history)
    if not found:
        yield "no games of two or more are played yet"
    for bias in found:
        yield str(bias)
        for seat in bias.seats:
            score = seat.score
            yield (
                f"  seat {seat.seat}: {float(score.mean):.1%} of the points "
                f"({score.low:.1%} to {score.high:.1%}), wins {float(seat.wins):.1%}"
            )


def _write_csv(view: View, ratings: bool, cross_table: bool, count_forfeits: bool) -> None:
    from croupier_server.commands import sheets
    from croupier_server.commands.csv_files import csv_text

    if ratings:
        rows = sheets.ratings(view)
    elif cross_table:
        rows = sheets.cross(view, count_forfeits=count_forfeits)
    else:
        rows = sheets.standings(view, count_forfeits=count_forfeits)
    click.echo(csv_text(rows), nl=False)
