"""A request to a player that waits for its answer."""

from __future__ import annotations

import asyncio
from typing import Protocol

from croupier_server.clock import TurnClock
from croupier_server.seats import Answer, NoAnswer

__all__ = ["OpenRequest", "Sendable"]


class Sendable(Protocol):
    """A request, as far as it is sent: a call, or what has come of one from another process."""

    @property
    def id(self) -> str:
        """The request's id."""
        ...

    def text(self) -> str:
        """The message as it is sent."""
        ...


class OpenRequest:
    """A request that waits for its answer.

    ``clock`` is None until it is first delivered; ``away_since`` is when waiting for that began.
    """

    __slots__ = ("answer", "away_since", "budget_ms", "call", "clock", "id", "timer")

    def __init__(
        self, call: Sendable, budget_ms: int | None, answer: asyncio.Future[Answer | NoAnswer]
    ) -> None:
        self.call = call
        self.id = call.id
        self.budget_ms = budget_ms
        self.answer = answer
        self.clock: TurnClock | None = None
        self.away_since = 0.0
        self.timer: asyncio.TimerHandle | None = None

    @property
    def game(self) -> str:
        """The id of the game that it belongs to."""
        return self.id.rpartition(":")[0]

    def set_timer(self, timer: asyncio.TimerHandle | None) -> None:
        if self.timer is not None:
            self.timer.cancel()
        self.timer = timer
