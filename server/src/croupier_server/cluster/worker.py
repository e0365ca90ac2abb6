"""A worker: takes games from the queue and plays them, with players that gateways hold."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

import structlog
from nats.errors import Error as NatsError
from sqlalchemy import Connection
from structlog.contextvars import bind_contextvars

from croupier_common.outcome import Color
from croupier_common.record import Record, RecordWriter
from croupier_common.verdict import Fault
from croupier_server.cluster.asking import ask_manager
from croupier_server.cluster.link import Link, LinkDown
from croupier_server.cluster.queue import Delivery, GamesQueue, Offer, Taker
from croupier_server.cluster.remote_seat import Patience, RemoteSeat
from croupier_server.cluster.told import ToldSink
from croupier_server.cluster.wire import Message, fault_to_json
from croupier_server.config import settled_by
from croupier_server.croupier import Croupier
from croupier_server.ending import to_its_end
from croupier_server.errors import Fenced, ServerFault, StorageFailed
from croupier_server.gateway.house_seat import HousePool, HouseSeat
from croupier_server.operations.tally import Tally
from croupier_server.seats import AwaySeat, Seat
from croupier_server.settings import Settings
from croupier_server.storage import catalogue
from croupier_server.storage.catalogue import EntrantRow, Taken, TournamentRow
from croupier_server.storage.database import Database
from croupier_server.storage.sink import GameSink, header_line, unfinished_record
from croupier_server.tournament.booking import book_of
from croupier_server.tournament.ledger import Book
from croupier_server.tournament.model import Pairing

__all__ = ["Worker"]

log = structlog.get_logger(__name__)

TAKE_S: Final = 5.0
"""How long one look into the queue waits for a game."""

AT_ONCE: Final = 4
"""How many games are taken in one look, so that other workers get theirs."""

DRAIN_S: Final = 2.0
"""How long the last words of a game may take to arrive."""

AGAIN_S: Final = 1.0
"""After how long the queue is looked for again that could not be reached."""


@dataclass(slots=True)
class _Ground:
    """What a worker knows of a tournament that does not change."""

    row: TournamentRow
    settings: Settings


@dataclass(frozen=True, slots=True)
class _Sitting:
    """A game that was taken: what is paired, who plays, and how far it is."""

    pairing: Pairing
    entrants: Mapping[str, EntrantRow]


class Worker:
    """Plays games until it is cancelled.

    Args:
        settings: the worker's own; what a tournament is played by is in the database.
        tally: counts games, turns and verdicts.
    """

    def __init__(
        self, settings: Settings, link: Link, database: Database, pool: HousePool, tally: Tally
    ) -> None:
        self._settings = settings
        self._link = link
        self._database = database
        self._pool = pool
        self._tally = tally
        self._lost_s = settings.cluster.lost_ms / 1000
        self._queue = GamesQueue(link, self._lost_s)
        self._grounds: dict[int, _Ground] = {}
        self._playing: dict[asyncio.Task[None], Delivery] = {}
        self._failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def playing(self) -> int:
        """How many games it has."""
        return len(self._playing)

    async def run(self) -> None:
        """Take games and play them.

        However it ends, the games that run are given to others at once.

        Raises:
            StorageFailed: the database can't be written any more.
        """
        taking = asyncio.create_task(self._take(), name="take games")
        beating = asyncio.create_task(self._beat(), name="still at it")
        try:
            await asyncio.wait({taking, self._failed}, return_when=asyncio.FIRST_COMPLETED)
            for ended in (self._failed, taking):
                if ended.done():
                    await ended
        except asyncio.CancelledError:
            taking.cancel()
            await to_its_end(self._wind_up())
            raise
        finally:
            taking.cancel()
            beating.cancel()
            await to_its_end(self._give_back())

    async def _wind_up(self) -> None:
        """Let the games that run come to their ends, as long as the settings let them."""
        limit_s = self._settings.server.drain_ms / 1000
        if limit_s and self._playing:
            log.warning("no new games; the worker stops when those that run are over")
            await asyncio.wait(set(self._playing), timeout=limit_s)

    # -- the queue

    async def _take(self) -> None:
        taker: Taker | None = None
        while True:
            try:
                if taker is None:
                    taker = await self._queue.taker()
                await self._take_some(taker)
            except (NatsError, TimeoutError) as problem:
                log.warning("the queue can't be reached", reason=str(problem) or repr(problem))
                await asyncio.sleep(AGAIN_S)
                taker = None

    async def _take_some(self, taker: Taker) -> None:
        free = self._settings.cluster.games_per_worker - len(self._playing)
        if free <= 0:
            await asyncio.wait(set(self._playing), return_when=asyncio.FIRST_COMPLETED)
            return
        for delivery in await taker.take(min(free, AT_ONCE), TAKE_S):
            pairing = delivery.offer.pairing
            task = asyncio.create_task(self._play(delivery), name=f"pairing {pairing}")
            self._playing[task] = delivery
            task.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[None]) -> None:
        del self._playing[task]
        if task.cancelled():
            return
        problem = task.exception()
        if problem is not None and not self._failed.done():
            self._failed.set_exception(problem)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self._lost_s / 4)
            for delivery in list(self._playing.values()):
                await delivery.still_at_it()

    async def _give_back(self) -> None:
        """Let others go on with the games that run here."""
        playing = dict(self._playing)
        for task in playing:
            task.cancel()
        if playing:
            await asyncio.wait(playing)
        for delivery in playing.values():
            await delivery.give_back()

    # -- a game

    async def _play(self, delivery: Delivery) -> None:
        """Play a game to its end, or as long as it is ours."""
        offer = delivery.offer
        try:
            await self._play_offer(offer)
        except Fenced:
            log.warning("another worker has this game now", pairing=offer.pairing)
            return
        except StorageFailed:
            await delivery.give_back()
            raise
        await self._tell_ended(offer)
        await delivery.done()

    async def _play_offer(self, offer: Offer) -> None:
        ground = await self._ground(offer.tournament)
        if ground is None:
            log.error("a game of a tournament that is not there", tournament=offer.tournament)
            return
        sitting = await self._database.read(lambda c: _sitting(c, offer))
        if sitting is None:
            log.error("a game of a pairing that is not there", pairing=offer.pairing)
            return
        pairing, seed, game = sitting.pairing, ground.row.seed, ground.settings.game
        bind_contextvars(tournament=ground.row.name, game=pairing.game)
        book = book_of(pairing, game, seed, offer.attempt, offer.unseated, _placeholder)
        writer, lines, first = header_line(book)
        taken = await self._database.run(
            lambda c: catalogue.take_game(
                *(c, offer.pairing),
                attempt=offer.attempt,
                name=book.table.game,
                seed=book.seed,
                header_line=first,
            )
        )
        if taken is None:
            return
        begun: Record | None = None
        if not taken.is_new:
            begun = unfinished_record(pairing.game, taken.lines)
            if begun is None:
                await self._interrupt(taken)
                return
            attempt = taken.row.attempt
            book = book_of(pairing, game, seed, attempt, offer.unseated, _placeholder, begun)
            writer = RecordWriter.resumed(lines.append, begun)
        seats = self._seats(ground, sitting, book, taken.row.epoch)
        book = replace(book, table=replace(book.table, seats=seats))
        await self._play_book(ground, book, taken, writer, lines)
        await asyncio.gather(
            *(seat.drained(DRAIN_S) for seat in seats.values() if isinstance(seat, RemoteSeat))
        )

    async def _play_book(
        self, ground: _Ground, book: Book, taken: Taken, writer: RecordWriter, lines: list[str]
    ) -> None:
        row = taken.row
        sink = GameSink(self._database, book, row.id, writer, lines, epoch=row.epoch)
        told = ToldSink(sink, self._link, row.id)

        async def sanction(name: str, fault: Fault) -> bool:
            return await self._sanction(ground.row.name, book.table.game, name, fault)

        croupier = Croupier(book.table, ground.settings.clocks, told, sanction, self._tally)
        try:
            with self._tally.game():
                await croupier.play(book.begun)
        except (Fenced, StorageFailed):
            raise
        except Exception:
            log.exception("game interrupted by a fault of ours", game=book.table.game)
            await self._interrupt(taken)

    async def _interrupt(self, taken: Taken) -> None:
        row = taken.row
        with suppress(ServerFault):  # it has ended meanwhile, or is another's
            await self._database.run(lambda c: catalogue.interrupt_game(c, row.id, epoch=row.epoch))

    # -- the manager's part

    async def _sanction(self, tournament: str, game: str, name: str, fault: Fault) -> bool:
        told = {"tournament": tournament, "game": game, "name": name, "fault": fault_to_json(fault)}
        answer = await ask_manager(self._link, Message({"op": "sanction", **told}))
        return answer.head.get("is_out") is True

    async def _tell_ended(self, offer: Offer) -> None:
        with suppress(LinkDown):  # the manager looks by itself, now and then
            told = Message({"op": "ended", "pairing": offer.pairing})
            await self._link.publish(f"{self._link.root}.ended", told)

    # -- what is known of tournaments

    async def _ground(self, tournament: int) -> _Ground | None:
        if tournament not in self._grounds:
            row = await self._database.read(lambda c: catalogue.tournament_by_id(c, tournament))
            if row is None:
                return None
            self._grounds[tournament] = _Ground(row, settled_by(row.config, self._settings))
        return self._grounds[tournament]

    def _seats(
        self, ground: _Ground, sitting: _Sitting, book: Book, epoch: int
    ) -> Mapping[Color, Seat]:
        """The seats of a game that was taken."""
        return {
            color: self._seat(ground, sitting.entrants[seat.name], epoch)
            for color, seat in book.table.seats.items()
        }

    def _seat(self, ground: _Ground, entrant: EntrantRow, epoch: int) -> Seat:
        if entrant.kind == "house":
            entry = {one.name: one for one in ground.settings.lobby.house}[entrant.name]
            return HouseSeat(entry, ground.row.seed, self._pool)
        if entrant.session is None:
            return AwaySeat(entrant.name, entrant.kind)
        clocks, options = ground.settings.clocks, entrant.options

        def missing(name: str) -> None:
            told = {"op": "missing", "tournament": ground.row.name, "name": name}
            _ = self._link.hold(self._tell_missing(Message(told)))

        return RemoteSeat(
            *(self._link, entrant.name, entrant.session),
            age=entrant.age,
            wants_events=bool(options.get("events")),
            wants_legal_actions=bool(options.get("legal_actions")),
            max_games=int(options.get("max_games", 1)),
            epoch=epoch,
            patience=Patience(
                self._settings.storage.resume_wait_ms / 1000,
                clocks.latency_allowance_ms / 1000,
                clocks.grace_ms / 1000,
                missing,
            ),
        )

    async def _tell_missing(self, message: Message) -> None:
        with suppress(LinkDown):
            await self._link.publish(f"{self._link.root}.missing", message)


def _placeholder(name: str) -> Seat:
    """Whoever sits there once the game is taken."""
    return AwaySeat(name, "remote")


def _sitting(connection: Connection, offer: Offer) -> _Sitting | None:
    row = catalogue.pairing_by_id(connection, offer.pairing)
    if row is None or row.tournament_id != offer.tournament:
        return None
    found = catalogue.entrants_named(connection, offer.tournament, row.players)
    return _Sitting(row.pairing, {entrant.name: entrant for entrant in found})
