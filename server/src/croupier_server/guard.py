"""A limit on every wait of a long task, at the price of a single timer."""

from __future__ import annotations

import asyncio
import math
from types import TracebackType
from typing import Self

__all__ = ["Guard"]


class Guard:
    """Ends a block with ``TimeoutError`` when one of its waits takes too long.

    ::

        async with Guard() as guard:
            while ...:
                guard.begin(10.0)
                await something()
                guard.end()

    What ``asyncio.timeout`` around each wait would do; but here a wait that ends in time, as nearly
    all do, sets and cancels no timer. When the timer fires, it looks whether the wait that is on
    now is over its limit, and if not, it is set to when that one would be.
    """

    __slots__ = ("_due", "_limit", "_loop", "_timer", "_timer_due")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._limit = asyncio.timeout(None)
        self._due = math.inf
        self._timer: asyncio.TimerHandle | None = None
        self._timer_due = math.inf

    async def __aenter__(self) -> Self:
        await self._limit.__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        await self._limit.__aexit__(exc_type, exc_value, traceback)

    @property
    def fired(self) -> bool:
        """Whether it has ended the block."""
        return self._limit.expired()

    def begin(self, seconds: float) -> None:
        """A wait begins, and may take so long."""
        self._due = self._loop.time() + seconds
        if self._due < self._timer_due:
            self._set_timer()

    def end(self) -> None:
        """The wait is over."""
        self._due = math.inf

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(self._due, self._look)
        self._timer_due = self._due

    def _look(self) -> None:
        self._timer, self._timer_due = None, math.inf
        now = self._loop.time()
        if self._due <= now:
            self._limit.reschedule(now)
        elif self._due < math.inf:
            self._set_timer()
