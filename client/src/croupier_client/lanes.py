"""Lanes: a thread with a player in it, which plays one game at a time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Final, TypeVar

from croupier_client.errors import LoadError
from croupier_client.player import Player
from croupier_client.turns import Answer, Failed

__all__ = ["Lane"]

T = TypeVar("T")

_Job = Callable[[], None]


class Lane:
    """A player and the thread in which all its methods are called, its constructor too.

    The thread is a daemon: a player that thinks on when all is over holds nobody up.

    Attributes:
        game: the game that is played here now.
    """

    def __init__(self, name: str, make: Callable[[], Player]) -> None:
        self.game: str | None = None
        self._waiting = 0
        self._make: Final = make
        self._player: Player | None = None
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        Thread(target=self._work, name=name, daemon=True).start()

    @property
    def busy(self) -> bool:
        """Whether a call is not answered yet."""
        return self._waiting > 0

    async def open(self) -> None:
        """Make the player.

        Raises:
            LoadError: its constructor failed.
        """
        await self._run(self._open)

    async def call(self, function: Callable[[Player], Answer]) -> Answer:
        """What a function gives for the player; calls are made in the order of asking."""

        def job() -> Answer:
            try:
                player = self._open()
            except LoadError as problem:
                return Failed(str(problem))
            return function(player)

        return await self._run(job)

    def close(self) -> None:
        """End the thread after what it is at."""
        self._jobs.put(None)

    def _open(self) -> Player:
        if self._player is None:
            self._player = self._make()
        return self._player

    async def _run(self, function: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def deliver(result: T | None, problem: BaseException | None) -> None:
            self._waiting -= 1
            if future.done():  # whoever waited has given up
                return
            if problem is not None:
                future.set_exception(problem)
            else:
                future.set_result(result)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]

        def job() -> None:
            result: T | None = None
            problem: BaseException | None = None
            try:
                result = function()
            except BaseException as caught:  # noqa: BLE001 - raised again where it is awaited
                problem = caught
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(deliver, result, problem)

        self._waiting += 1
        self._jobs.put(job)
        return await future

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
