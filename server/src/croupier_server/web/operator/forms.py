"""What the operator's forms ask for, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from croupier_server.commands.giving import GAMES, PLAYERS, REASONS, VERBS
from croupier_server.errors import UserError

__all__ = ["AdmitForm", "OrderForm"]

MAX_ABOUT: Final = 200
MAX_REASON: Final = 500
MAX_AGE: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class OrderForm:
    """An order.

    Attributes:
        about: the player or the game, if the order is about one.
        reason: why, where that has to be said.
    """

    verb: str
    about: str = ""
    reason: str = ""

    @classmethod
    def of(cls, fields: Mapping[str, str]) -> OrderForm:
        """The order in a form's fields.

        Raises:
            UserError: there is no such order, or something is missing or too long.
        """
        verb = fields.get("verb", "")
        if verb not in VERBS:
            raise UserError("There is no such order.")
        about = fields.get("about", "") if verb in PLAYERS | GAMES else ""
        if verb in GAMES:
            about = about.strip()
        if verb in PLAYERS | GAMES and not about:
            raise UserError(f"{verb}: which {'player' if verb in PLAYERS else 'game'}?")
        reason = " ".join(fields.get("reason", "").split()) if verb in REASONS else ""
        if verb in REASONS and not reason:
            raise UserError(f"{verb}: say why; it is kept with the order.")
        if len(about) > MAX_ABOUT or len(reason) > MAX_REASON:
            raise UserError(f"{verb}: a reason has at most {MAX_REASON} characters.")
        return cls(verb, about, reason)


@dataclass(frozen=True, slots=True)
class AdmitForm:
    """Somebody to be put into the roster."""

    name: str
    age: int | None = None

    @classmethod
    def of(cls, fields: Mapping[str, str]) -> AdmitForm:
        """The entrant in a form's fields; whether the name can be, the roster knows.

        Raises:
            UserError: the name is missing or too long, or the age is no age.
        """
        name, age = fields.get("name", "").strip(), fields.get("age", "").strip()
        if not name or len(name) > MAX_ABOUT:
            raise UserError("Give the entrant's name.")
        if not age:
            return cls(name)
        if not (age.isascii() and age.isdecimal() and len(age) <= 7 and int(age) <= MAX_AGE):
            raise UserError(f"An age is a whole number from 0 to {MAX_AGE:,}, or nothing.")
        return cls(name, int(age))
