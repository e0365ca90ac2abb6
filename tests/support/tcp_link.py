"""One TCP connection led on to another place, and what a bad network does to it on the way."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

Side = Literal["client", "target"]

CHUNK = 65_536
MOST_WAITING = 1_048_576
"""How many bytes of one direction wait at most; beyond it the sender isn't read from."""


@dataclass(slots=True)
class Weather:
    """What happens to all that passes: how late it comes, and whether it waits or is lost."""

    delay_s: float = 0.0
    is_held: bool = False
    is_lossy: bool = False


@dataclass(slots=True)
class Passed:
    """Bytes on the way to one side: those that it was given, and those that were thrown away."""

    delivered: int = 0
    lost: int = 0


@dataclass(slots=True, eq=False)
class Flow:
    """One direction of a link: what came waits in its order, and the end or the break behind it.

    In the queue nothing (b"") is the end, and None a break.
    """

    source: socket.socket
    sink: socket.socket
    weather: Weather
    passed: Passed
    is_shut: bool = False
    has_hole: bool = False
    waiting: int = 0
    _queue: deque[tuple[float, bytes | None]] = field(
        default_factory=deque[tuple[float, bytes | None]]
    )
    _may_read: asyncio.Event = field(default_factory=asyncio.Event)
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def look(self) -> None:
        """Go by the weather as it is now."""
        if self.waiting < MOST_WAITING:
            self._may_read.set()
        else:
            self._may_read.clear()
        self._news.set()

    def lose(self) -> None:
        """Throw away what is on its way, be it the end."""
        self.has_hole = self.has_hole or bool(self._queue)
        self.passed.lost += self.waiting
        self.waiting = 0
        self._queue.clear()
        self.look()

    def shut(self) -> None:
        """Send an end behind what is on its way; what comes later is thrown away."""
        if not self.is_shut:
            self.is_shut = True
            self._put(b"")

    async def read(self) -> None:
        """Take what comes until the end."""
        loop = asyncio.get_running_loop()
        while True:
            self.look()
            await self._may_read.wait()
            try:
                data = await loop.sock_recv(self.source, CHUNK)
            except OSError:
                self._take(None)
                return
            self._take(data)
            if not data:
                return

    def _take(self, data: bytes | None) -> None:
        if self.weather.is_lossy:
            self.has_hole = True
            self.passed.lost += len(data or b"")
        elif self.is_shut and data is not None:
            self.passed.lost += len(data)
        else:
            self.is_shut = not data
            self._put(data)

    def _put(self, data: bytes | None) -> None:
        self._queue.append((asyncio.get_running_loop().time(), data))
        self.waiting += len(data or b"")
        self.look()

    async def write(self) -> None:
        """Deliver what is due until the end.

        Raises:
            ConnectionResetError: it ended in a break.
        """
        while data := await self._next():
            try:
                sent = self.sink.send(data)
            except BlockingIOError:
                await self._until_writable()
            else:
                self._went(data, sent)
        if data is None:
            raise ConnectionResetError("the source has broken off")
        self.sink.shutdown(socket.SHUT_WR)

    def _went(self, data: bytes, sent: int) -> None:
        """Keep what the sink had no room for: it may be held, or lost, before there is some."""
        came, _ = self._queue.popleft()
        if sent < len(data):
            self._queue.appendleft((came, data[sent:]))
        self.passed.delivered += sent
        self.waiting -= sent
        self.look()

    async def _next(self) -> bytes | None:
        """Give what is first in the queue when it is due, and leave it there."""
        while (pause := self._pause_s()) is None or pause > 0:
            self._news.clear()
            try:
                async with asyncio.timeout(pause):
                    await self._news.wait()
            except TimeoutError:
                pass
        return self._queue[0][1]

    def _pause_s(self) -> float | None:
        """Give how long what is first has to wait; None if until there is news."""
        if not self._queue or self.weather.is_held or self.weather.is_lossy:
            return None
        due = self._queue[0][0] + self.weather.delay_s
        return max(0.0, due - asyncio.get_running_loop().time())

    async def _until_writable(self) -> None:
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        loop.add_writer(self.sink, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_writer(self.sink)


class Link:
    """A client's connection and the one to the target that is made for it.

    Args:
        passed: where the bytes to each side are counted.

    Attributes:
        task: runs `run`; `close` belongs behind it, even if it was cancelled before it began.
    """

    def __init__(
        self, client: socket.socket, weather: Weather, passed: Mapping[Side, Passed]
    ) -> None:
        self.task: asyncio.Task[None] | None = None
        self._ends = [client]
        self._weather = weather
        self._passed = passed
        self._is_lost = weather.is_lossy
        self._is_reset = False
        self._changed = asyncio.Event()
        self._flows: dict[Side, Flow] = {}

    @property
    def has_hole(self) -> bool:
        """Whether something of it was lost, so that it can't go on."""
        return self._is_lost or any(flow.has_hole for flow in self._flows.values())

    @property
    def waiting(self) -> int:
        """How many bytes of both directions are on their way."""
        return sum(flow.waiting for flow in self._flows.values())

    def look(self) -> None:
        """Go by the weather as it is now."""
        self._changed.set()
        for flow in self._flows.values():
            flow.look()

    def lose(self) -> None:
        """Throw away what is on its way; a link that isn't made yet never will be."""
        self._is_lost = self._is_lost or not self._flows
        for flow in self._flows.values():
            flow.lose()

    def half_close(self, side: Side) -> None:
        """Tell one side that the other sends no more; what that side sends still passes."""
        if self._flows:
            self._flows[side].shut()

    def reset(self) -> None:
        """Break off: each end gets a RST, and what is on its way is lost."""
        self._is_reset = True
        if self.task is not None:
            self.task.cancel()

    def close(self) -> None:
        """Close both connections, with a RST if it has broken off; again changes nothing."""
        for end in self._ends:
            close(end, hard=self._is_reset)

    async def run(self, connect: Callable[[], Awaitable[socket.socket]]) -> None:
        """Make the link and lead it on until both directions are over, or an end breaks off.

        Args:
            connect: gives a connected socket, or raises OSError.
        """
        try:
            while self._weather.is_held or self._is_lost:
                self._changed.clear()
                await self._changed.wait()
            self._ends.append(await connect())
            await self._lead(*self._ends)
        except* OSError:
            self._is_reset = True  # the other end is to see the same: no end, but a break

    async def _lead(self, client: socket.socket, target: socket.socket) -> None:
        self._flows = {
            "target": Flow(client, target, self._weather, self._passed["target"]),
            "client": Flow(target, client, self._weather, self._passed["client"]),
        }
        async with asyncio.TaskGroup() as group:
            for flow in self._flows.values():
                group.create_task(flow.read())
                group.create_task(flow.write())


def close(end: socket.socket, *, hard: bool = False) -> None:
    """Close a socket; `hard` with a RST instead of an end."""
    if hard and end.fileno() >= 0 and end.family != socket.AF_UNIX:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    end.close()


async def connected(host: str, port: int) -> socket.socket:
    """Give a socket that is connected; a host like `/run/x/.s.PGSQL.5432` is a Unix socket's path.

    Raises:
        OSError: nobody accepts there.
    """
    loop = asyncio.get_running_loop()
    family, address = socket.AF_UNIX, object()
    if host.startswith("/"):
        address = host
    else:
        [(family, _, _, _, address), *_] = await loop.getaddrinfo(
            host, port, type=socket.SOCK_STREAM
        )
    end = socket.socket(family)
    try:
        end.setblocking(False)
        send_at_once(end)
        await loop.sock_connect(end, address)
    except BaseException:
        end.close()
        raise
    return end


def send_at_once(end: socket.socket) -> None:
    """Have small pieces not wait for the acknowledgement of others, which would add a delay."""
    if end.family != socket.AF_UNIX:
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
