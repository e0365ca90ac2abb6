"""How long a loop is held, and by whom: by its own process, or by the machine it runs on."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Final

from benchmarks.report import quantile

__all__ = ["Heartbeat"]

BEAT_S: Final = 0.001


@dataclass(slots=True)
class Heartbeat:
    """Wakes up every millisecond, and notes by how much it was late.

    It may be late because another process had the core, which Linux tells. What this process did
    to it is at most the rest, and at most the processor's time that all of its threads took since
    the last beat, be it in the loop or in a thread that had the interpreter's lock; so the lesser
    of these is a hold of ours. Where the loop waits for a disk, that is missed.

    Attributes:
        late_s: for each beat, how late it was.
        held_s: likewise, how much of that this process can have caused.
    """

    late_s: list[float] = field(default_factory=list[float])
    held_s: list[float] = field(default_factory=list[float])

    @asynccontextmanager
    async def beating(self) -> AsyncGenerator[None]:
        """Beat for as long as this is entered."""
        task = asyncio.create_task(self._beat(), name="heartbeat")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])

    def figures(self) -> dict[str, float]:
        """The longest of both and the late beats' 99.9 percent, in milliseconds."""
        return {
            "held_ms": max(self.held_s) * 1e3,
            "late_ms": max(self.late_s) * 1e3,
            "late_p999_ms": quantile(self.late_s, 0.999) * 1e3,
        }

    async def _beat(self) -> None:
        with queue() as waited_s:
            while True:
                due = time.monotonic() + BEAT_S
                used, waited = time.process_time(), waited_s()
                await asyncio.sleep(BEAT_S)
                late = max(0.0, time.monotonic() - due)
                own = late - (waited_s() - waited)
                self.late_s.append(late)
                self.held_s.append(max(0.0, min(own, time.process_time() - used)))


@contextmanager
def queue() -> Generator[Callable[[], float]]:
    """Gives for how long in all this thread could have run and had no core; 0 if nobody knows."""
    try:
        file = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
    except OSError:
        yield lambda: 0.0
        return
    try:
        yield lambda: int(os.pread(file, 100, 0).split()[1]) / 1e9
    finally:
        os.close(file)
