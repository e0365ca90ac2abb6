"""The other gateways of a cluster: whether there are any for players to go to."""

from __future__ import annotations

import asyncio
import math
import secrets
from contextlib import suppress
from typing import Final

from croupier_server.cluster.link import Link, LinkDown, Served
from croupier_server.cluster.wire import Message

__all__ = ["Neighbours"]

SAY_S: Final = 2.0
"""How often each gateway says that it is there."""

GONE_S: Final = 3 * SAY_S
"""One that was not heard for so long is gone."""


class Neighbours:
    """Says that this gateway is there, and hears of the others; :meth:`run` has to run meanwhile.

    Attributes:
        are_there: whether there are others, as it was when the link was last up.
    """

    def __init__(self, link: Link) -> None:
        self.are_there = False
        self._link = link
        self._subject = f"{link.root}.gateways"
        self._me = secrets.token_hex(8)
        self._heard = -math.inf
        self._served: Served | None = None

    async def open(self) -> None:
        """Be one of them."""
        self._served = await self._link.serve(self._subject, self._hear)

    async def close(self) -> None:
        """Be none of them any more."""
        if self._served is not None:
            await self._served.stop()

    async def run(self) -> None:
        """Say so, now and then, until this is cancelled."""
        while True:
            if self._link.is_connected:
                with suppress(LinkDown):
                    await self._link.publish(self._subject, Message({"op": "here", "id": self._me}))
                self.are_there = asyncio.get_running_loop().time() - self._heard < GONE_S
            await asyncio.sleep(SAY_S)

    async def _hear(self, message: Message) -> None:
        if message.text("id") != self._me:
            self._heard = asyncio.get_running_loop().time()
            self.are_there = True
