"""Where one game's events go, and its end: the last of them together with the result."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import structlog

from croupier_common.errors import RecordError
from croupier_common.game import NumberedEvent
from croupier_common.record import Header, Record, RecordWriter, read_record
from croupier_common.record import Seat as RecordSeat
from croupier_server import __version__
from croupier_server.croupier import GameReport
from croupier_server.storage import catalogue
from croupier_server.storage.catalogue import Detail
from croupier_server.storage.database import Database
from croupier_server.storage.journal import GameJournal
from croupier_server.tournament.ledger import Book, result_of

__all__ = ["GameSink", "header_line", "unfinished_record"]

log = structlog.get_logger(__name__)


class GameSink:
    """See :class:`~croupier_server.croupier.EventSink`.

    Args:
        game: the game's row.
        epoch: that in which it was taken; with another one now, nothing is written.
        writer: has written the lines so far.
        written: where `writer` puts its lines.
        ended: called once the result is written.
    """

    def __init__(
        self,
        database: Database,
        book: Book,
        game: int,
        writer: RecordWriter,
        written: list[str],
        *,
        epoch: int = 0,
        ended: Callable[[], None] = lambda: None,
    ) -> None:
        self._database = database
        self._book = book
        self._game = game
        self._epoch = epoch
        self._journal = GameJournal(database, game, writer, written, epoch=epoch)
        self._ended = ended

    async def write(
        self,
        events: Sequence[tuple[NumberedEvent, Mapping[str, Any]]],
        report: GameReport | None = None,
    ) -> None:
        """See :class:`~croupier_server.croupier.EventSink`."""
        await self._journal.write(events)
        if report is None:
            return
        result = result_of(self._book.pairing, report, self._book.unseated)
        journal = self._journal
        await self._database.run(
            lambda connection: catalogue.finish_game(
                connection,
                self._game,
                journal.final_lines,
                chain=journal.chain,
                plies=report.plies,
                result=result,
                details=_details(report),
                epoch=self._epoch,
            )
        )
        self._ended()


def header_line(book: Book) -> tuple[RecordWriter, list[str], str]:
    """The first line of a game's record, and the writer of all that follow, with its lines."""
    lines: list[str] = []
    writer = RecordWriter(lines.append)
    writer.header(_header(book), _observed())
    return writer, lines, lines.pop()


def unfinished_record(game: str, lines: Sequence[str]) -> Record | None:
    """A game's record as far as it goes; None if it is damaged, which is a fault of ours."""
    try:
        return read_record((line.encode() for line in lines), unfinished=True)
    except RecordError:
        log.exception("the journal of a game is damaged; it is played again", game=game)
        return None


def _details(report: GameReport) -> dict[str, Detail]:
    details: dict[str, Detail] = {}
    for name in report.players.values():
        fault, spent = report.faults.get(name), report.thinking.get(name)
        details[name] = Detail(
            phase=None if fault is None else fault.phase.value,
            detail=None if fault is None else fault.detail,
            sent=None if fault is None else fault.sent,
            think_ms_total=None if spent is None else spent.total_ms,
            think_ms_max=None if spent is None else spent.most_ms,
            turns=None if spent is None else spent.turns,
        )
    return details


def _header(book: Book) -> Header:
    table = book.table
    return Header(
        game=table.game,
        board=table.board,
        rules=table.rules,
        players=tuple(RecordSeat(seat.name, color) for color, seat in table.seats.items()),
        seed=book.seed,
        spec=book.spec,
    )


def _observed() -> dict[str, Any]:
    return {
        "time_ms": time.time_ns() // 1_000_000,
        "server": f"croupier {__version__}",
        "python": platform.python_version(),
    }
