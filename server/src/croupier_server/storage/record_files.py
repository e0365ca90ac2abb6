"""Records as files: one for each game, as the journal has it, and the result beside them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import structlog

from croupier_common.errors import RecordError
from croupier_common.record import RecordWriter, read_record
from croupier_server.errors import UserError

__all__ = ["RESULT_FILE", "new_folder", "whole_record", "write_records"]

log = structlog.get_logger(__name__)

RESULT_FILE: Final = "tournament.json"
"""The name of the file with the tournament's result."""


def new_folder(place: Path) -> Path:
    """A new folder in a place, with the number after the last one there.

    So no run touches what another has left; two programs never get the same.

    Raises:
        UserError: it can't be made.
    """
    try:
        place.mkdir(parents=True, exist_ok=True)
        numbers = [int(path.name) for path in place.iterdir() if path.name.isdecimal()]
        number = max(numbers, default=0)
        while True:
            number += 1
            try:
                (place / str(number)).mkdir()
            except FileExistsError:
                continue
            return place / str(number)
    except OSError as problem:
        raise UserError(f"{place}: {problem.strerror}") from None


def write_records(
    folder: Path, games: Mapping[str, Sequence[str]], result: Mapping[str, Any] | None
) -> None:
    """Write a file for each game, and the tournament's result if it has one.

    Raises:
        UserError: that can't be done.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, lines in games.items():
            try:
                whole = whole_record(lines)
            except RecordError:
                log.exception("the journal of a game is damaged; it is written as it is", game=name)
                whole = lines
            _write_whole(folder / f"{name}.jsonl", "".join(whole))
        if result is not None:
            _write_whole(folder / RESULT_FILE, json.dumps(result, indent=2) + "\n")
    except OSError as problem:
        raise UserError(f"{folder}: {problem.strerror}") from None


def whole_record(lines: Sequence[str]) -> Iterable[str]:
    """The lines of a record with a footer: that it was interrupted, where there is no other."""
    record = read_record((line.encode() for line in lines), unfinished=True)
    if record.is_whole:
        return lines
    footer: list[str] = []
    RecordWriter.resumed(footer.append, record).interrupted("the server stopped")
    return [*lines, *footer]


def _write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    new = path.with_name(f"{path.name}.new")
    new.write_text(text, encoding="utf-8", newline="\n")
    new.replace(path)
