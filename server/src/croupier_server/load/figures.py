"""What was measured: counters that one process fills, and that are added up over processes."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

from croupier_server.load.histogram import Histogram

__all__ = ["DURATIONS", "Figures", "Memory", "Span"]

DURATIONS = {
    "connect": "connecting",
    "join": "join to its answer",
    "between": "our reply to the next request",
    "charged": "charged above what we took",
    "server_rtt": "round trip told by the server",
    "ping": "round trip of our own pings",
    "lag": "our own loop late",
}
"""By name of a histogram, what it has."""


@dataclass(slots=True)
class Span:
    """From the first to the last of some moments, of a clock that all processes share."""

    first: float = math.inf
    last: float = -math.inf

    def include(self, moment: float) -> None:
        """One moment more."""
        self.first = min(self.first, moment)
        self.last = max(self.last, moment)

    def merge(self, other: Span) -> None:
        """All moments of another, too."""
        self.first = min(self.first, other.first)
        self.last = max(self.last, other.last)

    @property
    def seconds(self) -> float:
        """How long it is; 0 if there were no moments."""
        return max(0.0, self.last - self.first)


@dataclass(slots=True)
class Memory:
    """How much memory so many connections took, where the system tells."""

    connections: int = 0
    kib: int = 0

    def merge(self, other: Memory) -> None:
        """Another process's, on top."""
        self.connections += other.connections
        self.kib += other.kib


@dataclass(slots=True)
class Figures:
    """All of it.

    Attributes:
        opened: connections that were tried.
        joined: players that were let in.
        done: players whose tournament was over, with nothing wrong.
        is_timed_out: whether they were taken away because the time was over.
        left: players that we took away, at the end or when told to.
        idle_asked: players that were there to wait, and were asked to play nonetheless.
        turns: answers to `place` and `move` that were sent.
        turns_in: by second, how many of them.
        begun: the games that were begun, each by its room and id.
        over: those that were over.
        errors: by kind, how many.
        examples: by kind of error, what the first one said.
        busy: how much of a core was used, in percent, by how many measurements.
        joins: when connections were opened, and had joined.
        playing: when turns were asked and answered.
    """

    opened: int = 0
    joined: int = 0
    done: int = 0
    left: int = 0
    idle_asked: int = 0
    is_timed_out: bool = False
    turns: int = 0
    turns_in: Counter[int] = field(default_factory=Counter[int])
    begun: set[str] = field(default_factory=set[str])
    over: set[str] = field(default_factory=set[str])
    errors: Counter[str] = field(default_factory=Counter[str])
    examples: dict[str, str] = field(default_factory=dict[str, str])
    busy: Counter[int] = field(default_factory=Counter[int])
    durations: dict[str, Histogram] = field(
        default_factory=lambda: {name: Histogram() for name in DURATIONS}
    )
    joins: Span = field(default_factory=Span)
    playing: Span = field(default_factory=Span)
    memory: Memory = field(default_factory=Memory)

    def error(self, kind: str, example: str = "") -> None:
        """Something went wrong."""
        self.errors[kind] += 1
        self.examples.setdefault(kind, example)

    def turn(self, moment: float) -> None:
        """A turn was answered."""
        self.turns += 1
        self.turns_in[int(moment)] += 1
        self.playing.include(moment)

    @property
    def busy_percent(self) -> int | None:
        """How much of a core was used, but for a tenth of the time in which it was more.

        None if that was not measured, in a run of less than a moment.
        """
        wanted, seen = 0.9 * self.busy.total(), 0
        for percent in sorted(self.busy):
            seen += self.busy[percent]
            if seen >= wanted:
                return percent
        return None

    def merge(self, other: Figures) -> None:
        """Another process's, on top."""
        for name in ("opened", "joined", "done", "left", "idle_asked", "turns"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.turns_in.update(other.turns_in)
        self.errors.update(other.errors)
        self.busy.update(other.busy)
        self.is_timed_out |= other.is_timed_out
        self.begun |= other.begun
        self.over |= other.over
        self.examples = {**other.examples, **self.examples}
        for name, durations in self.durations.items():
            durations.merge(other.durations[name])
        self.joins.merge(other.joins)
        self.playing.merge(other.playing)
        self.memory.merge(other.memory)
