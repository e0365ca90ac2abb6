"""Games while they are played: their events as streams, and the wall for a class-room's screen."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

from sqlalchemy import Connection
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from croupier_common.render import printable
from croupier_server.spectators import NotThere, Spectators
from croupier_server.tails import MAX_SHOWN, Tail, Wall
from croupier_server.tournament.standings import Row
from croupier_server.web.found import GameLine, Heading, found_view, game_lines
from croupier_server.web.openapi import Operation
from croupier_server.web.site import Site, twin
from croupier_server.web.streams import EventStream, Places
from croupier_server.web.views import Views

__all__ = ["OPERATIONS", "WallPage", "load", "routes"]

W = TypeVar("W", Tail, Wall)

LEADERS: Final = 12
"""How many of the standings are told beside the games."""

MAX_DIGITS: Final = 9

OPERATIONS: Final = (
    Operation(
        "/t/{tournament}/live.json",
        "Which games run, and who leads.",
        {
            "tournament": ("object", "Name, format, status, how many games, how long."),
            "games": ("array", "Running games, up to 16."),
            "leaders": ("array", "The first rows of the standings."),
        },
    ),
    Operation(
        "/t/{tournament}/live/events",
        "Running games side by side, as server-sent events: `wall` at the beginning, then `game` "
        "(a game begins: game, header, lines), `lines` (game, lines) and `over` (game, status, "
        "again); `end` when the tournament is over.",
        media_type="text/event-stream",
    ),
    Operation(
        "/t/{tournament}/g/{game}/events",
        "A game's lines while they are written, as server-sent events: `snapshot` (header, lines) "
        "at the beginning, then `lines`; `end` (status, again) when nothing more can come. "
        "Last-Event-ID goes on after the line of that number.",
        media_type="text/event-stream",
    ),
)


@dataclass(frozen=True, slots=True)
class WallPage:
    """What runs in a tournament, and how it stands."""

    heading: Heading
    games: Sequence[GameLine]
    leaders: Sequence[Row]

    def to_json(self) -> Mapping[str, Any]:
        """See :class:`~croupier_server.web.site.Page`."""
        return {
            "tournament": self.heading.to_json(),
            "games": [game.to_json() for game in self.games],
            "leaders": [row.to_json() for row in self.leaders],
        }


def load(connection: Connection, views: Views, tournament: str) -> WallPage:
    """A tournament's page with what runs.

    Raises:
        HTTPException: there is no such tournament.
    """
    view = found_view(views, connection, tournament)
    running = {game.pairing_id for game in view.games if game.status == "running"}
    pairings = [pairing for pairing in view.pairings if pairing.id in running]
    return WallPage(
        Heading.of(view),
        game_lines(view, pairings[:MAX_SHOWN]),
        view.table().rows[:LEADERS],
    )


def routes(site: Site) -> list[Route]:
    """The wall, its twin, and the streams."""
    # its own look at the database, so that no page that takes long stands before a move
    spectators = Spectators(
        site.reader,
        site.settings.storage.where,
        stopping=site.stopping,
        bell=site.services.get("bell"),
    )
    site.services["spectators"] = spectators
    web = site.settings.web
    places = Places(web.max_viewers, web.max_viewers_per_address)

    async def wall(request: Request) -> Response:
        name = site.param(request, "tournament")
        return await site.respond_apart(
            request, ("live", name), "live.html", partial(load, tournament=name)
        )

    async def wall_events(request: Request) -> Response:
        watched = _found(spectators.wall(site.param(request, "tournament")))
        return EventStream(places, watched, Wall.begin)

    async def game_events(request: Request) -> Response:
        tournament, game = site.param(request, "tournament"), site.param(request, "game")
        after = _last_seen(request)
        watched = _found(spectators.game(tournament, game))
        return EventStream(places, watched, lambda tail, outlet: tail.begin(outlet, after))

    return [
        *twin("/t/{tournament}/live", wall, "wall"),
        Route("/t/{tournament}/live/events", wall_events, name="wall.events"),
        Route("/t/{tournament}/g/{game}/events", game_events, name="events"),
    ]


@asynccontextmanager
async def _found(watched: AbstractAsyncContextManager[W]) -> AsyncGenerator[W]:
    async with AsyncExitStack() as stack:
        try:
            entered = await stack.enter_async_context(watched)
        except NotThere as problem:
            raise HTTPException(404, f"{printable(str(problem))}.") from None
        yield entered


def _last_seen(request: Request) -> int | None:
    """The line that a viewer that comes back says it has."""
    told = request.headers.get("last-event-id", "")
    return int(told) if told.isascii() and told.isdecimal() and len(told) <= MAX_DIGITS else None
