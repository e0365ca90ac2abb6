"""The events' stream as pages follow it: told that a watched game has something new, they look."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from croupier_server.cluster.link import Link, Served
from croupier_server.cluster.wire import Message

__all__ = ["FollowedEvents"]


class FollowedEvents:
    """See :class:`~croupier_server.spectators.Bell`: rung by the events of the watched games."""

    def __init__(self, link: Link) -> None:
        self.rung = asyncio.Event()
        self._link = link
        self._served: dict[int, Served] = {}

    async def follow(self, games: Collection[int]) -> None:
        """See :class:`~croupier_server.spectators.Bell`."""
        for game in [game for game in self._served if game not in games]:
            await self._served.pop(game).stop()
        for game in games:
            if game not in self._served:
                subject = f"{self._link.root}.events.{game}"
                self._served[game] = await self._link.serve(subject, self._ring)

    async def _ring(self, _: Message) -> None:
        self.rung.set()
