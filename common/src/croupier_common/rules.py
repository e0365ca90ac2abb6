"""The named options in which games of Fish differ, and the two presets."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Final

from croupier_common.errors import InvalidRules
from croupier_common.jsontypes import is_object, shown

__all__ = [
    "CLASSIC",
    "FISH",
    "MAX_PLAYERS",
    "MIN_PLAYERS",
    "OPTIONS",
    "PRESETS",
    "Rules",
    "penguins_for",
]

MIN_PLAYERS: Final = 2
MAX_PLAYERS: Final = 4

OPTIONS: Final[dict[str, tuple[str, ...]]] = {
    "placement": ("any", "one_fish"),
    "lift": ("never", "penguin", "player_turn", "end"),
    "last_tile": ("nobody", "owner"),
    "tie_break": ("none", "tiles"),
    "islands": ("keep", "remove"),
    "ejected": ("penguins_off", "with_tiles", "leave_blocking"),
    "turn_order": ("by_age", "youngest_then_seats", "given"),
    "placement_order": ("rounds", "snake"),
}
"""By option, the values that it can have."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The options of one game; the defaults are the course's game.

    Attributes:
        placement: where a penguin may be placed: ``any`` free tile, or one with exactly
            ``one_fish``.
        lift: when a stuck penguin leaves the board, taking its tile along: ``never``; each
            ``penguin`` at once; all of a player's at its turn if none can move
            (``player_turn``); at the ``end``.
        last_tile: who gets the tile under a stuck penguin: ``nobody`` or its ``owner``.
        tie_break: after equal fish: ``none``, or more ``tiles``; what is equal then shares.
        islands: ice that no penguin can ever reach: ``keep`` it or ``remove`` it.
        ejected: what happens to an ejected player's penguins: ``penguins_off`` (their tiles are
            free again), ``with_tiles`` (the tiles go too), ``leave_blocking`` (they stand on).
        turn_order: ``by_age``; ``youngest_then_seats`` (the youngest begins, then sign-up order,
            round and round); ``given`` by the pairing.
        placement_order: ``rounds``, or ``snake`` (every second round backwards).

    Raises:
        InvalidRules: a value is unknown, or two of them don't go together.
    """

    placement: str = "any"
    lift: str = "never"
    last_tile: str = "nobody"
    tie_break: str = "none"
    islands: str = "keep"
    ejected: str = "penguins_off"
    turn_order: str = "by_age"
    placement_order: str = "rounds"

    def __post_init__(self) -> None:
        for name, allowed in OPTIONS.items():
            value = getattr(self, name)
            if value not in allowed:
                raise InvalidRules(
                    f"rules.{name} is {value!r:.40}; it can be {' or '.join(map(repr, allowed))}"
                )
        if self.ejected == "penguins_off" and self.lift in {"penguin", "player_turn"}:
            raise InvalidRules(
                f"rules.ejected = 'penguins_off' does not go with rules.lift = {self.lift!r}: "
                "whether a stuck player comes free would hang on whose turn came first; "
                "choose ejected = 'with_tiles' or 'leave_blocking'"
            )

    def to_json(self) -> str | dict[str, str]:
        """A preset's name, or all options by name."""
        for name, preset in PRESETS.items():
            if self == preset:
                return name
        return asdict(self)

    @classmethod
    def from_json(cls, value: object) -> Rules:
        """Rules from a preset's name, or from options that differ from a preset's.

        ``"classic"``, ``{"lift": "end"}`` (the rest as in ``fish``) and
        ``{"preset": "classic", "islands": "keep"}`` are all right.

        Raises:
            InvalidRules: an option or a preset is unknown.
        """
        if isinstance(value, str):
            value = {"preset": value}
        if not is_object(value):
            raise InvalidRules(
                f"rules are a preset's name or options by name, not {shown(value, 40)}"
            )
        options = dict(value)
        preset = options.pop("preset", "fish")
        if not isinstance(preset, str) or preset not in PRESETS:
            raise InvalidRules(f"no preset {shown(preset, 40)}; there are {', '.join(PRESETS)}")
        for name, option in options.items():
            if name not in OPTIONS:
                raise InvalidRules(f"no rule option {name!r:.40}; there are {', '.join(OPTIONS)}")
            if not isinstance(option, str):
                raise InvalidRules(
                    f"rules.{name} is {shown(option, 40)}; "
                    f"it can be {' or '.join(map(repr, OPTIONS[name]))}"
                )
        return replace(PRESETS[preset], **{name: str(options[name]) for name in options})


FISH: Final = Rules()
"""The course's game, the default."""

CLASSIC: Final = Rules(
    placement="one_fish",
    lift="player_turn",
    last_tile="owner",
    tie_break="tiles",
    islands="remove",
    ejected="with_tiles",
    turn_order="youngest_then_seats",
)
"""The boxed game, *Hey, That's My Fish!*"""

PRESETS: Final[dict[str, Rules]] = {"fish": FISH, "classic": CLASSIC}


def penguins_for(players: int) -> int:
    """How many penguins each of so many players has: 6 - N, at least 1."""
    return max(6 - players, 1)
