"""The drain of a manager that holds players itself: their games could not end without it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import structlog

from croupier_server.operations.drain import LOOK_S

if TYPE_CHECKING:
    from croupier_server.cluster.local_seats import LocalSeats
    from croupier_server.operations.drain import Hall
    from croupier_server.rooms import Rooms

__all__ = ["ManagerDrain"]

log = structlog.get_logger(__name__)


class ManagerDrain:
    """Lets the games that run come to their ends, and no others begin; use once.

    A manager that holds nobody goes at once: workers end its games, or the next manager has more
    of them begin.

    Args:
        limit_s: how long they may take.
    """

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._doors: Rooms | None = None
        self._halls: Sequence[Hall] = ()
        self._local: LocalSeats | None = None

    def watch(self, doors: Rooms, halls: Sequence[Hall], local: LocalSeats) -> None:
        """Drain these, if it comes to that: the manager is active."""
        self._doors, self._halls, self._local = doors, halls, local

    async def run(self) -> None:
        """Wait until nothing runs any more, or the time is over."""
        if not self._limit_s or self._doors is None or not (self._local and self._local.is_needed):
            return
        self._doors.is_held = True
        for hall in self._halls:
            hall.hold()
        log.warning(
            "no new games; the manager stops when those that run are over", limit_s=self._limit_s
        )
        with suppress(TimeoutError):
            async with asyncio.timeout(self._limit_s):
                while any(hall.is_busy for hall in self._halls):  # noqa: ASYNC110 - several tell it
                    await asyncio.sleep(LOOK_S)
