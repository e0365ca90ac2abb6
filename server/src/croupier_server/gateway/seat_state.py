"""What a seat is when it goes from one gateway to another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from croupier_common.verdict import Fault
from croupier_server.seats import Answer, NoAnswer
from croupier_server.settings import Clocks

__all__ = ["Asked", "SeatState"]


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that is open.

    Attributes:
        text: the request as it is sent.
        epoch: of the game, as who asked knew it.
    """

    id: str
    method: str
    text: str
    budget_ms: int | None
    epoch: int = 0


@dataclass(frozen=True, slots=True)
class SeatState:
    """All of a player that must outlast its gateway's hold on it.

    Attributes:
        key: what is kept of its session.
        missed: what it was told while it was away.
        told: by game, the texts that can be told again, each with the number of its last event.
        grace_ms: by game, how long its requests can still wait for it.
        surplus: how many of its messages answered nothing.
        kept: a fault that decides when it is next asked.
        away: how its last connection was lost.
        dismissed: why it was let go, if for a fault.
        ran_ms: by id of each open request, how long its clock has run, stalls not counted; None if
            it was not delivered yet.
        asked: the open requests.
        answers: by game, the id of the last request that was answered, and the answer.
        epochs: by game, the highest seen.
        notes: by who sent them, the number of the last note that was taken.
    """

    key: str
    name: str
    age: int | None
    clocks: Clocks
    max_games: int = 1
    wants_events: bool = False
    wants_legal_actions: bool = False
    missed: tuple[str, ...] = ()
    told: Mapping[str, tuple[tuple[int, str], ...]] = field(
        default_factory=dict[str, tuple[tuple[int, str], ...]]
    )
    grace_ms: Mapping[str, int] = field(default_factory=dict[str, int])
    surplus: int = 0
    kept: NoAnswer | None = None
    away: str = ""
    is_dismissed: bool = False
    dismissed: Fault | None = None
    ran_ms: Mapping[str, int | None] = field(default_factory=dict[str, int | None])
    asked: tuple[Asked, ...] = ()
    answers: Mapping[str, tuple[str, Answer | NoAnswer]] = field(
        default_factory=dict[str, tuple[str, Answer | NoAnswer]]
    )
    epochs: Mapping[str, int] = field(default_factory=dict[str, int])
    notes: Mapping[str, int] = field(default_factory=dict[str, int])
