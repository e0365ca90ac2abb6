"""The load of the viewers benchmark: many who watch one game and note when they hear of it."""

from __future__ import annotations

import asyncio
import re
import time
from typing import Any, cast

from benchmarks.processes import be_patient, own_job, raise_open_files, tell, told
from benchmarks.report import quantile
from croupier_server.app import run

AT_ONCE = 50
"""How many connections are opened at a time."""

PATH = "/t/benchmark/g/0.1/events"

WRITTEN = re.compile(rb'"written_us":(\d+)')


class Viewer(asyncio.Protocol):
    """A connection that watches; it reads no more of what it hears than it has to."""

    def __init__(self) -> None:
        self.is_there: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.delays_us: list[int] = []
        self.heard_s: list[float] = []
        self.is_lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the stream."""
        cast("asyncio.Transport", transport).write(
            f"GET {PATH} HTTP/1.1\r\nHost: benchmark\r\n\r\n".encode()
        )

    def data_received(self, data: bytes) -> None:
        """Note what has come, and how long after it was written."""
        now = time.monotonic_ns()
        if b"event: snapshot" in data and not self.is_there.done():
            self.is_there.set_result(None)
        if frames := data.count(b"event: lines"):
            self.heard_s += [now / 1e9] * frames
            self.delays_us += [now // 1000 - int(at) for at in WRITTEN.findall(data)]

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's
        """Note that it is over."""
        self.is_lost = True

    def most_in_a_second(self) -> int:
        """How many frames came within any second."""
        most = first = 0
        for at, heard in enumerate(self.heard_s):
            while heard - self.heard_s[first] >= 1:
                first += 1
            most = max(most, at - first + 1)
        return most


async def main(job: dict[str, Any]) -> None:
    """Watch until told to stop, and report."""
    raise_open_files()
    loop = asyncio.get_running_loop()
    port = (await asyncio.to_thread(told))["web"]
    viewers: list[Viewer] = []
    for first in range(0, job["viewers"], AT_ONCE):
        some = [Viewer() for _ in range(min(AT_ONCE, job["viewers"] - first))]
        for viewer in some:
            await loop.create_connection(lambda viewer=viewer: viewer, "127.0.0.1", port)  # type: ignore[misc]
        await asyncio.gather(*(viewer.is_there for viewer in some))
        viewers += some
    tell({"ready": len(viewers)})
    await asyncio.to_thread(told)
    delays = [delay for viewer in viewers for delay in viewer.delays_us]
    tell(
        {
            "heard": len(delays),
            "lost": sum(viewer.is_lost for viewer in viewers),
            "fewest": min(len(viewer.delays_us) for viewer in viewers),
            "p50_ms": quantile(delays, 0.5) / 1e3,
            "p99_ms": quantile(delays, 0.99) / 1e3,
            "frames_per_s": max(viewer.most_in_a_second() for viewer in viewers),
        }
    )


if __name__ == "__main__":
    be_patient()
    run(main(own_job()))
