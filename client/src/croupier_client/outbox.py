"""Lines to whoever reads our standard output, written from a thread: a slow reader stops nobody."""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import threading
from typing import Final

from croupier_common.lines import MAX_LINE, line_bytes

__all__ = ["Outbox"]

_MOST_UNREAD: Final = 64  # lines
_LAST_WORDS_S: Final = 0.5


class Outbox:
    """Writes lines to the host from a thread, since a host that does not read may block it."""

    def __init__(self, file: int, broken: asyncio.Event) -> None:
        self._file = file
        self._broken = broken
        self._loop = asyncio.get_running_loop()
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._room = asyncio.Semaphore(_MOST_UNREAD)
        self._is_done = asyncio.Event()
        threading.Thread(target=self._work, name="output", daemon=True).start()

    async def put(self, text: str) -> None:
        """Have a line written, of one that is too long so much that it is; wait if many wait."""
        line = line_bytes(text)
        if len(line) > MAX_LINE + 1:
            line = line[: MAX_LINE + 1] + b"\n"
        await self._room.acquire()
        self._lines.put(line)

    async def close(self) -> None:
        """Wait a moment for what is still to be written."""
        self._lines.put(None)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_WORDS_S):
                await self._is_done.wait()

    def _work(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            while (line := self._lines.get()) is not None:
                try:
                    while line:
                        line = line[os.write(self._file, line) :]
                except OSError:  # nobody reads it any more
                    self._loop.call_soon_threadsafe(self._broken.set)
                    break
                self._loop.call_soon_threadsafe(self._room.release)
            self._loop.call_soon_threadsafe(self._is_done.set)
