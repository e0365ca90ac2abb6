"""Slots: how many programs of submissions may compute at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

__all__ = ["Slots"]


class Slots:
    """So many places to compute in; who asks first gets them first.

    Attributes:
        count: how many there are.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._free = asyncio.Semaphore(count)
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def hold(self, wanted: int = 1) -> AsyncGenerator[None]:
        """Hold some of them, or all where there are fewer."""
        number = min(wanted, self.count)
        held = 0
        try:
            async with self._turn:  # two who each hold one and want two would wait for ever
                for _ in range(number):
                    await self._free.acquire()
                    held += 1
            yield
        finally:
            for _ in range(held):
                self._free.release()
