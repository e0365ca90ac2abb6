r"""States and events as text: a hexagonal board with a line for each player, and one line.

::

        0   0   1   1
       ___     ___
    0 /R3 \___/ 2 \___
    1 \___/ 1 \___/W5 \
    2 / 4 \___/   \___/
      \___/

    > R red    3 fish  1 tile   [0,0]
      W white  0 fish  0 tiles  [1,1]

A tile has its number of fish, behind the letter of the penguin that stands on it; a hole is blank.
A tile's row is at the left of its line; above each column of hexagons stands the column's number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from croupier_common.events import (
    Credited,
    Ejected,
    Ended,
    Event,
    Lifted,
    Moved,
    Placed,
    Skipped,
    Sunk,
)
from croupier_common.outcome import Color
from croupier_common.state import PlayerState, State

__all__ = ["LETTERS", "event_line", "printable", "render"]

LETTERS: Final[Mapping[Color, str]] = {
    Color.RED: "R",
    Color.WHITE: "W",
    Color.BROWN: "N",
    Color.BLACK: "B",
}
"""The letter of each colour's penguins; an ejected player's have the small one."""

_STYLES: Final[Mapping[Color, str]] = {
    Color.RED: "1;97;41",
    Color.WHITE: "1;30;107",
    Color.BROWN: "1;97;48;5;94",
    Color.BLACK: "1;97;48;5;236",
}
_OUTLINE: Final = "2"
_SLANTS: Final = (
    "\N{BOX DRAWINGS LIGHT DIAGONAL UPPER RIGHT TO LOWER LEFT}",
    "\N{BOX DRAWINGS LIGHT DIAGONAL UPPER LEFT TO LOWER RIGHT}",
)


def render(
    state: State,
    *,
    color: bool = False,
    unicode: bool = True,
    names: Mapping[Color, str] | None = None,
) -> str:
    """A state as lines of text, without a newline at the end.

    Args:
        color: with ANSI colours, for a terminal.
        unicode: with slanted lines; otherwise plain ASCII.
        names: the players' names, shown beside their colours.
    """
    canvas = _Canvas(color)
    _draw_board(canvas, state, _SLANTS if unicode else ("/", "\\"))
    return "\n".join([*canvas.lines(), "", *_legend(state, names or {}, color)])


def printable(text: str, width: int = 60) -> str:
    """A text from outside, safe for a terminal: one line, cut, without control characters."""
    shown = "".join(char if char.isprintable() else "?" for char in text)
    return shown if len(shown) <= width else shown[: width - 1] + "…"


def event_line(event: Event) -> str:
    """An event as a line of text; an empty one for the end, whose outcome says more."""
    match event:
        case Placed(color, at):
            return f"{color:<5}  {at}"
        case Moved(color, start, end, fish):
            return f"{color:<5}  {start} -> {end}  +{fish}"
        case Skipped(color):
            return f"{color:<5}  can't move"
        case Lifted(color, at, fish):
            return f"{color:<5}  lifted from {_spots(at)}  +{fish}"
        case Sunk(at):
            return f"sunk: {_spots(at)}"
        case Credited(color, tiles, fish):
            return f"{color:<5}  keeps its last {tiles} tiles  +{fish}"
        case Ejected(color, verdict, phase):
            return f"{color:<5}  EJECTED: {verdict} ({phase})"
        case Ended():
            return ""


def _spots(at: Iterable[object]) -> str:
    return " ".join(map(str, at))


class _Canvas:
    """Characters by line and column, each with a style."""

    def __init__(self, color: bool) -> None:
        self._color = color
        self._spots: dict[tuple[int, int], tuple[str, str]] = {}

    def write(self, line: int, column: int, text: str, style: str = "") -> None:
        """Write a text from a spot to the right."""
        for at, char in enumerate(text, column):
            self._spots[line, at] = (char, style if self._color else "")

    def lines(self) -> Iterator[str]:
        """The lines from the top, without spaces at their ends."""
        ends: dict[int, int] = {}
        for line, column in self._spots:
            ends[line] = max(column, ends.get(line, 0))
        for line in range(max(ends) + 1):
            yield self._line(line, ends.get(line, -1))

    def _line(self, line: int, end: int) -> str:
        text, now = "", ""
        for column in range(end + 1):
            char, style = self._spots.get((line, column), (" ", ""))
            if style != now:
                text += ("\x1b[0m" if now else "") + (f"\x1b[{style}m" if style else "")
                now = style
            text += char
        return text + "\x1b[0m" if now else text.rstrip()


def _draw_board(canvas: _Canvas, state: State, slants: tuple[str, str]) -> None:
    board = state.board
    inside = max(3, len(str(max(board.fish))) + 1)
    half = inside + 1  # from a column of hexagons to the next, which belongs to the other rows
    margin = len(str(board.rows - 1)) + 1
    standing = {spot: player for player in state.players for spot in player.penguins}
    for column in range(board.columns):
        for odd in range(min(2, board.rows)):
            canvas.write(0, margin + (2 * column + odd) * half + 1, f"{column:^{inside}}".rstrip())
    for row in range(board.rows):
        canvas.write(row + 2, 0, f"{row:>{margin - 1}}")
    for spot in board.tiles():
        left = margin + (2 * spot.column + spot.row % 2) * half
        _draw_tile(canvas, spot.row + 1, left, inside, slants)
        fish, player = board[spot], standing.get(spot)
        if player is None:
            canvas.write(spot.row + 2, left + 1, f"{fish:^{inside}}")
        else:
            text = f"{_letter(player)}{fish}"
            canvas.write(spot.row + 2, left + 1, f"{text:^{inside}}", _STYLES[player.color])


def _draw_tile(canvas: _Canvas, top: int, left: int, inside: int, slants: tuple[str, str]) -> None:
    """Draw an outline; what it shares with its neighbours' is the same for both."""
    up, down = slants
    right = left + inside + 1
    canvas.write(top, left + 1, "_" * inside, _OUTLINE)
    canvas.write(top + 1, left, up, _OUTLINE)
    canvas.write(top + 1, right, down, _OUTLINE)
    canvas.write(top + 2, left, down, _OUTLINE)
    canvas.write(top + 2, left + 1, "_" * inside, _OUTLINE)
    canvas.write(top + 2, right, up, _OUTLINE)


def _letter(player: PlayerState) -> str:
    letter = LETTERS[player.color]
    return letter.lower() if player.ejected else letter


def _legend(state: State, names: Mapping[Color, str], color: bool) -> Iterator[str]:
    shown = {shade: printable(name, 32) for shade, name in names.items()}
    name_width = max(map(len, shown.values()), default=-2) + 2
    fish_width = max((len(str(player.fish)) for player in state.players), default=0)
    tiles_width = max((len(str(player.tiles)) for player in state.players), default=0)
    for player in state.players:
        mark = ">" if player.color is state.turn else " "
        letter = _letter(player)
        if color:
            letter = f"\x1b[{_STYLES[player.color]}m{letter}\x1b[0m"
        name = f"{shown.get(player.color, ''):<{name_width}}"
        if player.ejected:
            held = "ejected"
        else:
            tiles = "tile " if player.tiles == 1 else "tiles"
            held = f"{player.fish:>{fish_width}} fish  {player.tiles:>{tiles_width}} {tiles}"
        where = " ".join(map(str, player.penguins))
        yield f"{mark} {letter} {player.color:<5}  {name}{held}  {where}".rstrip()
