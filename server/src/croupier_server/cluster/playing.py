"""One game at a worker: taken from the database, played with whoever gateways hold, and ended."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

import structlog
from sqlalchemy import Connection
from structlog.contextvars import bind_contextvars

from croupier_common.outcome import Color
from croupier_common.record import RecordWriter
from croupier_common.verdict import Fault
from croupier_server.cluster.asking import ask_manager
from croupier_server.cluster.link import Link, LinkDown
from croupier_server.cluster.local_seats import LOCAL, local_key
from croupier_server.cluster.queue import Offer
from croupier_server.cluster.remote_seat import BeganAnew, Patience, RemoteSeat
from croupier_server.cluster.told import ToldSink
from croupier_server.cluster.wire import Message, fault_to_json
from croupier_server.config import settled_by
from croupier_server.croupier import Croupier
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

__all__ = ["Playing"]

log = structlog.get_logger(__name__)

DRAIN_S: Final = 2.0
"""How long the last words of a game may take to arrive."""


@dataclass(frozen=True, slots=True)
class _Ground:
    """What a worker knows of a tournament; it does not change once games are played."""

    row: TournamentRow
    settings: Settings


@dataclass(frozen=True, slots=True)
class _Sitting:
    """What is paired in an offer, and who plays."""

    ground: _Ground
    pairing: Pairing
    entrants: Mapping[str, EntrantRow]


@dataclass(frozen=True, slots=True)
class _Begun:
    """A game that was taken: its table, and where its record goes on."""

    book: Book
    taken: Taken
    writer: RecordWriter
    lines: list[str]


class Playing:
    """Plays offered games.

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
        self._grounds: dict[int, _Ground] = {}

    async def play(self, offer: Offer) -> None:
        """Play a game to its end, be that a fault of ours; nothing, if it is over.

        Raises:
            Fenced: another has taken it over.
            StorageFailed: nothing can be written any more.
        """
        sitting = await self._sitting(offer)
        if sitting is None:
            log.error("offered is a game that is not there", pairing=offer.pairing)
            return
        bind_contextvars(tournament=sitting.ground.row.name, game=sitting.pairing.game)
        begun = await self._take(offer, sitting)
        if begun is not None:
            seats = self._seats(sitting, begun)
            far = [seat for seat in seats.values() if isinstance(seat, RemoteSeat)]
            try:
                await self._play(sitting.ground, begun, seats)
                await asyncio.gather(*(seat.drained(DRAIN_S) for seat in far))
            finally:
                for seat in far:
                    if seat.kind in LOCAL:  # it would be waited for without an end
                        seat.give_up()

    # -- taking it

    async def _sitting(self, offer: Offer) -> _Sitting | None:
        ground = await self._ground(offer.tournament)
        if ground is None:
            return None

        def work(connection: Connection) -> _Sitting | None:
            row = catalogue.pairing_by_id(connection, offer.pairing)
            if row is None or row.tournament_id != offer.tournament:
                return None
            found = catalogue.entrants_named(connection, offer.tournament, row.players)
            return _Sitting(ground, row.pairing, {entrant.name: entrant for entrant in found})

        return await self._database.read(work)

    async def _ground(self, tournament: int) -> _Ground | None:
        if tournament not in self._grounds:
            row = await self._database.read(lambda c: catalogue.tournament_by_id(c, tournament))
            if row is None:
                return None
            self._grounds[tournament] = _Ground(row, settled_by(row.config, self._settings))
        return self._grounds[tournament]

    async def _take(self, offer: Offer, sitting: _Sitting) -> _Begun | None:
        """Begin the game, or go on with it; None if there is nothing to play."""
        ground, pairing = sitting.ground, sitting.pairing
        game, seed = ground.settings.game, ground.row.seed
        book = book_of(pairing, game, seed, offer.attempt, offer.unseated, _placeholder)
        writer, lines, first = header_line(book)
        taken = await self._database.run(
            lambda connection: catalogue.take_game(
                connection,
                offer.pairing,
                attempt=offer.attempt,
                name=book.table.game,
                seed=book.seed,
                header_line=first,
            )
        )
        if taken is None or taken.is_new:
            return None if taken is None else _Begun(book, taken, writer, lines)
        begun = unfinished_record(pairing.game, taken.lines)
        if begun is None:
            await self._interrupt(taken)
            return None
        attempt = taken.row.attempt
        book = book_of(pairing, game, seed, attempt, offer.unseated, _placeholder, begun)
        return _Begun(book, taken, RecordWriter.resumed(lines.append, begun), lines)

    # -- playing it

    async def _play(self, ground: _Ground, begun: _Begun, seats: Mapping[Color, Seat]) -> None:
        row, tournament = begun.taken.row, ground.row.name
        table = replace(begun.book.table, seats=seats)
        book = replace(begun.book, table=table)
        sink = GameSink(self._database, book, row.id, begun.writer, begun.lines, epoch=row.epoch)

        async def sanction(name: str, fault: Fault) -> bool:
            return await self._sanction(tournament, table.game, name, fault)

        told = ToldSink(sink, self._link, row.id)
        croupier = Croupier(table, ground.settings.clocks, told, sanction, self._tally)
        try:
            with self._tally.game():
                await croupier.play(book.begun)
        except (Fenced, StorageFailed):
            raise
        except BeganAnew as problem:
            log.warning("game interrupted, to be played again", reason=str(problem))
            await self._interrupt(begun.taken)
        except Exception:  # ours, whatever it is: no player is to blame
            log.exception("game interrupted by a fault of ours", game=table.game)
            await self._interrupt(begun.taken)

    async def _interrupt(self, taken: Taken) -> None:
        """Note that a fault of ours has ended a game.

        Raises:
            Fenced: another has taken it over, and it goes on.
        """
        row = taken.row
        try:
            await self._database.run(lambda c: catalogue.interrupt_game(c, row.id, epoch=row.epoch))
        except Fenced:
            raise
        except ServerFault:  # it has ended meanwhile
            pass

    async def _sanction(self, tournament: str, game: str, name: str, fault: Fault) -> bool:
        """The manager's word on what an ejection costs."""
        told = {"tournament": tournament, "game": game, "name": name, "fault": fault_to_json(fault)}
        answer = await ask_manager(self._link, Message({"op": "sanction", **told}))
        return answer.head.get("is_out") is True

    # -- the seats

    def _seats(self, sitting: _Sitting, begun: _Begun) -> Mapping[Color, Seat]:
        return {
            color: self._seat(sitting, seat.name, begun.taken.row.epoch)
            for color, seat in begun.book.table.seats.items()
        }

    def _seat(self, sitting: _Sitting, name: str, epoch: int) -> Seat:
        entrant, ground = sitting.entrants[name], sitting.ground
        if entrant.kind == "house":
            entry = {one.name: one for one in ground.settings.lobby.house}[name]
            return HouseSeat(entry, ground.row.seed, self._pool)
        key, patience = entrant.session, self._patience(ground)
        if entrant.kind in LOCAL:  # the manager says whether it is absent: one has to be there
            key = local_key(ground.row.name, name, entrant.kind)
            patience = replace(patience, resume_wait_s=math.inf)
        if key is None:
            return AwaySeat(name, entrant.kind)
        options = entrant.options
        return RemoteSeat(
            *(self._link, name, key),
            kind=entrant.kind,
            age=entrant.age,
            wants_events=bool(options.get("events")),
            wants_legal_actions=bool(options.get("legal_actions")),
            max_games=int(options.get("max_games", 1)),
            epoch=epoch,
            patience=patience,
        )

    def _patience(self, ground: _Ground) -> Patience:
        def missing(name: str) -> None:
            told = Message({"op": "missing", "tournament": ground.row.name, "name": name})
            _ = self._link.hold(self._tell_missing(told))

        settings = ground.settings.model_copy(update={"storage": self._settings.storage})
        return Patience.of(settings, missing)

    async def _tell_missing(self, message: Message) -> None:
        with suppress(LinkDown):
            await self._link.publish(f"{self._link.root}.missing", message)


def _placeholder(name: str) -> Seat:
    """Whoever sits there once the game is taken."""
    return AwaySeat(name, "remote")
