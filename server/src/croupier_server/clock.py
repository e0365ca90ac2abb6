"""The clocks: how long an answer took, how much of that was our own doing, what is left.

A player is charged for its think time less the stall of our event loop, and for nothing else: no
round trip is credited, since a pong can be held back on purpose. All of this is arithmetic over
times that are given (seconds of one monotonic clock); nothing here reads a clock.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

__all__ = ["BEAT_S", "GRAIN_S", "MAX_STALL_MS", "Bank", "StallMeter", "Timing", "TurnClock"]

BEAT_S: Final = 0.01
"""How often the heartbeat of the loop is due."""

_LATE_S: Final = 0.005
"""A beat later than this is a stall; less is the jitter of any timer."""

GRAIN_S: Final = 0.02
"""What the clock can't tell, given to the player: a beat, and the last look into the socket."""

MAX_STALL_MS: Final = 60_000
"""For how long a game waits in all because our loop was stalled; then it is interrupted."""

_REMEMBERED: Final = 10_000
"""How many stalls are kept; with more than that, the server has other troubles."""


class StallMeter:
    """How long the event loop was unable to run, told by a heartbeat that comes late."""

    __slots__ = ("_due", "_stalls")

    def __init__(self, now: float) -> None:
        self._due = now + BEAT_S
        self._stalls: deque[tuple[float, float]] = deque(maxlen=_REMEMBERED)

    def beat(self, now: float) -> None:
        """The loop runs; to be called every :data:`BEAT_S`, as far as the loop can."""
        if now - self._due > _LATE_S:
            self._stalls.append((self._due, now))
        self._due = now + BEAT_S

    def between(self, start: float, end: float) -> float:
        """For how long in that time the loop was stalled, in seconds.

        A stall that is just over counts before its beat has come through.
        """
        stalled = 0.0
        if end - self._due > _LATE_S:
            stalled += max(0.0, end - max(self._due, start))
        for begun, over in reversed(self._stalls):
            if over <= start:
                break
            stalled += max(0.0, min(over, end) - max(begun, start))
        return stalled


class Timing(NamedTuple):  # each turn makes one, and a dataclass takes three times as long
    """What was measured of an answer, in whole milliseconds.

    Attributes:
        think_ms: from calling send to reading the reply, the stall included.
        stall_ms: for how much of that our loop was stalled.
        rtt_ms: the least of the last round trips while the player had nothing to do; None if
            none was measured.
    """

    think_ms: int = 0
    stall_ms: int = 0
    rtt_ms: int | None = None

    @property
    def charged_ms(self) -> int:
        """What the player is charged."""
        return max(0, self.think_ms - self.stall_ms)

    def to_json(self) -> dict[str, int]:
        """The timing as it stands in a record and in a request's `last`."""
        told = {"think_ms": self.think_ms, "stall_ms": self.stall_ms}
        if self.rtt_ms is not None:
            told["rtt_ms"] = self.rtt_ms
        return told


@dataclass(slots=True)
class TurnClock:
    """The clock of one open request.

    Attributes:
        started: when the request was delivered; later events never move it.
        limit_s: budget, bank and latency allowance together; infinite for a seat without a clock.
    """

    started: float
    limit_s: float = math.inf

    def left(self, now: float, meter: StallMeter) -> float:
        """Seconds until the deadline, which moves with the stalls that there are; 0 or less: over.

        The request stays open for as long as the loop was stalled; there is no second request and
        no new budget.
        """
        if self.limit_s == math.inf:
            return math.inf
        return self.started + self.limit_s + meter.between(self.started, now) - now

    def is_late(self, now: float, meter: StallMeter) -> bool:
        """Whether an answer that is read now comes too late."""
        if now - self.started <= self.limit_s:
            return False  # whatever the stalls were: nearly all answers, at less cost
        return self.left(now, meter) < -GRAIN_S

    def timing(self, now: float, meter: StallMeter, rtt_s: float | None) -> Timing:
        """What an answer that is read now has taken."""
        return Timing(
            think_ms=int((now - self.started) * 1000),
            stall_ms=int(meter.between(self.started, now) * 1000),
            rtt_ms=None if rtt_s is None else int(rtt_s * 1000),
        )


@dataclass(frozen=True, slots=True)
class Bank:
    """A player's spare time in one game: what a turn takes beyond its budget comes out of it."""

    left_ms: int = 0
    increment_ms: int = 0

    def after(self, charged_ms: int, budget_ms: int, allowance_ms: int) -> Bank:
        """The bank after a turn: less what it took beyond budget and allowance, plus increment."""
        over = max(0, charged_ms - budget_ms - allowance_ms)
        return replace(self, left_ms=max(0, self.left_ms - over) + self.increment_ms)
