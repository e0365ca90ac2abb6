"""A database that several processes share: who may, who waits, and what they ask about it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from croupier_server.errors import StorageFailed, UserError
from croupier_server.storage import catalogue
from croupier_server.storage.catalogue import Settled
from croupier_server.storage.database import Database
from croupier_server.tournament.model import Result
from support.databases import execute, postgresql, where
from support.storage import NAMES, begin, begin_games, stored_lines

__all__ = ["postgresql", "where"]

CUT_OFF = (
    "SELECT pg_terminate_backend(pid) FROM pg_locks "
    "WHERE locktype = 'advisory' AND granted AND database = "
    "(SELECT oid FROM pg_database WHERE datname = current_database())"
)

NEEDED = ("tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_keepalives_count")


@asynccontextmanager
async def standing_by(
    url: str, told: "asyncio.Queue[str]"
) -> "AsyncGenerator[asyncio.Task[Database]]":
    """Stand by for as long as it takes; gone afterwards."""
    opening = asyncio.create_task(Database.open(url, stands_by=told.put_nowait))
    try:
        yield opening
    finally:
        opening.cancel()
        await asyncio.wait([opening])
        if not opening.cancelled():
            await opening.result().close()


async def test_worker_plays_beside_the_manager(postgresql: str) -> None:
    with pytest.raises(UserError, match="there is no tournament yet"):
        await Database.join(postgresql)
    async with await Database.open(postgresql) as database:
        [game] = await begin_games(database, 1)
        async with await Database.join(postgresql) as one, await Database.join(postgresql) as two:
            await one.append(game, [(1, "one")])
            await two.append(game, [(2, "two")])
        assert await stored_lines(database, game) == {1: "one", 2: "two"}


@pytest.mark.parametrize("place", [None, Path("data")])
async def test_cluster_on_a_folder_or_in_memory_is_refused(place: Path | None) -> None:
    told = r"^(data|memory): a cluster needs PostgreSQL; set storage\.url$"
    with pytest.raises(UserError, match=told):
        await Database.join(place)
    with pytest.raises(UserError, match=told):
        await Database.open(place, stands_by=print)


async def test_who_stands_by_is_told_of_whom_and_follows(postgresql: str) -> None:
    told: asyncio.Queue[str] = asyncio.Queue()
    database = await Database.open(postgresql, stands_by=told.put_nowait)
    [game] = await begin_games(database, 1)
    async with standing_by(postgresql, told) as opening:
        assert (await told.get()).startswith("croupier, process ")
        assert not opening.done()
        await database.close()
        heir = await opening
        await heir.append(game, [(1, "x")])
        assert told.empty()  # once only, and not by the first, who had not to wait
        with pytest.raises(UserError, match="another croupier server"):
            await Database.open(postgresql)


async def test_waiting_that_is_cancelled_lets_go_at_once(postgresql: str) -> None:
    told: asyncio.Queue[str] = asyncio.Queue()
    async with await Database.open(postgresql), standing_by(postgresql, told) as opening:
        await told.get()
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(asyncio.shield(opening), 2)
    async with await Database.open(postgresql):
        pass


async def test_who_has_lost_the_lock_cannot_write(postgresql: str) -> None:
    told: asyncio.Queue[str] = asyncio.Queue()
    async with await Database.open(postgresql) as database:
        [game] = await begin_games(database, 1)
        async with standing_by(postgresql, told) as opening:
            await told.get()
            await execute(postgresql, CUT_OFF)
            heir = await opening
            with pytest.raises(StorageFailed):
                await database.append(game, [(1, "late")])
            with pytest.raises(StorageFailed):
                await database.run(lambda c: catalogue.create_tournament(c, "b", "swiss", 1, {}))
            assert await stored_lines(heir, game) == {}
            assert [row.name for row in await heir.run(catalogue.tournaments)] == ["cup"]


async def test_server_looks_for_a_client_that_is_cut_off(postgresql: str) -> None:
    def probes(connection: Connection) -> dict[str, tuple[str, int]]:
        rows = connection.execute(text("SELECT name, source, setting FROM pg_settings"))
        return {name: (source, int(value)) for name, source, value in rows if name in NEEDED}

    async with await Database.open(postgresql) as database:
        found = await database.run(probes)
    assert set(found) == set(NEEDED)
    for source, value in found.values():
        assert source == "client"
        assert value <= 4  # and 0 on a Unix socket, which can't be cut


async def test_settled_tells_results_and_failed_attempts(where: Path | str) -> None:
    result = Result("1.1", "1.1", 1, NAMES, ranking=(NAMES[1:], NAMES[:1]), fish={"ada": 3})

    def play(connection: Connection) -> list[int]:
        played, failed, again, running = begin(connection, 4)
        catalogue.finish_game(connection, played.id, [], chain="c", plies=3, result=result)
        catalogue.interrupt_game(connection, failed.id)
        catalogue.interrupt_game(connection, again.id)
        catalogue.begin_game(connection, again.pairing_id, 2, "1.3-2", 1, "header\n")
        return [row.pairing_id for row in (played, failed, again, running)]

    async with await Database.open(where) as database:
        played, failed, again, running = rows = await database.run(play)
        found = await database.run(lambda c: catalogue.settled(c, [*rows, 999]))
        assert found == {played: Settled(result, plies=3), failed: Settled(interrupted=1)}
        assert await database.run(lambda c: catalogue.settled(c, [again, running])) == {}
        assert await database.run(lambda c: catalogue.settled(c, [])) == {}
        many = [*range(10_000, 14_000), played]
        assert await database.run(lambda c: catalogue.settled(c, many)) == {
            played: Settled(result, plies=3)
        }


async def test_key_leads_to_the_newest_tournament_that_goes_on(where: Path | str) -> None:
    def enter(connection: Connection, name: str) -> int:
        row = catalogue.create_tournament(connection, name, "swiss", 2**70, {"a": 1})
        catalogue.add_entrant(connection, row.id, f"ada of {name}", "remote", session="f" * 64)
        return row.id

    def found(connection: Connection) -> str | None:
        pair = catalogue.find_key(connection, "f" * 64)
        if pair is None:
            return None
        tournament, entrant = pair
        assert tournament == catalogue.find_tournament(connection, tournament.name)
        assert [entrant] == catalogue.entrants(connection, tournament.id)
        return entrant.name

    async with await Database.open(where) as database:
        assert await database.run(found) is None
        await database.run(lambda c: enter(c, "old"))
        newer = await database.run(lambda c: enter(c, "new"))
        assert await database.run(found) == "ada of new"
        await database.run(lambda c: catalogue.set_status(c, newer, "finished"))
        assert await database.run(found) == "ada of old"
        assert await database.run(lambda c: catalogue.find_key(c, "0" * 64)) is None
