"""What players are called at the table."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Final

from croupier_server.names import name_key

__all__ = ["house_names", "table_name"]

_MAX: Final = 32


def table_name(name: str, taken: Iterable[str]) -> str:
    """A name like that which a player can have, and which is not taken."""
    normal = unicodedata.normalize("NFC", name)
    base = "".join(c if c.isprintable() else "?" for c in normal)[:_MAX].strip() or "player"
    keys = {name_key(other) for other in taken}
    found, number = base, 1
    while name_key(found) in keys:
        number += 1
        end = f" {number}"
        found = base[: _MAX - len(end)].strip() + end
    return found


def house_names(level: str, count: int) -> tuple[str, ...]:
    """The names of so many house players of one level.

    They are the same whomever they play: a house player's draws go by its name.
    """
    return tuple(level if number == 1 else f"{level} {number}" for number in range(1, count + 1))
