"""The heartbeat of the event loop, which tells for how long it could not run."""

from __future__ import annotations

import asyncio

from croupier_server.clock import BEAT_S, StallMeter
from croupier_server.operations.tally import Distribution

__all__ = ["Heartbeat"]


class Heartbeat:
    """Beats in the running loop from :meth:`start` to :meth:`stop`.

    Args:
        lag: gets how late each beat came, in seconds.

    Attributes:
        meter: what it has told so far.
    """

    def __init__(self, lag: Distribution | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self.meter = StallMeter(self._loop.time())
        self._lag = lag
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Beat from now on."""
        if self._timer is None:
            self._set_timer(self._loop.time())

    def stop(self) -> None:
        """Beat no more; may be called twice, or before the start."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _beat(self) -> None:
        now = self._loop.time()
        self.meter.beat(now)
        if self._lag is not None:
            self._lag.add(max(0.0, now - self._due))
        self._set_timer(now)

    def _set_timer(self, now: float) -> None:
        self._due = now + BEAT_S
        self._timer = self._loop.call_later(BEAT_S, self._beat)
