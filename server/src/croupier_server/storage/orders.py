"""An operator's orders to a running server, which polls them and says what it made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, update

from croupier_server.storage.rows import as_rows, now_ms, select_rows
from croupier_server.storage.schema import orders as table

__all__ = ["OrderRow", "answer_order", "find_order", "give_order", "orders", "pending_orders"]


@dataclass(frozen=True, slots=True)
class OrderRow:
    """An order.

    Attributes:
        verb: what to do: ``pause``, ``withdraw``...
        argument: to whom or what, as JSON.
        by: who gave it.
        done_ms: when it was answered; None while it waits.
        outcome: the answer, in one line.
    """

    id: int
    tournament_id: int
    verb: str
    argument: Any
    by: str
    given_ms: int
    done_ms: int | None
    outcome: str | None


def give_order(
    connection: Connection, tournament: int, verb: str, argument: object = None, *, by: str
) -> OrderRow:
    """Leave an order for the server."""
    values = {
        "tournament_id": tournament,
        "verb": verb,
        "argument": argument,
        "by": by,
        "given_ms": now_ms(),
    }
    number = connection.execute(insert(table).values(values).returning(table.c.id)).scalar_one()
    found = find_order(connection, number)
    assert found is not None
    return found


def find_order(connection: Connection, order: int) -> OrderRow | None:
    """An order, to see whether it was answered."""
    query = select_rows(table, OrderRow).where(table.c.id == order)
    return next(iter(as_rows(connection, query, OrderRow)), None)


def pending_orders(connection: Connection, tournament: int) -> Sequence[OrderRow]:
    """Those that wait for an answer, oldest first."""
    query = select_rows(table, OrderRow).where(
        table.c.tournament_id == tournament, table.c.done_ms.is_(None)
    )
    return as_rows(connection, query.order_by(table.c.id), OrderRow)


def answer_order(connection: Connection, order: int, outcome: str) -> None:
    """Say what was made of an order."""
    values = {"done_ms": now_ms(), "outcome": outcome}
    connection.execute(update(table).where(table.c.id == order).values(values))


def orders(connection: Connection, tournament: int) -> Sequence[OrderRow]:
    """All that were ever given, oldest first: the operator's journal."""
    query = select_rows(table, OrderRow).where(table.c.tournament_id == tournament)
    return as_rows(connection, query.order_by(table.c.id), OrderRow)
