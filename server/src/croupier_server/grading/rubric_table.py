"""A table of a TOML file, read value by value: what is wrong is one line, with what is allowed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Final, TypeVar, cast

from croupier_common.errors import FishError
from croupier_common.jsontypes import is_array, is_object, is_whole, shown
from croupier_common.strategies import make, names
from croupier_server.errors import UserError

__all__ = [
    "NotAllowed",
    "Table",
    "flag",
    "listed",
    "near",
    "number",
    "one_of",
    "points",
    "strategy",
    "text",
    "whole",
]

T = TypeVar("T")

Reader = Callable[[object], T]
"""Gives the value that a value from the file stands for.

Raises:
    ValueError: it stands for none; with what is allowed.
"""

MOST_POINTS: Final = 100_000


class NotAllowed(ValueError):
    """A value can't be: what is allowed, and the nearest of it, as a question; or nothing.

    Attributes:
        items: the very item of a list that can't be, if it is in one.
    """

    def __init__(self, allowed: str, nearest: str = "", items: Sequence[object] = ()) -> None:
        super().__init__(allowed)
        self.nearest = nearest
        self.items = items


class Table:
    """A table, whose names are known.

    Args:
        where: where it is, before a name in it: ``game.``, or ``line 'builds': ``.

    Raises:
        UserError: it is no table, or a name in it is unknown.
    """

    def __init__(self, value: object, where: str, allowed: Sequence[str]) -> None:
        if not is_object(value):
            what = where.rstrip(".: ") or "a rubric"
            raise UserError(f"{what}: a table of {', '.join(allowed)}, not {shown(value, 60)}")
        for name in value:
            if name not in allowed:
                raise UserError(
                    f"{where}{shown(name, 60)[1:-1]}: no such setting; there are "
                    f"{', '.join(allowed)}{near(name, allowed)}"
                )
        self.where = where
        self._values = value

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def take(self, name: str, read: Reader[T], default: T) -> T:
        """The value of a name, or the default.

        Raises:
            UserError: it can't be.
        """
        return self.need(name, read) if name in self._values else default

    def need(self, name: str, read: Reader[T]) -> T:
        """The value of a name that must be there.

        Raises:
            UserError: it is not, or can't be.
        """
        value = self._values.get(name)
        try:
            return read(value)
        except ValueError as problem:
            if name not in self._values:
                raise UserError(f"{self.where}{name}: {problem}; it is missing") from None
            known = problem if isinstance(problem, NotAllowed) else NotAllowed(str(problem))
            found = shown(known.items[0] if known.items else value, 60)
            raise UserError(f"{self.where}{name}: {problem}, not {found}{known.nearest}") from None

    def fail(self, name: str, problem: object) -> UserError:
        """The error that something is wrong with a name."""
        return UserError(f"{self.where}{name}: {problem}")


def near(name: object, allowed: Iterable[str]) -> str:
    """The nearest of some names as a question, behind a semicolon; nothing if none is near."""
    found = get_close_matches(str(name)[:60].lower(), list(map(str, allowed)), 1)
    return f"; did you mean {found[0]!r}?" if found else ""


# -- readers


def text(most: int) -> Reader[str]:
    """Text of one line, with at least one character and at most so many."""

    def read(value: object) -> str:
        if (
            isinstance(value, str)
            and 1 <= len(value) <= most
            and value.isprintable()
            and value == value.strip()
        ):
            return value
        raise NotAllowed(f"a text of 1 to {most} characters in one line, no space at its ends")

    return read


def whole(least: int, most: int) -> Reader[int]:
    """A whole number."""

    def read(value: object) -> int:
        if is_whole(value) and least <= value <= most:
            return value
        raise NotAllowed(f"a whole number from {least} to {most}")

    return read


def number(least: float, most: float) -> Reader[float]:
    """A number."""

    def read(value: object) -> float:
        if type(value) in {int, float} and least <= cast("float", value) <= most:
            return float(cast("float", value))
        raise NotAllowed(f"a number from {least:g} to {most:g}")

    return read


def points(value: object) -> float:
    """Points, at most to a hundredth, so that what is printed adds up."""
    try:
        found = number(0, MOST_POINTS)(value)
    except NotAllowed:
        found = -1.0
    if found < 0 or round(found, 2) != found:
        raise NotAllowed(f"points from 0 to {MOST_POINTS}, with two places after the point at most")
    return found


def flag(value: object) -> bool:
    """True or false."""
    if isinstance(value, bool):
        return value
    raise NotAllowed("true or false")


def one_of(allowed: Iterable[T]) -> Reader[T]:
    """One of some texts."""
    known = {str(name): name for name in allowed}

    def read(value: object) -> T:
        if isinstance(value, str) and value in known:
            return known[value]
        *some, last = map(repr, known)
        told = f"{', '.join(some)} or {last}" if some else last
        raise NotAllowed(told, near(value, known) if isinstance(value, str) else "")

    return read


def listed(read: Reader[T]) -> Reader[tuple[T, ...]]:
    """A list, each item of which the other reader reads."""

    def read_all(value: object) -> tuple[T, ...]:
        if not is_array(value):
            raise NotAllowed("a list")
        return tuple(map(read_one, value))

    def read_one(item: object) -> T:
        try:
            return read(item)
        except NotAllowed as problem:
            raise NotAllowed(str(problem), problem.nearest, [item]) from None

    return read_all


def strategy(value: object) -> str:
    """What a house player plays: ``greedy``, ``minimax:2``."""
    if not isinstance(value, str):
        raise NotAllowed("a house player's strategy, like 'greedy'")
    try:
        make(value)
    except FishError as problem:
        name = value.partition(":")[0]
        nearest = "" if name in names() else near(name, names())
        raise NotAllowed(f"a house player's strategy ({problem})", nearest) from None
    return value
