"""The board as SVG: what static/board.js draws, element for element, for the first response.

No text from outside is in it: names stand beside the board.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Final, Self

from croupier_common.events import Ejected, Moved, Placed
from croupier_common.outcome import Color
from croupier_common.render import LETTERS
from croupier_common.state import Stage
from croupier_common.verdict import Phase

if TYPE_CHECKING:
    from croupier_common.board import Board
    from croupier_common.events import Event
    from croupier_common.grid import Position
    from croupier_common.record import Header
    from croupier_common.state import PlayerState, State

__all__ = ["Last", "badge_svg", "board_svg"]

_SHAPES: Final[Mapping[Color, tuple[str, dict[str, object]]]] = {
    Color.RED: ("circle", {"cx": 0, "cy": -6, "r": 22}),
    Color.WHITE: ("rect", {"x": -20, "y": -26, "width": 40, "height": 40, "rx": 5}),
    Color.BROWN: ("polygon", {"points": "0,-33 26,13 -26,13"}),
    Color.BLACK: ("polygon", {"points": "0,-31 23,-8 0,15 -23,-8"}),
}
_FLAT: Final = "-40,0 -20,-35 20,-35 40,0 20,35 -20,35"
_UPRIGHT: Final = "-35,20 -35,-20 0,-40 35,-20 35,20 0,40"
_FISH_AT: Final[Mapping[int, Sequence[tuple[int, int]]]] = {
    1: ((0, 14),),
    2: ((-9, 14), (9, 14)),
    3: ((-18, 14), (0, 14), (18, 14)),
    4: ((-9, 9), (9, 9), (-9, 23), (9, 23)),
    5: ((-18, 9), (0, 9), (18, 9), (-9, 23), (9, 23)),
}
_MARGIN: Final = 6


@dataclass(frozen=True, slots=True)
class Last:
    """The last ply, as the board marks it; an ejection has no places."""

    kind: str
    color: Color
    start: Position | None = None
    end: Position | None = None

    @classmethod
    def of(cls, events: Sequence[Event]) -> Self | None:
        """The ply that some events begin with; None at the start of a game."""
        match events[0] if events else None:
            case Placed(color, at):
                return cls("place", color, None, at)
            case Moved(color, start, end, _):
                return cls("move", color, start, end)
            case Ejected(color, _, phase) if phase is not Phase.GAME_START:
                return cls("eject", color)
            case _:
                return None


def board_svg(header: Header, state: State, *, ply: int, last: Last | None = None) -> str:
    """A state of a game as SVG.

    Args:
        ply: how many plies it took.
        last: the ply that led there, which is marked.
    """
    layout = _Layout.of(header.board)
    return _element(
        "svg",
        {
            "class": "board",
            "viewBox": layout.view_box,
            "role": "img",
            "aria-label": _title(state, ply, last),
        },
        _element("desc", {}, escape(" ".join(map(_player_text, state.players)))),
        _element("g", {"class": "tiles"}, *_tiles(layout, state, last)),
        _element("g", {"class": "trail"}, *_trail(layout, last)),
        _element("g", {"class": "penguins"}, *_penguins(layout, state, last)),
    )


def badge_svg(color: Color) -> str:
    """A colour's mark beside a name: its shape with its letter."""
    letter = _element("text", {"class": "letter", "y": 2}, LETTERS[color])
    group = _element("g", {"class": f"penguin {color}"}, _shape(color), letter)
    view = {"class": "token", "viewBox": "-34 -40 68 68", "aria-hidden": "true"}
    return _element("svg", view, group)


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the tiles of a board lie; `board` is as it was at the start."""

    board: Board
    turned: bool
    width: int
    height: int

    @classmethod
    def of(cls, board: Board) -> Self:
        """The layout of a board, the boxed game's turned by a quarter, as it lies on the table."""
        turned = (board.rows, board.columns, len(board)) == (15, 4, 60)
        width = 60 * (2 * (board.columns - 1) + (board.rows > 1)) + 80
        return cls(board, turned, width, 35 * (board.rows - 1) + 70)

    @property
    def outline(self) -> str:
        """The corners of a tile around its middle."""
        return _UPRIGHT if self.turned else _FLAT

    @property
    def view_box(self) -> str:
        """The part of the plane that the board takes."""
        sides = (self.height, self.width) if self.turned else (self.width, self.height)
        return f"{-_MARGIN} {-_MARGIN} {sides[0] + 2 * _MARGIN} {sides[1] + 2 * _MARGIN}"

    def place(self, at: Position) -> tuple[int, int]:
        """The middle of a tile, x and y."""
        across, down = 60 * (2 * at.column + at.row % 2) + 40, 35 * at.row + 35
        return (down, self.width - across) if self.turned else (across, down)

    def edge(self, start: Position, end: Position) -> tuple[int, int]:
        """Where a move from `start` comes to the rim of its last tile, x and y."""
        (x1, y1), (x2, y2) = self.place(start), self.place(end)
        if x1 == x2 or y1 == y2:
            across, down = 35, 35
        else:
            across, down = (17, 30) if self.turned else (30, 17)
        return x2 - across * _sign(x2 - x1), y2 - down * _sign(y2 - y1)


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


def _tiles(layout: _Layout, state: State, last: Last | None) -> Iterator[str]:
    standing = {at: player for player in state.players for at in player.penguins}
    for at in layout.board.tiles():
        x, y = layout.place(at)
        name = f"{at.row},{at.column}"
        where = {"data-at": name, "transform": f"translate({x} {y})"}
        fish = state.board[at]
        if not fish:
            yield _element("g", {"class": "hole", **where})
            continue
        player = standing.get(at)
        is_last = last is not None and last.end == at
        said = f"[{name}] {fish} fish{f', {player.color} penguin' if player else ''}"
        drawn = (
            [_count(fish, 31, "under")]
            if player
            else [_count(fish, -6 if fish > 3 else 0), _fish(fish)]
        )
        yield _element(
            "g",
            {"class": "tile last" if is_last else "tile", **where},
            _element("title", {}, said),
            _element("polygon", {"class": "ice", "points": layout.outline}),
            _element("text", {"class": "spot", "y": -24}, name),
            *drawn,
        )


def _count(fish: int, y: int, more: str = "") -> str:
    size = "tiny" if fish > 99_999 else "small" if fish > 999 else ""
    classes = " ".join(filter(None, ("count", more, size)))
    return _element("text", {"class": classes, "y": y}, str(fish))


def _fish(fish: int) -> str:
    places = _FISH_AT.get(fish, _FISH_AT[1])
    shapes = (f"M{x - 8} {y}q5-7 10 0l6-5v10l-6-5q-5 7-10 0z" for x, y in places)
    return _element("path", {"class": "fish", "d": "".join(shapes)})


def _trail(layout: _Layout, last: Last | None) -> Iterator[str]:
    if last is not None and last.start is not None and last.end is not None:
        (x1, y1), (x2, y2) = layout.place(last.start), layout.edge(last.start, last.end)
        yield _element("path", {"class": f"path {last.color}", "d": f"M{x1} {y1}L{x2} {y2}"})
        yield _element("circle", {"class": f"left {last.color}", "cx": x1, "cy": y1, "r": 9})


def _penguins(layout: _Layout, state: State, last: Last | None) -> Iterator[str]:
    for player in state.players:
        letter = LETTERS[player.color]
        for at in player.penguins:
            x, y = layout.place(at)
            classes = ["penguin", player.color.value]
            if player.ejected:
                classes.append("ejected")
            if last is not None and last.end == at:
                classes.append("last")
            yield _element(
                "g",
                {"class": " ".join(classes), "transform": f"translate({x} {y})"},
                _shape(player.color),
                _element(
                    "text",
                    {"class": "letter", "y": 2},
                    letter.lower() if player.ejected else letter,
                ),
            )


def _shape(color: Color) -> str:
    tag, attributes = _SHAPES[color]
    return _element(tag, {"class": "shape", **attributes})


def _title(state: State, ply: int, last: Last | None) -> str:
    if state.is_over:
        now = "the game is over"
    elif state.turn is None:
        now = "nobody can move"
    else:
        now = f"{state.turn} to {'place' if state.stage is Stage.PLACEMENT else 'move'}"
    return f"Board after ply {ply}{_last_text(last)}; {now}"


def _last_text(last: Last | None) -> str:
    if last is None:
        return ""
    if last.kind == "eject":
        return f"; {last.color} was ejected"
    if last.start is None:
        return f"; {last.color} placed at {last.end}"
    return f"; {last.color} moved from {last.start} to {last.end}"


def _player_text(player: PlayerState) -> str:
    where = f" Penguins at {' '.join(map(str, player.penguins))}." if player.penguins else ""
    if player.ejected:
        return f"{player.color}: ejected.{where}"
    return f"{player.color}: {player.fish} fish, {player.tiles} tiles.{where}"


def _element(tag: str, attributes: Mapping[str, Any], *children: str) -> str:
    """An element as text; its children are elements, or texts without markup."""
    given = "".join(f' {name}="{escape(str(value))}"' for name, value in attributes.items())
    return f"<{tag}{given}>{''.join(children)}</{tag}>"
