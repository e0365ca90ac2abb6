"""The drain before a stop: no new games, time for those that run, and a way back for all others."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol

import structlog

from croupier_common.session import CloseCode
from croupier_server.seats import Seat

if TYPE_CHECKING:
    from croupier_server.gateway.websocket import WebSocketGateway
    from croupier_server.rooms import Rooms

__all__ = ["Drain", "Hall"]

log = structlog.get_logger(__name__)

LOOK_S: Final = 0.1
"""How often it is looked who has nothing to do here any more."""


class Hall(Protocol):
    """Where games are played."""

    @property
    def is_busy(self) -> bool:
        """Whether a game runs, or something else that should come to its end."""
        ...

    def hold(self) -> None:
        """Begin nothing any more."""
        ...

    def plays(self, seat: Seat) -> bool:
        """Whether a player is needed for what comes to its end."""
        ...


class Drain:
    """Empties a process; use once.

    Args:
        goodbye: how who is in no game is sent away, and why.
    """

    def __init__(
        self,
        doors: Rooms,
        halls: Sequence[Hall],
        gateway: WebSocketGateway,
        goodbye: tuple[CloseCode, str],
    ) -> None:
        self._doors = doors
        self._halls = halls
        self._gateway = gateway
        self._goodbye = goodbye

    @property
    def is_busy(self) -> bool:
        """Whether anything has yet to come to its end."""
        return any(hall.is_busy for hall in self._halls)

    async def run(self, limit_s: float) -> None:
        """Wait until nothing runs any more, or the time is over."""
        clock = asyncio.get_running_loop().time
        ends = clock() + limit_s
        self._doors.is_held = True
        for hall in self._halls:
            hall.hold()
        log.warning("no new games; the server stops when those that run are over", limit_s=limit_s)
        while True:
            self._gateway.turn_away(self._plays, *self._goodbye)
            if not self.is_busy or clock() >= ends:
                return
            await asyncio.sleep(min(LOOK_S, max(0.0, ends - clock())))

    def _plays(self, seat: Seat) -> bool:
        return any(hall.plays(seat) for hall in self._halls)
