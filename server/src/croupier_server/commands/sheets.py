"""What an export's CSV files have in their rows, each with its header first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from croupier_common.jsontypes import is_object
from croupier_common.rules import MAX_PLAYERS
from croupier_server.commands.csv_files import Cell, moment
from croupier_server.storage.catalogue import Detail
from croupier_server.tournament.points import points

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from croupier_server.commands.view import View

__all__ = ["Details", "all_details", "cross", "games", "orders", "ratings", "results", "standings"]

Row: TypeAlias = Sequence[Cell]

Details: TypeAlias = Mapping[tuple[int, str], Detail]
"""What else is known of how players did, by the pairing's row and the name."""


def standings(view: View, *, count_forfeits: bool = True) -> Iterator[Row]:
    """The table, a row for each entrant."""
    table, faults, won = view.table(count_forfeits=count_forfeits), view.faults(), view.winners()
    yield [
        *("place", "name", "winner", "out", "reason", "points", "games", "wins", "ties", "losses"),
        *("fish", "tiles", "byes", "forfeits", "ejections", "score", "score_low", "score_high"),
        *(f"tie_break_{name}" for name in table.by),
    ]
    for row in [*table.rows, *table.out]:
        fault, score = faults.get(row.name), row.score
        reason: Row = ("", "") if fault is None else (fault.verdict.value, fault.detail)
        spread: Row = (None,) * 3 if score is None else (score.mean, score.low, score.high)
        yield [
            row.place,
            row.name,
            "yes" if row.name in won else "",
            *reason,
            row.points,
            *(row.games, row.wins, row.ties, row.losses, row.fish, row.tiles),
            *(row.byes, row.forfeits, row.ejections),
            *spread,
            *row.tie_breaks,
        ]


def ratings(view: View) -> Iterator[Row]:
    """The ratings, with the interval that holds 95 percent."""
    yield ["place", "name", "rating", "low", "high", "games", "group", "anchor"]
    for place, one in enumerate(view.ratings(), 1):
        yield [
            *(place, one.name),
            *(round(one.rating, 1), round(one.low, 1), round(one.high, 1)),
            *(one.games, one.group),
            "yes" if one.is_anchor else "",
        ]


def cross(view: View, *, count_forfeits: bool = True) -> Iterator[Row]:
    """Who scored what against whom, as `1.5 of 2`, since `1/2` would be read as a date."""
    found = view.cross_table(count_forfeits=count_forfeits)
    yield ["name", *found.names]
    for name in found.names:
        cells = found.row(name)
        yield [
            name,
            *("" if cell is None else f"{cell.points:g} of {cell.games}" for cell in cells),
        ]


def all_details(connection: Connection, tournament: int) -> Details:
    """The details of all results of a tournament, by one query."""
    from sqlalchemy import select

    from croupier_server.storage.schema import pairings
    from croupier_server.storage.schema import results as table

    query = (
        select(
            *(table.c.pairing_id, table.c.name, table.c.phase, table.c.detail, table.c.sent),
            *(table.c.think_ms_total, table.c.think_ms_max, table.c.turns),
        )
        .join(pairings, pairings.c.id == table.c.pairing_id)
        .where(pairings.c.tournament_id == tournament)
    )
    return {
        (pairing, name): Detail(*rest) for pairing, name, *rest in connection.execute(query).all()
    }


def results(view: View, details: Details) -> Iterator[Row]:
    """A row for each player of each pairing that has a result."""
    yield [
        *("game", "round", "block", "seat", "name", "kind", "place", "points", "fish", "tiles"),
        *("verdict", "phase", "detail", "sent", "turns", "think_ms_total", "think_ms_max"),
    ]
    for pairing in view.pairings:
        result = view.results.get(pairing.game)
        if result is None:
            continue
        earned, places = points(result), _places(result.ranking)
        for seat, name in enumerate(pairing.players, 1):
            known, verdict = details.get((pairing.id, name), Detail()), result.verdicts.get(name)
            yield [
                *(pairing.game, pairing.round, pairing.block, seat, name, result.kind),
                *(places.get(name), earned.get(name, 0)),
                *(result.fish.get(name), result.tiles.get(name)),
                *(None if verdict is None else verdict.value, known.phase, known.detail),
                *(known.sent, known.turns, known.think_ms_total, known.think_ms_max),
            ]


def _places(ranking: Sequence[Sequence[str]]) -> dict[str, int]:
    """The places from 1; equals share the better one."""
    places: dict[str, int] = {}
    for group in ranking:
        places.update(dict.fromkeys(group, len(places) + 1))
    return places


def games(view: View, records: Mapping[int, str]) -> Iterator[Row]:
    """A row for each attempt at a pairing, and one for each pairing without any.

    Args:
        records: the name of the record's file, by the game's row.
    """
    yield [
        *("game", "attempt", "record", "round", "block", "status", "kind", "winners", "plies"),
        *(f"seat_{seat}" for seat in range(1, MAX_PLAYERS + 1)),
        *("seed", "started", "ended", "chain"),
    ]
    attempts: dict[int, list[Row]] = {}
    for game in view.games:
        seed = str(game.seed) if view.is_over else ""  # published at the end, not before
        attempts.setdefault(game.pairing_id, []).append(
            [
                *(game.attempt, records.get(game.id, ""), game.status, game.plies),
                *(seed, moment(game.started_ms), moment(game.ended_ms), game.chain),
            ]
        )
    for pairing in view.pairings:
        result = view.results.get(pairing.game)
        kind = "open" if result is None else result.kind
        won = "" if result is None else ", ".join(result.winners)
        seats = [*pairing.players, *("" for _ in range(MAX_PLAYERS - len(pairing.players)))]
        for attempt, record, status, plies, *rest in attempts.get(pairing.id, [_NO_ATTEMPT]):
            counts = status in {"finished", "void", ""}
            yield [
                *(pairing.game, attempt, record, pairing.round, pairing.block, status),
                *((kind, won) if counts else ("", "")),
                *(plies, *seats, *rest),
            ]


_NO_ATTEMPT: Row = (None, "", "", None, "", "", "", "")


def orders(view: View) -> Iterator[Row]:
    """The operator's orders, and what came of them."""
    yield ["given", "verb", "about", "reason", "by", "answered", "outcome"]
    for order in view.orders:
        argument = order.argument if is_object(order.argument) else {}
        yield [
            *(moment(order.given_ms), order.verb),
            *(str(argument.get("about") or ""), str(argument.get("reason") or "")),
            *(order.by, moment(order.done_ms), order.outcome),
        ]
