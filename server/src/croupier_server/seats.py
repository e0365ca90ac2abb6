"""A seat: one player as the croupier sees it, whatever transport it came by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from croupier_common.messages import JoinParams, ServerCall, ServerNotification
from croupier_common.verdict import Fault, Verdict
from croupier_server.settings import Clocks
from croupier_server.turn_call import TurnCall

__all__ = [
    "Admission",
    "Admit",
    "Answer",
    "AwaySeat",
    "Call",
    "Kind",
    "Leave",
    "NoAnswer",
    "Seat",
    "out_of_it",
]

Kind = Literal["remote", "program", "course", "house"]
"""By what a player came: a WebSocket, a program of ours, the course's protocol, or in the house."""

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


class Admission(NamedTuple):
    """What a player is admitted as: its name and age as they count, and the clocks it plays by.

    Without clocks, they are those of the server's settings.
    """

    name: str
    age: int | None
    clocks: Clocks | None = None


def out_of_it(fault: Fault) -> NoAnswer:
    """What a player that is out of the tournament answers in the games that it still sits in."""
    if fault.verdict.is_fault:
        return NoAnswer(Verdict.DISQUALIFIED, f"out of the tournament: {fault.detail}")
    return NoAnswer(fault.verdict, fault.detail)


class Seat(Protocol):
    """One player. Its transport owns the clock: only durations come back."""

    @property
    def kind(self) -> Kind:
        """By what the player came."""
        ...

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

    @property
    def session(self) -> str | None:
        """What is kept of its session, so that its player can come back; None if it can't."""
        ...

    @property
    def is_far(self) -> bool:
        """Whether another process holds it, so that it answers for its own waiting."""
        ...

    async def ask(self, call: Call, budget_ms: int | None) -> Answer | NoAnswer:
        """Its answer, or why there is none within the budget. Never raises for the player.

        Without a budget, there is no clock.
        """
        ...

    async def tell(self, message: ServerNotification) -> None:
        """Send it a notification; never waits for it, never raises if it is gone."""
        ...

    async def pardon(self) -> bool:
        """Forget a fault that cost it a game only; False if it can't play any more."""
        ...

    def dismiss(self, fault: Fault | None) -> None:
        """Let it go: the tournament is over for it, with or without a fault.

        With one, what it is still asked is answered at once: see :func:`out_of_it`.
        """
        ...


class AwaySeat:
    """The seat of a player that is not there, and did not come back after a restart.

    Who was let go for a fault answers in its games as any other that is out.
    """

    def __init__(self, name: str, kind: Kind) -> None:
        self.name = name
        self.kind: Kind = kind
        self.age: int | None = None
        self.wants_events = False
        self.wants_legal_actions = False
        self.max_games = 1
        self.session: str | None = None
        self.is_far = False
        self._fault: Fault | None = None

    async def ask(self, call: Call, budget_ms: int | None) -> Answer | NoAnswer:  # noqa: ARG002 - Seat's
        """See :class:`Seat`."""
        if self._fault is not None:
            return out_of_it(self._fault)
        return NoAnswer(Verdict.ABSENT, Verdict.ABSENT.when)

    async def tell(self, message: ServerNotification) -> None:
        """See :class:`Seat`."""

    async def pardon(self) -> bool:
        """See :class:`Seat`."""
        return True

    def dismiss(self, fault: Fault | None) -> None:
        """See :class:`Seat`."""
        self._fault = fault


Admit = Callable[[JoinParams, Seat], Admission]
"""Takes a seat with what its player says of itself.

It raises :class:`~croupier_server.errors.Refused` if that player may not join.
"""

Leave = Callable[[Seat], bool]
"""Told when a player that was admitted is away; True if nobody waits for it to come back."""
