"""Pages of lists: which one is asked for, and which others there are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Self, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request

__all__ = ["MAX_NUMBER", "MAX_SIZE", "Paging", "whole_query"]

T = TypeVar("T")

MAX_SIZE: Final = 200
MAX_NUMBER: Final = 100_000

_WHOLE: Final = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Paging:
    """A part of a list.

    Attributes:
        number: the page's, from 1.
        size: how many are on each.
        total: how many there are in all.
    """

    number: int
    size: int
    total: int = 0

    @classmethod
    def asked(cls, request: Request, size: int) -> Self:
        """What the query's `page` and `size` ask for.

        Raises:
            HTTPException: they are no numbers, or too small or large.
        """
        return cls(
            whole_query(request, "page", 1, MAX_NUMBER) or 1,
            whole_query(request, "size", 1, MAX_SIZE) or size,
        )

    @property
    def last(self) -> int:
        """The last page's number; 1 if there is nothing."""
        return max(1, -(-self.total // self.size))

    @property
    def first_index(self) -> int:
        """How many come before this page."""
        return (self.number - 1) * self.size

    def of(self, total: int) -> Self:
        """The same page, once it is known how many there are.

        Raises:
            HTTPException: there is no such page.
        """
        found = replace(self, total=total)
        if found.number > found.last:
            raise HTTPException(404, f"There is no page {self.number}: the last is {found.last}.")
        return found

    def cut(self, items: Sequence[T]) -> Sequence[T]:
        """What of a list is on this page."""
        return items[self.first_index : self.first_index + self.size]

    def to_json(self) -> dict[str, Any]:
        """As it is in a page's JSON twin."""
        return {"page": self.number, "size": self.size, "total": self.total, "pages": self.last}


def whole_query(request: Request, name: str, least: int, most: int) -> int | None:
    """A number in the query; None without it.

    Raises:
        HTTPException: it is none, or too small or large.
    """
    given = request.query_params.get(name, "")
    if not given:
        return None
    if not _WHOLE.fullmatch(given) or not least <= int(given) <= most:
        raise HTTPException(400, f"{name} is a whole number from {least} to {most:,}.")
    return int(given)
