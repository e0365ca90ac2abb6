"""A worker: takes games from the queue, as many as it may have, and plays them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

import structlog
from nats.errors import Error as NatsError
from sqlalchemy import Connection, text

from croupier_server.cluster.link import Link, LinkDown
from croupier_server.cluster.playing import Playing
from croupier_server.cluster.queue import Delivery, GamesQueue, Offer, Taker
from croupier_server.cluster.wire import Message
from croupier_server.ending import to_its_end
from croupier_server.errors import Fenced, StorageFailed
from croupier_server.gateway.house_seat import HousePool
from croupier_server.operations.tally import Tally
from croupier_server.settings import Settings
from croupier_server.storage.database import Database

__all__ = ["Worker"]

log = structlog.get_logger(__name__)

TAKE_S: Final = 5.0
"""How long one look into the queue waits for a game."""

AT_ONCE: Final = 4
"""How many games are taken in one look, so that other workers get theirs."""

AGAIN_S: Final = 1.0
"""After how long the queue is looked for again that could not be reached."""


class Worker:
    """Plays games until it is cancelled; see :class:`~croupier_server.cluster.playing.Playing`."""

    def __init__(
        self, settings: Settings, link: Link, database: Database, pool: HousePool, tally: Tally
    ) -> None:
        self._link = link
        self._database = database
        self._playing = Playing(settings, link, database, pool, tally)
        self._most = settings.cluster.games_per_worker
        self._drain_s = settings.server.drain_ms / 1000
        self._lost_s = settings.cluster.lost_ms / 1000
        self._queue = GamesQueue(link, self._lost_s)
        self._games: dict[asyncio.Task[None], Delivery] = {}
        self._failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._is_anew = False  # the link was lost meanwhile, and the way to the queue with it

    async def run(self) -> None:
        """Take games and play them.

        However it ends, the games that run are given to others at once; but if it is cancelled,
        they first have as long as the settings say to come to their ends.

        Raises:
            StorageFailed: the database can't be written any more.
        """
        taking = asyncio.create_task(self._take(), name="take games")
        beating = asyncio.create_task(self._beat(), name="still at it")
        self._link.on_reconnect.append(self._link_is_back)
        try:
            working = {taking, beating, self._failed}
            await asyncio.wait(working, return_when=asyncio.FIRST_COMPLETED)
            for ended in (self._failed, taking, beating):
                if ended.done():
                    await ended
        except asyncio.CancelledError:
            await to_its_end(self._wind_up(taking))
            raise
        finally:
            self._link.on_reconnect.remove(self._link_is_back)
            beating.cancel()
            await to_its_end(self._give_back(taking))

    async def _wind_up(self, taking: asyncio.Task[None]) -> None:
        """Let the games that run come to their ends, as long as the settings let them."""
        await _ended(taking)
        if self._drain_s and self._games:
            log.warning("no new games; the worker stops when those that run are over")
            await asyncio.wait(set(self._games), timeout=self._drain_s)

    async def _give_back(self, taking: asyncio.Task[None]) -> None:
        """Let others go on with the games that run here."""
        await _ended(taking)  # or it might take what another has just given back
        games = dict(self._games)
        for task in games:
            task.cancel()
        if games:
            await asyncio.wait(games)
        for delivery in games.values():
            await delivery.give_back()

    # -- the queue

    def _link_is_back(self) -> None:
        self._is_anew = True

    async def _take(self) -> None:
        taker: Taker | None = None
        is_told = False
        try:
            while True:
                try:
                    if taker is None or self._is_anew:
                        taker = await self._anew(taker)
                    await self._take_some(taker)
                except (NatsError, TimeoutError) as problem:
                    if not is_told:
                        reason = str(problem) or repr(problem)
                        log.warning("the queue can't be reached", reason=reason)
                    is_told = self._is_anew = True
                    await asyncio.sleep(AGAIN_S)
                else:
                    is_told = False
        finally:  # what it has asked for and not got would come here, and be played by nobody
            if taker is not None:
                await to_its_end(taker.close())

    async def _anew(self, taker: Taker | None) -> Taker:
        if taker is not None:
            await taker.close()
        self._is_anew = False
        return await self._queue.taker()

    async def _take_some(self, taker: Taker) -> None:
        await self._database.read(_nothing)  # where it is silent, other workers are to get them
        free = self._most - len(self._games)
        if free <= 0:
            await asyncio.wait(set(self._games), return_when=asyncio.FIRST_COMPLETED)
            return
        for delivery in await taker.take(min(free, AT_ONCE), TAKE_S):
            pairing = delivery.offer.pairing
            task = asyncio.create_task(self._play(delivery), name=f"pairing {pairing}")
            self._games[task] = delivery
            task.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[None]) -> None:
        del self._games[task]
        problem = None if task.cancelled() else task.exception()
        if problem is not None and not self._failed.done():
            self._failed.set_exception(problem)

    async def _beat(self) -> None:
        """Say of all games that they go on, which they don't while the database is silent."""
        while True:
            await asyncio.sleep(self._lost_s / 4)
            try:
                await self._database.read(_nothing)
            except StorageFailed:  # the games find that for themselves
                return
            for delivery in list(self._games.values()):
                await delivery.still_at_it()

    # -- a game

    async def _play(self, delivery: Delivery) -> None:
        """Play a game to its end, or as long as it is ours."""
        offer = delivery.offer
        try:
            await self._playing.play(offer)
        except Fenced:
            log.warning("another worker has this game now", pairing=offer.pairing)
        except StorageFailed:
            await delivery.give_back()
            raise
        except Exception:  # one game never ends those of others
            log.exception("an offered game could not be played", pairing=offer.pairing)
            await delivery.give_back(AGAIN_S)  # it may be this worker that can't
        else:
            await self._tell_ended(offer)
            await delivery.done()

    async def _tell_ended(self, offer: Offer) -> None:
        with suppress(LinkDown):  # the manager looks by itself, now and then
            told = Message({"op": "ended", "pairing": offer.pairing})
            await self._link.publish(f"{self._link.root}.ended", told)


def _nothing(connection: Connection) -> None:
    connection.execute(text("SELECT 1"))


async def _ended(task: asyncio.Task[None]) -> None:
    """Have a task end, and wait until it has.

    To cancel it once is not enough: where a message comes at that moment, ``asyncio.wait_for``,
    by which the client of NATS waits, gives the message and forgets the cancellation (before
    Python 3.12).
    """
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=0.1)
