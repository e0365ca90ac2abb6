"""The database: what is durable, in which order, who is hurt by whose failure, and what is said."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from croupier_server.errors import StorageFailed, UserError
from croupier_server.storage import catalogue
from croupier_server.storage.database import Database
from support.databases import execute, postgresql, where
from support.storage import begin_games, stored_lines

__all__ = ["postgresql", "where"]

UNREACHABLE = "postgresql://me:secret@127.0.0.1:1/none"


async def test_lines_are_there_after_reopening(where: Path | str) -> None:
    async with await Database.open(where) as database:
        [game] = await begin_games(database, 1)
        await database.append(game, [(1, "one\n"), (2, "two ü\n")])
    async with await Database.open(where) as database:
        found = await database.run(lambda connection: catalogue.lines(connection, game))
    assert found == ["header\n", "one\n", "two ü\n"]


async def test_many_at_once_are_written_in_the_order_of_their_calls(where: Path | str) -> None:
    async with await Database.open(where) as database:
        games = await begin_games(database, 5)
        seen: list[int] = []

        async def count(game: int) -> None:
            found = await stored_lines(database, game)
            seen.append(len(found))

        async with asyncio.TaskGroup() as group:
            for seq in range(1, 201):
                for game in games:
                    group.create_task(database.append(game, [(seq, f"{seq}")]))
                if seq % 50 == 0:
                    group.create_task(count(games[0]))
        assert seen == [50, 100, 150, 200]
        for game in games:
            assert list(await stored_lines(database, game)) == list(range(1, 201))


async def test_more_lines_than_fit_one_statement_are_one(where: Path | str) -> None:
    async with await Database.open(where) as database:
        [game] = await begin_games(database, 1)
        await database.append(game, [(seq, "x") for seq in range(1, 1_001)])
        with pytest.raises(Exception, match=r"(?i)unique"):
            await database.append(game, [(seq, "x") for seq in range(2_000, 999, -1)])
        assert list(await stored_lines(database, game)) == list(range(1, 1_001))


async def test_failing_work_is_undone_and_hurts_no_neighbour(where: Path | str) -> None:
    def fail(connection: Connection) -> None:
        catalogue.create_tournament(connection, "half", "knockout", 1, {})
        raise KeyError("a mistake")

    def misspell(connection: Connection) -> None:
        catalogue.create_tournament(connection, "half", "knockout", 1, {})
        connection.execute(text("SELECT nothing FROM nowhere"))

    async with await Database.open(where) as database:
        [game] = await begin_games(database, 1)
        done = await asyncio.gather(
            database.append(game, [(1, "before")]),
            database.run(fail),
            database.append(game, [(1, "twice")]),
            database.append(999_999, [(1, "no such game")]),
            database.run(misspell),
            database.append(game, [(2, "after")]),
            return_exceptions=True,
        )
        assert [found is None for found in done] == [True, False, False, False, False, True]
        assert isinstance(done[1], KeyError)
        assert await stored_lines(database, game) == {1: "before", 2: "after"}
        names = [row.name for row in await database.run(catalogue.tournaments)]
        assert names == ["cup"]
        assert not database.failed.is_set()


async def test_waiter_that_is_cancelled_has_written(where: Path | str) -> None:
    async with await Database.open(where) as database:
        [game] = await begin_games(database, 1)
        tasks = [asyncio.create_task(database.append(game, [(seq, "x")])) for seq in range(1, 21)]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        assert [isinstance(end, asyncio.CancelledError) for end in ended] == [True, False] * 10
        assert list(await stored_lines(database, game)) == list(range(1, 21))


async def test_line_that_is_no_text_is_refused_at_once(where: Path | str) -> None:
    async with await Database.open(where) as database:
        [game] = await begin_games(database, 1)
        for line in ("\0", "\ud800"):
            with pytest.raises(ValueError, match="no line of a record"):
                await database.append(game, [(1, line)])


async def test_second_server_is_refused_with_the_first_ones_process(where: Path | str) -> None:
    async with await Database.open(where):
        with pytest.raises(UserError, match=r"another croupier server .*process \d+.* uses this"):
            await Database.open(where)
    async with await Database.open(where):
        pass


async def test_look_reads_and_orders_beside_the_server(where: Path | str) -> None:
    async with await Database.open(where) as database, await Database.look(where) as beside:
        [game] = await begin_games(database, 1)
        [row] = await beside.read(catalogue.tournaments)
        await beside.run(lambda c: catalogue.give_order(c, row.id, "pause", by="op"))
        await database.append(game, [(1, "x")])
        orders = await database.run(lambda c: catalogue.pending_orders(c, row.id))
        assert [order.verb for order in orders] == ["pause"]
        await database.run(lambda c: catalogue.answer_order(c, orders[0].id, "paused"))
        answered = await beside.read(lambda c: catalogue.find_order(c, orders[0].id))
        assert answered is not None
        assert answered.outcome == "paused"
        assert not await database.run(lambda c: catalogue.pending_orders(c, row.id))


async def test_look_at_a_reader_does_not_hold_up_the_server(tmp_path: Path) -> None:
    go_on = threading.Event()

    def dawdle(connection: Connection) -> int:
        catalogue.tournaments(connection)
        go_on.wait(10)
        return len(catalogue.tournaments(connection))

    async with await Database.open(tmp_path) as database, await Database.look(tmp_path) as beside:
        reading = asyncio.create_task(beside.read(dawdle))
        await begin_games(database, 1)  # would wait for the reader, were that a writer
        go_on.set()
        assert await reading in {0, 1}


async def test_look_where_nothing_is_says_so(where: Path | str) -> None:
    with pytest.raises(UserError, match="croupier serve"):
        await Database.look(where)
    with pytest.raises(UserError, match="croupier serve"):  # and looking has made nothing
        await Database.look(where)


async def test_schema_of_another_version_is_refused(where: Path | str) -> None:
    def become(revision: str) -> Callable[[Connection], object]:
        return lambda c: c.execute(text(f"UPDATE croupier_version SET version_num = '{revision}'"))

    async with await Database.open(where) as database:
        await database.run(become("9999"))
    for opening in (Database.open, Database.look):
        with pytest.raises(UserError, match=r"newer croupier .*'9999'.*update croupier"):
            await opening(where)


def make_recipes(directory: Path) -> None:
    directory.mkdir()
    connection = sqlite3.connect(directory / "croupier.db")
    connection.execute("CREATE TABLE recipes (id INTEGER)")
    connection.close()


async def test_foreign_database_is_not_touched(where: Path | str) -> None:
    if isinstance(where, Path):
        make_recipes(where)
    else:
        await execute(where, "CREATE TABLE recipes (id INTEGER)")
    with pytest.raises(UserError, match="not a croupier database: it has the table 'recipes'"):
        await Database.open(where)


async def test_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "croupier.db").write_text("a diary, of more than a hundred characters" * 9)
    with pytest.raises(UserError, match=r"croupier\.db: no database, or a damaged one"):
        await Database.open(tmp_path)


async def test_directory_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="file: "):
        await Database.open(tmp_path / "file")


@pytest.mark.parametrize(
    ("url", "told"),
    [
        (UNREACHABLE, r"^postgresql://127\.0\.0\.1:1/none: can't be reached: \w"),
        ("mysql://me:secret@127.0.0.1/none", r"^storage: mysql:// is not known; it is postgresql"),
        ("me:secret@host", r"^storage: no URL of a database"),
    ],
)
async def test_url_that_leads_nowhere_is_told_without_password(url: str, told: str) -> None:
    with pytest.raises(UserError, match=told) as caught:
        await Database.open(url)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_database_that_the_server_lacks_is_named(postgresql: str) -> None:
    with pytest.raises(UserError, match=r'^postgresql://.*_none: database "\w+_none" does not'):
        await Database.open(
            postgresql.replace("?", "_none?") if "?" in postgresql else f"{postgresql}_none"
        )


async def test_lost_connection_stops_everything(postgresql: str) -> None:
    async with await Database.open(postgresql) as database:
        [game] = await begin_games(database, 1)
        await database.append(game, [(1, "x")])
        await execute(
            postgresql,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name LIKE 'croupier%' AND datname = current_database()",
        )
        waiting = [database.append(game, [(seq, "x")]) for seq in (2, 3)]
        ended = await asyncio.gather(*waiting, return_exceptions=True)
        assert all(isinstance(end, StorageFailed) for end in ended)
        assert database.failed.is_set()
        assert str(ended[0]).startswith("postgresql://")
        with pytest.raises(StorageFailed):
            await database.run(catalogue.tournaments)
    async with await Database.open(postgresql) as database:
        assert set(await stored_lines(database, game)) <= {1, 2, 3}


async def test_slow_work_does_not_hold_the_loop(where: Path | str) -> None:
    go_on = threading.Event()
    async with await Database.open(where) as database:
        working = asyncio.create_task(database.run(lambda _: go_on.wait(10)))
        await asyncio.sleep(0.05)
        assert not working.done()
        go_on.set()
        assert await working


async def test_database_that_is_full_undoes_the_work_and_stops(tmp_path: Path) -> None:
    def limit(connection: Connection) -> None:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")

    def grow(connection: Connection) -> None:
        connection.execute(text("DELETE FROM orders"))
        catalogue.create_tournament(connection, "big", "swiss", 1, {"x": "y" * 1_000_000})

    async with await Database.open(tmp_path) as database:
        [game] = await begin_games(database, 1)
        await database.run(limit)
        done = await asyncio.gather(
            database.run(grow), database.append(game, [(1, "x")]), return_exceptions=True
        )
        assert all(isinstance(end, StorageFailed) for end in done)
        assert str(done[0]) == f"{tmp_path / 'croupier.db'}: database or disk is full"
        assert database.failed.is_set()
    async with await Database.open(tmp_path) as database:
        assert [row.name for row in await database.run(catalogue.tournaments)] == ["cup"]
        assert await stored_lines(database, game) == {}


async def test_memory_does_not_wait_and_keeps_the_order() -> None:
    async with await Database.open(None) as database:
        [game] = await begin_games(database, 1)
        for seq in range(1, 2_501):
            await asyncio.wait_for(database.append(game, [(seq, "x")]), 1)
        assert list(await stored_lines(database, game)) == list(range(1, 2_501))


async def test_close_writes_what_waits_and_ends_the_thread(where: Path | str) -> None:
    database = await Database.open(where)
    [game] = await begin_games(database, 1)
    waiting = [asyncio.create_task(database.append(game, [(seq, "x")])) for seq in (1, 2, 3)]
    await asyncio.sleep(0)
    await database.close()
    await database.close()
    assert await asyncio.gather(*waiting) == [None] * 3
    assert not [thread for thread in threading.enumerate() if thread.name == "croupier-writer"]
    with pytest.raises(RuntimeError, match="closed"):
        await database.append(game, [(4, "x")])
    async with await Database.open(where) as database:
        assert list(await stored_lines(database, game)) == [1, 2, 3]


async def test_opening_that_is_cancelled_lets_go(tmp_path: Path) -> None:
    opening = asyncio.create_task(Database.open(tmp_path))
    await asyncio.sleep(0)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    async with await Database.open(tmp_path):
        pass
