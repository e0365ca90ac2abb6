"""Watching games: nothing left out, nothing twice, and nobody waits for who watches."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from croupier_server import spectators as module
from croupier_server.errors import StorageFailed
from croupier_server.spectators import NotThere, Spectators
from croupier_server.storage import catalogue
from croupier_server.storage.database import Database
from croupier_server.tails import MAX_SHOWN
from support.databases import where
from support.viewers import Ear, Played, begin_cup, soon

__all__ = ["where"]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_S", 0.01)


@pytest.fixture
async def database(where: Path | str) -> AsyncIterator[Database]:
    async with await Database.open(where) as opened:
        yield opened


@pytest.fixture
async def crowd(where: Path | str, database: Database) -> AsyncIterator[Spectators]:
    watching = Spectators(database, where)
    yield watching
    await watching.close()


async def listen(crowd: Spectators, ear: Ear, game: str = "1.1", after: int | None = None) -> None:
    """Watch a game to the end of the stream."""
    async with crowd.game("cup", game) as tail:
        tail.begin(ear, after)
        await soon(lambda: ear.is_closed or ear.is_dropped, 30)


async def test_each_viewer_gets_all_lines_once_whenever_it_comes(
    crowd: Spectators, database: Database
) -> None:
    (played,) = await begin_cup(database)
    draw = random.Random(1)
    ears: list[Ear] = []
    async with asyncio.TaskGroup() as group:
        for _ in range(60):
            ears.append(Ear())
            group.create_task(listen(crowd, ears[-1]))
            await played.go_on(draw.randint(0, 3))
            await asyncio.sleep(draw.choice([0, 0, 0.002, 0.015]))
        await played.end()
    for ear in ears:
        assert ear.seqs() == list(range(1, played.seq + 1))
        assert ear.kinds[0] == "snapshot"
        assert set(ear.kinds[1:-1]) <= {"lines"}
        assert ear.told[-1].kind == "end"
        assert ear.told[-1].data == {"status": "finished", "again": None}
        assert ear.told[0].data["header"] == {"kind": "start", "players": ["\u2028<b>"]}
        ids = [one.id for one in ear.told if one.id]
        assert ids == sorted(ids, key=int)
    await soon(lambda: not crowd.is_watching)
    assert crowd.watched == 0


async def test_viewer_that_comes_back_misses_nothing_and_hears_nothing_twice(
    crowd: Spectators, database: Database
) -> None:
    (played,) = await begin_cup(database)
    await played.go_on(5)
    first = Ear()
    async with crowd.game("cup", "1.1") as tail:
        tail.begin(first)
        tail.audience.remove(first)
    await played.go_on(4)
    await soon(lambda: not crowd.is_watching)
    second, idle, strange = Ear(), Ear(), Ear()
    async with crowd.game("cup", "1.1") as tail:
        tail.begin(second, after=int(first.told[-1].id or ""))
        tail.begin(idle, after=played.seq)
        tail.begin(strange, after=77)
        await played.go_on(2)
        await soon(lambda: 11 in idle.seqs() and 11 in strange.seqs() and 11 in second.seqs())
    assert first.seqs() + second.seqs() == list(range(1, 12))
    assert idle.seqs() == [10, 11]
    assert strange.seqs() == list(range(1, 12))
    assert strange.kinds[0] == "snapshot"


async def test_viewer_that_does_not_read_is_dropped_and_others_hear_on(
    crowd: Spectators, database: Database
) -> None:
    (played,) = await begin_cup(database)
    deaf, good = Ear(deaf_after=2), Ear()
    async with crowd.game("cup", "1.1") as tail:
        tail.begin(deaf)
        tail.begin(good)
        for _ in range(4):
            await played.go_on()
            await soon(lambda: played.seq in good.seqs())
        assert deaf.is_dropped
        assert not deaf.is_closed
        assert tail.audience.outlets() == [good]
    assert good.seqs() == [1, 2, 3, 4]


async def test_frames_are_made_once_for_all(crowd: Spectators, database: Database) -> None:
    (played,) = await begin_cup(database)
    await played.go_on(3)
    ears = [Ear() for _ in range(5)]
    async with crowd.game("cup", "1.1") as tail:
        for ear in ears:
            tail.begin(ear)
        await played.go_on()
        await soon(lambda: all(4 in ear.seqs() for ear in ears))
    for at in range(2):
        assert len({id(ear.frames[at]) for ear in ears}) == 1


async def test_game_that_was_over_is_told_and_ends(crowd: Spectators, database: Database) -> None:
    (played,) = await begin_cup(database)
    await played.end()
    ear = Ear()
    await listen(crowd, ear)
    assert ear.kinds == ["snapshot", "end"]
    late = Ear()
    await listen(crowd, late, after=1)
    assert late.kinds == ["end"]


async def test_game_that_is_played_again_is_told(crowd: Spectators, database: Database) -> None:
    (played,) = await begin_cup(database)
    ear = Ear()
    watching = asyncio.create_task(listen(crowd, ear))
    await soon(lambda: bool(ear.frames))
    await played.end("interrupted")
    await soon(lambda: "state" in ear.kinds)
    assert ear.told[-1].data == {"status": "interrupted", "again": None}
    assert not ear.is_closed
    await played.begin_again()
    await watching
    assert ear.told[-1].kind == "end"
    assert ear.told[-1].data == {"status": "interrupted", "again": "1.1-2"}
    late = Ear()
    await listen(crowd, late)
    assert late.told[-1].data["again"] == "1.1-2"


async def test_interrupted_game_of_a_tournament_that_is_over_ends(
    crowd: Spectators, database: Database
) -> None:
    (played,) = await begin_cup(database)
    await played.end("interrupted")
    row = await database.run(lambda c: catalogue.find_tournament(c, "cup"))
    assert row is not None
    await database.run(lambda c: catalogue.set_status(c, row.id, "finished", {}))
    ear = Ear()
    await listen(crowd, ear)
    assert ear.told[-1].data == {"status": "interrupted", "again": None}


async def test_nothing_that_is_not_there_can_be_watched(
    crowd: Spectators, database: Database
) -> None:
    await begin_cup(database)
    for tournament, game in (("cup", "9.9"), ("cop", "1.1"), ("cup", "'; drop")):
        with pytest.raises(NotThere):
            async with crowd.game(tournament, game):
                pass
    with pytest.raises(NotThere):
        async with crowd.wall("cop"):
            pass
    assert not crowd.is_watching


class Counting:
    """Reads, and counts how often; fails when told so."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.reads = 0
        self.fails = False

    async def read(self, work: Callable[[Connection], Any]) -> Any:
        """See Database."""
        self.reads += 1
        if self.fails:
            raise StorageFailed("gone")
        return await self.database.read(work)


async def test_database_is_read_once_for_all_and_only_while_somebody_watches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "LOOK_S", 0.1)
    async with await Database.open(None) as database:
        reads = Counting(database)
        crowd = Spectators(reads, None)
        games = await begin_cup(database, 3)
        ears = [Ear() for _ in range(30)]
        async with (
            crowd.game("cup", "1.1") as one,
            crowd.game("cup", "1.2") as two,
            crowd.wall("cup") as wall,
        ):
            for ear in ears:
                one.begin(ear)
                two.begin(Ear())
                wall.begin(Ear())
            before, began = reads.reads, time.monotonic()
            for _ in range(20):
                await games[0].go_on()
                await asyncio.sleep(0.02)
            await soon(lambda: 20 in ears[0].seqs())
            most = (time.monotonic() - began) / 0.1 + 2
            assert reads.reads - before <= most
            assert len(ears[0].frames) <= most
        await soon(lambda: not crowd.is_watching)
        before = reads.reads
        await asyncio.sleep(0.15)
        assert reads.reads == before
        await crowd.close()


async def test_database_that_can_not_be_read_ends_the_streams_and_later_all_goes_on() -> None:
    async with await Database.open(None) as database:
        reads = Counting(database)
        crowd = Spectators(reads, None)
        (played,) = await begin_cup(database)
        ear = Ear()
        async with crowd.game("cup", "1.1") as tail:
            tail.begin(ear)
            reads.fails = True
            await soon(lambda: ear.is_closed)
            assert "end" not in ear.kinds
            late = Ear()
            tail.begin(late)  # it came while all ended
            assert late.is_closed
        reads.fails = False
        await played.end()
        again = Ear()
        await listen(crowd, again, after=0)
        assert again.seqs() == [1]
        await crowd.close()


async def test_stopping_ends_all_streams(crowd: Spectators, database: Database) -> None:
    await begin_cup(database)
    ear, other = Ear(), Ear()
    async with crowd.game("cup", "1.1") as tail, crowd.wall("cup") as wall:
        tail.begin(ear)
        wall.begin(other)
        await soon(lambda: crowd.is_watching)
        await crowd.close()
        assert ear.is_closed
        assert other.is_closed


async def test_who_hears_nothing_is_told_that_the_connection_holds(
    crowd: Spectators, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "QUIET_S", 0.05)
    await begin_cup(database)
    ear = Ear()
    async with crowd.game("cup", "1.1") as tail:
        tail.begin(ear)
        await soon(lambda: len(ear.frames) >= 3)
    assert ear.frames[-1].data == b": still here\n\n"
    assert ear.kinds == ["snapshot"]


# -- the wall


async def test_wall_shows_16_games_and_replaces_what_ends(
    crowd: Spectators, database: Database
) -> None:
    games = await begin_cup(database, MAX_SHOWN + 2)
    ear = Ear()
    async with crowd.wall("cup") as wall, crowd.game("cup", "1.3") as tail:
        tail.begin(Ear())  # somebody watches one of them alone
        wall.begin(ear)
        await soon(lambda: ear.kinds.count("game") == MAX_SHOWN)
        await games[0].go_on(3)
        await games[2].go_on(2)
        await soon(lambda: ear.seqs("1.1") == [1, 2, 3] and ear.seqs("1.3") == [1, 2])
        late = Ear()
        wall.begin(late)
        await games[0].end()
        await games[17].go_on()
        await soon(lambda: "over" in ear.kinds and ear.kinds.count("game") == MAX_SHOWN + 1)
        await games[16].go_on()
        await soon(lambda: ear.seqs("1.17") == [1])
        assert late.told[0].kind == "wall"
        assert late.seqs("1.1") == ear.seqs("1.1") == [1, 2, 3, 4]
        assert late.seqs("1.3") == ear.seqs("1.3") == [1, 2]
        over = next(one for one in ear.told if one.kind == "over")
        assert over.data == {"game": "1.1", "status": "finished", "again": None}
        assert not ear.seqs("1.18")


async def test_wall_tells_each_line_once_whenever_somebody_comes(
    crowd: Spectators, database: Database
) -> None:
    games = await begin_cup(database, 4)
    draw = random.Random(2)
    ears: list[Ear] = []
    async with crowd.wall("cup") as wall:
        for _ in range(80):
            ears.append(Ear())
            wall.begin(ears[-1])
            await draw.choice(games).go_on(draw.randint(1, 3))
            await asyncio.sleep(draw.choice([0, 0, 0.012]))
        await soon(lambda: all(has_all(ears[0], game) for game in games))
        for ear in ears:
            assert all(has_all(ear, game) for game in games)


def has_all(ear: Ear, game: Played) -> bool:
    return ear.seqs(game.row.name) == list(range(1, game.seq + 1))


async def test_wall_ends_with_the_tournament(crowd: Spectators, database: Database) -> None:
    (played,) = await begin_cup(database)
    ear = Ear()
    async with crowd.wall("cup") as wall:
        wall.begin(ear)
        await soon(lambda: "game" in ear.kinds)
        await played.end()
        await soon(lambda: "over" in ear.kinds)
        assert not ear.is_closed  # another game may begin
        row = await database.run(lambda c: catalogue.find_tournament(c, "cup"))
        assert row is not None
        await database.run(lambda c: catalogue.set_status(c, row.id, "finished", {}))
        await soon(lambda: ear.is_closed)
    assert ear.kinds == ["wall", "game", "lines", "over", "end"]
