"""Both ends of TCP connections, in a test's hands: who listens at a place, and who dials it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

PATIENCE_S = 5.0
QUIET_S = 0.05
"""How long nothing may come before it counts as nothing."""


@dataclass(eq=False)
class End:
    """One end of a connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def said(self, count: int) -> bytes:
        """Give what came, of that length."""
        async with asyncio.timeout(PATIENCE_S):
            return await self.reader.readexactly(count)

    async def rest(self) -> bytes:
        """Give all that comes to the end."""
        async with asyncio.timeout(PATIENCE_S):
            return await self.reader.read()

    async def is_quiet(self) -> bool:
        """Whether nothing comes, no end either, for as long as nothing may."""
        try:
            async with asyncio.timeout(QUIET_S):
                return await self.reader.read(1) == b"never"
        except TimeoutError:
            return True

    async def is_reset(self) -> bool:
        """Whether the connection breaks off before it ends."""
        try:
            await self.rest()
        except ConnectionResetError:
            return True
        return False

    def say(self, data: bytes) -> None:
        self.writer.write(data)

    def stop_saying(self) -> None:
        self.writer.write_eof()

    def break_off(self) -> None:
        end: socket.socket = self.writer.get_extra_info("socket")
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, bytes([1, 0, 0, 0, 0, 0, 0, 0]))
        self.writer.transport.abort()

    async def close(self) -> None:
        self.writer.transport.abort()
        with suppress(OSError):  # it may have broken off before
            await self.writer.wait_closed()


@dataclass(eq=False)
class Place:
    """A server whose ends of connections a test holds in its hands."""

    port: int = 0
    taken: asyncio.Queue[End] = field(default_factory=asyncio.Queue[End])
    ends: list[End] = field(default_factory=list[End])

    def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.ends.append(End(reader, writer))
        self.taken.put_nowait(self.ends[-1])

    async def next(self) -> End:
        """Give the end of the next connection that comes."""
        async with asyncio.timeout(PATIENCE_S):
            return await self.taken.get()


@asynccontextmanager
async def place(path: Path | None = None) -> AsyncGenerator[Place]:
    """A place at a port, or at the path of a Unix socket; all of its connections end with it."""
    made = Place()
    if path is not None:
        server = await asyncio.start_unix_server(made.take, path)
    else:
        server = await asyncio.start_server(made.take, "127.0.0.1", 0)
        made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
        for end in made.ends:
            await end.close()
        await server.wait_closed()


async def dial(stack: AsyncExitStack, port: int) -> End:
    async with asyncio.timeout(PATIENCE_S):
        end = End(*await asyncio.open_connection("127.0.0.1", port))
    stack.push_async_callback(end.close)
    return end
