"""What blocks, and may hang, done beside the loop and waited for only so long."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable

import structlog

__all__ = ["done_within"]

log = structlog.get_logger(__name__)


async def done_within(seconds: float, name: str, work: Callable[[], object]) -> bool:
    """Whether some work was done in time; else its thread is left behind and holds up no exit.

    A thread of its own, since the end of a loop waits for all those of its executor.

    Args:
        name: the thread's.
    """
    loop = asyncio.get_running_loop()
    done = asyncio.Event()

    def run() -> None:
        try:
            work()
        except Exception:  # a thread has nobody to raise it to
            log.exception("a fault of ours", thread=name)
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody has waited so long
            loop.call_soon_threadsafe(done.set)

    threading.Thread(target=run, name=name, daemon=True).start()
    try:
        async with asyncio.timeout(seconds):
            await done.wait()
    except TimeoutError:
        return False
    return True
