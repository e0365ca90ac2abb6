"""What the catalogue's functions share: rows as values, and the time."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar

from sqlalchemy import Column, Connection, Executable, Select, Table, select

__all__ = ["as_rows", "now_ms", "select_rows"]

Row = TypeVar("Row")


def now_ms() -> int:
    """The time, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def select_rows(table: Table, row: type[Any]) -> Select[Any]:
    """A query for a table's columns, as a row's class has them."""
    columns: list[Column[Any]] = [table.c[field.name] for field in fields(row)]
    return select(*columns)


def as_rows(
    connection: Connection,
    query: Executable,
    row: type[Row],
    given: Mapping[str, object] | None = None,
) -> Sequence[Row]:
    """What a query of :func:`select_rows` finds, or another that gives a row's columns.

    Args:
        given: the query's parameters by name, where it was made before they were known.
    """
    return [row(*found) for found in connection.execute(query, given).all()]
