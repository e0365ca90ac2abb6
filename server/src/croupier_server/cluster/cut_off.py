"""A gateway that has lost the others for long is told so, and told when they are back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from croupier_server.cluster.link import Link

__all__ = ["watch_link"]

LOOK_S: Final = 0.2


async def watch_link(
    link: Link, lost_s: float, cut_off: Callable[[], Awaitable[None]], back: Callable[[], None]
) -> None:
    """Call `cut_off` once the link was down for so long, and `back` when it is up after that.

    Until this is cancelled.
    """
    now = asyncio.get_running_loop().time
    was_up, is_cut_off = now(), False
    while True:
        await asyncio.sleep(LOOK_S)
        if link.is_connected:
            was_up = now()
            if is_cut_off:
                is_cut_off = False
                back()
        elif not is_cut_off and now() - was_up >= lost_s:
            is_cut_off = True
            await cut_off()
