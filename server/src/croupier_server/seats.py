"""A seat: one player as the croupier sees it, whatever transport it came by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from croupier_common.messages import ServerCall, ServerNotification
from croupier_common.verdict import Fault, Verdict
from croupier_server.turn_call import TurnCall

__all__ = ["Answer", "Call", "NoAnswer", "Seat"]

Call = ServerCall | TurnCall
"""What a seat can be asked; each has an ``id``, a ``METHOD``, ``params`` and its ``text()``."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A result that came in time.

    Attributes:
        result: the JSON value, not yet judged.
        think_ms: from calling send to reading the reply.
        stall_ms: for how much of that our own loop could not run.
        rtt_ms: the least of the last round trips to the player, where one was measured.
    """

    result: object
    think_ms: int
    stall_ms: int = 0
    rtt_ms: int | None = None


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """There is no result to judge: what the transport saw instead."""

    verdict: Verdict
    detail: str
    sent: str | None = None
    think_ms: int = 0
    stall_ms: int = 0
    rtt_ms: int | None = None


class Seat(Protocol):
    """One player. Its transport owns the clock: only durations come back."""

    @property
    def name(self) -> str:
        """The player's name, unlike any other's."""
        ...

    @property
    def age(self) -> int | None:
        """Its age, as far as it counts."""
        ...

    @property
    def wants_events(self) -> bool:
        """Whether it is to be told every event at once."""
        ...

    @property
    def wants_legal_actions(self) -> bool:
        """Whether its requests are to list the legal actions."""
        ...

    @property
    def max_games(self) -> int:
        """How many games it can play at once."""
        ...

    async def ask(self, call: Call, budget_ms: int | None) -> Answer | NoAnswer:
        """Its answer, or why there is none within the budget. Never raises for the player.

        Without a budget, there is no clock.
        """
        ...

    async def tell(self, message: ServerNotification) -> None:
        """Send it a notification; never waits for it, never raises if it is gone."""
        ...

    def dismiss(self, fault: Fault | None) -> None:
        """Let it go: the tournament is over for it, with or without a fault."""
        ...
