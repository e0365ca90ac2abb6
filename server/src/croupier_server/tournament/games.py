"""Where games are played: in this process, or by whoever takes them from a queue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from croupier_common.outcome import Color
from croupier_common.verdict import Fault
from croupier_server.croupier import Croupier, Sanction
from croupier_server.operations.tally import Tally
from croupier_server.settings import Clocks
from croupier_server.tournament.ledger import Book, Ledger, result_of
from croupier_server.tournament.model import Result

__all__ = ["Games", "GamesHere", "Played"]


class Played(NamedTuple):
    """A game that is over: its result, which is written down, and how long it was."""

    result: Result
    plies: int


class Games(Protocol):
    """Has games played."""

    async def play(self, book: Book, absent: Mapping[Color, Fault]) -> Played:
        """A game to its end; its result is written down when this returns.

        Args:
            absent: who sits at the table and can't play.

        Raises:
            StorageFailed: nothing can be written down any more.
            Exception: a fault of ours has interrupted it.
        """
        ...


class GamesHere:
    """Plays games in this process.

    Args:
        sanction: see :class:`~croupier_server.croupier.Croupier`.
    """

    def __init__(self, ledger: Ledger, clocks: Clocks, sanction: Sanction, tally: Tally) -> None:
        self._ledger = ledger
        self._clocks = clocks
        self._sanction = sanction
        self._tally = tally

    async def play(self, book: Book, absent: Mapping[Color, Fault]) -> Played:
        """See :meth:`Games.play`."""
        sink = await self._ledger.open(book)
        croupier = Croupier(book.table, self._clocks, sink, self._sanction, self._tally)
        with self._tally.game():
            report = await croupier.play(book.begun, absent)
        return Played(result_of(book.pairing, report, book.unseated), report.plies)
