"""The manager of a cluster, from standing by to the end of its tournaments."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import structlog
from nats.errors import Error as NatsError

from croupier_server.cluster.dealer import Dealer, QueuedGames
from croupier_server.cluster.desk import Desk, FarPlayers
from croupier_server.cluster.link import Link
from croupier_server.cluster.local_seats import LocalSeats
from croupier_server.cluster.manager_drain import ManagerDrain
from croupier_server.cluster.queue import GamesQueue
from croupier_server.cluster.remote_seat import RemoteSeat
from croupier_server.cluster.roles import (
    AGAIN_S,
    Ready,
    check_link,
    database_of,
    linked,
    lost,
    watch_of,
)
from croupier_server.cluster.told import EventStream
from croupier_server.ending import to_its_end
from croupier_server.errors import StorageFailed, TournamentOver, UserError, first_of
from croupier_server.gateway.house_seat import HousePool
from croupier_server.operations import news as operations_news
from croupier_server.operations.retention import kept_for
from croupier_server.operations.tally import Gauges
from croupier_server.operations.watch import Watch
from croupier_server.room import House, Room
from croupier_server.rooms import AnyRoom, Rooms
from croupier_server.settings import Settings
from croupier_server.storage.database import Database
from croupier_server.storage.record_files import new_folder
from croupier_server.tournament.progress import Progress, TournamentResult
from croupier_server.tournaments import Tournaments, check_names

__all__ = ["run_manager"]

log = structlog.get_logger(__name__)

DRAIN_S: Final = 2.0
"""How long a manager's last words to its players may take to arrive."""


async def run_manager(
    played: Sequence[Settings],
    ready: Ready,
    progress: Callable[[Progress], None] = lambda _: None,
    ended: Callable[[TournamentResult, Path | None], None] | None = None,
    *,
    is_new: bool = False,
    drain: ManagerDrain | None = None,
) -> TournamentResult | None:
    """Run tournaments to their ends, once no other manager does.

    Args:
        played: the settings of each.
        progress: told what happens in them.
        ended: told of each that has ended, and where its records will be, if anywhere.
        is_new: whether a tournament gets a name of its own where that of the settings was used.
        drain: told what it has to drain, should it be told to stop.

    Returns:
        the first tournament's result; None if another manager has played it to its end.

    Raises:
        UserError: the database or NATS can't be reached at the start, or a tournament was over
            before it.
        NotEnoughPlayers: too few signed up in time for one of them.
        StoppedByOrder: the operator has stopped one of them.
    """
    settings = played[0]
    check_names(played)
    database_of(settings)
    watch = watch_of(settings, ready)
    async with watch.shown(), linked(settings, "manager") as link:
        check_link(watch, link)
        drain = drain or ManagerDrain(0)
        manager = _Manager(played, link, watch, ready, progress, ended or _unheard, drain)
        while True:
            try:
                return await manager.run(is_new=is_new)
            except StorageFailed as problem:
                await lost(watch, problem)
            except TournamentOver as problem:
                if not (manager.stood_by or manager.has_begun):
                    raise
                ready(f"nothing is left to do: {problem}")  # it was ended, by another or by this
                return None
            is_new = False


class _Manager:
    """A manager's time from standing by to the end, or to the loss of its database.

    Attributes:
        has_begun: whether it was active once.
        stood_by: whether another one was active before it.
    """

    def __init__(
        self,
        played: Sequence[Settings],
        link: Link,
        watch: Watch,
        ready: Ready,
        progress: Callable[[Progress], None],
        ended: Callable[[TournamentResult, Path | None], None],
        drain: ManagerDrain,
    ) -> None:
        self._drain = drain
        self._played = list(played)
        self._link = link
        self._watch = watch
        self._ready = ready
        self._progress = progress
        self._ended = ended
        self.has_begun = False
        self.stood_by = False

    async def run(self, *, is_new: bool) -> TournamentResult:
        """Wait until no other manager is active, and play."""
        watch, where = self._watch, database_of(self._played[0])
        async with (
            await self._opened(where) as database,
            watch.over(database, where),
            kept_for(database, self._played[0].storage.keep_days),
        ):
            pool = HousePool(1)
            try:
                return await self._play(database, pool, is_new=is_new)
            finally:
                pool.close()

    async def _opened(self, where: str) -> Database:
        """The database, once no other manager has it.

        Raises:
            StorageFailed: it was there before, and is not now.
        """
        try:
            return await Database.open(where, self._watch.tally.store, stands_by=self._stands_by)
        except UserError as problem:
            if self.has_begun or self.stood_by:
                raise StorageFailed(str(problem)) from None
            raise

    def _stands_by(self, holder: str) -> None:
        self._watch.health.phase = "serving"
        self.stood_by = True
        log.info("standing by", active=holder)
        self._ready("standing by")

    async def _play(self, database: Database, pool: HousePool, *, is_new: bool) -> TournamentResult:
        settings, link, watch = self._played[0], self._link, self._watch
        queue = GamesQueue(link, settings.cluster.lost_ms / 1000)
        dealer = Dealer(queue, database)
        players, local = FarPlayers(link, settings), LocalSeats(link, settings, watch.tally.traces)
        place = settings.records.folder
        folder = None if place is None else new_folder(place)
        house = House(
            *(database, players, pool, None if folder is None else folder / "logs"),
            tally=watch.tally,
            games=lambda ledger: QueuedGames(dealer, ledger),
            seating=local,
        )
        rooms = [Room(one, house, self._heard, is_new=is_new) for one in self._played]
        tournaments = Tournaments(rooms, lambda result: self._ended(result, folder))
        try:
            await tournaments.prepare()
            self._played = [room.settings for room in rooms]  # with the names that they got
            by_name: dict[str, AnyRoom] = {room.name: room for room in tournaments.open}
            open_rooms = {room.name: room for room in tournaments.open}
            doors = Rooms(by_name)
            await local.open(doors, self._ready)
            self._show(tournaments, local)
            self._drain.watch(doors, tournaments.open, local)
            desk = Desk(link, doors, open_rooms, players, dealer.ended)
            try:
                await self._until_over(tournaments, desk, dealer, queue)
            finally:
                await to_its_end(desk.close())
            return tournaments.first_result()
        finally:
            watch.health.phase = "stopping"
            await to_its_end(self._close(tournaments, local, database, folder))

    def _show(self, tournaments: Tournaments, local: LocalSeats) -> None:
        """Have the operator see what goes on."""
        self._watch.look = lambda: Gauges(
            waiting=sum(room.waiting for room in tournaments.open),
            connections={
                "course": local.course_clients,
                "program": sum(room.programs for room in tournaments.rooms),
            },
        )

    async def _until_over(
        self, tournaments: Tournaments, desk: Desk, dealer: Dealer, queue: GamesQueue
    ) -> None:
        await desk.open()
        self._watch.health.phase = "serving"
        self.has_begun = True
        self._ready("active")
        try:
            async with asyncio.TaskGroup() as group:
                helpers = [
                    group.create_task(_until_open(queue, self._link), name="queue"),
                    group.create_task(dealer.run(), name="dealer"),
                    group.create_task(desk.watch_lobbies(), name="lobbies"),
                ]
                await tournaments.play()
                for helper in helpers:
                    helper.cancel()
        except BaseExceptionGroup as several:
            raise first_of(several) from None

    async def _close(
        self,
        tournaments: Tournaments,
        local: LocalSeats,
        database: Database,
        folder: Path | None,
    ) -> None:
        await local.close()
        await tournaments.close()
        seats = [seat for room in tournaments.rooms for seat in room.seats]
        far = [seat for seat in seats if isinstance(seat, RemoteSeat)]
        await asyncio.gather(*(seat.drained(DRAIN_S) for seat in far))
        if database.is_alive:
            await tournaments.export(folder)

    def _heard(self, news: Progress) -> None:
        operations_news.count(self._watch.tally, news)
        self._progress(news)


def _unheard(_result: TournamentResult, _folder: Path | None) -> None:
    pass


async def _until_open(queue: GamesQueue, link: Link) -> None:
    """Make the streams, as soon as that can be."""
    while True:
        try:
            await queue.open()
            await EventStream(link).open()
        except (NatsError, TimeoutError) as problem:
            log.warning("the streams can't be made now", reason=str(problem) or repr(problem))
            await asyncio.sleep(AGAIN_S)
        else:
            return
