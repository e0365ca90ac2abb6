"""The manager's side of the queue: offers games, and finds in the database how they ended."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import structlog
from nats.errors import Error as NatsError

from croupier_common.outcome import Color
from croupier_common.verdict import Fault
from croupier_server.cluster.queue import GamesQueue, Offer
from croupier_server.errors import ServerFault
from croupier_server.storage import catalogue
from croupier_server.storage.database import Database
from croupier_server.storage.ledger import DatabaseLedger
from croupier_server.tournament.games import Played
from croupier_server.tournament.ledger import Book

__all__ = ["Dealer", "QueuedGames"]

log = structlog.get_logger(__name__)

LOOK_S: Final = 1.0
"""How often the database is asked for all games that are out, whatever was told."""

APART_S: Final = 0.02
"""The least time between two looks."""

AT_ONCE: Final = 32
"""How many games are on their way to the queue at a time."""

AGAIN_S: Final = 1.0
"""After how long a game that could not be offered is offered again."""

MOST_S: Final = 8.0
"""The same at most, for one that is in the queue already: each time it is twice as long."""

SURE_S: Final = 30.0
"""After how long one that was offered is offered again: the queue may have been lost."""


@dataclass(slots=True, eq=False)
class _Out:
    """A game that is played somewhere; ``due`` is when it is offered, by the monotonic clock."""

    offer: Offer
    over: asyncio.Future[Played]
    due: float = 0.0
    again_s: float = AGAIN_S


@dataclass(slots=True)
class Dealer:
    """Has games played by workers; :meth:`run` has to run meanwhile."""

    queue: GamesQueue
    database: Database
    _out: dict[int, _Out] = field(default_factory=dict[int, _Out])
    _told: set[int] = field(default_factory=set[int])
    _bell: asyncio.Event = field(default_factory=asyncio.Event)

    async def play(self, offer: Offer) -> Played:
        """Have a game played; its result is written down when this returns.

        Raises:
            ServerFault: a fault of ours has interrupted it.
        """
        out = _Out(offer, asyncio.get_running_loop().create_future())
        self._out[offer.pairing] = out
        self._bell.set()
        try:
            return await out.over
        finally:
            del self._out[offer.pairing]

    def ended(self, pairing: int) -> None:
        """Somebody says that a game is over; the database knows."""
        if pairing in self._out:
            self._told.add(pairing)
            self._bell.set()

    async def run(self) -> None:
        """Offer games and find their ends, until this is cancelled.

        Raises:
            StorageFailed: the database can't be read any more.
        """
        self.queue.link.on_reconnect.append(self._offer_all)
        try:
            await self._run()
        finally:
            self.queue.link.on_reconnect.remove(self._offer_all)

    def _offer_all(self) -> None:
        """NATS is back, and may have lost the queue."""
        for out in self._out.values():
            out.due = 0.0
        self._bell.set()

    async def _run(self) -> None:
        looked = 0.0
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S):
                    await self._bell.wait()
            self._bell.clear()
            now = time.monotonic()
            told, self._told = self._told, set()  # what is told during a look is for the next one
            if now - looked >= LOOK_S:
                looked = now
                await self._look(list(self._out))
            elif told:
                await self._look([pairing for pairing in told if pairing in self._out])
            await self._offer(now)
            await asyncio.sleep(APART_S)

    async def _look(self, pairings: Sequence[int]) -> None:
        if not pairings:
            return
        settled = await self.database.read(lambda c: catalogue.settled(c, pairings))
        for pairing, found in settled.items():
            out = self._out.get(pairing)
            if out is None or out.over.done():
                continue
            if found.result is not None:
                out.over.set_result(Played(found.result, found.plies))
            elif found.interrupted is not None and found.interrupted >= out.offer.attempt:
                out.over.set_exception(ServerFault("a worker has interrupted it"))

    async def _offer(self, now: float) -> None:
        """Offer what is due; one that can't be offered now is due again soon."""
        due = [out for out in self._out.values() if out.due <= now]
        for first in range(0, len(due), AT_ONCE):
            some = due[first : first + AT_ONCE]
            for out in some:
                out.due = now + AGAIN_S
            found = await asyncio.gather(
                *(self._offer_one(out, now) for out in some), return_exceptions=True
            )
            for problem in found:
                if isinstance(problem, BaseException):
                    await self._offers_failed(problem)
                    return

    async def _offer_one(self, out: _Out, now: float) -> None:
        if await self.queue.offer(out.offer):
            out.due = now + SURE_S
        else:
            out.due = now + out.again_s
            out.again_s = min(2 * out.again_s, MOST_S)

    async def _offers_failed(self, problem: BaseException) -> None:
        """NATS is away, or its queue: see that there is one."""
        if not isinstance(problem, NatsError | TimeoutError):
            raise problem
        log.warning("games can't be offered now", reason=str(problem) or repr(problem))
        with suppress(NatsError, TimeoutError):
            await self.queue.open()


class QueuedGames:
    """A tournament's games on the queue; see :class:`~croupier_server.tournament.games.Games`."""

    def __init__(self, dealer: Dealer, ledger: DatabaseLedger) -> None:
        self._dealer = dealer
        self._ledger = ledger

    async def play(self, book: Book, absent: Mapping[Color, Fault]) -> Played:  # noqa: ARG002 - the worker sees for itself
        """See :meth:`~croupier_server.tournament.games.Games.play`."""
        row = self._ledger.row_of(book.pairing.game)
        offer = Offer(self._ledger.tournament, row, book.attempt, book.unseated)
        try:
            return await self._dealer.play(offer)
        finally:
            self._ledger.ended(book.pairing.game)
