"""House players: strategies that the server plays itself, in processes of their own.

A strategy keeps nothing: the same state gives the same action. So a house player needs no session;
after a restart of the server it goes on where it was.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Final

import structlog

from croupier_common.messages import ServerNotification
from croupier_common.notation import state_from_json, state_to_json
from croupier_common.rules import Rules
from croupier_common.strategies import make
from croupier_common.verdict import Fault
from croupier_server.gateway.house_entry import HouseEntry
from croupier_server.seats import Answer, Call, Kind, NoAnswer, out_of_it
from croupier_server.turn_call import TurnCall

__all__ = ["HousePool", "HouseSeat"]

log = structlog.get_logger(__name__)

_MANY: Final = 1_000
"""How many games a house player can play at once: it keeps nothing of any."""


class HousePool:
    """The processes in which house players think; they are started when one is first asked."""

    def __init__(self, processes: int | None = None) -> None:
        self._processes = processes or max(1, (os.cpu_count() or 2) - 1)
        self._pool: ProcessPoolExecutor | None = None

    async def choose(self, spec: str, seed: int, name: str, call: TurnCall) -> object:
        """The action that a strategy chooses, as JSON."""
        request = call.request
        job = {
            "spec": spec,
            "seed": seed,
            "labels": [name, request.game.partition("-")[0]],  # played again, it is the same game
            "state": state_to_json(request.state),
            "rules": request.state.rules.to_json(),
        }
        text = json.dumps(job)
        try:
            return await self._run(text)
        except BrokenProcessPool:  # a process was killed, and all of the pool with it
            return await self._run(text)

    async def _run(self, text: str) -> object:
        pool = self._running()
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, _choose, text)
        except BrokenProcessPool:
            if self._pool is pool:
                log.warning("a process of the house players was killed; they get new ones")
                self._pool = None
            raise

    def close(self) -> None:
        """End the processes, whatever they think about; may be called twice."""
        pool, self._pool = self._pool, None
        if pool is not None:
            workers = list(getattr(pool, "_processes", {}).values())
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in workers:
                worker.kill()
            for worker in workers:
                worker.join()

    def _running(self) -> ProcessPoolExecutor:
        if self._pool is None:
            from multiprocessing import get_context  # for who has house players only

            self._pool = ProcessPoolExecutor(
                self._processes, mp_context=get_context("spawn"), initializer=_begin
            )
        return self._pool


def _begin() -> None:
    """In a process of the pool: end with the server, however that ends, and not by Ctrl-C."""
    import signal
    from multiprocessing import parent_process

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, name="watch the server", daemon=True).start()


def _choose(text: str) -> Any:
    """In a process of the pool: one choice."""
    job: Mapping[str, Any] = json.loads(text)
    rules = Rules.from_json(job["rules"])
    strategy = make(job["spec"], seed=job["seed"], labels=job["labels"])
    return strategy.choose(state_from_json(job["state"], rules)).to_json()


class HouseSeat:
    """A player of the house. It has no clock: it searches by nodes, never by time.

    Args:
        seed: the tournament's; decides, with the name and the game, what a strategy draws.
    """

    kind: Kind = "house"

    def __init__(self, entry: HouseEntry, seed: int, pool: HousePool) -> None:
        self.name = entry.name
        self.entry = entry
        self.age: int | None = None
        self.wants_events = False
        self.wants_legal_actions = False
        self.max_games = _MANY
        self.session: str | None = None
        self.is_far = False
        self._seed = seed
        self._pool = pool
        self._out: NoAnswer | None = None

    def __repr__(self) -> str:
        return f"<HouseSeat {self.name!r} {self.entry.plays}>"

    async def ask(self, call: Call, budget_ms: int | None) -> Answer | NoAnswer:  # noqa: ARG002 - Seat's
        """See :meth:`croupier_server.seats.Seat.ask`."""
        if self._out is not None:
            return self._out
        if not isinstance(call, TurnCall):
            return Answer(True, 0)
        began = time.monotonic()
        action = await self._pool.choose(self.entry.plays, self._seed, self.name, call)
        return Answer(action, int((time.monotonic() - began) * 1000))

    async def tell(self, message: ServerNotification) -> None:
        """See :meth:`croupier_server.seats.Seat.tell`."""

    async def pardon(self) -> bool:
        """See :meth:`croupier_server.seats.Seat.pardon`."""
        return True

    def dismiss(self, fault: Fault | None) -> None:
        """See :meth:`croupier_server.seats.Seat.dismiss`."""
        if fault is not None:
            self._out = out_of_it(fault)
