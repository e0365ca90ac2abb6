"""The manager of a simulated cluster: a tournament's real room, fair queue, dealer and format.

Its players are not connected: their seats accept the start and the end, and nothing else is asked
of them here. What the processor's time goes into is measured from inside.
"""

from __future__ import annotations

import asyncio
import functools
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from sqlalchemy import Connection

from benchmarks.processes import own_job, tell
from benchmarks.report import quantile
from croupier_common.messages import PROTOCOL, JoinParams
from croupier_server.app import run, set_aside
from croupier_server.cluster.dealer import Dealer, QueuedGames
from croupier_server.cluster.desk import Desk, FarPlayers
from croupier_server.cluster.link import Link
from croupier_server.cluster.queue import GamesQueue, Offer
from croupier_server.cluster.roles import linked
from croupier_server.errors import StoppedByOrder
from croupier_server.gateway.house_seat import HousePool
from croupier_server.options import configure_logs
from croupier_server.room import House, Room
from croupier_server.rooms import Rooms
from croupier_server.seats import Answer, AwaySeat, NoAnswer
from croupier_server.settings import Settings, load_settings
from croupier_server.storage import catalogue, rated
from croupier_server.storage.database import Database
from croupier_server.tournament import manager
from croupier_server.tournament.progress import GameOver, Progress
from croupier_server.tournament.queue import FairQueue

PAIRING: Final = "pairing"
QUEUE: Final = "fair queue"
STANDINGS: Final = "standings"
RATINGS: Final = "ratings"
TABLES: Final = "setting tables"


class Costs:
    """The processor's time of single functions, by what they are for."""

    def __init__(self) -> None:
        self.spent_s: defaultdict[str, float] = defaultdict(float)

    def watch(self, owner: object, name: str, what: str) -> None:
        """From now on, add up what a function takes."""
        setattr(owner, name, self._timed(getattr(owner, name), what))

    def watch_property(self, owner: type, name: str, what: str) -> None:
        """The same for a property."""
        setattr(owner, name, property(self._timed(vars(owner)[name].fget, what)))

    def _timed(self, function: Callable[..., Any], what: str) -> Callable[..., Any]:
        @functools.wraps(function)
        def timed(*given: Any, **named: Any) -> Any:
            begun = time.thread_time()
            try:
                return function(*given, **named)
            finally:
                self.spent_s[what] += time.thread_time() - begun

        return timed


class TimedQueue(GamesQueue):
    """Notes when each game was offered, by the clock that the database is told of, too.

    Attributes:
        offered_ms: by the pairing's row.
    """

    def __init__(self, link: Link, lost_s: float) -> None:
        super().__init__(link, lost_s)
        self.offered_ms: dict[int, float] = {}

    async def offer(self, offer: Offer) -> bool:
        """See the base."""
        self.offered_ms.setdefault(offer.pairing, 1e3 * time.time())
        return await super().offer(offer)


class Accepting(AwaySeat):
    """The seat of a player that accepts whatever begins or ends."""

    async def ask(self, call: object, budget_ms: int | None) -> Answer | NoAnswer:  # noqa: ARG002 - Seat's
        """See :class:`~croupier_server.seats.Seat`."""
        return Answer(True, 1, 0)


class Watched:
    """A tournament whose costs are watched.

    Args:
        most: after so many games an endless tournament is stopped.
    """

    def __init__(self, settings: Settings, database: Database, link: Link, most: int) -> None:
        self.costs = Costs()
        self.games = 0
        self._most = most
        self._database = database
        self.queue = TimedQueue(link, settings.cluster.lost_ms / 1000)
        self.dealer = Dealer(self.queue, database)
        players = FarPlayers(link, settings)
        house = House(
            *(database, players, HousePool(1)),
            games=lambda ledger: QueuedGames(self.dealer, ledger),
        )
        self.room = Room(settings, house, self._heard)
        self.desk = Desk(link, Rooms({}), {}, players, self.dealer.ended)
        self.stopping: asyncio.Task[object] | None = None

    def watch(self) -> None:
        """Wrap what is to be told apart."""
        costs = self.costs
        for name in ("add", "next", "started", "finished"):
            costs.watch(FairQueue, name, QUEUE)
        make = manager.format_of

        def watched_format(settings: Settings, seed: int) -> Any:
            made = make(settings, seed)
            costs.watch(type(made), "following", PAIRING)
            return made

        setattr(manager, "format_of", watched_format)  # noqa: B010 - the checkers' business
        costs.watch_property(manager.Manager, "history", PAIRING)
        costs.watch(manager, "standings", STANDINGS)
        costs.watch(rated, "rated", RATINGS)
        costs.watch(manager, "book_of", TABLES)

    async def run(self) -> None:
        """Play it, to its end or until that is enough."""
        async with asyncio.TaskGroup() as group:
            dealing = group.create_task(self.dealer.run(), name="dealer")
            with suppress(StoppedByOrder):
                await self.room.run()
            dealing.cancel()

    def _heard(self, news: Progress) -> None:
        if isinstance(news, GameOver):
            self.games += 1
            if self.games == self._most:
                self.stopping = asyncio.ensure_future(self._stop())

    async def _stop(self) -> object:
        row = self.room.ledger.tournament
        return await self._database.run(
            lambda c: catalogue.give_order(c, row, "stop", by="benchmark")
        )


async def main(job: dict[str, Any]) -> None:
    """Play, and report."""
    settings = load_settings(None, job["settings"])
    async with (
        await Database.open(job["settings"]["storage"]["url"]) as database,
        linked(settings, "manager") as link,
    ):
        tournament = Watched(settings, database, link, job["most"])
        tournament.watch()
        await tournament.queue.open()
        await tournament.room.prepare()
        await tournament.desk.open()
        set_aside()
        tell({"ready": True})
        await asyncio.to_thread(input)
        _join(tournament.room, settings.lobby.max_players)
        wall, cpu = time.monotonic(), time.process_time()
        await tournament.run()
        wall, cpu = time.monotonic() - wall, time.process_time() - cpu
        row = tournament.room.ledger.tournament
        again = await database.read(lambda c: _until_offered(c, row, tournament.queue.offered_ms))
        await tournament.desk.close()
    tell(
        {
            "games": tournament.games,
            "seconds": wall,
            "cpu_s": cpu,
            "spent_s": dict(tournament.costs.spent_s),
            "again_ms": [quantile(again, 0.5), quantile(again, 0.99)] if again else [0, 0],
        }
    )


def _join(room: Room, players: int) -> None:
    for number in range(players):
        params = JoinParams(protocol=PROTOCOL, name=f"player-{number}")
        seat = Accepting(params.name, "remote")
        room.admit(params, seat)


def _until_offered(
    connection: Connection, tournament: int, offered_ms: Mapping[int, float]
) -> Sequence[float]:
    """How long it took from each result to the next game of one of its players being offered."""
    pairings = {row.id: row.players for row in catalogue.pairings(connection, tournament)}
    ended: defaultdict[str, list[float]] = defaultdict(list)
    for game in catalogue.games(connection, tournament):
        for name in pairings[game.pairing_id]:
            ended[name].append(game.ended_ms or 0)
    for times in ended.values():
        times.sort()
    found: list[float] = []
    for pairing, offered in offered_ms.items():
        for name in pairings[pairing]:
            before = bisect_left(ended[name], offered + 1) - 1
            if before >= 0:
                found.append(max(offered - ended[name][before], 0.0))
    return found


if __name__ == "__main__":
    configure_logs(verbose=False)
    run(main(own_job()))
