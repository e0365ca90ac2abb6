"""The tables of the database; the migrations make them, and a test holds the two together."""

from __future__ import annotations

import json
from typing import Any, Final, TypeVar

from sqlalchemy import (
    BigInteger,
    Column,
    Dialect,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)
from sqlalchemy.types import TypeEngine

__all__ = [
    "Json",
    "Names",
    "PlainText",
    "Whole",
    "entrants",
    "games",
    "journal",
    "metadata",
    "orders",
    "pairings",
    "ratings",
    "results",
    "storable",
    "tournaments",
]

T = TypeVar("T")

NUL_SHOWN: Final = "\u2400"
"""The character that stands for NUL, which PostgreSQL's text can't hold."""


def storable(text: str) -> str:
    """Text as any database can hold it: NUL is shown as a symbol, half a character as U+FFFD."""
    if text.isascii() and "\0" not in text:
        return text
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.replace("\0", NUL_SHOWN)


class _AsText(TypeDecorator[T]):
    """A value that is text in the database."""

    impl: TypeEngine[Any] | type[TypeEngine[Any]] = Text


class PlainText(_AsText[str]):
    """Any text at all, made storable."""

    cache_ok: bool | None = True  # SQLAlchemy looks for it in each class

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """See the base."""
        return None if value is None else storable(value)


class Whole(_AsText[int]):
    """A whole number of any size, as digits: seeds go beyond what PostgreSQL counts to."""

    cache_ok: bool | None = True  # SQLAlchemy looks for it in each class

    def process_bind_param(self, value: int | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """See the base."""
        return None if value is None else str(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> int | None:  # noqa: ARG002
        """See the base."""
        return None if value is None else int(value)


class Json(_AsText[Any]):
    """A value as JSON in ASCII, so that whatever strings are in it come back as they were."""

    cache_ok: bool | None = True  # SQLAlchemy looks for it in each class

    def process_bind_param(self, value: object, dialect: Dialect) -> str | None:  # noqa: ARG002
        """See the base."""
        return None if value is None else json.dumps(value, separators=(",", ":"))

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:  # noqa: ARG002
        """See the base."""
        return None if value is None else json.loads(value)


class Names(_AsText[tuple[str, ...]]):
    """Names in order, storable each, since they have to equal the same names in other columns."""

    cache_ok: bool | None = True  # SQLAlchemy looks for it in each class

    def process_bind_param(self, value: tuple[str, ...] | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """See the base."""
        return None if value is None else json.dumps([storable(name) for name in value])

    def process_result_value(
        self,
        value: str | None,
        dialect: Dialect,  # noqa: ARG002
    ) -> tuple[str, ...] | None:
        return None if value is None else tuple(json.loads(value))


_ID: Final = BigInteger().with_variant(Integer, "sqlite")
"""SQLite numbers rows by itself only where their key is called INTEGER."""

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _key() -> Column[int]:
    return Column("id", _ID, primary_key=True)


def _of(table: str, **options: Any) -> Column[int]:
    """A reference to another table's row."""
    options.setdefault("nullable", False)
    name = f"{table.removesuffix('s')}_id"
    return Column(name, _ID, ForeignKey(f"{table}.id"), **options)


def _word(name: str, **options: Any) -> Column[str]:
    """A word of ours, which needs no care: 120,000 rows take a third of the time."""
    options.setdefault("nullable", False)
    return Column(name, Text, **options)


def _text(name: str, **options: Any) -> Column[str]:
    options.setdefault("nullable", False)
    return Column(name, PlainText, **options)


def _number(name: str, **options: Any) -> Column[int]:
    options.setdefault("nullable", False)
    return Column(name, BigInteger, **options)


def _real(name: str) -> Column[float]:
    return Column(name, Double, nullable=False)


tournaments = Table(
    "tournaments",
    metadata,
    _key(),
    _text("name", unique=True),
    _word("format"),
    _word("status"),
    Column("seed", Whole, nullable=False),
    Column("config", Json, nullable=False),
    _number("created_ms"),
    _number("started_ms", nullable=True),
    _number("ended_ms", nullable=True),
    Column("result", Json, nullable=True),
)

entrants = Table(
    "entrants",
    metadata,
    _key(),
    _of("tournaments"),
    _number("number"),
    _text("name"),
    _word("kind"),
    _number("age", nullable=True),
    Column("options", Json, nullable=False),
    _word("session", nullable=True, index=True),
    _word("status"),
    Column("reason", Json, nullable=True),
    _number("strikes"),
    _number("joined_ms"),
    UniqueConstraint("tournament_id", "name"),
    UniqueConstraint("tournament_id", "number"),
)

pairings = Table(
    "pairings",
    metadata,
    _key(),
    _of("tournaments"),
    _number("number"),
    _text("game"),
    _number("round"),
    _text("block"),
    Column("players", Names, nullable=False),
    UniqueConstraint("tournament_id", "game"),
    UniqueConstraint("tournament_id", "number"),
)

games = Table(
    "games",
    metadata,
    _key(),
    _of("pairings"),
    _number("attempt"),
    _text("name", index=True),
    _word("status", index=True),
    Column("seed", Whole, nullable=False),
    _word("chain", nullable=True),
    _number("plies", nullable=True),
    _number("started_ms"),
    _number("ended_ms", nullable=True),
    _number("epoch"),
    UniqueConstraint("pairing_id", "attempt"),
)

results = Table(
    "results",
    metadata,
    _of("pairings", primary_key=True),
    _text("name", primary_key=True, index=True),
    _of("games", nullable=True, index=True),
    _word("kind"),
    _number("place", nullable=True),
    _number("standing", nullable=True),  # the index in the ranking: equals have an order too
    _number("fish", nullable=True),
    _number("tiles", nullable=True),
    _word("verdict", nullable=True),
    _word("phase", nullable=True),
    _text("detail", nullable=True),
    _text("sent", nullable=True),
    _number("think_ms_total", nullable=True),
    _number("think_ms_max", nullable=True),
    _number("turns", nullable=True),
)

journal = Table(
    "journal",
    metadata,
    Column("position", _ID, primary_key=True),
    _of("games"),
    _number("seq"),
    _word("line"),
    UniqueConstraint("game_id", "seq"),
)

ratings = Table(
    "ratings",
    metadata,
    _of("tournaments", primary_key=True),
    _text("name", primary_key=True),
    _real("rating"),
    _real("low"),
    _real("high"),
    _number("games"),
    _number("at_ms"),
)

orders = Table(
    "orders",
    metadata,
    _key(),
    _of("tournaments"),
    _word("verb"),
    Column("argument", Json, nullable=True),
    _text("by"),
    _number("given_ms"),
    _number("done_ms", nullable=True),
    _text("outcome", nullable=True),
    Index(None, "tournament_id", "done_ms"),
)
