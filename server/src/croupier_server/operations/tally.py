"""What has happened in a process, counted: cheap enough to be kept in every turn.

Plain numbers that only grow, each added to by one thread, so that any other can read them. How
they are shown to Prometheus is :mod:`~croupier_server.operations.metrics`' business.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from croupier_common.verdict import Fault

if TYPE_CHECKING:
    from croupier_server.operations.spans import Traces

__all__ = ["Distribution", "End", "Gauges", "Store", "Tally"]

End = Literal["played", "forfeit", "void", "interrupted"]
"""How a game can end: with a result of its own, without a game, for nobody, or cut off by us."""

THINK_S: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
OVERHEAD_S: Final = (
    0.0001,
    0.00025,
    0.0005,
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.5,
    1.0,
)
LAG_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)
COMMIT_S: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)


class Distribution:
    """How values are spread.

    Attributes:
        bounds: upper bounds, each with those that equal it; beyond the last one is one more range.
        counts: how many values each range has.
        total: the sum of all.
    """

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(self.bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        """One more value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


class Store:
    """How the writer's commits went; added to in its thread.

    Attributes:
        commits: how long each group took, in seconds.
        failures: how many groups are not known to be written.
    """

    def __init__(self) -> None:
        self.commits = Distribution(COMMIT_S)
        self.failures = 0


@dataclass(frozen=True, slots=True)
class Gauges:
    """What goes up and down.

    Attributes:
        waiting: pairings that wait to be played.
        connections: players that are connected, by how.
        viewers: who watches games live.
        is_draining: whether no games are started, since the process is about to stop.
    """

    waiting: int = 0
    connections: Mapping[str, int] = field(default_factory=dict[str, int])
    viewers: int = 0
    is_draining: bool = False


class Tally:
    """All counts of a process.

    Attributes:
        started: games that were begun, or taken up after a restart.
        ended: games that ended, by how.
        verdicts: by kind and phase.
        think: what answers took, in seconds, by what kind of seat they came from.
        overhead: what a turn took of our own time, in seconds: from the answer until all is
            judged, written and told; and for how long the loop was stalled while it was awaited.
        lag: how late the loop was at each beat, in seconds.
        dropped: replies that answered nothing that was open.
        traces: follows single games, if the settings ask for that.
    """

    def __init__(self) -> None:
        self.started = 0
        self.ended: dict[End, int] = {"played": 0, "forfeit": 0, "void": 0, "interrupted": 0}
        self.verdicts: Counter[tuple[str, str]] = Counter()
        self.think = {
            kind: Distribution(THINK_S) for kind in ("remote", "program", "course", "house")
        }
        self.overhead = Distribution(OVERHEAD_S)
        self.lag = Distribution(LAG_S)
        self.dropped = 0
        self.store = Store()
        self.traces: Traces | None = None

    @property
    def running(self) -> int:
        """How many games are being played."""
        return self.started - self.ended["played"] - self.ended["interrupted"]

    @contextmanager
    def game(self) -> Generator[None]:
        """A game is played for as long as this is entered; interrupted, if that ends by a fault."""
        self.started += 1
        how: End = "interrupted"
        try:
            yield
            how = "played"
        finally:
            self.ended[how] += 1

    def turn(self, kind: str, think_ms: int, own_s: float) -> None:
        """A turn is over."""
        think, own, think_s = self.think[kind], self.overhead, think_ms / 1000
        # what `add` does, without the calls: every turn comes along here
        think.counts[bisect_left(think.bounds, think_s)] += 1
        think.total += think_s
        own.counts[bisect_left(own.bounds, own_s)] += 1
        own.total += own_s

    def verdict(self, fault: Fault) -> None:
        """A player was judged."""
        self.verdicts[fault.verdict.value, fault.phase.value] += 1
