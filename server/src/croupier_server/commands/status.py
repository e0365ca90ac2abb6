"""``croupier status``: how tournaments stand."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from croupier_server.options import data_options

if TYPE_CHECKING:
    from croupier_server.commands.view import View

__all__ = ["status"]


@click.command()
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="As JSON: a list of tournaments.")
@data_options
def status(name: str | None, as_json: bool, data: str | None, database: str | None) -> int:
    """Tell how the tournament NAME stands; how all do, without a name.

    Who is in and who is out and why, how many games are played, how long it may take, and what
    orders were given.
    """
    from croupier_server.commands.places import Place, chosen
    from croupier_server.commands.view import View
    from croupier_server.storage import catalogue

    place = Place.given(data, database)
    rows = place.read(catalogue.tournaments)
    if name is not None or not rows:
        rows = [chosen(rows, name, str(place))]
    views = place.read(lambda connection: [View.of(connection, row) for row in rows])
    server = place.server()
    now_ms = time.time_ns() // 1_000_000
    if as_json:
        told = [{**to_json(view), "server": server} for view in views]
        click.echo(json.dumps(told, indent=2))
        return 0
    knows = not isinstance(place.where, str)
    for number, view in enumerate(views):
        click.echo("\n" * bool(number) + "\n".join(_lines(view, now_ms, server, knows=knows)))
    return 0


def to_json(view: View) -> dict[str, Any]:
    """How a tournament stands, as JSON; the time that is left in seconds, null if nobody knows."""
    from croupier_server.commands.csv_files import moment
    from croupier_server.commands.progress_of import left

    row, faults = view.row, view.faults()
    remaining = left(view)
    return {
        "name": row.name,
        "format": row.format,
        "status": row.status,
        "created": moment(row.created_ms) or None,
        "started": moment(row.started_ms) or None,
        "ended": moment(row.ended_ms) or None,
        "winners": list(view.winners()),
        "players": [
            {
                "name": entrant.name,
                "kind": entrant.kind,
                "in": entrant.name not in faults,
                "reason": faults[entrant.name].to_json() if entrant.name in faults else None,
            }
            for entrant in view.entrants
        ],
        "games": {
            **remaining.games,
            "left_s": remaining.seconds,
        },
        "orders": [_order_json(order) for order in view.orders],
    }


def _order_json(order: Any) -> dict[str, Any]:
    from croupier_common.jsontypes import is_object
    from croupier_server.commands.csv_files import moment

    argument = order.argument if is_object(order.argument) else {}
    return {
        "given": moment(order.given_ms),
        "verb": order.verb,
        "about": argument.get("about") or None,
        "reason": argument.get("reason") or None,
        "by": order.by,
        "answered": moment(order.done_ms) or None,
        "outcome": order.outcome,
    }


def _lines(view: View, now_ms: int, server: int | None, *, knows: bool) -> Iterator[str]:
    from croupier_server.commands.places import safe
    from croupier_server.commands.progress_of import left
    from croupier_server.commands.spans import span

    row, remaining = view.row, left(view)
    yield f"{safe(row.name)}: {_state(view, server, knows=knows)}, {row.format}"
    if row.started_ms is not None:
        ended = now_ms if row.ended_ms is None else row.ended_ms
        took = span((ended - row.started_ms) / 1000)
        yield f"  took {took}" if view.is_over else f"  began {took} ago"
    games = remaining.games
    yield (
        f"  games: {games['finished']:,} over, {games['running']:,} running, "
        f"{games['open']:,} waiting" + _expected(games["to_come"])
    )
    if remaining.seconds is not None:
        yield f"  about {span(remaining.seconds)} left"
    if view.winners():
        yield f"  won by {', '.join(map(safe, view.winners()))}"
    yield from _player_lines(view)
    yield from _order_lines(view)


def _expected(games: int | None) -> str:
    return "" if not games else f", about {games:,} not paired yet"


def _state(view: View, server: int | None, *, knows: bool) -> str:
    """The status, and whether anybody plays it, as far as that can be seen."""
    if view.is_over or not knows:
        return view.row.status
    if server is None:
        return f"{view.row.status}, but no server plays it now"
    return view.row.status


def _player_lines(view: View) -> Iterator[str]:
    from croupier_server.commands.places import safe

    faults = view.faults()
    inside = [entrant.name for entrant in view.entrants if entrant.name not in faults]
    yield f"  {len(inside):,} in: {_some(inside)}" if inside else "  nobody is in"
    for name, fault in faults.items():
        detail = safe(fault.detail, 200)
        yield f"  out: {safe(name)}: {fault.verdict} in {fault.phase}: {detail}"


def _some(names: Sequence[str], most: int = 12) -> str:
    from croupier_server.commands.places import safe

    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(map(safe, names[:most])) + more


def _order_lines(view: View) -> Iterator[str]:
    from croupier_common.jsontypes import is_object
    from croupier_server.commands.places import safe

    for order in view.orders:
        argument = order.argument if is_object(order.argument) else {}
        about, reason = str(argument.get("about") or ""), str(argument.get("reason") or "")
        told = " ".join(filter(None, [order.verb, about, f"({reason})" if reason else ""]))
        outcome = safe(order.outcome or "waits for a server", 200)
        yield f"  order by {safe(order.by)}: {safe(told, 120)}: {outcome}"
