"""Games that one worker takes over from another: no late line counts, none in flight is lost."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from croupier_server.errors import Fenced, ServerFault
from croupier_server.storage import catalogue
from croupier_server.storage.catalogue import GameRow, Taken
from croupier_server.storage.database import Database
from croupier_server.tournament.model import Result
from support.databases import fetch_value, postgresql, where
from support.storage import NAMES, pairings, stored_lines

__all__ = ["postgresql", "where"]

END = [(9, "end\n")]
VOID = Result("1.1", "1.1", 1, NAMES, "void")

WAITS = (
    "SELECT count(*) FROM pg_stat_activity "
    "WHERE datname = current_database() AND wait_event_type = 'Lock'"
)


def take(
    pairing: int, attempt: int = 1, then: Callable[[], object] = lambda: None
) -> Callable[[Connection], Taken | None]:
    """Take a game, and do something before that is committed."""

    def work(connection: Connection) -> Taken | None:
        given: dict[str, Any] = {"attempt": attempt, "name": f"{pairing}-{attempt}"}
        found = catalogue.take_game(connection, pairing, seed=7, header_line="header\n", **given)
        then()
        return found

    return work


def finish(row: GameRow, epoch: int | None) -> Callable[[Connection], None]:
    """End a game as it should end."""
    result = Result(row.name, row.name, 1, NAMES, ranking=(NAMES[:1], NAMES[1:]))
    return lambda connection: catalogue.finish_game(
        connection, row.id, END, chain="c", plies=3, result=result, epoch=epoch
    )


def interrupt(row: GameRow, epoch: int | None) -> Callable[[Connection], None]:
    """End a game that can't go on."""
    return lambda connection: catalogue.interrupt_game(connection, row.id, END, epoch=epoch)


def void(pairing: int) -> Callable[[Connection], None]:
    """Do what an operator may do at any time."""
    return lambda connection: catalogue.void_result(connection, pairing, VOID, "why")


async def issue(database: Database, count: int) -> Sequence[int]:
    """Pair the players of a new tournament so many times; give the pairings' rows."""

    def work(connection: Connection) -> Sequence[int]:
        cup = catalogue.create_tournament(connection, "cup", "swiss", 7, {})
        return [row.id for row in catalogue.issue(connection, cup.id, pairings(count))]

    return await database.run(work)


async def took(database: Database, pairing: int, attempt: int = 1) -> Taken:
    """Take what is there to be taken."""
    found = await database.run(take(pairing, attempt))
    assert found is not None
    return found


async def result_kinds(database: Database) -> set[str]:
    """Give the kinds of all results."""
    [cup] = await database.run(catalogue.tournaments)
    found = await database.run(lambda connection: catalogue.results(connection, cup.id))
    return {result.kind for result in found.values()}


@dataclass
class Two:
    """Two workers, each with a connection of its own."""

    one: Database
    two: Database


@asynccontextmanager
async def two_workers(url: str) -> AsyncGenerator[Two]:
    async with (
        await Database.open(url),
        await Database.join(url) as one,
        await Database.join(url) as two,
    ):
        yield Two(one, two)


async def test_late_line_is_refused_alone_and_the_neighbours_are_written(where: Path | str) -> None:
    async with await Database.open(where) as database:
        taken, neighbour = [await took(database, each) for each in await issue(database, 2)]
        game, other = taken.row.id, neighbour.row.id
        await database.append(game, [(1, "one\n")])
        again = await took(database, taken.row.pairing_id)
        assert (again.row.id, again.row.epoch, again.is_new) == (game, 1, False)
        assert again.lines == ["header\n", "one\n"]
        ended = await asyncio.gather(
            database.append(other, [(1, "a\n")]),
            database.append(game, [(2, "late\n"), (3, "late\n")]),
            database.append(game, [(2, "two\n")], epoch=1),
            database.append(game, [(2, "early\n")], epoch=2),
            database.append(other, [(2, "b\n")]),
            return_exceptions=True,
        )
        assert [type(end) for end in ended] == [type(None), Fenced, type(None), Fenced, type(None)]
        assert await stored_lines(database, game) == {1: "one\n", 2: "two\n"}
        assert await stored_lines(database, other) == {1: "a\n", 2: "b\n"}
        with pytest.raises(Fenced, match=f"game row {game}: another took it over"):
            await database.append(game, [(seq, "late\n") for seq in range(3, 600)])
        assert not database.failed.is_set()


async def test_late_end_is_refused_and_leaves_nothing(where: Path | str) -> None:
    async with await Database.open(where) as database:
        [pairing] = await issue(database, 1)
        zombie = (await took(database, pairing)).row
        row = (await took(database, pairing)).row
        for late in (finish(zombie, zombie.epoch), interrupt(zombie, zombie.epoch)):
            with pytest.raises(Fenced, match="another took it over"):
                await database.run(late)
        assert await stored_lines(database, row.id) == {}
        await database.run(finish(row, row.epoch))
        with pytest.raises(Fenced):  # and after the end
            await database.run(finish(zombie, zombie.epoch))
        with pytest.raises(ServerFault, match="it is finished") as caught:
            await database.run(finish(row, row.epoch))
        assert not isinstance(caught.value, Fenced)
        assert await stored_lines(database, row.id) == dict(END)
        assert await result_kinds(database) == {"played"}


async def test_stale_attempt_is_not_played(where: Path | str) -> None:
    async with await Database.open(where) as database:
        failing, again, whole = await issue(database, 3)
        row = (await took(database, failing)).row
        await database.run(lambda c: catalogue.interrupt_game(c, row.id, epoch=0))
        assert await database.run(take(failing, 1)) is None
        second = await took(database, failing, 2)
        assert (second.row.attempt, second.row.epoch, second.is_new) == (2, 0, True)
        assert second.lines == ("header\n",)
        assert (await took(database, failing, 1)).row.id == second.row.id  # what runs goes on

        await database.run(finish((await took(database, again)).row, 0))
        assert await database.run(take(again, 2)) is None
        await database.run(lambda c: catalogue.reopen(c, again))
        assert await database.run(take(again, 1)) is None
        assert (await took(database, again, 2)).is_new

        await database.run(lambda c: catalogue.add_result(c, whole, VOID))
        assert await database.run(take(whole, 9)) is None
        with pytest.raises(ServerFault, match="pairing row 999 is not there"):
            await database.run(take(999))


async def test_take_over_has_every_line_that_was_reported_and_no_later_one(postgresql: str) -> None:
    async with two_workers(postgresql) as workers:
        for pairing in await issue(workers.one, 60):
            game = (await took(workers.one, pairing)).row.id
            reported: list[int] = []
            begun = asyncio.Event()

            async def play(game: int, reported: list[int], begun: asyncio.Event) -> None:
                for seq in range(1, 10_000):
                    await workers.one.append(game, [(seq, f"{seq}\n")])
                    reported.append(seq)
                    begun.set()

            playing = asyncio.create_task(play(game, reported, begun))
            await begun.wait()
            taken = await took(workers.two, pairing)
            with pytest.raises(Fenced):
                await playing
            assert len(taken.lines) > len(reported)
            stored = await stored_lines(workers.two, game)
            assert taken.lines == ["header\n", *stored.values()]


async def test_line_waits_for_a_take_over_that_is_under_way(postgresql: str) -> None:
    go_on = threading.Event()
    async with two_workers(postgresql) as workers:
        [pairing] = await issue(workers.one, 1)
        game = (await took(workers.one, pairing)).row.id
        taken = threading.Event()

        def dawdle() -> None:
            taken.set()
            go_on.wait(10)

        taking = asyncio.create_task(workers.two.run(take(pairing, then=dawdle)))
        await asyncio.to_thread(taken.wait, 10)
        writing = asyncio.create_task(workers.one.append(game, [(1, "late\n")]))
        while not await fetch_value(postgresql, WAITS):
            assert not writing.done()
        go_on.set()
        assert (await taking) is not None
        with pytest.raises(Fenced):
            await writing
        assert await stored_lines(workers.two, game) == {}


async def test_two_takers_at_once_begin_it_once(postgresql: str) -> None:
    async with two_workers(postgresql) as workers:
        for pairing in await issue(workers.one, 30):
            both = await asyncio.gather(took(workers.one, pairing), took(workers.two, pairing))
            assert {(taken.row.epoch, taken.is_new) for taken in both} == {(0, True), (1, False)}
            assert len({taken.row.id for taken in both}) == 1
            assert [list(taken.lines) for taken in both] == [["header\n"]] * 2


async def test_end_and_take_over_at_once_do_not_both_count(postgresql: str) -> None:
    async with two_workers(postgresql) as workers:
        for pairing in await issue(workers.one, 40):
            row = (await took(workers.one, pairing)).row
            ended, taken = await asyncio.gather(
                workers.one.run(finish(row, 0)),
                workers.two.run(take(pairing)),
                return_exceptions=True,
            )
            if isinstance(taken, Taken):
                assert isinstance(ended, Fenced)
                await workers.two.run(finish(row, 1))
            else:
                assert (ended, taken) == (None, None)
            assert await stored_lines(workers.one, row.id) == dict(END)


async def test_operator_voids_what_is_just_being_ended(postgresql: str) -> None:
    async with two_workers(postgresql) as workers:
        for pairing in await issue(workers.one, 30):
            row = (await took(workers.one, pairing)).row
            ended, voided = await asyncio.gather(
                workers.one.run(finish(row, 0)),
                workers.two.run(void(pairing)),
                return_exceptions=True,
            )
            assert voided is None
            assert ended is None or type(ended) is ServerFault
            assert await result_kinds(workers.one) == {"void"}
