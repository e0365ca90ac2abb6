"""What processes of this machine have taken of it, from /proc: processor time, and memory."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

__all__ = ["Meter", "Usage", "parent_of", "process", "process_tree"]

EACH_S: Final = 0.05
"""How often all are looked at: who has ended is counted as it was then."""

_PARENT, _USER, _SYSTEM, _USERS_DEAD, _SYSTEMS_DEAD, _PAGES = 1, 11, 12, 13, 14, 21
"""Where they stand in a process's `stat`, counted from what comes after its name."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Processor time so far, in seconds, and memory that is held now, in KiB."""

    cpu_s: float = 0.0
    kib: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.cpu_s + other.cpu_s, self.kib + other.kib)

    def __sub__(self, other: Usage) -> Usage:
        return Usage(self.cpu_s - other.cpu_s, self.kib - other.kib)


Source = Callable[[], Usage | None]
"""What something has taken; None when it is gone."""


def process(pid: int) -> Source:
    """One process, with all its threads."""

    def look() -> Usage | None:
        found = _stat(pid)
        return None if found is None else _usage(found, _USER, _SYSTEM)

    return look


def process_tree(pid: int) -> Source:
    """A process, its children, and those of them that have ended."""

    def look() -> Usage | None:
        found = _stat(pid)
        if found is None:
            return None
        total = _usage(found, _USER, _SYSTEM, _USERS_DEAD, _SYSTEMS_DEAD)
        for path in Path("/proc").glob("[0-9]*"):
            child = _stat(int(path.name))
            if child is not None and int(child[_PARENT]) == pid:
                total += _usage(child, _USER, _SYSTEM)
        return total

    return look


def parent_of(pid: int) -> int | None:
    """The process that has started another; None if that is not on this machine."""
    found = _stat(pid)
    return None if found is None else int(found[_PARENT])


def _stat(pid: int) -> list[str] | None:
    with suppress(OSError):
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        return text.rpartition(")")[2].split()
    return None


def _usage(stat: list[str], *times: int) -> Usage:
    ticks = sum(int(stat[at]) for at in times)
    kib = int(stat[_PAGES]) * os.sysconf("SC_PAGE_SIZE") // 1024
    return Usage(ticks / os.sysconf("SC_CLK_TCK"), kib)


class Meter:
    """Looks at processes by their roles, of which each can have several."""

    def __init__(self) -> None:
        self._sources: list[tuple[str, Source]] = []
        self._last: list[Usage] = []
        self._looking: asyncio.Task[None] | None = None

    def add(self, role: str, source: Source) -> None:
        """Look at one more."""
        self._sources.append((role, source))
        self._last.append(source() or Usage())

    def now(self) -> Mapping[str, Usage]:
        """What each role has taken by now; who has ended, until shortly before that."""
        self._look()
        found: dict[str, Usage] = {}
        for (role, _), usage in zip(self._sources, self._last, strict=True):
            found[role] = found.get(role, Usage()) + usage
        return found

    async def __aenter__(self) -> Self:
        self._looking = asyncio.create_task(self._go_on(), name="meter")
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._looking is not None
        self._looking.cancel()
        await asyncio.wait({self._looking})

    async def _go_on(self) -> None:
        while True:
            self._look()
            await asyncio.sleep(EACH_S)

    def _look(self) -> None:
        for at, (_, source) in enumerate(self._sources):
            usage = source()
            if usage is not None:
                self._last[at] = usage
