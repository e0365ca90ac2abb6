"""Streams of server-sent events to many viewers at once.

To hand each of a thousand viewers a frame by way of ASGI takes the loop three times as long as to
write it to their connections, which is what is done where the HTTP server lets us
(:class:`StreamProtocol`); any other server gets the same frames by ASGI.
"""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any, Final, Generic, Protocol, TypeVar

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from croupier_server.tails import Audience, Frame, Outlet

__all__ = ["EventStream", "Places", "StreamProtocol"]

TRANSPORT: Final = "croupier.transport"

MAX_UNREAD: Final = 256 * 1024
"""How many bytes may wait for a viewer, beside what the system holds, before it is dropped."""

SYSTEM_HOLDS: Final = 128 * 1024
"""What the system may hold for a viewer; by itself it would take megabytes."""

MAX_FRAMES: Final = 64
"""How many frames may wait for a viewer where bytes can't be counted."""

FLUSH_S: Final = 5.0
"""How long a stream that has ended may take to be read to its end."""

HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}

HELLO: Final = b"retry: 2000\n\n"


class StreamProtocol(H11Protocol):
    """HTTP/1.1 as uvicorn speaks it; what answers a request finds the connection in its state."""

    def connection_made(self, transport: Any) -> None:
        """See the base."""
        super().connection_made(transport)
        self.app_state = {**self.app_state, TRANSPORT: transport}


class Places:
    """How many may watch.

    Args:
        in_all: so many at a time.
        per_address: so many from one address; 0 for any number, as behind a proxy.
    """

    def __init__(self, in_all: int, per_address: int) -> None:
        self._in_all = in_all
        self._per_address = per_address
        self._taken: Counter[str] = Counter()

    @contextmanager
    def taken(self, address: str) -> Generator[None]:
        """A place for one viewer, for as long as this is entered.

        Raises:
            HTTPException: there is none.
        """
        if self._taken.total() >= self._in_all:
            raise HTTPException(503, "Too many watch already.", {"Retry-After": "30"})
        if self._per_address and self._taken[address] >= self._per_address:
            raise HTTPException(
                429, "Too many watch from your address already.", {"Retry-After": "30"}
            )
        self._taken[address] += 1
        try:
            yield
        finally:
            self._taken[address] -= 1
            if not self._taken[address]:
                del self._taken[address]


class Watched(Protocol):
    """What can be watched."""

    @property
    def audience(self) -> Audience:
        """Who watches it."""
        ...


W = TypeVar("W", bound=Watched)


class EventStream(Response, Generic[W]):
    """An answer that goes on until what is watched ends, or the viewer leaves.

    Args:
        places: one of them is taken.
        watched: gives what is watched, for as long as it is entered.
        begin: has it tell an outlet what there is, and from then on what follows.
    """

    media_type: str | None = "text/event-stream"

    def __init__(
        self,
        places: Places,
        watched: AbstractAsyncContextManager[W],
        begin: Callable[[W, Outlet], None],
    ) -> None:
        super().__init__(headers=HEADERS)
        del self.headers["content-length"]
        self._places = places
        self._watched = watched
        self._begin = begin

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI.

        Raises:
            HTTPException: there is no place.
            CroupierError: what is raised on entering `watched`.
        """
        address = scope["client"][0] if scope["client"] else ""
        with self._places.taken(address):
            async with self._watched as watched:
                head = {"status": 200, "headers": self.raw_headers}
                await send({"type": "http.response.start", **head})
                if scope["method"] == "HEAD":
                    await send({"type": "http.response.body", "body": b""})
                    return
                await send({"type": "http.response.body", "body": HELLO, "more_body": True})
                outlet = _outlet(scope, send)
                self._begin(watched, outlet)
                try:
                    await outlet.run(receive)
                finally:
                    watched.audience.remove(outlet)
        if not outlet.is_dropped:
            await _end(outlet, send)


def _outlet(scope: Scope, send: Send) -> _Outlet:
    transport = scope.get("state", {}).get(TRANSPORT)
    if transport is not None and scope["http_version"] == "1.1":
        return _Direct(transport)
    return _Queued(send)


async def _end(outlet: _Outlet, send: Send) -> None:
    try:
        async with asyncio.timeout(FLUSH_S):
            await send({"type": "http.response.body", "body": b""})
    except TimeoutError:
        outlet.drop()


class _Outlet:
    """A viewer's end of its connection, as :class:`~croupier_server.tails.Outlet` has it."""

    def __init__(self) -> None:
        self.is_dropped = False
        self._ended = asyncio.Event()

    def put(self, frame: Frame) -> bool:
        """See :class:`~croupier_server.tails.Outlet`."""
        raise NotImplementedError

    def close(self) -> None:
        """See :class:`~croupier_server.tails.Outlet`."""
        self._ended.set()

    def drop(self) -> None:
        """See :class:`~croupier_server.tails.Outlet`."""
        self.is_dropped = True
        self._ended.set()

    async def run(self, receive: Receive) -> None:
        """Return when the viewer has left, or the stream is over."""
        gone = asyncio.ensure_future(_until_gone(receive))
        ended = asyncio.ensure_future(self._ended.wait())
        try:
            await asyncio.wait({gone, ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (gone, ended):
                task.cancel()
            await asyncio.wait({gone, ended})


class _Direct(_Outlet):
    """Writes chunks to the connection; what it holds unread is counted."""

    def __init__(self, transport: asyncio.Transport) -> None:
        super().__init__()
        self._transport = transport
        self._allowed = MAX_UNREAD
        held: socket.socket | None = transport.get_extra_info("socket")
        if held is not None:
            held.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SYSTEM_HOLDS)

    def put(self, frame: Frame) -> bool:
        """See :class:`~croupier_server.tails.Outlet`."""
        transport = self._transport
        if self._ended.is_set() or transport.is_closing():
            return True  # it is leaving, and is told no more
        if transport.get_write_buffer_size() > self._allowed:
            return False
        # what is sent at the beginning is long, and comes before anybody could read
        self._allowed = max(self._allowed, len(frame.chunk) + MAX_UNREAD)
        transport.write(frame.chunk)
        return True

    def drop(self) -> None:
        """See :class:`~croupier_server.tails.Outlet`."""
        super().drop()
        self._transport.abort()


class _Queued(_Outlet):
    """Sends by ASGI, from a queue of its own."""

    def __init__(self, send: Send) -> None:
        super().__init__()
        self._send = send
        self._frames: asyncio.Queue[Frame | None] = asyncio.Queue()

    def put(self, frame: Frame) -> bool:
        """See :class:`~croupier_server.tails.Outlet`."""
        if self._frames.qsize() >= MAX_FRAMES:
            return False
        self._frames.put_nowait(frame)
        return True

    def close(self) -> None:
        """See :class:`~croupier_server.tails.Outlet`."""
        self._frames.put_nowait(None)

    async def run(self, receive: Receive) -> None:
        """See the base."""
        pump = asyncio.ensure_future(self._pump())
        try:
            await super().run(receive)
        finally:
            pump.cancel()
            await asyncio.wait({pump})

    async def _pump(self) -> None:
        try:
            while (frame := await self._frames.get()) is not None:
                body = {"type": "http.response.body", "body": frame.data, "more_body": True}
                await self._send(body)
        finally:
            self._ended.set()


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
