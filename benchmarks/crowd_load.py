"""The load of the crowd benchmark: good players, bad ones in a process of theirs, waiting ones."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from benchmarks.load import HEAD, Load
from benchmarks.processes import child, own_job, raise_open_files, tell, told
from benchmarks.report import quantile
from croupier_server.app import run

AT_ONCE = 50
"""How many connections are opened at a time."""


class CrowdLoad(Load):
    """Good players as in :class:`Load`; whose table has a bad one is not counted."""

    async def misbehave(self, port: int, name: str, kind: int) -> None:
        """Play right until the first placement, then do one thing wrong."""
        async with _joined(port, name) as connection:
            with suppress(ConnectionClosed):
                while True:
                    raw = str(await connection.recv())
                    if not raw.startswith(HEAD):
                        continue
                    request_id = raw[len(HEAD) : raw.index('"', len(HEAD))]
                    if request_id.endswith(":0"):
                        await connection.send(f'{HEAD}{request_id}","result":true}}')
                    else:
                        await _wrong(connection, request_id, kind)

    async def wait(self, port: int, name: str, joined: asyncio.Semaphore) -> None:
        """Join, and do nothing until the server closes the connection."""
        await joined.acquire()
        async with _joined(port, name) as connection:
            joined.release()
            with suppress(ConnectionClosed):
                await connection.recv()

    def report_good(self, bad_tables: int) -> dict[str, float]:
        """What the good players saw."""
        good = [
            overhead
            for table, overheads in self.by_table.items()
            if int(table) > bad_tables
            for overhead in overheads
        ]
        return {"p50_ms": quantile(good, 0.5) * 1e3, "p99_ms": quantile(good, 0.99) * 1e3}


@asynccontextmanager
async def _joined(port: int, name: str) -> AsyncGenerator[ClientConnection]:
    """A connection whose player has joined."""
    uri = f"ws://127.0.0.1:{port}"
    async with connect(uri, compression=None, ping_interval=None, open_timeout=60) as connection:
        params = {"protocol": 1, "name": name}
        join = {"jsonrpc": "2.0", "id": "j", "method": "join", "params": params}
        await connection.send(json.dumps(join))
        await connection.recv()
        yield connection


async def _wrong(connection: ClientConnection, request_id: str, kind: int) -> None:
    match kind % 5:
        case 0:
            await connection.send("garbage")
        case 1:
            await connection.send(f'{HEAD}{request_id}","result":[99,99]}}')
        case 2:
            for number in range(20_000):
                await connection.send(f'{HEAD}flood:{number}","result":1}}')
        case 3:
            await connection.close()
        case _:
            for _number in range(5_000):
                _ = await connection.ping()


async def play_all(job: dict[str, Any], answers: dict[str, str], port: int) -> None:
    """Play until the server closes all connections."""
    load = CrowdLoad(answers)
    slots = asyncio.Semaphore(AT_ONCE)
    async with _others(job, port), asyncio.TaskGroup() as group:
        for number in range(2 * job["tables"]):
            name = f"player {number}"
            if not _is_bad(number, job):
                group.create_task(load.play(port, name), name=name)
        for number in range(job["idle"]):
            group.create_task(load.wait(port, f"idle {number}", slots), name=f"idle {number}")
    tell(load.report_good(job["hostile"]))


async def misbehave_all(job: dict[str, Any], port: int) -> None:
    """Be all the bad players."""
    load = CrowdLoad({})
    async with asyncio.TaskGroup() as group:
        for number in range(2 * job["tables"]):
            if _is_bad(number, job):
                group.create_task(load.misbehave(port, f"player {number}", number // 2))


def _is_bad(number: int, job: dict[str, Any]) -> bool:
    return number % 2 == 1 and number // 2 < job["hostile"]


@asynccontextmanager
async def _others(job: dict[str, Any], port: int) -> AsyncGenerator[None]:
    """A process with the bad players, so that what they do costs the good ones' process nothing."""
    if not job["hostile"]:
        yield
        return
    async with child("benchmarks.crowd_load", {**job, "role": "bad", "port": port}):
        yield


def main(job: dict[str, Any]) -> None:
    """Play the part that the job gives."""
    raise_open_files()
    if job.get("role") == "bad":
        run(misbehave_all(job, job["port"]))
        return
    book: dict[str, str] = json.loads(Path(job["answers"]).read_text(encoding="utf-8"))
    run(play_all(job, book, told()["port"]))


if __name__ == "__main__":
    main(own_job())
