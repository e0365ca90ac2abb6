"""Records as files: one for each game, a line for each event, flushed before anyone is told."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Protocol

from croupier_common.board_spec import BoardSpec
from croupier_common.game import NumberedEvent
from croupier_common.record import Header, RecordWriter, Seat
from croupier_server import __version__
from croupier_server.croupier import EventSink, Table
from croupier_server.errors import UserError

__all__ = ["RESULT_FILE", "GameStore", "NoRecords", "RecordFolder"]

RESULT_FILE: Final = "tournament.json"
"""The name of the file with the tournament's result."""


class GameStore(Protocol):
    """Opens the place where one game is written."""

    @contextmanager
    def open(self, table: Table, seed: int, spec: BoardSpec) -> Generator[EventSink]:
        """A sink for the game; leaving it by an exception marks the game as interrupted."""
        ...


class NoRecords:
    """Keeps nothing."""

    @contextmanager
    def open(self, table: Table, seed: int, spec: BoardSpec) -> Generator[EventSink]:  # noqa: ARG002
        """See :class:`GameStore`."""
        yield self

    def write(self, events: Sequence[tuple[NumberedEvent, Mapping[str, Any]]]) -> None:
        """See :class:`~croupier_server.croupier.EventSink`."""


class RecordFolder:
    """A tournament's own folder, with a record for each game, named by its id.

    The folders of one place are numbered from 1, so that no run touches what another has left.

    Raises:
        UserError: the folder can't be made.
    """

    def __init__(self, place: Path) -> None:
        try:
            place.mkdir(parents=True, exist_ok=True)
            self.path = _next_folder(place)
        except OSError as problem:
            raise UserError(f"{place}: {problem.strerror}") from None

    @contextmanager
    def open(self, table: Table, seed: int, spec: BoardSpec) -> Generator[EventSink]:
        """See :class:`GameStore`."""
        path = self.path / f"{table.game}.jsonl"
        header = Header(
            game=table.game,
            board=table.board,
            rules=table.rules,
            players=tuple(Seat(seat.name, color) for color, seat in table.seats.items()),
            seed=seed,
            spec=spec,
        )
        with path.open("x", encoding="utf-8", newline="\n") as file:

            def write(lines: str) -> None:
                file.write(lines)
                file.flush()

            writer = RecordWriter(write)
            writer.header(header, _observed())
            try:
                yield _FileSink(writer)
            except BaseException as problem:
                writer.interrupted(type(problem).__name__)
                raise

    def finish(self, result: Mapping[str, Any]) -> None:
        """Write the tournament's result beside its games, whole or not at all."""
        written = self.path / f"{RESULT_FILE}.new"
        written.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
        written.replace(self.path / RESULT_FILE)


def _next_folder(place: Path) -> Path:
    """A new folder with the number after the last one; two programs never get the same."""
    numbers = [int(path.name) for path in place.iterdir() if path.name.isdecimal()]
    number = max(numbers, default=0)
    while True:
        number += 1
        folder = place / str(number)
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        return folder


class _FileSink:
    """Writes a game's events to its record."""

    def __init__(self, writer: RecordWriter) -> None:
        self._writer = writer

    def write(self, events: Sequence[tuple[NumberedEvent, Mapping[str, Any]]]) -> None:
        """See :class:`~croupier_server.croupier.EventSink`."""
        for numbered, observed in events:
            self._writer.event(numbered.event, observed)


def _observed() -> dict[str, Any]:
    return {
        "time_ms": time.time_ns() // 1_000_000,
        "server": f"croupier {__version__}",
        "python": platform.python_version(),
    }
