"""Tournaments that are in a data directory, without having been played."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from croupier_server.storage import catalogue
from croupier_server.storage.once import look_once, own_once
from croupier_server.tournament.model import Pairing, Result

__all__ = ["keep", "orders", "row_of"]


def keep(
    where: Path,
    results: Sequence[Result],
    *,
    name: str = "cup",
    form: str = "round-robin",
    status: catalogue.TournamentStatus = "finished",
    waiting: Sequence[Pairing] = (),
    names: Sequence[str] = (),
    config: dict[str, Any] | None = None,
) -> None:
    """Put a tournament there whose players are those of its results and pairings."""
    issued = [*(Pairing(r.game, r.players, r.round, r.block) for r in results), *waiting]
    players = dict.fromkeys([*names, *(one for pairing in issued for one in pairing.players)])

    def work(connection: Connection) -> None:
        row = catalogue.create_tournament(connection, name, form, 7, config or {})
        for player in players:
            catalogue.add_entrant(connection, row.id, player, "remote", session="s3cret-hash")
        rows = catalogue.issue(connection, row.id, issued)
        catalogue.add_results(
            connection, [(r.id, result) for r, result in zip(rows, results, strict=False)]
        )
        if status != "gathering":
            catalogue.set_status(connection, row.id, "running")
            result = {"winners": ["a"]} if status == "finished" else None
            catalogue.set_status(connection, row.id, status, result)

    own_once(where, work)


def row_of(where: Path, name: str = "cup") -> catalogue.TournamentRow:
    """The tournament's row."""
    row = look_once(where, lambda connection: catalogue.find_tournament(connection, name))
    assert row is not None
    return row


def orders(where: Path, name: str = "cup") -> Sequence[catalogue.OrderRow]:
    """The orders that were given."""
    row = row_of(where, name)
    return look_once(where, lambda connection: catalogue.orders(connection, row.id))
