"""Repro files: a request on which a player failed, as it was received, to be run again.

::

    {"penguin_repro": 1, "kit": "0.1.0", "target": "my_player.py",
     "what": "failed", "detail": "IndexError: ...", "report": "...",
     "tournament_start": {...}, "game_start": {...}, "request": {...},
     "answered": "...", "verdict": null}

``what`` is ``failed`` (the player's code raised something, or returned what is no action) or
``ejected``; ``report`` is what the author was told, with the traceback. The three messages are
those that the server sent, as they came, ``answered`` is the text that was sent back, and
``verdict`` what the server said when it put the player out.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from croupier_client import __version__
from croupier_client.turns import Failed
from croupier_common.errors import NotAMessage
from croupier_common.messages import (
    EjectionParams,
    GameStart,
    MoveRequest,
    PlaceRequest,
    ServerCall,
    TournamentStart,
    load_json,
)

__all__ = ["FORMAT", "Reproducer", "file_name"]

FORMAT: Final = 1
"""The version of the files that this code writes and reads."""

_TURNS: Final = (PlaceRequest, MoveRequest)
_GAMES: Final = 128
_FILES: Final = 16
_NAME: Final = 60
_UNFIT: Final = re.compile(r"[^A-Za-z0-9.-]")


@dataclass(frozen=True, slots=True)
class _Trouble:
    """What went wrong on a request."""

    call_id: str
    what: str
    detail: str
    report: str = ""


@dataclass(slots=True)
class _Moment:
    """What is known of a game: its start, its last request, and what was answered to that."""

    start: str | bytes | None = None
    call: ServerCall | None = None
    raw: str | bytes = b""
    trouble: _Trouble | None = None


class Reproducer:
    """Keeps the last request of each game, and writes it into a file when something goes wrong.

    Args:
        folder: where the files go.
        target: what the command line calls the player.
        warn: takes the line that says how to use a file.
    """

    def __init__(self, folder: Path, target: str, warn: Callable[[str], None]) -> None:
        self._folder = folder
        self._target = target
        self._warn = warn
        self._moments: dict[str, _Moment] = {}
        self._written: set[str] = set()
        self._start: str | bytes | None = None

    def note(self, call: ServerCall, raw: str | bytes) -> None:
        """Keep a request as it was received; nothing is copied or read."""
        if isinstance(call, _TURNS):
            moment = self._moments.get(call.params.game)
            if moment is None:
                moment = self._moment(call.params.game)
            moment.call, moment.raw = call, raw
        elif isinstance(call, GameStart):
            moment = self._moment(call.params.game)
            moment.start = moment.raw = raw
            moment.call = call
        elif isinstance(call, TournamentStart):
            self._start = raw

    def _moment(self, game: str) -> _Moment:
        moment = self._moments.setdefault(game, _Moment())
        if len(self._moments) > _GAMES:
            del self._moments[next(iter(self._moments))]
        return moment

    def forget(self, game: str) -> None:
        """A game is over."""
        self._moments.pop(game, None)

    def failed(self, call: ServerCall, failed: Failed, answered: str) -> None:
        """A player's method raised something, or returned what is no action."""
        moment = self._moments.get(getattr(call.params, "game", ""))
        if moment is None or moment.call is None or moment.call.id != call.id:
            return
        moment.trouble = _Trouble(call.id, "failed", failed.message, failed.report)
        self._write(moment, moment.trouble, answered, None)

    def ejected(self, told: EjectionParams, answered: Callable[[str], str | None]) -> None:
        """The server has put the player out; what it answered last is looked up by id."""
        moment = self._moments.get(told.game or "")
        if moment is None or moment.call is None:
            return
        trouble = moment.trouble
        if trouble is None or trouble.call_id != moment.call.id:
            trouble = _Trouble(moment.call.id, "ejected", f"{told.verdict}: {told.detail}")
        self._write(moment, trouble, answered(moment.call.id), told)

    def _write(
        self,
        moment: _Moment,
        trouble: _Trouble,
        answered: str | None,
        told: EjectionParams | None,
    ) -> None:
        assert moment.call is not None
        name = file_name(moment.call.id)
        if name not in self._written and len(self._written) >= _FILES:
            return
        value = {
            "penguin_repro": FORMAT,
            "kit": __version__,
            "target": self._target,
            "what": trouble.what,
            "detail": trouble.detail,
            "report": trouble.report,
            "tournament_start": None if self._start is None else _read(self._start),
            "game_start": None if moment.start is None else _read(moment.start),
            "request": _read(moment.raw),
            "answered": answered,
            "verdict": None if told is None else told.model_dump(),
        }
        path = self._folder / name
        try:
            _write_whole(path, json.dumps(value, indent=1) + "\n")
        except OSError as problem:
            self._warn(f"can't write {path}: {problem.strerror or problem}")
            return
        if name not in self._written:
            self._written.add(name)
            self._warn(
                "to run your player on that very request again:  penguin replay "
                f"{shlex.quote(str(path))} {shlex.quote(self._target)}"
            )


def file_name(call_id: str) -> str:
    """The name of the file for a request, safe whatever its id is.

    An id is the server's to choose. What is no letter, digit, dot or dash becomes a dash; two ids
    that differ only in such have different names yet.
    """
    fit = _UNFIT.sub("-", call_id.replace(":", "-"))[:_NAME]
    plain = call_id.replace(":", "-", 1)
    if fit != plain:
        fit += "-" + hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"penguin-repro-{fit}.json"


def _read(raw: str | bytes) -> object:
    try:
        return load_json(raw)
    except NotAMessage:  # it was one, so it has half a surrogate pair or the like
        return raw if isinstance(raw, str) else raw.decode("utf-8", "replace")


def _write_whole(path: Path, text: str) -> None:
    """Write a file at once; a link of that name is replaced, not followed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, part = tempfile.mkstemp(prefix=".penguin-repro-", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(part).replace(path)
    except OSError:
        Path(part).unlink(missing_ok=True)
        raise
