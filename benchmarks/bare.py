"""The yardstick of the turns: a bare request-reply loop over WebSocket that knows no game.

It sends a request of a given size, waits for the reply under one ``asyncio.timeout``, and looks at
the reply's id. Nothing is parsed, judged, kept or written.

All budgets are shares of what this loop reaches, so that it is changed only in a commit of its own,
which says why.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from websockets.asyncio.server import ServerConnection, serve

from benchmarks.processes import own_job, tell
from croupier_server.app import run

TIMEOUT_S = 10.0


class BareLoop:
    """Asks every connection so many times, each as soon as it has answered."""

    def __init__(self, connections: int, turns: int, seqs: int, request_bytes: int) -> None:
        self._connections = connections
        self._turns = turns
        self._seqs = seqs
        self._padding = "x" * max(request_bytes - len(request_text("1.10:10", "")), 0)
        self._joined = 0
        self._done = 0
        self.begins = asyncio.Event()
        self.ends = asyncio.Event()

    async def handle(self, connection: ServerConnection) -> None:
        """Serve one connection."""
        await connection.recv()
        await connection.send('{"jsonrpc":"2.0","result":true}')
        self._joined += 1
        number = self._joined
        if self._joined == self._connections:
            self.begins.set()
        await self.begins.wait()
        for turn in range(self._turns):
            await self._ask(connection, f"1.{number}:{turn % self._seqs + 1}")
        self._done += 1
        if self._done == self._connections:
            self.ends.set()
        await self.ends.wait()

    async def _ask(self, connection: ServerConnection, request_id: str) -> None:
        async with asyncio.timeout(TIMEOUT_S):
            await connection.send(request_text(request_id, self._padding))
            reply = await connection.recv(decode=True)
        if not reply.startswith(f'{{"jsonrpc":"2.0","id":"{request_id}"'):
            raise ValueError(f"not the reply to {request_id}: {reply!r:.100}")


def request_text(request_id: str, padding: str) -> str:
    """A request that looks like one of ours, as far as the load looks."""
    return f'{{"jsonrpc":"2.0","id":"{request_id}","method":"move","params":"{padding}"}}'


async def main(job: dict[str, Any]) -> None:
    """Serve, and report."""
    connections, turns = job["connections"], job["turns"]
    loop = BareLoop(connections, turns, job["seqs"], job["request_bytes"])
    async with serve(
        loop.handle, "127.0.0.1", 0, compression=None, max_queue=4, ping_timeout=None
    ) as server:
        tell({"port": next(iter(server.sockets)).getsockname()[1]})
        await loop.begins.wait()
        wall, cpu = time.perf_counter(), time.process_time()
        await loop.ends.wait()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    made = connections * turns
    tell({"turns": made, "turns_per_s": made / wall, "cpu_us": cpu * 1e6 / made})


if __name__ == "__main__":
    run(main(own_job()))
