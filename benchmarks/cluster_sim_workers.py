"""Many workers in one process that take games from the queue and decide them without playing.

Each is the real worker, with a link of its own to NATS, but for the play: after a drawn time it
writes the game and a drawn result into the database. Several share a connection to that.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from sqlalchemy import Connection

from benchmarks.processes import own_job, raise_open_files, tell
from croupier_server.app import run
from croupier_server.cluster.link import Link
from croupier_server.cluster.playing import Playing
from croupier_server.cluster.queue import Offer
from croupier_server.cluster.roles import linked
from croupier_server.cluster.worker import Worker
from croupier_server.gateway.house_seat import HousePool
from croupier_server.operations.tally import Tally
from croupier_server.options import configure_logs
from croupier_server.settings import Settings, load_settings
from croupier_server.storage import catalogue
from croupier_server.storage.database import Database
from croupier_server.tournament.model import Pairing, Result

PLIES: Final = 40
SHARED_BY: Final = 5
"""How many workers share a connection to the database: a server has no room for all."""


@dataclass(frozen=True, slots=True)
class Lot:
    """How games are decided.

    Attributes:
        game_s: how long a game takes, in the mean.
    """

    game_s: float
    draws: Random


class Deciding(Playing):
    """Decides games by lot, in the place of playing them."""

    def __init__(self, settings: Settings, link: Link, database: Database, lot: Lot) -> None:
        super().__init__(settings, link, database, HousePool(1), Tally())
        self._store = database
        self._lot = lot

    async def play(self, offer: Offer) -> None:
        """See the base."""
        draws = self._lot.draws
        await asyncio.sleep(draws.uniform(0.5, 1.5) * self._lot.game_s)
        await self._store.run(lambda c: _decide(c, offer, draws.random()))


class SimWorker(Worker):
    """A worker whose games are decided by lot."""

    def __init__(self, settings: Settings, link: Link, database: Database, lot: Lot) -> None:
        super().__init__(settings, link, database, HousePool(1), Tally())
        self._playing = Deciding(settings, link, database, lot)


def _decide(connection: Connection, offer: Offer, draw: float) -> None:
    """Write a game that is over."""
    row = catalogue.pairing_by_id(connection, offer.pairing)
    assert row is not None
    taken = catalogue.take_game(
        connection, row.id, attempt=offer.attempt, name=row.game, seed=1, header_line="{}\n"
    )
    if taken is not None:
        catalogue.finish_game(
            *(connection, taken.row.id, ()),
            chain="",
            plies=PLIES,
            result=_drawn(row.pairing, draw),
            epoch=taken.row.epoch,
        )


def _drawn(pairing: Pairing, draw: float) -> Result:
    a, b = pairing.players
    ranking = ((a,), (b,)) if draw < 0.48 else ((b,), (a,))
    counts = {a: 20, b: 18}
    return Result(
        *(pairing.game, pairing.block, pairing.round, pairing.players, "played"),
        ranking=((a, b),) if draw > 0.96 else ranking,
        fish=counts,
        tiles=counts,
    )


async def main(job: dict[str, Any]) -> None:
    """Take games until we are ended."""
    settings = load_settings(None, job["settings"])
    lot = Lot(job["game_s"], Random(1))
    async with AsyncExitStack() as stack:
        databases = [
            await stack.enter_async_context(await Database.join(settings.storage.where))
            for _ in range(-(-job["workers"] // SHARED_BY))
        ]
        tell({"workers": job["workers"]})
        async with asyncio.TaskGroup() as group:
            for number in range(job["workers"]):
                database = databases[number // SHARED_BY]
                work = _work(settings, database, lot)
                group.create_task(work, name=f"worker {number}")


async def _work(settings: Settings, database: Database, lot: Lot) -> None:
    async with linked(settings, "worker") as link:
        await SimWorker(settings, link, database, lot).run()


if __name__ == "__main__":
    raise_open_files()
    configure_logs(verbose=False)
    run(main(own_job()))
