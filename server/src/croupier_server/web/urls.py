"""The one place that knows where each page is.

A name in a path is one segment, whatever is in it: what would end a segment, or be taken for
something else in it, is written as ``~`` with two digits, which :meth:`Urls.name` undoes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlencode

__all__ = ["Urls"]

_SPECIAL: Final = re.compile(r"[~/\\\0]")
_WRITTEN: Final = re.compile(r"~([0-9A-F]{2})")


@dataclass(frozen=True, slots=True)
class Urls:
    """Gives the address of everything, as a path with what comes before it.

    Attributes:
        root: what comes before all paths; nothing, as a rule.
    """

    root: str = ""

    def home(self) -> str:
        """What is on."""
        return f"{self.root}/"

    def connect(self) -> str:
        """How to connect."""
        return f"{self.root}/connect"

    def play(self) -> str:
        """A seat for a person."""
        return f"{self.root}/play"

    def replay(self) -> str:
        """The viewer for a record that is dropped on it."""
        return f"{self.root}/replay"

    def operator(self) -> str:
        """The operator's page."""
        return f"{self.root}/operator"

    def operator_tournament(self, tournament: str, action: str = "") -> str:
        """The operator's page of a tournament, or where one of its forms goes."""
        return f"{self.operator()}/t/{_segment(tournament)}" + (f"/{action}" if action else "")

    def openapi(self) -> str:
        """The description of the JSON twins."""
        return f"{self.root}/openapi.json"

    def static(self, file: str) -> str:
        """A style sheet, a script or a picture."""
        return f"{self.root}/static/{quote(file)}"

    def tournament(self, tournament: str, **query: object) -> str:
        """A tournament's standings and rounds."""
        return f"{self.root}/t/{_segment(tournament)}{_query(query)}"

    def games(self, tournament: str, **query: object) -> str:
        """The list of its games; the query is the list's filter and page."""
        return f"{self.root}/t/{_segment(tournament)}/games{_query(query)}"

    def player(self, tournament: str, player: str) -> str:
        """How one player does in it."""
        return f"{self.root}/t/{_segment(tournament)}/p/{_segment(player)}"

    def downloads(self, tournament: str, file: str = "") -> str:
        """What can be downloaded, or one file of that."""
        end = f"/{_segment(file)}" if file else ""
        return f"{self.root}/t/{_segment(tournament)}/downloads{end}"

    def wall(self, tournament: str) -> str:
        """All games that run, side by side."""
        return f"{self.root}/t/{_segment(tournament)}/live"

    def game(self, tournament: str, game: str) -> str:
        """A game's board; `game` is its name on the wire, such as ``1.1-2``."""
        return f"{self.root}/t/{_segment(tournament)}/g/{_segment(game)}"

    def record(self, tournament: str, game: str) -> str:
        """A game's record."""
        return f"{self.game(tournament, game)}/record.jsonl"

    def events(self, tournament: str, game: str) -> str:
        """A game's lines while they are written, as server-sent events."""
        return f"{self.game(tournament, game)}/events"

    def json(self, page: str) -> str:
        """The JSON twin of a page, by the page's address."""
        path, mark, query = page.partition("?")
        return (f"{path}index.json" if path.endswith("/") else f"{path}.json") + mark + query

    @staticmethod
    def name(segment: str) -> str:
        """The name that stands in a path as this segment."""
        return _WRITTEN.sub(lambda found: chr(int(found[1], 16)), segment)


def _segment(name: str) -> str:
    name = _SPECIAL.sub(lambda found: f"~{ord(found[0]):02X}", name)
    if name.startswith(".") or name.endswith(".json"):
        name = name.replace(".", "~2E")  # no parent folder, and no JSON twin
    return quote(name.encode("utf-8", "replace"), safe="~")


def _query(query: dict[str, object]) -> str:
    given = {name: str(value) for name, value in query.items() if value not in {None, ""}}
    return f"?{urlencode(given, errors='replace')}" if given else ""
