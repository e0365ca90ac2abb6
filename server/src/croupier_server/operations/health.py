"""Whether a process is alive, and whether it is ready for more, with the reasons if not."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from croupier_server.errors import CroupierError

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from croupier_server.storage.database import Database

__all__ = ["Check", "Health", "Report", "WriteProbe"]

Check = Callable[[], Awaitable[str | None]]
"""What is wrong, in a few words; None if nothing is."""

PhaseName = Literal["starting", "serving", "draining", "stopping"]

PROBE_S: Final = 2.0
"""How long a write may take to come through."""

LEAST_FREE: Final = 32 * 1024 * 1024
"""How many bytes have to be free where the data directory is."""

_NOT_SERVING: Final[Mapping[PhaseName, str]] = {
    "starting": "it is starting",
    "draining": "no new games: it stops when those that run are over",
    "stopping": "it stops",
}


@dataclass(frozen=True, slots=True)
class Report:
    """What is wrong, by the name of the check; nothing if all is well."""

    reasons: Mapping[str, str]

    @property
    def is_good(self) -> bool:
        """Whether nothing is wrong."""
        return not self.reasons

    def to_json(self) -> dict[str, Any]:
        """The report as JSON."""
        if self.is_good:
            return {"status": "ok"}
        return {"status": "failing", "reasons": dict(self.reasons)}


class Health:
    """The state of a process.

    Attributes:
        phase: where in its life it is.
        alive: what has to be well for it to go on; else it is to be started again.
        ready: what has to be well besides, for it to be given more to do.
    """

    def __init__(self) -> None:
        self.phase: PhaseName = "starting"
        self.alive: dict[str, Check] = {}
        self.ready: dict[str, Check] = {}

    async def is_alive(self) -> Report:
        """Whether it is alive. That its loop runs is told by there being an answer."""
        return Report(await _wrong(self.alive))

    async def is_ready(self) -> Report:
        """Whether it is ready."""
        reasons = await _wrong({**self.alive, **self.ready})
        if self.phase != "serving":
            reasons = {"server": _NOT_SERVING[self.phase], **reasons}
        return Report(reasons)


class WriteProbe:
    """Looks whether a database can be written; changes nothing in it.

    An empty transaction goes the way of all writes, at the end of the queue. One is on its way at
    a time, however many ask.
    """

    def __init__(self, database: Database, where: Path | str | None) -> None:
        self._database = database
        self._folder = where if isinstance(where, Path) else None
        self._probe: asyncio.Task[None] | None = None

    async def is_alive(self) -> str | None:
        """A check whether its writer lives."""
        return None if self._database.is_alive else "nothing can be written any more"

    async def is_written(self) -> str | None:
        """A check whether a write comes through in time, and has room."""
        if not self._database.is_alive:
            return "nothing can be written any more"
        if self._probe is None or self._probe.done():
            self._probe = asyncio.create_task(self._database.run(_nothing), name="write probe")
        await asyncio.wait({self._probe}, timeout=PROBE_S)
        if not self._probe.done():
            return f"no write came through within {PROBE_S:g} s"
        try:
            self._probe.result()
        except CroupierError as problem:
            return str(problem)
        return await asyncio.to_thread(_no_room, self._folder)

    async def close(self) -> None:
        """Wait for what is on its way; the database is closed afterwards, not before."""
        if self._probe is not None:
            await asyncio.wait({self._probe})


def _nothing(_connection: Connection) -> None:
    """A transaction without contents."""


def _no_room(folder: Path | None) -> str | None:
    if folder is None:
        return None
    free = shutil.disk_usage(folder).free
    return None if free >= LEAST_FREE else f"only {free >> 20} MiB are free in {folder}"


async def _wrong(checks: Mapping[str, Check]) -> dict[str, str]:
    found = {name: await check() for name, check in checks.items()}
    return {name: reason for name, reason in found.items() if reason is not None}
