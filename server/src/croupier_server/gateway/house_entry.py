"""House players as the settings have them: a name, a strategy, and a rating where it is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from croupier_common.errors import FishError
from croupier_common.jsontypes import is_array, is_object, shown
from croupier_common.strategies import make
from croupier_server.errors import Refused
from croupier_server.names import checked_name

__all__ = ["HouseEntry", "house_from_settings"]

_FIELDS: Final = ("name", "plays", "rating")


@dataclass(frozen=True, slots=True)
class HouseEntry:
    """A house player as the settings have it.

    Attributes:
        plays: its strategy: ``greedy``, ``minimax:2``...
        rating: where it is known; it is an anchor for those of others.
    """

    name: str
    plays: str
    rating: float | None = None

    @classmethod
    def from_text(cls, text: str) -> HouseEntry:
        """The player that ``NAME=STRATEGY`` says, or ``STRATEGY``, which is its name too.

        Raises:
            ValueError: it can't be.
        """
        name, mark, plays = text.partition("=")
        return cls.checked(name, plays if mark else name)

    @classmethod
    def checked(cls, name: object, plays: object, rating: object = None) -> HouseEntry:
        """A player of that name, whose strategy there is.

        Raises:
            ValueError: it can't be.
        """
        if not isinstance(name, str) or not isinstance(plays, str):
            raise ValueError("a house player has a name, and plays a strategy: 'ada=minimax:2'")
        if rating is not None and not isinstance(rating, int | float):
            raise ValueError(f"{shown(name, 40)}: rating is a number, not {shown(rating, 40)}")
        try:
            make(plays)
            return cls(checked_name(name), plays, None if rating is None else float(rating))
        except (FishError, Refused) as problem:
            raise ValueError(f"house player {shown(name, 40)}: {problem}") from None

    def to_json(self) -> dict[str, Any]:
        """The player as the settings can have it."""
        return {"name": self.name, "plays": self.plays, "rating": self.rating}


def house_from_settings(value: object) -> object:
    """House players, from texts or tables.

    Raises:
        ValueError: one can't be.
    """
    if isinstance(value, str):
        value = [value]
    if not is_array(value) and not isinstance(value, tuple):
        raise ValueError("a list of 'NAME=STRATEGY', or of tables with name and plays")
    entries = tuple(_entry(item) for item in cast("Sequence[object]", value))
    names = [entry.name for entry in entries]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two house players are called {name!r}; name them: 'other={name}'")
    return entries


def _entry(value: object) -> HouseEntry:
    if isinstance(value, HouseEntry):
        return value
    if isinstance(value, str):
        return HouseEntry.from_text(value)
    if not is_object(value):
        raise ValueError(f"{shown(value, 40)} is no house player; write 'NAME=STRATEGY'")
    for name in value:
        if name not in _FIELDS:
            raise ValueError(f"a house player has {', '.join(_FIELDS)}, and no {name!r:.40}")
    return HouseEntry.checked(
        value.get("name"), value.get("plays", value.get("name")), value.get("rating")
    )
