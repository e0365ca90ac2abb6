"""The application: builds the parts, runs its tournaments, and takes everything down again."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, TypeVar

import structlog

from croupier_server.ending import to_its_end
from croupier_server.errors import (
    CroupierError,
)
from croupier_server.gateway.course_tcp import CourseGateway
from croupier_server.gateway.house_seat import HousePool
from croupier_server.gateway.websocket import WebSocketGateway
from croupier_server.operations import news as operations_news
from croupier_server.operations.drain import Drain
from croupier_server.operations.tally import Gauges
from croupier_server.operations.watch import Watch
from croupier_server.practice import PRACTICE, PracticeRoom
from croupier_server.room import House, Room, goodbye
from croupier_server.rooms import AnyRoom, Rooms
from croupier_server.seats import Seat
from croupier_server.settings import Settings
from croupier_server.storage.record_files import new_folder
from croupier_server.tournament.progress import Progress, TournamentResult
from croupier_server.tournaments import Tournaments, check_names

if TYPE_CHECKING:
    from croupier_server.storage.database import Database
    from croupier_server.web.server import WebServer

__all__ = ["App", "Stopped", "run", "set_aside", "to_its_end"]

log = structlog.get_logger(__name__)

T = TypeVar("T")

SWITCH_S: Final = 0.0005
"""For how long a thread may keep the interpreter while the loop waits for it; by itself, 5 ms."""


class Stopped(Exception):
    """The program was told to stop; ``signum`` is the signal."""

    def __init__(self, signum: int) -> None:
        super().__init__(signal.Signals(signum).name)
        self.signum = signum


class App:
    """A server for one tournament, or for several at a time.

    Args:
        settings: of the first tournament, and of the server.
        others: of more tournaments; from these, what belongs to the server is not looked at.
        listening: told the port once players can connect.
        course_listening: told the port for clients of the course's protocol, where there is one.
        web_listening: told where the pages are, where there are any.
        operations_listening: told where the operator's port is, where there is one.
        progress: told what happens in the tournaments.
        ended: told of each tournament that has ended.
        is_new: whether a tournament gets a name of its own, with a number, where the data
            directory has a finished one of that name.
        folder: where records are put at the end; a new one in that of the settings if None.

    Attributes:
        folder: where the records of the first tournament are put at the end, if anywhere.
        watch: what an operator can see of it.
    """

    def __init__(
        self,
        settings: Settings,
        *others: Settings,
        listening: Callable[[int], None] = lambda _: None,
        course_listening: Callable[[int], None] = lambda _: None,
        web_listening: Callable[[str], None] = lambda _: None,
        operations_listening: Callable[[str], None] = lambda _: None,
        progress: Callable[[Progress], None] = lambda _: None,
        ended: Callable[[TournamentResult], None] = lambda _: None,
        is_new: bool = False,
        folder: Path | None = None,
    ) -> None:
        self._settings = settings
        self._listening = listening
        self._course_listening = course_listening
        self._web_listening = web_listening
        self.watch = Watch(settings.operations, operations_listening)
        self._drain: Drain | None = None
        place = settings.records.folder
        self.folder = new_folder(place) if folder is None and place is not None else folder
        self._played = [settings, *others]
        self._tournaments = Tournaments((), ended)
        self._progress = progress
        self._ended = ended
        self._is_new = is_new
        check_names(self._played)

    @property
    def results(self) -> Mapping[str, TournamentResult]:
        """By name, how the tournaments ended that have."""
        return self._tournaments.results

    @property
    def unplayed(self) -> Mapping[str, CroupierError]:
        """By name, why others did not."""
        return self._tournaments.unplayed

    async def run(self) -> TournamentResult:
        """Gather players, play the tournaments, and stop.

        Returns:
            the first tournament's result.

        Raises:
            UserError: the address can't be listened on, a program can't be started, or the
                database can't be used.
            NotEnoughPlayers: too few signed up in time for one of them.
            StoppedByOrder: the operator has stopped one of them.
            StorageFailed: nothing can be written down any more.
        """
        from croupier_server.operations.retention import kept_for
        from croupier_server.storage.database import Database  # heavy

        storage, watch = self._settings.storage, self.watch
        async with (
            watch.shown(),
            await Database.open(storage.where, watch.tally.store) as database,
            watch.over(database, storage.where),
            kept_for(database, storage.keep_days),
        ):
            pool = HousePool()
            try:
                return await self._serve(database, pool)
            finally:
                pool.close()

    async def drain(self) -> None:
        """Start no more games, and wait for those that run, as long as the settings let them."""
        limit_ms = self._settings.server.drain_ms
        if self._drain is not None and limit_ms:
            self.watch.health.phase = "draining"
            await self._drain.run(limit_ms / 1000)

    async def _serve(self, database: Database, pool: HousePool) -> TournamentResult:
        rooms: dict[str, AnyRoom] = {}
        doors = Rooms(rooms)
        gateway = WebSocketGateway(self._settings, doors.admit, doors.leave, self.watch.tally)
        course_port = self._settings.server.course_port
        course = CourseGateway(self._settings, course_port or 0, doors.admit, doors.leave)
        house = House(database, gateway, pool, self._logs(), self.watch.tally)
        played = self._tournaments = Tournaments(
            [Room(settings, house, self._heard, is_new=self._is_new) for settings in self._played],
            self._ended,
        )

        def forget(seat: Seat) -> None:
            doors.forget(seat)
            gateway.forget(seat)

        practice = PracticeRoom(self._settings, pool, forget, self.watch.tally)
        pages: WebServer | None = None
        try:
            await played.prepare()
            rooms.update((room.name, room) for room in played.open)
            if self._settings.practice.enabled:
                rooms[PRACTICE] = practice
            await gateway.start()
            if course_port is not None:
                await course.start()
                self._course_listening(course.port)
            if self._settings.web.port is not None:
                pages = self._pages(database, gateway.port, played.open)
                await pages.start()
                gateway.origins.site_port = pages.port
                self._web_listening(pages.url)
            self._now_serves(gateway, course, played.rooms, pages)
            is_kept = self._settings.storage.where is not None
            self._drain = Drain(doors, [*played.rooms, practice], gateway, goodbye(is_kept))
            self._listening(gateway.port)
            return await self._play(played)
        finally:

            async def end() -> None:
                self.watch.health.phase = "stopping"
                last_words = goodbye(played.go_on)
                gateway.shut(*last_words)
                await played.close()
                if pages is not None:
                    await pages.stop()
                await practice.close()
                await course.stop()
                await gateway.stop(*last_words)
                await played.export(self.folder)

            await to_its_end(end())

    def _now_serves(
        self,
        gateway: WebSocketGateway,
        course: CourseGateway,
        rooms: Sequence[Room],
        pages: WebServer | None,
    ) -> None:
        """Have the operator see what goes on."""
        health = self.watch.health

        def look() -> Gauges:
            return Gauges(
                waiting=sum(room.waiting for room in rooms),
                connections={
                    "websocket": gateway.connections,
                    "course": course.connections,
                    "program": sum(room.programs for room in rooms),
                },
                viewers=0 if pages is None else pages.viewers,
                is_draining=health.phase == "draining",
            )

        async def is_listening() -> str | None:
            return None if gateway.is_listening else "players can't connect"

        self.watch.look = look
        health.ready["gateway"] = is_listening
        health.phase = "serving"

    def _pages(self, database: Database, port: int, rooms: Sequence[Room]) -> WebServer:
        """The pages of all that is played here."""
        from croupier_server.web.server import WebServer  # heavy
        from croupier_server.web.site import Doors

        where, practice = self._settings.server, self._settings.practice
        doors = Doors(
            where.host,
            port,
            is_tls=where.tls_certificate is not None,
            rooms=tuple(room.name for room in rooms),
            practice=practice.house if practice.enabled else (),
        )
        services = {"rooms": {room.name: room for room in rooms}}
        return WebServer(self._settings, database, doors=doors, services=services)

    async def _play(self, played: Tournaments) -> TournamentResult:
        """Play all tournaments, side by side; the first one's result."""
        await played.play()
        practice, web = self._settings.practice, self._settings.web
        if (practice.enabled and practice.stays) or (web.port is not None and web.stays):
            await asyncio.get_running_loop().create_future()
        return played.first_result()

    def _heard(self, news: Progress) -> None:
        operations_news.count(self.watch.tally, news)
        self._progress(news)

    def _logs(self) -> Path | None:
        if self.folder is not None:
            return self.folder / "logs"
        data = self._settings.storage.data
        return None if data is None or self._settings.storage.url else data / "logs"


def set_aside() -> None:
    """Spare what is there to stay from being looked at by every full collection of garbage.

    Those took up to a quarter of a second of the loop.
    """
    gc.collect()
    gc.freeze()


def run(
    main: Coroutine[Any, Any, T], drain: Callable[[], Coroutine[Any, Any, None]] | None = None
) -> T:
    """Run a coroutine to its end in a loop of its own, the fastest that there is here.

    SIGINT and SIGTERM cancel it, so that everything is written and closed on the way out.

    Args:
        drain: what is done at the first SIGTERM, before it is cancelled; a second signal ends that.

    Raises:
        Stopped: it was ended by a signal.
    """
    sys.setswitchinterval(SWITCH_S)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(_until_signal(main, drain))


async def _until_signal(
    main: Coroutine[Any, Any, T], drain: Callable[[], Coroutine[Any, Any, None]] | None
) -> T:
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(main)
    received: list[int] = []
    draining: list[asyncio.Task[None]] = []

    def obey() -> None:
        if drain is not None and received == [signal.SIGTERM]:
            draining.append(asyncio.ensure_future(drain()))
            draining[0].add_done_callback(lambda _: task.cancel())
        else:
            task.cancel()

    def stop(signum: int, _frame: FrameType | None) -> None:
        received.append(signum)
        loop.call_soon_threadsafe(obey)

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
        for one in draining:
            one.cancel()
            await asyncio.wait({one})


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if sys.platform == "win32":
        return None
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
