"""The other gateways of a cluster: whether there are any for players to go to."""

from __future__ import annotations

import asyncio
import secrets
from contextlib import suppress
from typing import Final

import structlog

from croupier_server.cluster.link import Link, LinkDown, Served
from croupier_server.cluster.wire import Message

__all__ = ["Neighbours"]

log = structlog.get_logger(__name__)

_SAY_S: Final = 2.0
"""How often each gateway says that it is there."""

_SILENT: Final = 4
"""Nobody is there who was not heard while so many words of the gateway's own came back in time."""


class Neighbours:
    """Says that this gateway is there, and hears of the others; :meth:`run` has to run meanwhile.

    A gateway hears its own words too; one that comes back before the next is said proves that the
    link is up both ways. So the silence of the others is measured in those, not in seconds: a link
    that is dead, or was until now, says nothing of them, noticed or not.

    Attributes:
        are_there: whether there are others, as it was when the link was last up.
    """

    def __init__(self, link: Link, *, say_s: float = _SAY_S) -> None:
        self.are_there = False
        self._link = link
        self._subject = f"{link.root}.gateways"
        self._me = secrets.token_hex(8)
        self._say_s = say_s
        self._words = 0
        self._unanswered = 0  # of those that came back in time, since another's
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
            self._words += 1
            word = Message({"op": "here", "id": self._me, "n": self._words})
            with suppress(LinkDown):
                await self._link.publish(self._subject, word)
            await asyncio.sleep(self._say_s)

    async def _hear(self, message: Message) -> None:
        if message.text("id") != self._me:
            self._unanswered = 0
            self._note(True)
        elif message.whole("n") == self._words:
            self._unanswered += 1
            if self._unanswered >= _SILENT:
                self._note(False)

    def _note(self, are_there: bool) -> None:
        if are_there is not self.are_there:
            self.are_there = are_there
            log.info("other gateways are there" if are_there else "no other gateway is there")
