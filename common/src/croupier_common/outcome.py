"""How a game ended: one value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

__all__ = ["Color", "Outcome"]


class Color(StrEnum):
    """A player's colour, in the order in which colours are dealt."""

    RED = "red"
    WHITE = "white"
    BROWN = "brown"
    BLACK = "black"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The complete ranking of a finished game.

    Attributes:
        ranking: first to last, as groups of equals; every player that was not ejected.
        ejected: who was ejected, in turn order: unranked behind all, without a score.
        fish: each ranked player's fish.
        tiles: each ranked player's tiles.
    """

    ranking: tuple[tuple[Color, ...], ...]
    ejected: tuple[Color, ...]
    fish: Mapping[Color, int]
    tiles: Mapping[Color, int]

    @property
    def winners(self) -> tuple[Color, ...]:
        """Who won, several where they tie, nobody when all were ejected."""
        return self.ranking[0] if self.ranking else ()

    def place(self, color: Color) -> int | None:
        """A player's place from 1 (equals share the better one); None if it was ejected."""
        better = 0
        for group in self.ranking:
            if color in group:
                return better + 1
            better += len(group)
        return None

    def to_json(self) -> dict[str, Any]:
        """The outcome as JSON: the ranking as arrays of colours, fish and tiles by colour."""
        return {
            "ranking": [[color.value for color in group] for group in self.ranking],
            "ejected": [color.value for color in self.ejected],
            "fish": {color.value: fish for color, fish in self.fish.items()},
            "tiles": {color.value: tiles for color, tiles in self.tiles.items()},
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Outcome:
        """The outcome from what :meth:`to_json` gave."""
        return cls(
            ranking=tuple(tuple(Color(name) for name in group) for group in value["ranking"]),
            ejected=tuple(Color(name) for name in value["ejected"]),
            fish={Color(name): fish for name, fish in value["fish"].items()},
            tiles={Color(name): tiles for name, tiles in value["tiles"].items()},
        )
