"""A proxy that loses connections: what goes through it can be cut at any time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


class Proxy:
    """Forwards TCP connections to a port of this machine until they are cut."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self.port = 0
        self.connections = 0

    def cut(self) -> None:
        """Lose all connections, without a word to either end."""
        for writer in self._writers:
            writer.transport.abort()

    async def handle(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        self.connections += 1
        far, forth = await asyncio.open_connection("127.0.0.1", self._target)
        self._writers |= {back, forth}
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pump(near, forth))
                group.create_task(self._pump(far, back))
        finally:
            for writer in (back, forth):
                writer.transport.abort()
                self._writers.discard(writer)

    @staticmethod
    async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.transport.abort()


@asynccontextmanager
async def proxy_to(port: int) -> AsyncGenerator[Proxy]:
    """A proxy to that port, gone afterwards."""
    proxy = Proxy(port)
    server = await asyncio.start_server(proxy.handle, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        proxy.cut()
        await server.wait_closed()
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            mine = [task for task in others if "Proxy" in repr(task.get_coro())]
            if not mine:
                break
            await asyncio.wait(mine, timeout=5)
