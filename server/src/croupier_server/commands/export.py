"""``croupier export``: all that there is to know of a tournament, as files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from croupier_server.options import data_options

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from croupier_server.commands.archive import Target
    from croupier_server.commands.view import View
    from croupier_server.storage.catalogue import TournamentRow

__all__ = ["export"]


@click.command()
@click.argument("name", required=False)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR_OR_ZIP",
    help="Where to: an archive if it ends with .zip, else a new folder [NAME.zip].",
)
@click.option("--bom", is_flag=True, help="Mark CSV files as UTF-8 for Excel (a byte order mark).")
@data_options
def export(
    name: str | None, out: Path | None, bom: bool, data: str | None, database: str | None
) -> int:
    """Write the tournament NAME to files: tables as CSV, all as JSON, and the games' records.

    The same content gives the same bytes. It is written whole or not at all; an archive takes the
    place of one of that name. Games that are being played are left out.
    """
    from croupier_server.commands.archive import written
    from croupier_server.commands.places import Place

    place = Place.given(data, database)
    row = place.tournament(name)
    out = out or Path(f"{row.name}.zip")
    with written(out) as target:
        told = place.read(lambda connection: _write(connection, row, target, bom=bom))
    click.echo(f"{out}: {told}")
    return 0


def _write(connection: Connection, row: TournamentRow, target: Target, *, bom: bool) -> str:
    """Write all files in one moment of the database; what they have, in words."""
    from croupier_server.commands import sheets
    from croupier_server.commands.csv_files import csv_text
    from croupier_server.commands.view import View

    view = View.of(connection, row)
    records = _write_records(connection, view, target)
    tables = {
        "standings": sheets.standings(view),
        "results": sheets.results(view, sheets.all_details(connection, view.row.id)),
        "games": sheets.games(view, records),
        "ratings": sheets.ratings(view),
        "cross-table": sheets.cross(view),
        "orders": sheets.orders(view),
    }
    for title, rows in tables.items():
        target.add(f"{title}.csv", ("\ufeff" if bom else "") + csv_text(rows))
    target.add("tournament.json", json.dumps(summary(view), indent=2) + "\n")
    return f"{len(tables)} tables, {len(records):,} records, {view.row.status}"


def _write_records(connection: Connection, view: View, target: Target) -> dict[int, str]:
    """Write the record of each game that has ended, one after another; the names by game's row."""
    from croupier_server.commands.archive import FileNames
    from croupier_server.storage import catalogue

    names, given = FileNames(), dict[int, str]()
    for game in view.games:
        if game.status == "running":
            continue
        lines = catalogue.lines(connection, game.id)
        if not lines:  # it was let go: see `storage.keep_days`
            continue
        given[game.id] = names.name(game.name, ".jsonl")
        target.add(f"records/{given[game.id]}", _record(lines))
    return given


def _record(lines: Sequence[str]) -> str:
    """A record's text; one that is damaged as it is, for `croupier verify` to tell."""
    from croupier_common.errors import RecordError
    from croupier_server.storage.record_files import whole_record

    try:
        return "".join(whole_record(lines))
    except RecordError:
        return "".join(lines)


def summary(view: View) -> dict[str, Any]:
    """The tournament as JSON: what it was played by, who took part, and how it ended."""
    from croupier_server import __version__
    from croupier_server.commands.csv_files import moment
    from croupier_server.commands.standings import report

    row = view.row
    return {
        **report(view),
        "croupier": __version__,
        "seed": row.seed if view.is_over else None,
        "created": moment(row.created_ms),
        "started": moment(row.started_ms),
        "ended": moment(row.ended_ms),
        "settings": _public(row.config),
        "entrants": _entrants(view),
        "result": row.result if view.is_over else None,
    }


def _entrants(view: View) -> list[dict[str, Any]]:
    from croupier_server.commands.csv_files import moment

    faults = view.faults()
    return [
        {
            "name": entrant.name,
            "kind": entrant.kind,
            "age": entrant.age,
            "joined": moment(entrant.joined_ms),
            "status": entrant.status,
            "reason": faults[entrant.name].to_json() if entrant.name in faults else None,
        }
        for entrant in view.entrants
    ]


def _public(config: Any) -> dict[str, Any]:
    """The settings without what is nobody else's business: commands, their folders, variables.

    The seed is told apart, and only at the end.
    """
    lobby = {name: value for name, value in config.get("lobby", {}).items() if name != "roster"}
    lobby["programs"] = [program["name"] for program in lobby.get("programs", [])]
    tournament = {
        name: value for name, value in config.get("tournament", {}).items() if name != "seed"
    }
    return {**config, "lobby": lobby, "tournament": tournament}
