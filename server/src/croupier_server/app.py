"""The application: builds the parts, runs one tournament, and takes everything down again."""

from __future__ import annotations

import asyncio
import secrets
import signal
import sys
from collections.abc import Callable, Coroutine
from types import FrameType
from typing import Any, TypeVar

from croupier_server.gateway.course_tcp import CourseGateway
from croupier_server.gateway.stdio import StdioGateway
from croupier_server.gateway.websocket import WebSocketGateway
from croupier_server.lobby import Lobby
from croupier_server.roster import Roster
from croupier_server.settings import Settings
from croupier_server.storage.records import GameStore, NoRecords, RecordFolder
from croupier_server.tournament.manager import Manager, Progress, TournamentResult

__all__ = ["App", "Stopped", "run"]

T = TypeVar("T")


class Stopped(Exception):
    """The program was told to stop; ``signum`` is the signal."""

    def __init__(self, signum: int) -> None:
        super().__init__(signal.Signals(signum).name)
        self.signum = signum


class App:
    """A server for one tournament.

    Args:
        listening: told the port once players can connect.
        course_listening: told the port for clients of the course's protocol, where there is one.
        progress: told what happens in the tournament.

    Attributes:
        seed: the tournament's, drawn if the settings have none.
        folder: where its records are, if anywhere.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        listening: Callable[[int], None] = lambda _: None,
        course_listening: Callable[[int], None] = lambda _: None,
        progress: Callable[[Progress], None] = lambda _: None,
    ) -> None:
        self._settings = settings
        self._listening = listening
        self._course_listening = course_listening
        self._progress = progress
        folder = settings.records.folder
        self._records = None if folder is None else RecordFolder(folder)
        roster = settings.lobby.roster
        self._roster = None if roster is None else Roster.read(roster)
        seed = settings.tournament.seed
        self.folder = None if self._records is None else self._records.path
        self.seed = secrets.randbits(62) if seed is None else seed

    async def run(self) -> TournamentResult:
        """Gather players, play the tournament, and stop.

        Raises:
            UserError: the address can't be listened on, or a program can't be started.
            NotEnoughPlayers: too few signed up in time.
        """
        lobby = Lobby(self._settings.lobby, self._roster)
        gateway = WebSocketGateway(self._settings, lobby.admit, lobby.leave)
        course_port = self._settings.server.course_port
        course = CourseGateway(self._settings, course_port or 0, lobby.admit, lobby.leave)
        logs = None if self.folder is None else self.folder / "logs"
        local = StdioGateway(self._settings, lobby.admit, lobby.leave, logs=logs)
        store: GameStore = self._records or NoRecords()
        try:
            await local.start(self._settings.lobby.programs)
            await gateway.start()
            if course_port is not None:
                await course.start()
                self._course_listening(course.port)
            self._listening(gateway.port)
            seats = await lobby.gather()
            manager = Manager(self._settings, seats, self.seed, store, self._progress)
            result = await manager.run()
            if self._records is not None:
                self._records.finish(result.to_json())
            return result
        finally:
            await course.stop()
            await gateway.stop()
            await local.stop()


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in a loop of its own, the fastest that there is here.

    SIGINT and SIGTERM cancel it, so that everything is written and closed on the way out.

    Raises:
        Stopped: it was ended by a signal.
    """
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(_until_signal(main))


async def _until_signal(main: Coroutine[Any, Any, T]) -> T:
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(main)
    received: list[int] = []

    def stop(signum: int, _frame: FrameType | None) -> None:
        received.append(signum)
        loop.call_soon_threadsafe(task.cancel)

    # plain handlers, since a loop has add_signal_handler on Unix only
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        return await task
    except asyncio.CancelledError:
        if received:
            raise Stopped(received[0]) from None
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if sys.platform == "win32":
        return None
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
