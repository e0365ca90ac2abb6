"""What can be downloaded: tables as CSV, a game's record, and all of it in one archive."""

from __future__ import annotations

import asyncio
import tempfile
import zipfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import IO, TYPE_CHECKING, Any, Final, cast

from sqlalchemy import Connection
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from croupier_common.render import printable
from croupier_server.commands import sheets
from croupier_server.commands.archive import FileNames
from croupier_server.commands.csv_files import Cell, csv_text
from croupier_server.storage import catalogue
from croupier_server.web.desk import Job
from croupier_server.web.found import Heading, found_view, no_record
from croupier_server.web.openapi import PAGE_AND_SIZE, Operation
from croupier_server.web.paging import Paging
from croupier_server.web.reader import Shown
from croupier_server.web.site import Site, twin
from croupier_server.web.urls import Urls
from croupier_server.web.views import Views

if TYPE_CHECKING:
    from croupier_server.storage.catalogue import GameRow

__all__ = ["OPERATIONS", "DownloadsPage", "load", "routes"]

SIZE: Final = 100

CHUNK: Final = 256 * 1024

AT_ONCE: Final = 16
"""How many records are read together for an archive, so that pages come in between."""

DATE: Final = (1980, 1, 1, 0, 0, 0)
"""The date of all files in an archive: the same content gives the same bytes."""

ENDED: Final = frozenset({"finished", "stopped", "failed"})

TABLES: Final = {
    "standings": "The table",
    "results": "What each player got in each game, and how long it thought",
    "games": "All games, with their records' names",
    "cross-table": "Who scored what against whom",
    "ratings": "Ratings with their intervals",
}
"""The tables, by file's name. Orders name the operator, and are not for everybody."""

OPERATIONS: Final = (
    Operation(
        "/t/{tournament}/downloads.json",
        "What can be downloaded of a tournament.",
        {
            "tournament": ("object", "Name, format, status, how many games, how long."),
            "tables": ("array", "The tables as CSV, each with its address."),
            "archive": ("string?", "Everything in one archive; null before the end."),
            "records": ("array", "The games' records, each with its address."),
            "paging": ("object", "Which of the records these are."),
        },
        PAGE_AND_SIZE,
    ),
    *(
        Operation(f"/t/{{tournament}}/downloads/{name}.csv", about, media_type="text/csv")
        for name, about in TABLES.items()
    ),
    Operation(
        "/t/{tournament}/downloads/all.zip",
        "All tables and records, once it is over.",
        media_type="application/zip",
    ),
    Operation(
        "/t/{tournament}/g/{game}/record.jsonl",
        "A game's record: the lines that there are so far, or all.",
        media_type="application/jsonl",
    ),
)


@dataclass(frozen=True, slots=True)
class Recorded:
    """A game with a record."""

    game: str
    status: str
    plies: int | None
    url: str


@dataclass(frozen=True, slots=True)
class DownloadsPage:
    """What there is to download.

    Attributes:
        tables: name, what it is, and address.
        archive: its address, if there is one.
    """

    heading: Heading
    tables: Sequence[tuple[str, str, str]]
    archive: str | None
    records: Sequence[Recorded]
    paging: Paging

    def to_json(self) -> dict[str, Any]:
        """See :class:`~croupier_server.web.site.Page`."""
        return {
            "tournament": self.heading.to_json(),
            "tables": [{"name": name, "url": url} for name, _, url in self.tables],
            "archive": self.archive,
            "records": [
                {"game": one.game, "status": one.status, "plies": one.plies, "url": one.url}
                for one in self.records
            ],
            "paging": self.paging.to_json(),
        }


def load(
    connection: Connection, views: Views, urls: Urls, tournament: str, paging: Paging
) -> DownloadsPage:
    """What there is to download.

    Raises:
        HTTPException: there is no such tournament, or no such page of its records.
    """
    view = found_view(views, connection, tournament)
    paging = paging.of(len(view.games))
    return DownloadsPage(
        Heading.of(view),
        [
            (name, about, urls.downloads(tournament, f"{name}.csv"))
            for name, about in TABLES.items()
        ],
        urls.downloads(tournament, "all.zip") if view.row.status in ENDED else None,
        [
            Recorded(game.name, game.status, game.plies, urls.record(tournament, game.name))
            for game in paging.cut(view.games)
        ],
        paging,
    )


def routes(site: Site) -> list[Route]:
    """The page's, and those of the files."""
    making = asyncio.Semaphore(1)

    async def downloads(request: Request) -> Response:
        name = site.param(request, "tournament")
        paging = Paging.asked(request, SIZE)
        return await site.respond_apart(
            request,
            (name, paging),
            "downloads.html",
            partial(load, urls=site.urls, tournament=name, paging=paging),
        )

    async def table(request: Request) -> Response:
        name, wanted = site.param(request, "tournament"), request.path_params["table"]
        if wanted not in TABLES:
            raise HTTPException(404, f"There is no table {printable(wanted)} to download.")
        shown = await _table(site, name, wanted)
        return site.answer(request, shown, "text/csv", _attached(f"{name}-{wanted}", ".csv"))

    async def record(request: Request) -> Response:
        name, game = site.param(request, "tournament"), site.param(request, "game")
        shown = await site.reader.show(
            ("record", name, game),
            lambda connection: _lines(connection, name, game, site.settings.storage.keep_days),
            lambda lines: "".join(lines).encode(),
            follows_moves=True,
        )
        return site.answer(
            request, shown, "application/jsonl", _attached(f"{name}-{game}", ".jsonl")
        )

    async def archive(request: Request) -> Response:
        name = site.param(request, "tournament")
        if making.locked():
            raise HTTPException(503, "Another archive is being made. Try again in a moment.")
        async with making:
            file = await _archive(site, name)
        return StreamingResponse(
            _sent(file), media_type="application/zip", headers=_attached(name, ".zip")
        )

    return [
        *twin("/t/{tournament}/downloads", downloads, "downloads"),
        Route("/t/{tournament}/downloads/all.zip", archive, name="archive"),
        Route("/t/{tournament}/downloads/{table}.csv", table, name="table"),
        Route("/t/{tournament}/g/{game}/record.jsonl", record, name="record"),
    ]


def _attached(name: str, ending: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{FileNames().name(name, ending)}"'}


def _lines(
    connection: Connection, tournament: str, game: str, keep_days: int | None
) -> Sequence[str]:
    row = catalogue.find_tournament(connection, tournament)
    found = None if row is None else catalogue.game_by_name(connection, row.id, game)
    if found is None:
        raise HTTPException(404, f"{printable(tournament)} has no game {printable(game)}.")
    lines = catalogue.lines(connection, found.id)
    if not lines:
        raise no_record(game, keep_days)
    return lines


async def _table(site: Site, tournament: str, wanted: str) -> Shown:
    job = Job(partial(table_text, tournament=tournament, table=wanted), None, site.frame)
    return await site.reader.show_apart(("table", tournament, wanted), job)


def table_text(connection: Connection, views: Views, tournament: str, table: str) -> str:
    """A table as CSV.

    Raises:
        HTTPException: there is no such tournament.
    """
    view = found_view(views, connection, tournament)
    match table:
        case "standings":
            return csv_text(sheets.standings(view))
        case "results":
            details = sheets.all_details(connection, view.row.id)
            return csv_text(sheets.results(view, details))
        case "games":
            return csv_text(sheets.games(view, _record_names(view.games)))
        case "cross-table":
            return csv_text(sheets.cross(view))
        case _:
            return csv_text(_ratings(connection, view.row.id))


def _ratings(connection: Connection, tournament: int) -> Iterator[Sequence[Cell]]:
    """The ratings as they were written down; to work them out takes longer than a page may."""
    yield ["place", "name", "rating", "low", "high", "games"]
    for place, one in enumerate(catalogue.ratings(connection, tournament), 1):
        values = (round(value, 1) for value in (one.rating, one.low, one.high))
        yield [place, one.name, *values, one.games]


def _record_names(games: Sequence[GameRow]) -> dict[int, str]:
    names = FileNames()
    return {game.id: names.name(game.name, ".jsonl") for game in games if game.status != "running"}


async def _archive(site: Site, tournament: str) -> IO[bytes]:
    """An archive with everything, some records at a time.

    Raises:
        HTTPException: there is no such tournament, or it isn't over.
    """
    reader = site.reader
    names = await reader.read(lambda connection: _ended_games(connection, tournament))
    tables = {name: await _table(site, tournament, name) for name in TABLES}
    file = cast("IO[bytes]", tempfile.TemporaryFile())  # noqa: SIM115 - closed by who sends it
    try:
        texts = {f"{name}.csv": table.body for name, table in tables.items()}
        await reader.render(partial(_put, file, texts))
        ids = list(names)
        for first in range(0, len(ids), AT_ONCE):
            some = {game: names[game] for game in ids[first : first + AT_ONCE]}
            records = await reader.read(partial(_records, games=some))
            await reader.render(partial(_put, file, records))
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return file


def _ended_games(connection: Connection, tournament: str) -> Mapping[int, str]:
    """The games' rows of a tournament that is over, with their records' names."""
    row = catalogue.find_tournament(connection, tournament)
    if row is None:
        raise HTTPException(404, f"There is no tournament {printable(tournament)} here.")
    if row.status not in ENDED:
        raise HTTPException(404, "The archive is made when the tournament is over.")
    return _record_names(catalogue.games(connection, row.id))


def _records(connection: Connection, games: Mapping[int, str]) -> Mapping[str, bytes]:
    found = ((name, catalogue.lines(connection, game)) for game, name in games.items())
    return {f"records/{name}": "".join(lines).encode() for name, lines in found if lines}


def _put(file: IO[bytes], texts: Mapping[str, bytes]) -> None:
    """Put some files into the archive, behind those that are in it."""
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for path, text in texts.items():
            info = zipfile.ZipInfo(path, DATE)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, text)


async def _sent(file: IO[bytes]) -> AsyncIterator[bytes]:
    try:
        while part := await asyncio.to_thread(file.read, CHUNK):
            yield part
    finally:
        file.close()
