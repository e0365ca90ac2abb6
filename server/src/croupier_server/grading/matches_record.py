"""The record of a game of a submission, and what is read off it while it is written."""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from croupier_common.board_spec import BoardSpec
from croupier_common.game import NumberedEvent
from croupier_common.record import Header, RecordWriter
from croupier_common.record import Seat as RecordSeat
from croupier_server import __version__
from croupier_server.croupier import GameReport, Table

__all__ = ["GameRecord"]

_TURNS = frozenset({"place", "move"})


class GameRecord:
    """Takes a game's events as they happen; it is a file once :meth:`save` was called.

    A game that is cut off is played again, so that nothing of it need be kept.

    Attributes:
        thinks_ms: by colour, how long each turn was thought about.
    """

    def __init__(self, table: Table, seed: int, spec: BoardSpec) -> None:
        self._lines: list[str] = []
        self._writer = RecordWriter(self._lines.append)
        self._writer.header(_header(table, seed, spec), _observed())
        self.thinks_ms: dict[str, list[int]] = {color.value: [] for color in table.seats}

    async def write(
        self,
        events: Sequence[tuple[NumberedEvent, Mapping[str, Any]]],
        report: GameReport | None = None,  # noqa: ARG002 - EventSink's
    ) -> None:
        """See :class:`~croupier_server.croupier.EventSink`."""
        for numbered, observed in events:
            event = numbered.event
            self._writer.event(event, observed)
            if event.kind in _TURNS:
                self.thinks_ms[str(event.to_json()["color"])].append(int(observed["think_ms"]))

    def save(self, path: Path) -> None:
        """Write the file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(self._lines), encoding="utf-8", newline="\n")


def _header(table: Table, seed: int, spec: BoardSpec) -> Header:
    return Header(
        game=table.game,
        board=table.board,
        rules=table.rules,
        players=tuple(RecordSeat(seat.name, color) for color, seat in table.seats.items()),
        seed=seed,
        spec=spec,
    )


def _observed() -> dict[str, Any]:
    return {
        "time_ms": time.time_ns() // 1_000_000,
        "server": f"croupier {__version__}",
        "python": platform.python_version(),
    }
