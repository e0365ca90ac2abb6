"""The start page: the tournaments that there are, and the games that are being played."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, func, select
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from croupier_common.jsontypes import is_array, is_object
from croupier_server.commands.csv_files import moment
from croupier_server.storage import schema
from croupier_server.web.openapi import PAGE_AND_SIZE, Operation
from croupier_server.web.paging import Paging
from croupier_server.web.site import Site, twin

__all__ = ["OPERATIONS", "HomePage", "load", "routes"]

SIZE: Final = 20
MAX_RUNNING: Final = 16

OPERATIONS: Final = (
    Operation(
        "/index.json",
        "What is on.",
        {
            "tournaments": ("array", "The tournaments, the newest first."),
            "running": ("array", "Games that are being played, of all tournaments."),
            "paging": ("object", "Which of the tournaments these are."),
        },
        PAGE_AND_SIZE,
    ),
)


@dataclass(frozen=True, slots=True)
class Listed:
    """A tournament in the list; `winners` once it is over."""

    name: str
    format: str
    status: str
    players: int
    finished: int
    running: int
    started_ms: int | None
    ended_ms: int | None
    winners: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The tournament as JSON."""
        return {
            "name": self.name,
            "format": self.format,
            "status": self.status,
            "players": self.players,
            "games": {"finished": self.finished, "running": self.running},
            "started": moment(self.started_ms) or None,
            "ended": moment(self.ended_ms) or None,
            "winners": list(self.winners),
        }


@dataclass(frozen=True, slots=True)
class RunningGame:
    """A game that is being played."""

    tournament: str
    game: str
    players: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The game as JSON."""
        return {"tournament": self.tournament, "game": self.game, "players": list(self.players)}


@dataclass(frozen=True, slots=True)
class HomePage:
    """What is on."""

    tournaments: Sequence[Listed]
    running: Sequence[RunningGame]
    paging: Paging

    def to_json(self) -> dict[str, Any]:
        """See :class:`~croupier_server.web.site.Page`."""
        return {
            "tournaments": [one.to_json() for one in self.tournaments],
            "running": [one.to_json() for one in self.running],
            "paging": self.paging.to_json(),
        }


def load(connection: Connection, paging: Paging) -> HomePage:
    """What is on, as the database has it; no rows of games are read, only their numbers."""
    table = schema.tournaments.c
    paging = paging.of(connection.scalar(select(func.count(table.id))) or 0)
    query = (
        select(
            *(table.id, table.name, table.format, table.status),
            *(table.started_ms, table.ended_ms, table.result),
        )
        .order_by(table.id.desc())
        .offset(paging.first_index)
        .limit(paging.size)
    )
    rows = connection.execute(query).all()
    ids = [row.id for row in rows]
    players, games = _players(connection, ids), _games(connection, ids)
    return HomePage(
        [_listed(row, players.get(row.id, 0), games) for row in rows],
        running_games(connection, MAX_RUNNING),
        paging,
    )


def running_games(connection: Connection, most: int) -> list[RunningGame]:
    """Games that are being played, the ones that began first."""
    games, pairings, tournaments = schema.games, schema.pairings, schema.tournaments
    query = (
        select(tournaments.c.name, games.c.name, pairings.c.players)
        .select_from(games)
        .join(pairings, pairings.c.id == games.c.pairing_id)
        .join(tournaments, tournaments.c.id == pairings.c.tournament_id)
        .where(games.c.status == "running")
        .order_by(games.c.id)
        .limit(most)
    )
    return [RunningGame(*row) for row in connection.execute(query).all()]


def routes(site: Site) -> list[Route]:
    """The start page's."""

    async def home(request: Request) -> Response:
        paging = Paging.asked(request, SIZE)
        return await site.respond(
            request, paging, "home.html", lambda connection: load(connection, paging)
        )

    return twin("/", home, "home")


def _players(connection: Connection, ids: Sequence[int]) -> dict[int, int]:
    table = schema.entrants.c
    query = (
        select(table.tournament_id, func.count(table.id))
        .where(table.tournament_id.in_(ids))
        .group_by(table.tournament_id)
    )
    return {row[0]: row[1] for row in connection.execute(query).all()}


def _games(connection: Connection, ids: Sequence[int]) -> dict[tuple[int, str], int]:
    games, pairings = schema.games, schema.pairings
    query = (
        select(pairings.c.tournament_id, games.c.status, func.count(games.c.id))
        .select_from(games)
        .join(pairings, pairings.c.id == games.c.pairing_id)
        .where(pairings.c.tournament_id.in_(ids))
        .group_by(pairings.c.tournament_id, games.c.status)
    )
    return {(tournament, status): n for tournament, status, n in connection.execute(query).all()}


def _listed(row: Any, players: int, games: dict[tuple[int, str], int]) -> Listed:
    result = row.result if row.status == "finished" else None
    winners = result.get("winners") if is_object(result) else None
    return Listed(
        row.name,
        row.format,
        row.status,
        players,
        games.get((row.id, "finished"), 0),
        games.get((row.id, "running"), 0),
        row.started_ms,
        row.ended_ms,
        tuple(map(str, winners)) if is_array(winners) else (),
    )
