"""A load from one process: its players, and how well this process itself keeps up."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from ssl import create_default_context
from typing import Final

from websockets.exceptions import ConnectionClosed

from croupier_server.load.figures import Figures
from croupier_server.load.plan import Plan
from croupier_server.load.player import Common, LoadPlayer

__all__ = ["Generator", "Progress", "generate"]

BEAT_S: Final = 0.01
"""How often the loop's lateness is measured."""

_LOOK_S: Final = 0.1
"""How often one looks whether it is over, and pings one connection."""

_TELL_S: Final = 1.0

Progress = Mapping[str, int]
"""How far a process is: connections opened, players joined, turns and errors."""


def generate(plan: Plan, is_over: Callable[[], bool], tell: Callable[[Progress], None]) -> Figures:
    """Do what a plan says in a loop of its own, the fastest there is; the figures of it.

    Args:
        is_over: asked now and then; once it says so, all players leave.
        tell: told every second how far it is.
    """

    async def main() -> Figures:
        return await Generator(plan).run(is_over, tell)

    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(main())


class Generator:
    """The players of one process, in the running loop."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._figures = Figures()
        # one context for all: each holds all certificates that the system trusts
        tls = create_default_context() if plan.url.startswith("wss:") else None
        self._common = Common(plan, self._figures, tls)
        self._loop = asyncio.get_running_loop()
        self._kib_before = _resident_kib()
        self._looked, self._worked = time.monotonic(), time.process_time()
        self._to_ping: list[str] = []

    async def run(self, is_over: Callable[[], bool], tell: Callable[[Progress], None]) -> Figures:
        """See :func:`generate`."""
        visits = asyncio.create_task(self._visit_all(), name="visits")
        watching = asyncio.create_task(self._watch(is_over, tell), name="watching")
        self._start_beat()
        try:
            await asyncio.wait({visits, watching}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._note_work()
            visits.cancel()
            watching.cancel()
            await asyncio.wait({visits, watching})
            self._beating.cancel()
        for task in (visits, watching):
            if not task.cancelled():
                task.result()
        return self._figures

    async def _visit_all(self) -> None:
        """Have all players join at their rate; when all but the idle ones are done, these leave."""
        joining = asyncio.Semaphore(self._plan.at_once)
        idle: list[asyncio.Task[None]] = []
        playing: list[asyncio.Task[None]] = []
        begun = self._loop.time()
        async with asyncio.TaskGroup() as group:
            for number, visitor in enumerate(self._plan.visitors):
                await asyncio.sleep(begun + number / self._plan.rate - self._loop.time())
                visit = LoadPlayer(visitor, self._common).visit(joining)
                task = group.create_task(visit, name=visitor.name)
                (idle if visitor.is_idle else playing).append(task)
            if playing:
                await asyncio.wait(playing)
                for task in idle:
                    task.cancel()

    # -- how this process keeps up

    async def _watch(self, is_over: Callable[[], bool], tell: Callable[[Progress], None]) -> None:
        """Measure this process until it is over."""
        begun = time.monotonic()
        while not is_over():
            if time.monotonic() - begun >= self._plan.seconds:
                self._figures.is_timed_out = True
                return
            await asyncio.sleep(_LOOK_S)
            await self._ping_one()
            self._weigh()
            if time.monotonic() - self._looked > _TELL_S:
                self._note_work()
                tell(self._progress())

    def _note_work(self) -> None:
        """How much of a core was used since this was last asked."""
        now, worked = time.monotonic(), time.process_time()
        if now > self._looked + _LOOK_S:
            busy = (worked - self._worked) / (now - self._looked)
            self._figures.busy[round(100 * busy)] += 1
            self._looked, self._worked = now, worked

    def _progress(self) -> Progress:
        figures = self._figures
        return {
            "opened": figures.opened,
            "joined": figures.joined,
            "turns": figures.turns,
            "errors": figures.errors.total(),
        }

    def _start_beat(self) -> None:
        # not the loop's own time, which uvloop keeps in whole milliseconds
        self._beating = self._loop.call_later(BEAT_S, self._beat, time.monotonic() + BEAT_S)

    def _beat(self, due: float) -> None:
        self._figures.durations["lag"].add(time.monotonic() - due)
        self._start_beat()

    def _weigh(self) -> None:
        """What the connections take, when there are more of them than ever."""
        here, memory = len(self._common.here), self._figures.memory
        if self._kib_before and here > memory.connections:
            memory.connections, memory.kib = here, _resident_kib() - self._kib_before

    async def _ping_one(self) -> None:
        """Ping the next connection, and note later when the pong came."""
        here = self._common.here
        if not self._to_ping:
            self._to_ping = list(here)
        connection = here.get(self._to_ping.pop()) if self._to_ping else None
        if connection is None:
            return
        sent = time.monotonic()

        def pong(answer: asyncio.Future[float]) -> None:
            if not answer.cancelled() and answer.exception() is None:
                self._figures.durations["ping"].add(time.monotonic() - sent)

        with suppress(ConnectionClosed):
            answer = await connection.ping()
            asyncio.ensure_future(answer).add_done_callback(pong)


def _resident_kib() -> int:
    """How much memory this process holds; 0 where the system does not tell."""
    if sys.platform != "linux":
        return 0
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if sys.platform == "win32":
        return None
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
