"""A seat for a person: choose whom to play and what, and play in the browser.

The page itself only says what can be chosen; the game goes over the players' own protocol.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from croupier_common.board_spec import BoardSpec
from croupier_common.rules import MAX_PLAYERS, PRESETS
from croupier_server.names import MAX_NAME
from croupier_server.settings import Settings
from croupier_server.web.openapi import Operation
from croupier_server.web.reader import Shown
from croupier_server.web.site import Doors, Site, json_bytes, twin

__all__ = ["OPERATIONS", "PlayPage", "routes"]

OPERATIONS: Final = (
    Operation(
        "/play.json",
        "What can be played in the browser.",
        {
            "is_open": ("boolean", "Whether there is a practice room to play in."),
            "port": ("integer?", "The port for players; null where only pages are shown."),
            "is_tls": ("boolean", "Whether that port takes wss:// only."),
            "house": ("array", "The house players that can be chosen."),
            "boards": ("array", "Some boards to choose from, each with its name."),
            "max_tiles": ("integer", "The largest board that can be asked for, in tiles."),
            "rules": ("array", "The rules that can be chosen."),
            "clockless": ("boolean", "Whether a game without a clock can be chosen."),
        },
    ),
)

_BOARDS: Final = (
    ("6x3,fish=1-3", "Small: 18 tiles"),
    ("8x4,holes=2,fish=1-4", "Middle: 30 tiles, two holes"),
    ("12x5,holes=4,fish=1-5", "Large: 56 tiles, four holes"),
    ("classic", "The boxed game: 60 tiles"),
)


@dataclass(frozen=True, slots=True)
class PlayPage:
    """What can be chosen.

    Attributes:
        port: where players connect; None where nobody can.
        boards: as text, each with its name.
        move_s: how long a move may take in a game with a clock.
    """

    port: int | None
    is_tls: bool
    house: tuple[str, ...]
    boards: Sequence[tuple[str, str]]
    max_tiles: int
    rules: tuple[str, ...]
    clockless: bool
    move_s: float

    @classmethod
    def of(cls, settings: Settings, doors: Doors | None) -> PlayPage:
        """By the settings of the practice room."""
        practice = settings.practice
        return cls(
            port=None if doors is None else doors.port,
            is_tls=doors is not None and doors.is_tls,
            house=() if doors is None else doors.practice,
            boards=[board for board in _BOARDS if _tiles(board[0]) <= practice.max_tiles],
            max_tiles=practice.max_tiles,
            rules=tuple(PRESETS),
            clockless=practice.clockless,
            move_s=settings.clocks.move_ms / 1000,
        )

    @property
    def is_open(self) -> bool:
        """Whether there is a practice room."""
        return bool(self.house)

    @property
    def opponents(self) -> range:
        """The numbers of the seats beside the visitor's."""
        return range(1, MAX_PLAYERS)

    @property
    def max_name(self) -> int:
        """How long a name can be."""
        return MAX_NAME

    def to_json(self) -> dict[str, Any]:
        """See :class:`~croupier_server.web.site.Page`."""
        return {
            "is_open": self.is_open,
            "port": self.port,
            "is_tls": self.is_tls,
            "house": list(self.house),
            "boards": [{"board": board, "name": name} for board, name in self.boards],
            "max_tiles": self.max_tiles,
            "rules": list(self.rules),
            "clockless": self.clockless,
        }


def routes(site: Site) -> list[Route]:
    """The page's, which needs nothing from the database."""
    page = PlayPage.of(site.settings, site.doors)

    async def play(request: Request) -> Response:
        if request.url.path.endswith(".json"):
            return site.answer(request, Shown.of(json_bytes(page.to_json())), "application/json")
        body = await site.reader.render(lambda: site.html("play.html", page=page))
        return site.answer(request, Shown.of(body), "text/html")

    return twin("/play", play, "play")


def _tiles(text: str) -> int:
    board = BoardSpec.from_text(text)
    return board.rows * board.columns
