"""What is kept of pages, who waits for whom, and what happens without the process for them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import Connection

from croupier_server.storage import catalogue
from croupier_server.tournament.model import Pairing
from croupier_server.web.desk import Desk, DeskFailed, Frame, Job
from croupier_server.web.reader import Reader
from croupier_server.web.urls import Urls
from croupier_server.web.views import Views
from support.results import played
from support.web import change, fresh, keep


class NoDesk(Desk):
    """A process that can't be started."""

    async def make(self, job: Job) -> bytes:
        raise DeskFailed("no room")


def points(connection: Connection, views: Views) -> str:
    view = views.view(connection, "cup")
    assert view is not None
    return " ".join(f"{row.name}:{row.points}" for row in view.table().rows)


async def test_page_is_made_here_where_there_is_no_process(tmp_path: Path) -> None:
    keep(tmp_path, [played("1.1.1", "a", "b")], form="swiss")
    reader = await Reader.open(tmp_path, NoDesk(tmp_path))
    try:
        shown = await reader.show_apart("x", Job(points, None, Frame(Urls(), frozenset())))
    finally:
        await reader.close()
    assert shown.body == b"a:1 b:0"


async def test_page_is_made_once_for_all_who_ask_and_again_when_something_changed(
    tmp_path: Path,
) -> None:
    keep(tmp_path, [played("1.1.1", "a", "b")])
    made: list[int] = []

    def load(connection: Connection) -> int:
        made.append(len(catalogue.entrants(connection, 1)))
        return made[-1]

    def enter(connection: Connection) -> None:
        catalogue.add_entrant(connection, 1, "c", "remote")

    reader = await Reader.open(tmp_path)
    try:

        async def show() -> bytes:
            return (await reader.show("x", load, lambda count: b"%d" % count)).body

        assert await asyncio.gather(*(show() for _ in range(20))) == [b"2"] * 20
        await fresh()
        assert await show() == b"2"
        assert made == [2]
        change(tmp_path, enter)
        await fresh()
        assert await show() == b"3"
    finally:
        await reader.close()


async def test_who_goes_away_does_not_take_the_page_from_others(tmp_path: Path) -> None:
    keep(tmp_path, [played("1.1.1", "a", "b")])
    reader = await Reader.open(tmp_path)
    try:
        asked = [asyncio.create_task(reader.show("x", lambda _: b"page", bytes)) for _ in range(2)]
        await asyncio.sleep(0)
        asked[0].cancel()
        assert (await asked[1]).body == b"page"
        with pytest.raises(asyncio.CancelledError):
            await asked[0]
    finally:
        await reader.close()


async def test_view_that_was_kept_is_that_which_is_read_anew(tmp_path: Path) -> None:
    keep(tmp_path, [played("1.1.1", "a", "b"), played("1.1.2", "a", "b")], form="swiss")
    reader, kept = await Reader.open(tmp_path), Views()

    def equal(connection: Connection) -> bool:
        return points(connection, kept) == points(connection, Views())

    def more(connection: Connection) -> None:
        [row] = catalogue.issue(connection, 1, [Pairing("2.1.1", ("b", "a"), 2, "2.1")])
        catalogue.add_result(connection, row.id, played("2.1.1", "b", "a"))

    def reopened(connection: Connection) -> None:
        row = catalogue.find_pairing(connection, 1, "1.1.1")
        assert row is not None
        catalogue.reopen(connection, row.id)

    try:
        assert await reader.read(equal)
        for work in (more, reopened):
            change(tmp_path, work)
            assert await reader.read(equal)
        assert await reader.read(lambda connection: points(connection, kept)) == "a:1 b:1"
    finally:
        await reader.close()
