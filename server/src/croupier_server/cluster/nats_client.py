"""The NATS client as a link needs it: it keeps nothing for later, and its subjects are cheap."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable
from ssl import SSLCertVerificationError
from typing import Any, Final, Protocol, cast

from nats.aio.client import PING_PROTO, Client, Server
from nats.aio.msg import Msg

__all__ = ["NatsClient", "Subscription", "in_words", "next_server", "subscribe"]

_RETRY_S: Final = (0.2, 1.0)
"""Between two attempts to get a lost connection back; at random, lest all roles come at once."""

_END_S: Final = 2.0


class NatsClient(Client):
    """The client, but that it keeps nothing for later of what it could not send.

    As it is, it sends that after a reconnect, and before that it waits for the old line to take
    what it was given, which on one that is dead takes the system a quarter of an hour. And it
    sends pings ahead of what waits to be sent, so that a pong says nothing of that.
    """

    _pongs: list[asyncio.Future[Any]]

    async def _process_op_err(self, e: Exception) -> None:
        self._abort()
        await super()._process_op_err(e)

    async def _send_ping(self, future: asyncio.Future[Any] | None = None) -> None:
        self._pongs.append(asyncio.Future() if future is None else future)
        await self._send_command(PING_PROTO)
        await self._flush_pending()

    def forget_unsent(self) -> None:
        """Never send what it has been given and could not send."""
        self._pending.clear()
        self._pending_data_size = 0

    async def end(self) -> None:
        """Close, even if the line takes nothing any more; may be called twice."""
        try:
            async with asyncio.timeout(_END_S):
                await self.close()
        except TimeoutError:
            self._abort()

    def _abort(self) -> None:
        writer: asyncio.StreamWriter | None = getattr(self._transport, "_io_writer", None)
        if writer is not None:
            writer.transport.abort()


class _Sink(asyncio.Future[Msg]):
    """What a subscription gives its messages to: a function, called at once in order of arrival.

    The client offers a future for one reply or a task with a queue. This is the former, which
    takes any number: it is quicker than a task, and ten thousand are cheaper.
    """

    def __init__(self, take: Callable[[Msg], None]) -> None:
        super().__init__()
        self._take = take

    def set_result(self, result: Msg, /) -> None:
        """A message has come."""
        self._take(result)


class Subscription(Protocol):
    """The client's subscription, which it does not quite type."""

    async def unsubscribe(self) -> None: ...
    async def drain(self) -> None: ...


class _Subscribing(Protocol):
    async def subscribe(self, subject: str, *, future: asyncio.Future[Msg]) -> Subscription: ...


async def subscribe(client: Client, subject: str, take: Callable[[Msg], None]) -> Subscription:
    """Have each message to a subject taken, at once and in order of arrival."""
    return await cast("_Subscribing", client).subscribe(subject, future=_Sink(take))


def next_server(servers: list[Server], _: dict[str, Any]) -> tuple[Server | None, float]:
    """Which server to try next, and after how many seconds."""
    return random.choice(servers), random.uniform(*_RETRY_S)


def in_words(problem: Exception) -> str:
    """What went wrong, in one line."""
    if isinstance(problem, SSLCertVerificationError):  # its number is that of something else
        return f"its certificate is not trusted: {problem.verify_message}"
    if isinstance(problem, OSError) and problem.errno:
        return os.strerror(problem.errno).lower()
    return str(problem).removeprefix("nats: ") or type(problem).__name__
