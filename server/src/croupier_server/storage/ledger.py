"""A tournament's ledger in the database: what its manager writes down, and what it goes on from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from sqlalchemy import Connection

from croupier_common.jsontypes import is_object
from croupier_common.record import Record, RecordWriter
from croupier_common.verdict import Fault, Phase, Verdict
from croupier_server.croupier import EventSink
from croupier_server.seats import Seat
from croupier_server.storage import catalogue
from croupier_server.storage.catalogue import EntrantRow, RatingRow, TournamentRow
from croupier_server.storage.database import Database
from croupier_server.storage.sink import GameSink, header_line, unfinished_record
from croupier_server.tournament.ledger import Begun, Book, Order, Status
from croupier_server.tournament.model import Pairing, Result

__all__ = ["DatabaseLedger", "Kept"]

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Kept:
    """A tournament that is in the database, and who takes part."""

    row: TournamentRow
    entrants: Sequence[EntrantRow]


class DatabaseLedger:
    """See :class:`~croupier_server.tournament.ledger.Ledger`."""

    def __init__(self, database: Database, tournament: int) -> None:
        self.database = database
        self.tournament = tournament
        self._pairings: dict[str, int] = {}
        self._entrants: dict[str, int] = {}
        self._games: dict[str, int] = {}  # what is being played, by its pairing
        self._epochs: dict[str, int] = {}  # of games that others have played before

    @classmethod
    async def find(cls, database: Database, name: str) -> Kept | None:
        """The tournament of that name, if there is one."""

        def work(connection: Connection) -> Kept | None:
            row = catalogue.find_tournament(connection, name)
            if row is None:
                return None
            return Kept(row, catalogue.entrants(connection, row.id))

        return await database.run(work)

    @classmethod
    async def create(
        cls, database: Database, name: str, format_name: str, seed: int, config: Mapping[str, Any]
    ) -> DatabaseLedger:
        """The ledger of a new tournament."""
        row = await database.run(
            lambda connection: catalogue.create_tournament(
                connection, name, format_name, seed, config
            )
        )
        return cls(database, row.id)

    # -- players

    async def start(self, seats: Sequence[Seat]) -> None:
        """See :class:`~croupier_server.tournament.ledger.Ledger`."""

        def work(connection: Connection) -> list[EntrantRow]:
            catalogue.set_status(connection, self.tournament, "running")
            return [self._add(connection, seat) for seat in seats]

        for row in await self.database.run(work):
            self._entrants[row.name] = row.id

    async def enter(self, seat: Seat) -> None:
        """See :class:`~croupier_server.tournament.ledger.Ledger`."""
        row = await self.database.run(lambda connection: self._add(connection, seat))
        self._entrants[row.name] = row.id

    def _add(self, connection: Connection, seat: Seat) -> EntrantRow:
        options = {
            "max_games": seat.max_games,
            "events": seat.wants_events,
            "legal_actions": seat.wants_legal_actions,
        }
        return catalogue.add_entrant(
            connection,
            self.tournament,
            seat.name,
            seat.kind,
            age=seat.age,
            options=options,
            session=seat.session,
        )

    async def out(self, name: str, fault: Fault) -> None:
        """See :class:`~croupier_server.tournament.ledger.Ledger`."""
        status: catalogue.EntrantStatus = "ejected"
        if fault.verdict in {Verdict.WITHDRAWN, Verdict.DISQUALIFIED}:
            status = "withdrawn" if fault.verdict is Verdict.WITHDRAWN else "disqualified"
        entrant = self._entrants[name]
        reason = {
            "verdict": fault.verdict.value,
            "phase": fault.phase.value,
            "detail": fault.detail,
            "sent": fault.sent,
        }
        await self.database.run(
            lambda connection: catalogue.set_entrant(
                connection, entrant, status=status, reason=reason
            )
        )

    async def strikes(self, name: str, number: int) -> None:
        """See :class:`~croupier_server.tournament.ledger.Ledger`."""
        entrant = self._entrants[name]
        await self.database.run(
            lambda connection: catalogue.set_entrant(connection, entrant, strikes=number)
        )

    async def session(self, name: str, seat: Seat) -> None:
        """See :class:`~croupier_server.tournament.ledger.Ledger`."""
        if seat.session is None:
            return
        entrant, key = self._entrants[name], seat.session
        await self.database.run(
            lambda connection: catalogue.set_entrant(connection, entrant, session=key)
        )

    # -- games

    async def issue(self, pairings: Sequence[Pairing]) -> None:
        """See :class:`~croupier_server.tournament.ledger.Ledger`."""
        rows = await self.database.run(
            lambda connection: catalogue.issue(connection, self.tournament, pairings)
        )
        self._pairings.update((row.game, row.id) for row in rows)

    async def open(self, book: Book) -> EventSink:
        """See :class:`~croupier_server.tournament.ledger.Ledger`."""
        if book.begun is not None:
            lines: list[str] = []
            writer = RecordWriter.resumed(lines.append, book.begun)
            game = self._games[book.pairing.game]
        else:
            writer, lines, first = header_line(book)
            game = await self._begin(book, first)
        return GameSink(
            *(self.database, book, game, writer, lines),
            epoch=self._epochs.get(book.pairing.game, 0),
            ended=lambda: self.ended(book.pairing.game),
        )

    async def _begin(self, book: Book, header_line: str) -> int:
        pairing = self._pairings[book.pairing.game]
        row = await self.database.run(
            lambda connection: catalogue.begin_game(
                connection, pairing, book.attempt, book.table.game, book.seed, header_line
            )
        )
        self._games[book.pairing.game] = row.id
        return row.id

    async def interrupt(self, game: str) -> None:
        """See :class:`~croupier_server.tournament.ledger.Ledger`."""
        row = self._games.pop(game, None)
        if row is not None:
            await self.database.run(lambda connection: catalogue.interrupt_game(connection, row))

    async def settle(self, result: Result) -> None:
        """See :class:`~croupier_server.tournament.ledger.Ledger`."""
        pairing = self._pairings[result.game]

        def work(connection: Connection) -> None:
            if result.kind == "void":
                catalogue.void_result(connection, pairing, result, "void")
            else:
                catalogue.add_result(connection, pairing, result)

        await self.database.run(work)

    async def reopen(self, game: str) -> None:
        """See :class:`~croupier_server.tournament.ledger.Ledger`."""
        pairing = self._pairings[game]
        await self.database.run(lambda connection: catalogue.reopen(connection, pairing))

    def ended(self, game: str) -> None:
        """A game's result is written, or it was interrupted by whoever played it."""
        self._games.pop(game, None)

    def row_of(self, game: str) -> int:
        """The row of a pairing."""
        return self._pairings[game]

    async def running(self, game: str) -> Record | None:
        """The record of a pairing's game as far as it goes; None if none is going on."""
        pairing = self._pairings[game]

        def work(connection: Connection) -> Sequence[str]:
            rows = catalogue.running_games(connection, self.tournament)
            row = next((row for row in rows if row.pairing_id == pairing), None)
            return () if row is None else catalogue.lines(connection, row.id)

        lines = await self.database.read(work)
        return unfinished_record(game, lines) if lines else None

    # -- the whole

    async def restart(self, config: Mapping[str, Any], format_name: str, seed: int) -> None:
        """Nobody has played so far: it may begin with other settings."""
        await self.database.run(
            lambda connection: catalogue.set_config(
                connection, self.tournament, config, format_name, seed
            )
        )

    async def status(self, status: Status) -> None:
        """See :class:`~croupier_server.tournament.ledger.Ledger`."""
        await self.database.run(
            lambda connection: catalogue.set_status(connection, self.tournament, status)
        )

    async def finish(self, result: Mapping[str, Any]) -> None:
        """See :class:`~croupier_server.tournament.ledger.Ledger`."""
        await self.database.run(
            lambda connection: catalogue.set_status(connection, self.tournament, "finished", result)
        )

    async def orders(self) -> Sequence[Order]:
        """See :class:`~croupier_server.tournament.ledger.Ledger`."""
        rows = await self.database.run(
            lambda connection: catalogue.pending_orders(connection, self.tournament)
        )
        return [_order(row) for row in rows]

    async def answer(self, order: Order, outcome: str) -> None:
        """See :class:`~croupier_server.tournament.ledger.Ledger`."""
        await self.database.run(
            lambda connection: catalogue.answer_order(connection, order.id, outcome)
        )

    async def records(self) -> Mapping[str, Sequence[str]]:
        """The lines of every game's record, by the game's name."""

        def work(connection: Connection) -> Mapping[str, Sequence[str]]:
            return {
                row.name: catalogue.lines(connection, row.id)
                for row in catalogue.games(connection, self.tournament)
            }

        return await self.database.run(work)

    async def rate(self, ratings: Sequence[RatingRow]) -> None:
        """Put ratings in the place of all that the tournament had."""
        await self.database.run(
            lambda connection: catalogue.set_ratings(connection, self.tournament, ratings)
        )

    # -- after a restart

    async def begun(self, kept: Kept) -> Begun:
        """How far the tournament was played; a game whose journal is damaged is interrupted."""
        self._entrants = {row.name: row.id for row in kept.entrants}
        found = await self.database.run(self._read)
        self._pairings = found.pairings
        running: dict[str, Record] = {}
        for game, (row, epoch, lines) in found.running.items():
            self._games[game], self._epochs[game] = row, epoch
            record = unfinished_record(game, lines)
            if record is not None:
                running[game] = record
            else:
                await self.interrupt(game)
        return Begun(
            order=tuple(row.name for row in kept.entrants),
            issued=found.issued,
            results=found.results,
            attempts=found.attempts,
            running=running,
            out={row.name: _fault(row) for row in kept.entrants if row.status != "in"},
            strikes={row.name: row.strikes for row in kept.entrants},
            is_paused=kept.row.status == "paused",
        )

    def _read(self, connection: Connection) -> _Found:
        pairings = catalogue.pairings(connection, self.tournament)
        by_id = {row.id: row.game for row in pairings}
        games = catalogue.games(connection, self.tournament)
        return _Found(
            pairings={row.game: row.id for row in pairings},
            issued=tuple(row.pairing for row in pairings),
            results=catalogue.in_journal_order(
                catalogue.results(connection, self.tournament),
                {by_id[row.pairing_id]: (row.ended_ms or 0, row.id) for row in games},
            ),
            attempts=Counter(by_id[row.pairing_id] for row in games),
            running={
                by_id[row.pairing_id]: (row.id, row.epoch, catalogue.lines(connection, row.id))
                for row in catalogue.running_games(connection, self.tournament)
            },
        )


@dataclass(frozen=True, slots=True)
class _Found:
    """What the database has of a tournament.

    Running games by their pairing: row, epoch and lines.
    """

    pairings: dict[str, int]
    issued: tuple[Pairing, ...]
    results: Mapping[str, Result]
    attempts: Mapping[str, int]
    running: Mapping[str, tuple[int, int, Sequence[str]]]


def _order(row: catalogue.OrderRow) -> Order:
    argument = row.argument if is_object(row.argument) else {}
    return Order(row.id, row.verb, str(argument.get("about", "")), str(argument.get("reason", "")))


def _fault(row: EntrantRow) -> Fault:
    reason = row.reason if is_object(row.reason) else {}
    sent = reason.get("sent")
    return Fault(
        Verdict(str(reason.get("verdict", Verdict.WITHDRAWN))),
        Phase(str(reason.get("phase", Phase.TOURNAMENT))),
        str(reason.get("detail", "")),
        None if sent is None else str(sent),
    )
