"""Questions to the manager, which may be about to be replaced by another."""

from __future__ import annotations

import asyncio
from typing import Final

from croupier_common.jsontypes import shown
from croupier_server.cluster.link import Link, LinkDown, NoOneThere, NoReply
from croupier_server.cluster.wire import Message
from croupier_server.errors import CroupierError, ServerFault

__all__ = ["NoManager", "ask_manager"]

_SLICE_S: Final = 2.0
"""After how long without an answer it is asked again; each question may come twice."""

_AGAIN_S: Final = 0.25


class NoManager(CroupierError):
    """No manager was there to answer in time."""


async def ask_manager(link: Link, question: Message, within_s: float | None = None) -> Message:
    """The active manager's answer.

    Args:
        within_s: how long to wait for one; for ever if None.

    Raises:
        NoManager: nobody answered in time, or the link was closed.
        ServerFault: the manager failed at it.
    """
    try:
        async with asyncio.timeout(within_s):
            return await _answer(link, question)
    except TimeoutError:
        raise NoManager(f"no manager answers within {within_s} s") from None
    except LinkDown as problem:
        raise NoManager(str(problem)) from None


async def _answer(link: Link, question: Message) -> Message:
    while True:
        try:
            answer = await link.request(f"{link.root}.manager", question, _SLICE_S)
        except NoOneThere:
            await asyncio.sleep(_AGAIN_S)
        except LinkDown:  # at once: to go on at once would hold up the loop for good
            await link.connected()
        except NoReply:
            continue
        else:
            if answer.head.get("re") == "error":
                raise ServerFault(f"the manager failed: {shown(answer.head.get('detail'), 200)}")
            return answer
