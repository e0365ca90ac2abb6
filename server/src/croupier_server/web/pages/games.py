"""The list of a tournament's games, by player, round and status."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, get_args

from sqlalchemy import Connection
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from croupier_server.storage.catalogue import GameStatus
from croupier_server.web.found import GameLine, Heading, found_view, game_lines, status_of
from croupier_server.web.openapi import PAGE_AND_SIZE, Operation
from croupier_server.web.paging import MAX_NUMBER, Paging, whole_query
from croupier_server.web.site import Site, twin
from croupier_server.web.views import Views

if TYPE_CHECKING:
    from croupier_server.commands.view import View
    from croupier_server.storage.pairings import PairingRow

__all__ = ["OPERATIONS", "STATUSES", "Filter", "GamesPage", "load", "routes"]

SIZE: Final = 50
MAX_NAME: Final = 200

STATUSES: Final = (
    "open",
    *(status for status in get_args(GameStatus) if status != "superseded"),
    "forfeit",
    "bye",
)

OPERATIONS: Final = (
    Operation(
        "/t/{tournament}/games.json",
        "The games of a tournament, the last paired first.",
        {
            "tournament": ("object", "Name, format, status, how many games, how long."),
            "games": ("array", "A line for each pairing."),
            "paging": ("object", "Which of the lines these are."),
        },
        {
            **PAGE_AND_SIZE,
            "player": ("string", "Only games of this player."),
            "round": ("integer", "Only games of this round."),
            "status": ("string", f"Only games that are {', '.join(STATUSES)}."),
        },
    ),
)


@dataclass(frozen=True, slots=True)
class Filter:
    """Which games are asked for; None for any."""

    player: str | None = None
    round: int | None = None
    status: str | None = None

    @classmethod
    def asked(cls, request: Request) -> Filter:
        """What the query asks for.

        Raises:
            HTTPException: there is no such status, or it is no number of a round, or no name.
        """
        player = request.query_params.get("player") or None
        status = request.query_params.get("status") or None
        if status is not None and status not in STATUSES:
            raise HTTPException(400, f"status is one of {', '.join(STATUSES)}.")
        if player is not None and len(player) > MAX_NAME:
            raise HTTPException(400, f"player is a name of {MAX_NAME} characters at most.")
        return cls(player, whole_query(request, "round", 1, MAX_NUMBER), status)


@dataclass(frozen=True, slots=True)
class GamesPage:
    """Games of a tournament; the filter's choices are `statuses`, and rounds up to the last."""

    heading: Heading
    filter: Filter
    lines: Sequence[GameLine]
    paging: Paging
    last_round: int
    statuses: Sequence[str] = STATUSES

    def to_json(self) -> dict[str, Any]:
        """See :class:`~croupier_server.web.site.Page`."""
        return {
            "tournament": self.heading.to_json(),
            "games": [line.to_json() for line in self.lines],
            "paging": self.paging.to_json(),
        }


def load(
    connection: Connection, views: Views, tournament: str, wanted: Filter, paging: Paging
) -> GamesPage:
    """The games that are asked for, the last paired first.

    Raises:
        HTTPException: there is no such tournament, or no such page of the list.
    """
    view = found_view(views, connection, tournament)
    chosen = list(_chosen(view, wanted))
    chosen.reverse()
    paging = paging.of(len(chosen))
    last = max((pairing.round for pairing in view.pairings), default=0)
    return GamesPage(Heading.of(view), wanted, game_lines(view, paging.cut(chosen)), paging, last)


def routes(site: Site) -> list[Route]:
    """The list's."""

    async def games(request: Request) -> Response:
        name = site.param(request, "tournament")
        wanted, paging = Filter.asked(request), Paging.asked(request, SIZE)
        return await site.respond_apart(
            request,
            (name, wanted, paging),
            "games.html",
            partial(load, tournament=name, wanted=wanted, paging=paging),
        )

    return twin("/t/{tournament}/games", games, "games")


def _chosen(view: View, wanted: Filter) -> Iterator[PairingRow]:
    last = {game.pairing_id: game for game in view.games}
    for pairing in view.pairings:
        if wanted.round not in {None, pairing.round}:
            continue
        if wanted.player is not None and wanted.player not in pairing.players:
            continue
        if wanted.status is not None:
            result = view.results.get(pairing.game)
            if status_of(result, last.get(pairing.id)) != wanted.status:
                continue
        yield pairing
