"""How a visit to a server ended: one value, with an exit code and words for the author."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from croupier_common.messages import EjectionParams, TournamentEndParams
from croupier_common.render import printable

__all__ = ["Ending", "EndingKind", "ejected", "ended"]


class EndingKind(StrEnum):
    """How a visit ended."""

    ENDED = "ended"
    EJECTED = "ejected"
    REFUSED = "refused"
    UNREACHABLE = "unreachable"
    LOST = "lost"


_EXIT_CODES: Final = {
    EndingKind.ENDED: 0,
    EndingKind.LOST: 1,
    EndingKind.REFUSED: 2,
    EndingKind.UNREACHABLE: 2,
    EndingKind.EJECTED: 3,
}


@dataclass(frozen=True, slots=True)
class Ending:
    """How a visit to a server ended.

    Attributes:
        text: the same in words, for the player's author.
        won: whether the player won; None unless the tournament came to its end.
    """

    kind: EndingKind
    text: str
    won: bool | None = None

    @property
    def exit_code(self) -> int:
        """The exit code of a program that was there for this visit only."""
        return _EXIT_CODES[self.kind]


def ended(told: TournamentEndParams) -> Ending:
    """The tournament came to its end."""
    winners = ", ".join(map(printable, told.winners)) or "nobody"
    text = "you won the tournament" if told.won else "the tournament is over"
    return Ending(EndingKind.ENDED, f"{text}; winners: {winners}", told.won)


def ejected(told: EjectionParams) -> Ending:
    """The player was sent away, and this is what to do about it."""
    where = "" if told.game is None else f" in game {told.game}"
    lines = [f"ejected{where}: {told.verdict} ({told.phase}): {told.detail}"]
    if told.sent is not None:
        lines.append(f"you sent: {told.sent}")
    lines += [f"what to do: {told.fix}", f"more: {told.link}"]
    return Ending(EndingKind.EJECTED, "\n".join(printable(line, 600) for line in lines))
