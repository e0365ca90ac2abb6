"""What came of the pairings, as the database has it: a row for each player."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from sqlalchemy import Connection, delete, insert, select, update

from croupier_common.verdict import Verdict
from croupier_server.storage.pairings import PairingRow, lock_pairing
from croupier_server.storage.pairings import pairings as all_pairings
from croupier_server.storage.rows import now_ms
from croupier_server.storage.schema import games, pairings
from croupier_server.storage.schema import results as table
from croupier_server.tournament.model import Pairing, Result

__all__ = [
    "Detail",
    "add_result",
    "add_results",
    "details",
    "in_journal_order",
    "insert_result",
    "reopen",
    "result_in",
    "results",
    "void_result",
]


@dataclass(frozen=True, slots=True)
class Detail:
    """What else is known of how a player did in a game.

    Attributes:
        phase: where it failed, if it did; with `detail` and `sent` as in its fault.
        think_ms_total: the time that all its answers took; `think_ms_max` the longest of them.
        turns: how many it had.
    """

    phase: str | None = None
    detail: str | None = None
    sent: str | None = None
    think_ms_total: int | None = None
    think_ms_max: int | None = None
    turns: int | None = None


NOTHING: Final = Detail()

_INSERT: Final = insert(table)  # made once, since each game needs it


def add_result(
    connection: Connection,
    pairing: int,
    result: Result,
    details: Mapping[str, Detail] | None = None,
) -> None:
    """Keep a result that no game has led to: a bye, a forfeit, or a void one."""
    insert_result(connection, pairing, result, details=details)


def add_results(connection: Connection, results: Sequence[tuple[int, Result]]) -> None:
    """Keep results that no game has led to, by their pairings, all at once."""
    rows = [row for pairing, result in results for row in _rows(pairing, None, result, {})]
    if rows:
        connection.execute(_INSERT, rows)


def insert_result(
    connection: Connection,
    pairing: int,
    result: Result,
    *,
    game: int | None = None,
    details: Mapping[str, Detail] | None = None,
) -> None:
    """Keep a result, with the game that it comes from."""
    connection.execute(_INSERT, _rows(pairing, game, result, details or {}))


MAX_IN: Final = 500
"""How many rows a query names; for more it asks for all of the tournament."""


def results(
    connection: Connection, tournament: int, among: Sequence[PairingRow] | None = None
) -> Mapping[str, Result]:
    """The results of a tournament, by the pairings' ids: all, or those of some pairings."""
    of_it = pairings.c.tournament_id == tournament
    rows = all_pairings(connection, tournament) if among is None else among
    paired: Mapping[int, PairingRow] = {row.id: row for row in rows}
    if among is not None and len(among) <= MAX_IN:
        of_it = table.c.pairing_id.in_(list(paired))
    query = (
        select(
            *(table.c.pairing_id, table.c.kind, table.c.name, table.c.place),
            *(table.c.fish, table.c.tiles, table.c.verdict),
        )
        .join(pairings, pairings.c.id == table.c.pairing_id)
        .where(of_it)
        .order_by(table.c.pairing_id, table.c.standing)
    )
    found = groupby(connection.execute(query).all(), itemgetter(0))
    return {
        (pairing := paired[number].pairing).game: result_in(pairing, list(rows))
        for number, rows in found
        if number in paired
    }


def in_journal_order(
    found: Mapping[str, Result], ended: Mapping[str, tuple[int, int]]
) -> Mapping[str, Result]:
    """Results in the order in which their games ended; those without a game come first.

    Args:
        ended: by pairing, when its last game ended, and that game's row.
    """
    ordered = sorted(found, key=lambda game: ended.get(game, (0, 0)))
    return {game: found[game] for game in ordered}


def details(connection: Connection, pairing: int) -> Mapping[str, Detail]:
    """By name, what else is known of how the players of a pairing did."""
    query = select(
        *(table.c.name, table.c.phase, table.c.detail, table.c.sent),
        *(table.c.think_ms_total, table.c.think_ms_max, table.c.turns),
    ).where(table.c.pairing_id == pairing)
    return {name: Detail(*rest) for name, *rest in connection.execute(query)}


def void_result(connection: Connection, pairing: int, result: Result, detail: str) -> None:
    """Put a void result in the place of whatever there is; a game of it is void too.

    Args:
        result: the void one.
        detail: why, in one line.
    """
    game = _set_aside(connection, pairing, "void")
    why = {name: Detail(detail=detail) for name in result.players}
    insert_result(connection, pairing, result, game=game, details=why)


def reopen(connection: Connection, pairing: int) -> None:
    """Take a pairing's result away, so that it is played again; a game of it is superseded."""
    _set_aside(connection, pairing, "superseded")


def _set_aside(connection: Connection, pairing: int, status: str) -> int | None:
    """Take away the result, and mark the games that counted; gives the last of these.

    The games come first: one that is being ended elsewhere is waited for, and leaves a result.
    """
    lock_pairing(connection, pairing)
    counted = (
        update(games)
        .where(games.c.pairing_id == pairing, games.c.status.in_(["running", "finished", "void"]))
        .values(status=status, ended_ms=now_ms())
        .returning(games.c.id)
    )
    game = max(connection.execute(counted).scalars(), default=None)
    connection.execute(delete(table).where(table.c.pairing_id == pairing))
    return game


def _rows(
    pairing: int, game: int | None, result: Result, details: Mapping[str, Detail]
) -> list[dict[str, Any]]:
    places: dict[str, tuple[int, int]] = {}
    for group in result.ranking:
        place = len(places) + 1  # equals share the better one
        for name in group:
            places[name] = (place, len(places))
    return [
        _row(pairing, game, result, name, places.get(name), details.get(name, NOTHING))
        for name in result.players
    ]


def _row(
    pairing: int,
    game: int | None,
    result: Result,
    name: str,
    place: tuple[int, int] | None,
    detail: Detail,
) -> dict[str, Any]:
    return {
        "pairing_id": pairing,
        "name": name,
        "game_id": game,
        "kind": result.kind,
        "place": None if place is None else place[0],
        "standing": None if place is None else place[1],
        "fish": result.fish.get(name),
        "tiles": result.tiles.get(name),
        "verdict": verdict.value if (verdict := result.verdicts.get(name)) else None,
        "phase": detail.phase,
        "detail": detail.detail,
        "sent": detail.sent,
        "think_ms_total": detail.think_ms_total,
        "think_ms_max": detail.think_ms_max,
        "turns": detail.turns,
    }


def result_in(pairing: Pairing, rows: Sequence[Any]) -> Result:
    """The result in the rows of its players, of whom those with a place come in their order."""
    groups: dict[int, list[str]] = {}
    verdicts: dict[str, Verdict] = {}
    fish: dict[str, int] = {}
    tiles: dict[str, int] = {}
    for _, _, name, place, its_fish, its_tiles, verdict in rows:
        if place is not None:
            groups.setdefault(place, []).append(name)
        if verdict is not None:
            verdicts[name] = Verdict(verdict)
        if its_fish is not None:
            fish[name] = its_fish
        if its_tiles is not None:
            tiles[name] = its_tiles
    return Result(
        game=pairing.game,
        block=pairing.block,
        round=pairing.round,
        players=pairing.players,
        kind=rows[0][1],
        ranking=tuple(map(tuple, groups.values())),
        verdicts=verdicts,
        fish=fish,
        tiles=tiles,
    )
