"""A game's page: the board after any ply, without scripts; with them a replay, or the game live."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup
from sqlalchemy import Connection, select
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from croupier_common.errors import RecordError
from croupier_common.notation import state_to_json
from croupier_common.record import Header, Record, read_record, walk
from croupier_common.render import event_line, printable
from croupier_server.storage import catalogue, schema
from croupier_server.web.board_svg import Last, badge_svg, board_svg
from croupier_server.web.found import no_record
from croupier_server.web.openapi import Operation
from croupier_server.web.paging import whole_query
from croupier_server.web.site import Site, twin

if TYPE_CHECKING:
    from croupier_common.game import NumberedEvent
    from croupier_common.outcome import Color
    from croupier_common.state import PlayerState, State
    from croupier_server.storage.catalogue import GameStatus
    from croupier_server.web.views import Views

__all__ = ["OPERATIONS", "GamePage", "load", "routes"]

MAX_PLY: Final = 1_000_000

_HTML: Final = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&"})

OPERATIONS: Final = (
    Operation(
        "/t/{tournament}/g/{game}.json",
        "A game after one of its plies, or as it stands.",
        {
            "tournament": ("string", "The tournament's name."),
            "game": ("string", "The game's name."),
            "status": ("string", "running, finished, interrupted, void or superseded."),
            "again": ("string?", "The name of the game that was played in its place."),
            "ply": ("integer", "After how many plies this is the state."),
            "plies": ("integer", "How many there are: placements, moves and ejections."),
            "names": ("object", "The players' names by colour, in turn order."),
            "state": ("object", "Board and players, as in the players' protocol."),
            "outcome": ("object?", "How the game ended; null before that."),
        },
        {"ply": ("integer", "After how many plies; the last, if this is not given.")},
    ),
)


@dataclass(frozen=True, slots=True)
class PlyLine:
    """A ply in the list of all: whose it was, what happened, and what followed from it."""

    ply: int
    color: Color | None
    text: str
    notes: tuple[str, ...]
    think_ms: int | None

    @classmethod
    def of(cls, ply: int, events: Sequence[NumberedEvent], record: Record) -> PlyLine:
        """The line of some events."""
        told = [event_line(one.event).strip() for one in events]
        last = Last.of([one.event for one in events]) if ply else None
        if last is None:
            return cls(ply, None, "start", tuple(filter(None, told)), None)
        think_ms = record.lines[events[0].seq].obs.get("think_ms")
        notes = tuple(filter(None, told[1:]))
        text = told[0].removeprefix(last.color.value).strip()
        return cls(ply, last.color, text, notes, think_ms if isinstance(think_ms, int) else None)


@dataclass(frozen=True, slots=True)
class PlayerRow:
    """A player beside the board."""

    state: PlayerState
    name: str
    verdict: str | None
    is_turn: bool

    @property
    def badge(self) -> Markup:
        """The mark of its colour."""
        return Markup(badge_svg(self.state.color))  # noqa: S704 - nothing from outside is in it


@dataclass(frozen=True, slots=True)
class Position:
    """A game after one of its plies, and all of them as a list."""

    header: Header
    state: State
    ply: int
    lines: Sequence[PlyLine]
    last: Last | None
    verdicts: Mapping[Color, str]

    @property
    def plies(self) -> int:
        """How many plies there are."""
        return len(self.lines) - 1

    @property
    def board(self) -> Markup:
        """The board as SVG."""
        drawn = board_svg(self.header, self.state, ply=self.ply, last=self.last)
        return Markup(drawn)  # noqa: S704 - nothing from outside is in it

    @property
    def names(self) -> dict[Color, str]:
        """The players' names, in turn order."""
        return {seat.color: seat.name for seat in self.header.players}

    @property
    def players(self) -> list[PlayerRow]:
        """The players as they stand, in turn order."""
        names, turn = self.names, self.state.turn
        return [
            PlayerRow(
                player,
                names[player.color],
                self.verdicts.get(player.color) if player.ejected else None,
                player.color is turn,
            )
            for player in self.state.players
        ]

    @property
    def ranking(self) -> list[list[str]] | None:
        """The players' names from the first place to the last; None while the game goes on."""
        outcome, names = self.state.outcome, self.names
        if outcome is None:
            return None
        return [[names[color] for color in group] for group in outcome.ranking]


@dataclass(frozen=True, slots=True)
class GamePage:
    """A game as the database has it.

    Attributes:
        lines: of its record, as far as there are any.
        asked: the ply that is asked for; None for the last.
        again: the name of the game that was played in its place, if there is one.
    """

    tournament: str
    game: str
    status: GameStatus
    lines: Sequence[str]
    asked: int | None
    again: str | None

    @property
    def head(self) -> Markup:
        """The header of the record, as JSON that can stand in a page."""
        event = json.loads(self.lines[0])["event"]
        return Markup(json.dumps(event, separators=(",", ":")).translate(_HTML))  # noqa: S704

    def position(self) -> Position:
        """The game after the ply that is asked for; the record is played again for that.

        Raises:
            HTTPException: there is no such ply, or the record is damaged.
        """
        try:
            record = read_record((line.encode() for line in self.lines), unfinished=True)
            return _position(record, self.asked)
        except RecordError as problem:
            raise HTTPException(
                500, f"The record of game {printable(self.game)} can't be shown: {problem}"
            ) from None

    def to_json(self) -> dict[str, Any]:
        """See :class:`~croupier_server.web.site.Page`."""
        position = self.position()
        outcome = position.state.outcome
        return {
            "tournament": self.tournament,
            "game": self.game,
            "status": self.status,
            "again": self.again,
            "ply": position.ply,
            "plies": position.plies,
            "names": {color.value: name for color, name in position.names.items()},
            "state": state_to_json(position.state),
            "outcome": None if outcome is None else outcome.to_json(),
        }


def load(
    connection: Connection,
    _views: Views,
    *,
    tournament: str,
    game: str,
    ply: int | None,
    keep_days: int | None = None,
) -> GamePage:
    """The game of that name.

    Args:
        keep_days: for how long records are kept.

    Raises:
        HTTPException: there is none, or none any more.
    """
    row = catalogue.find_tournament(connection, tournament)
    found = None if row is None else catalogue.game_by_name(connection, row.id, game)
    if found is None:
        raise HTTPException(404, f"{printable(tournament)} has no game {printable(game)}.")
    table = schema.games.c
    later = (
        select(table.name)
        .where(table.pairing_id == found.pairing_id, table.attempt > found.attempt)
        .order_by(table.attempt.desc())
    )
    lines = catalogue.lines(connection, found.id)
    if not lines:
        raise no_record(game, keep_days)
    again = connection.scalars(later).first()
    return GamePage(tournament, found.name, found.status, lines, ply, again)


def routes(site: Site) -> list[Route]:
    """The page's."""
    keep_days = site.settings.storage.keep_days

    async def game(request: Request) -> Response:
        tournament, name = site.param(request, "tournament"), site.param(request, "game")
        ply = whole_query(request, "ply", 0, MAX_PLY)
        return await site.respond_apart(
            request,
            (tournament, name, ply),
            "game.html",
            partial(load, tournament=tournament, game=name, ply=ply, keep_days=keep_days),
            follows_moves=True,
        )

    return twin("/t/{tournament}/g/{game}", game, "game")


def _position(record: Record, asked: int | None) -> Position:
    """The game after a ply, the last if none is asked for."""
    state: State | None = None
    last: Last | None = None
    lines: list[PlyLine] = []
    verdicts: dict[Color, str] = {}
    for ply, (game, events) in enumerate(walk(record)):
        lines.append(PlyLine.of(ply, events, record))
        if asked is None or ply == asked:
            state, last = game.state, Last.of([one.event for one in events])
            verdicts = {color: fault.verdict.value for color, fault in game.faults.items()}
    if state is None:
        raise HTTPException(404, f"ply goes from 0 to {len(lines) - 1} in this game.")
    ply = len(lines) - 1 if asked is None else asked
    return Position(record.header, state, ply, lines, last, verdicts)
