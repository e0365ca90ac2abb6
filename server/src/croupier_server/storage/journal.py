"""The journal of one game: its record, written line by line before anybody is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from croupier_common.events import Ended
from croupier_common.game import NumberedEvent
from croupier_common.record import RecordWriter
from croupier_server.storage.database import Database

__all__ = ["GameJournal"]


class GameJournal:
    """Where a game's events go.

    The last events are not written at once but held, to be written together with the result: no
    record has an end whose result is missing, and no result is without the end of its record.

    Args:
        game: the game's row.
        writer: has written the lines so far, or goes on after them.
        written: where `writer` puts its lines.
        epoch: the game's, as it was taken; lines are refused once it is another.
    """

    def __init__(
        self,
        database: Database,
        game: int,
        writer: RecordWriter,
        written: list[str],
        epoch: int = 0,
    ) -> None:
        self._database = database
        self._game = game
        self._writer = writer
        self._written = written
        self._epoch = epoch
        self._final: list[tuple[int, str]] = []

    @property
    def chain(self) -> str:
        """The chain of the last line, be it held."""
        return self._writer.chain

    @property
    def final_lines(self) -> Sequence[tuple[int, str]]:
        """The lines that are held, each with its number; the footer is the last."""
        return tuple(self._final)

    async def write(self, events: Sequence[tuple[NumberedEvent, Mapping[str, Any]]]) -> None:
        """Write events, each with what was observed of it; durable when this returns.

        If the game ends with them, they are held instead.

        Raises:
            Fenced: another took the game over.
            StorageFailed: nothing can be written any more.
        """
        first = self._writer.seq
        for numbered, observed in events:
            self._writer.event(numbered.event, observed)
        lines = list(enumerate(self._written, first))
        self._written.clear()
        if events and isinstance(events[-1][0].event, Ended):
            self._final = lines
        elif lines:
            await self._database.append(self._game, lines, self._epoch)
