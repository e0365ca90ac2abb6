"""The link of a role to the others: one NATS connection, with requests, notes and served subjects.

It never sends late what was meant for earlier. While the connection is lost, whatever is asked or
published fails at once; what was already on its way is either at the server or gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from itertools import count
from typing import Any, Final, Self

import structlog
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from croupier_server.cluster.address import shown_nats
from croupier_server.cluster.nats_client import (
    NatsClient,
    Subscription,
    in_words,
    next_server,
    subscribe,
)
from croupier_server.cluster.wire import Message, WireError
from croupier_server.errors import CroupierError, UserError

__all__ = ["Handler", "Link", "LinkDown", "NoOneThere", "NoReply", "Served"]

log = structlog.get_logger(__name__)

Handler = Callable[[Message], Awaitable[Message | None]]
"""Answers a message; None if there is nothing to say."""

_OPEN_S: Final = 10.0
_PING_S: Final = 2
"""How often the server has to show that it is there; two in a row without that are too many."""

_FLUSH_S: Final = 2
_STUCK_S: Final = 20.0
"""Without a connection for so long, the client is made to begin anew, whatever it is doing."""

_TOLD_S: Final = 0.05
"""The client tells of a connection that is lost a moment after it has found that."""

_NO_RESPONDERS: Final = "503"


class NoOneThere(CroupierError):
    """Nobody serves that subject at the moment."""


class NoReply(CroupierError):
    """Nobody has answered in time, or the link is down; the message may have arrived or not."""


class LinkDown(NoReply):
    """The connection is lost, or was while a reply was awaited."""


class Served:
    """A subject that is served by a handler, until it is stopped."""

    __slots__ = ("_handler", "_is_stopped", "_link", "_subscription", "subject")

    def __init__(self, link: Link, subject: str, handler: Handler) -> None:
        self.subject = subject
        self._link = link
        self._handler = handler
        self._is_stopped = False
        self._subscription: Subscription | None = None

    async def start(self, client: NatsClient) -> None:
        """Subscribe; again, after a connection was given up."""
        subscription = await subscribe(client, self.subject, self._take)
        if self._is_stopped:
            await subscription.unsubscribe()
        else:
            self._subscription = subscription

    @property
    def is_subscribed(self) -> bool:
        """Whether it has a subscription, on the connection that there is."""
        return self._subscription is not None

    def lose(self) -> None:
        """Its connection was given up, and its subscription with that."""
        self._subscription = None

    async def stop(self) -> None:
        """Serve no more: when this returns nothing arrives any more; what has is with the handler.

        May be called twice.
        """
        subscription, self._subscription = self._subscription, None
        self._is_stopped = True
        self._link.forget(self)
        if subscription is None:
            return
        draining = asyncio.ensure_future(subscription.drain())
        try:
            if self._link.is_connected:
                await asyncio.wait({draining}, timeout=_FLUSH_S)
        finally:
            if not draining.done():  # lost meanwhile: it must not be subscribed to again
                with suppress(NatsError):
                    await subscription.unsubscribe()
                draining.cancel()
        with suppress(NatsError, asyncio.CancelledError):
            await draining

    def _take(self, raw: Msg) -> None:
        _ = self._link.hold(self._answer(raw))

    async def _answer(self, raw: Msg) -> None:
        try:
            answer = await self._handler(Message.from_bytes(raw.data))
        except WireError as problem:
            log.warning("message refused", subject=self.subject, problem=str(problem))
            answer = Message({"re": "error", "detail": str(problem)})
        except Exception:  # whoever asked is to hear of it
            log.exception("message not handled", subject=self.subject)
            answer = Message({"re": "error", "detail": "internal error"})
        if answer is not None and raw.reply:
            await self._link.reply(raw.reply, answer)


class Link:
    """One connection to NATS; made by :meth:`open`.

    Attributes:
        root: what all subjects begin with.
        on_reconnect: called each time that a lost connection is back.
    """

    def __init__(self, urls: str | Sequence[str], name: str, root: str) -> None:
        self.root = root
        self.on_reconnect: list[Callable[[], None]] = []
        several = urls.split(",") if isinstance(urls, str) else urls
        self._urls = [url.strip() for url in several]
        self._name = name
        self._client = NatsClient()
        self._loop = asyncio.get_running_loop()
        self._served: set[Served] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting: dict[str, asyncio.Future[Message]] = {}
        self._tokens = map(str, count())
        self._inbox = ""
        self._up = asyncio.Event()
        self._is_open = False
        self._is_anew = True  # nothing is served yet by the connection that is made
        self._watch: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        return f"<Link {self._name!r} {'up' if self.is_connected else 'down'}>"

    @classmethod
    async def open(cls, urls: str | Sequence[str], *, name: str, root: str) -> Self:
        """Connect.

        Args:
            urls: where NATS listens; as one text, separated by commas.
            name: the role's, as NATS shows it.
            root: what all subjects begin with.

        Raises:
            UserError: it can't be reached within 10 s, or lets nobody in.
        """
        link = cls(urls, name, root)
        try:
            async with asyncio.timeout(_OPEN_S):
                await link._connect()
        except (TimeoutError, NatsError, OSError) as problem:
            await link._client.end()
            why = link._client.last_error or problem
            raise UserError(f"can't reach NATS at {link._where}: {in_words(why)}") from None
        except BaseException:
            await link._client.end()
            raise
        link._is_open = True
        link._watch = asyncio.create_task(link._keep_alive(), name=f"link of {name}")
        return link

    @property
    def nats(self) -> NatsClient:
        """The client, for streams. It stays the same; its own subscriptions may not."""
        return self._client

    @property
    def is_connected(self) -> bool:
        """Whether it is up."""
        return self._up.is_set()

    @property
    def max_payload(self) -> int:
        """How many bytes a message may have."""
        return self._client.max_payload

    async def connected(self) -> None:
        """Wait until it is up.

        Raises:
            LinkDown: it was closed, and never will be.
        """
        while self._is_open:
            await self._up.wait()
            if self._client.is_connected:
                return
            await asyncio.sleep(_TOLD_S)
        raise LinkDown("the link is closed")

    async def close(self) -> None:
        """Serve nothing more and disconnect; may be called twice."""
        self._is_open = False
        ending = {*self._tasks, *([self._watch] if self._watch else [])}
        for task in ending:
            task.cancel()
        if ending:
            await asyncio.wait(ending)
        await self._client.end()
        self._lose()

    # -- asking and telling

    async def request(self, subject: str, message: Message, timeout_s: float) -> Message:
        """The answer of whoever serves a subject.

        Raises:
            NoOneThere: nobody serves it.
            NoReply: no answer has come in time; as :class:`LinkDown`, since the link is down.
            WireError: the message is too large, or the answer is no message.
        """
        payload = self._payload(message)
        if not self.is_connected:
            raise LinkDown("the link is down")
        token = next(self._tokens)
        reply: asyncio.Future[Message] = self._loop.create_future()
        self._waiting[token] = reply
        timer = self._loop.call_later(timeout_s, _no_reply, reply, subject, timeout_s)
        try:
            await self._send(subject, payload, f"{self._inbox}.{token}")
            return await reply
        finally:
            timer.cancel()
            del self._waiting[token]
            reply.cancel()

    async def publish(self, subject: str, message: Message) -> None:
        """Say something to whoever listens, if anybody does.

        Raises:
            LinkDown: the link is down.
            WireError: the message is too large.
        """
        payload = self._payload(message)
        if not self.is_connected:
            raise LinkDown("the link is down")
        await self._send(subject, payload)

    async def serve(self, subject: str, handler: Handler) -> Served:
        """Have a handler answer what is sent to a subject, until that is stopped.

        While the link is down, from when it is back. The handler is run in the order of arrival up
        to its first wait, and concurrently from there.
        """
        served = Served(self, subject, handler)
        self._served.add(served)
        if not self._is_anew and not self._client.is_closed:  # else it is begun with the others
            await served.start(self._client)
            await self._flush()
        return served

    async def reply(self, to: str, message: Message) -> None:
        """Answer a request; one that can't be answered now is asked again."""
        try:
            payload = self._payload(message)
        except WireError as problem:
            log.error("answer not sent", problem=str(problem))
            payload = Message({"re": "error", "detail": str(problem)}).to_bytes()
        with suppress(LinkDown):
            await self._send(to, payload)

    async def _send(self, subject: str, payload: bytes, reply: str = "") -> None:
        try:
            await self._client.publish(subject, payload, reply)
        except (NatsError, OSError) as problem:
            raise LinkDown(f"the link is down: {in_words(problem)}") from None

    async def _flush(self) -> None:
        """Wait until the server has read what it was sent."""
        if self.is_connected:
            with suppress(NatsError):
                await self._client.flush(_FLUSH_S)

    def _payload(self, message: Message) -> bytes:
        payload = message.to_bytes()
        if len(payload) > self.max_payload:
            raise WireError(
                f"a message of {len(payload)} bytes; NATS allows {self.max_payload} (max_payload)"
            )
        return payload

    # -- for what is served

    def forget(self, served: Served) -> None:
        """A subject is served no more."""
        self._served.discard(served)

    def hold(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run something until it ends or the link is closed."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # -- the connection

    async def _connect(self) -> None:
        await self._client.connect(
            self._urls,
            name=self._name,
            error_cb=self._problem,
            disconnected_cb=self._disconnected,
            reconnected_cb=self._reconnected,
            reconnect_to_server_handler=next_server,
            max_reconnect_attempts=-1,
            reconnect_time_wait=1,
            ping_interval=_PING_S,
            flusher_queue_size=0,  # or a task that waits for room in it could not be cancelled
            pending_size=0,  # nothing is kept while the connection is lost
        )
        self._inbox = self._client.new_inbox()
        await subscribe(self._client, f"{self._inbox}.*", self._replied)
        while waiting := [served for served in self._served if not served.is_subscribed]:
            for served in waiting:
                await served.start(self._client)
        self._is_anew = False
        await self._client.flush(_FLUSH_S)
        self._up.set()

    def _replied(self, raw: Msg) -> None:
        reply = self._waiting.get(raw.subject.rpartition(".")[2])
        if reply is None or reply.done():
            return
        if raw.headers is not None and raw.headers.get("Status") == _NO_RESPONDERS:
            reply.set_exception(NoOneThere("nobody is there"))
            return
        try:
            reply.set_result(Message.from_bytes(raw.data))
        except WireError as problem:
            reply.set_exception(problem)

    async def _problem(self, problem: Exception) -> None:
        """The client tells of each attempt that has failed."""
        log.debug("nats", problem=in_words(problem))
        if not self._is_open and "authorization" in str(problem).lower():
            raise UserError(f"NATS at {self._where} lets nobody in with that name or token")

    async def _disconnected(self) -> None:
        if self.is_connected and self._is_open:
            log.warning("link lost", to=self._where)
        self._client.forget_unsent()
        self._lose()

    def _lose(self) -> None:
        self._up.clear()
        for reply in self._waiting.values():
            if not reply.done():
                reply.set_exception(LinkDown("the link was lost"))

    async def _reconnected(self) -> None:
        self._up.set()
        log.warning("link is back", to=self._where)
        for called in self.on_reconnect:
            try:
                called()
            except Exception:  # one of them never keeps the others from theirs
                log.exception("what follows a reconnect failed")

    async def _keep_alive(self) -> None:
        """Begin anew where the client has given up, or hangs.

        It gives up where the server says that something is wrong, and there may be no end to its
        trying where the server was frozen when it was to say hello.
        """
        while True:
            await asyncio.sleep(1)
            if self.is_connected and self._client.is_connected:
                continue
            if not self._client.is_closed and await self._is_back():
                continue
            try:
                await self._begin_anew()
            except (TimeoutError, NatsError, OSError) as problem:
                log.debug("nats", problem=in_words(problem))
            except Exception:  # whatever it is, it is tried again
                log.exception("the link can't be made anew now")

    async def _begin_anew(self) -> None:
        self._is_anew = True
        for served in self._served:
            served.lose()
        await self._client.end()
        self._lose()
        async with asyncio.timeout(_OPEN_S):
            await self._connect()
        await self._reconnected()

    async def _is_back(self) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(_STUCK_S):
                await self._up.wait()
        return self.is_connected

    @property
    def _where(self) -> str:
        """The addresses, without a password or token."""
        return shown_nats(self._urls)


def _no_reply(reply: asyncio.Future[Message], subject: str, timeout_s: float) -> None:
    if not reply.done():
        reply.set_exception(NoReply(f"no answer from {subject} within {timeout_s:g} s"))
