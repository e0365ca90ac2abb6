"""What has to happen to its end, however often it is told to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

__all__ = ["to_its_end"]


async def to_its_end(ending: Coroutine[Any, Any, None]) -> None:
    """Have something happen to its end, however often that is cancelled; then it is cancelled."""
    task = asyncio.ensure_future(ending)
    is_cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            is_cancelled = True
    task.result()
    if is_cancelled:
        raise asyncio.CancelledError
