"""Evidence and grades as JSON, both ways."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

__all__ = ["dumped", "loaded"]

T = TypeVar("T")


def dumped(value: object) -> str:
    """A value of :mod:`~croupier_server.grading.evidence`, or one like them, as JSON."""
    kind: Any = type(value)  # hashable, which mypy does not see of a class
    return _adapter(kind).dump_json(value).decode()


def loaded(kind: type[T], text: str | bytes) -> T:
    """The value that :func:`dumped` wrote.

    Raises:
        ValueError: it is none of that kind; with one line that says where.
    """
    wanted: Any = kind
    try:
        found: T = _adapter(wanted).validate_json(text)
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ValueError(f"{where}: {first['msg']}") from None
    return found


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
