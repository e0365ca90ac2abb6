"""The dealer hears of every end, whenever it is told."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

from croupier_server.cluster import dealer as module
from croupier_server.cluster.dealer import Dealer
from croupier_server.cluster.link import Link
from croupier_server.cluster.nats_server import NatsServer
from croupier_server.cluster.queue import GamesQueue, Offer
from croupier_server.storage import catalogue
from croupier_server.storage.database import Database
from croupier_server.tournament.ledger import unplayed
from croupier_server.tournament.model import Pairing


async def test_game_that_ends_during_a_look_is_not_left_to_the_next_regular_one(
    nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOK_S", 60.0)
    link = await Link.open(nats_server.url, name="manager", root="test.1")
    async with AsyncExitStack() as stack:
        stack.push_async_callback(link.close)
        database = await stack.enter_async_context(await Database.open(None))
        queue = GamesQueue(link, 10.0)
        await queue.open()
        cup = await database.run(lambda c: catalogue.create_tournament(c, "cup", "swiss", 1, {}))
        pairings = [Pairing(f"1.{at}.1", ("ada", "bo"), 1, f"1.{at}") for at in (1, 2)]
        rows = await database.run(lambda c: catalogue.issue(c, cup.id, pairings))
        first, second = (row.id for row in rows)
        dealer = Dealer(queue, database)
        read = database.read

        async def end(at: int) -> None:
            result = unplayed(pairings[at], {}, "void")
            await database.run(lambda c: catalogue.add_result(c, rows[at].id, result))
            dealer.ended(rows[at].id)

        async def read_then_end(work: Callable[[Any], Any]) -> Any:
            found = await read(work)
            monkeypatch.setattr(database, "read", read)
            await end(1)  # too late for what was read
            return found

        monkeypatch.setattr(database, "read", read_then_end)
        async with asyncio.timeout(10):
            playing = [
                asyncio.create_task(dealer.play(Offer(cup.id, pairing, 1, {})))
                for pairing in (first, second)
            ]
            await asyncio.sleep(0)  # both are out
            await end(0)
            running = asyncio.create_task(dealer.run())
            results = [await task for task in playing]
            running.cancel()
            await asyncio.wait({running})
    assert [played.result.game for played in results] == ["1.1.1", "1.2.1"]
