"""The heartbeat of the event loop, which tells for how long it could not run."""

from __future__ import annotations

import asyncio

from croupier_server.clock import BEAT_S, StallMeter

__all__ = ["Heartbeat"]


class Heartbeat:
    """Beats in the running loop from :meth:`start` to :meth:`stop`.

    Attributes:
        meter: what it has told so far.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.meter = StallMeter(self._loop.time())
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Beat from now on."""
        if self._timer is None:
            self._timer = self._loop.call_later(BEAT_S, self._beat)

    def stop(self) -> None:
        """Beat no more; may be called twice, or before the start."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _beat(self) -> None:
        self.meter.beat(self._loop.time())
        self._timer = self._loop.call_later(BEAT_S, self._beat)
