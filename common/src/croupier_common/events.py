"""What happens in a game, as values; a game is its start and its events.

On the wire and in the record an event is a JSON object with ``kind`` first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from croupier_common.grid import Position
from croupier_common.jsontypes import is_array, shown
from croupier_common.outcome import Color, Outcome
from croupier_common.verdict import Phase, Verdict

__all__ = [
    "Credited",
    "Ejected",
    "Ended",
    "Event",
    "Lifted",
    "Moved",
    "Placed",
    "Skipped",
    "Sunk",
    "event_from_json",
]


@dataclass(frozen=True, slots=True)
class Placed:
    """A player placed a penguin."""

    kind: ClassVar[str] = "place"
    color: Color
    at: Position

    def to_json(self) -> dict[str, Any]:
        """The event as JSON."""
        return {"kind": "place", "color": self.color.value, "at": [*self.at]}


@dataclass(frozen=True, slots=True)
class Moved:
    """A player moved a penguin and got the tile that it left, with `fish` on it."""

    kind: ClassVar[str] = "move"
    color: Color
    start: Position
    end: Position
    fish: int

    def to_json(self) -> dict[str, Any]:
        """The event as JSON."""
        return {
            "kind": "move",
            "color": self.color.value,
            "from": [*self.start],
            "to": [*self.end],
            "fish": self.fish,
        }


@dataclass(frozen=True, slots=True)
class Skipped:
    """A player had no move and was passed over."""

    kind: ClassVar[str] = "skip"
    color: Color

    def to_json(self) -> dict[str, Any]:
        """The event as JSON."""
        return {"kind": "skip", "color": self.color.value}


@dataclass(frozen=True, slots=True)
class Lifted:
    """Stuck penguins left the board with their tiles; `fish` of them went to their owner."""

    kind: ClassVar[str] = "lift"
    color: Color
    at: tuple[Position, ...]
    fish: int

    def to_json(self) -> dict[str, Any]:
        """The event as JSON."""
        return {
            "kind": "lift",
            "color": self.color.value,
            "at": [[*position] for position in self.at],
            "fish": self.fish,
        }


@dataclass(frozen=True, slots=True)
class Sunk:
    """Ice that no penguin can reach was taken out of the game."""

    kind: ClassVar[str] = "sink"
    at: tuple[Position, ...]

    def to_json(self) -> dict[str, Any]:
        """The event as JSON."""
        return {"kind": "sink", "at": [[*position] for position in self.at]}


@dataclass(frozen=True, slots=True)
class Credited:
    """At the end a player got the tiles under its penguins, which stay where they are."""

    kind: ClassVar[str] = "credit"
    color: Color
    tiles: int
    fish: int

    def to_json(self) -> dict[str, Any]:
        """The event as JSON."""
        return {
            "kind": "credit",
            "color": self.color.value,
            "tiles": self.tiles,
            "fish": self.fish,
        }


@dataclass(frozen=True, slots=True)
class Ejected:
    """A player is out."""

    kind: ClassVar[str] = "eject"
    color: Color
    verdict: Verdict
    phase: Phase

    def to_json(self) -> dict[str, Any]:
        """The event as JSON."""
        return {
            "kind": "eject",
            "color": self.color.value,
            "verdict": self.verdict.value,
            "phase": self.phase.value,
        }


@dataclass(frozen=True, slots=True)
class Ended:
    """The game is over."""

    kind: ClassVar[str] = "end"
    outcome: Outcome

    def to_json(self) -> dict[str, Any]:
        """The event as JSON."""
        return {"kind": "end", "outcome": self.outcome.to_json()}


Event = Placed | Moved | Skipped | Lifted | Sunk | Credited | Ejected | Ended


def event_from_json(value: Mapping[str, Any]) -> Event | None:
    """The event that a JSON object says; None for a kind that this version doesn't know.

    Fields that it doesn't know are passed over, so that one can be added.

    Raises:
        KeyError, ValueError, TypeError: a known kind lacks a field or has one that can't be.
    """
    kind = value["kind"]
    if kind == "place":
        return Placed(Color(value["color"]), _position(value["at"]))
    if kind == "move":
        return Moved(
            Color(value["color"]),
            _position(value["from"]),
            _position(value["to"]),
            value["fish"],
        )
    if kind == "skip":
        return Skipped(Color(value["color"]))
    if kind == "lift":
        return Lifted(Color(value["color"]), _positions(value["at"]), value["fish"])
    if kind == "sink":
        return Sunk(_positions(value["at"]))
    if kind == "credit":
        return Credited(Color(value["color"]), value["tiles"], value["fish"])
    if kind == "eject":
        return Ejected(Color(value["color"]), Verdict(value["verdict"]), Phase(value["phase"]))
    if kind == "end":
        return Ended(Outcome.from_json(value["outcome"]))
    return None


def _position(value: object) -> Position:
    position = Position.from_json(value)
    if position is None:
        raise ValueError(f"{shown(value, 40)} is not [row, column]")
    return position


def _positions(value: object) -> tuple[Position, ...]:
    if not is_array(value):
        raise ValueError(f"{shown(value, 40)} is not an array of positions")
    return tuple(_position(one) for one in value)
