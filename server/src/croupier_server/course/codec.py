"""The course's JSON, read strictly: text to a JSON value, and a JSON value to what it means.

A position here may have any number of players, of any colours, with any number of penguins each,
on a board of any shape that the engine can build; see :mod:`croupier_common.notation` for states
of games as we play them. Fields that the course doesn't have are passed over.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NoReturn

from croupier_common.board import MAX_FISH, Board
from croupier_common.grid import MAX_TILES, Position
from croupier_common.jsontypes import is_array, is_object, is_whole, shown
from croupier_common.kernel import Kernel
from croupier_common.state_checks import check_penguins
from croupier_server.errors import UserError

__all__ = [
    "CoursePlayer",
    "CourseState",
    "Entrant",
    "Match",
    "field",
    "json_value",
    "position",
    "state",
]

_MAX_COUNT = 10**12


@dataclass(frozen=True, slots=True)
class CoursePlayer:
    """A player's part of a state: its colour, its fish, its penguins each in its slot."""

    color: str
    score: int
    places: tuple[Position, ...]


@dataclass(frozen=True, slots=True)
class CourseState:
    """A state in the course's form, whose turn it is first."""

    board: Board
    players: tuple[CoursePlayer, ...]

    def kernel(self) -> Kernel:
        """The same as integers, seats in the order of the players."""
        grid = self.board.grid
        penguins = [[grid.tile(place) for place in player.places] for player in self.players]
        free = self.board.mask
        for own in penguins:
            for tile in own:
                free ^= 1 << tile
        scores = [player.score for player in self.players]
        return Kernel(grid, self.board.fish, free, penguins, scores)

    def to_json(self) -> dict[str, Any]:
        """The state as JSON, its board with rows of equal length."""
        return {
            "players": [
                {
                    "color": player.color,
                    "score": player.score,
                    "places": [place.to_json() for place in player.places],
                }
                for player in self.players
            ],
            "board": self.board.to_json(),
        }


@dataclass(frozen=True, slots=True)
class Entrant:
    """A player of a match: its name and how many of its turns it looks ahead."""

    name: str
    depth: int


@dataclass(frozen=True, slots=True)
class Match:
    """A game to be played, on a board with the same number of fish on every tile."""

    rows: int
    columns: int
    fish: int
    entrants: tuple[Entrant, ...]


def json_value(data: bytes) -> object:
    """The one JSON value in UTF-8 bytes.

    Raises:
        UserError: it is not exactly one, or it is beyond any sane size.
    """
    try:
        return json.loads(data.decode("utf-8-sig"), parse_constant=_no_constant)
    except UnicodeDecodeError as problem:
        raise UserError(f"the input is not UTF-8 at byte {problem.start}") from None
    except RecursionError:
        raise UserError("the input is nested too deeply to be anything that is asked for") from None
    except json.JSONDecodeError as problem:
        where = f"line {problem.lineno}, column {problem.colno}"
        raise UserError(f"the input is not one JSON value: {problem.msg}, at {where}") from None
    except ValueError as problem:  # a number of more digits than Python converts, or _no_constant
        raise UserError(f"the input is not JSON that is read here: {problem}") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def field(value: object, name: str, what: str) -> object:
    """A field of an object.

    Raises:
        UserError: it is no object, or it has no such field.
    """
    if not is_object(value):
        raise UserError(f"{what} is {shown(value, 40)}; an object with {name!r} is expected")
    if name not in value:
        raise UserError(f"{what} has no {name!r}")
    return value[name]


def array(value: object, what: str) -> list[object]:
    """The array that a value is.

    Raises:
        UserError: it is none.
    """
    if not is_array(value):
        raise UserError(f"{what} is {shown(value, 40)}; an array is expected")
    return value


def pair(value: object, what: str, parts: str) -> tuple[object, object]:
    """The two elements of an array; `parts` says what they are.

    Raises:
        UserError: it is no such array.
    """
    if not is_array(value) or len(value) != 2:
        raise UserError(f"{what} is {shown(value, 40)}; {parts} is expected")
    return value[0], value[1]


def whole(value: object, what: str, least: int, most: int) -> int:
    """The whole number that a value is.

    Raises:
        UserError: it is none, or out of range.
    """
    if not is_whole(value) or not least <= value <= most:
        raise UserError(
            f"{what} is {shown(value, 40)}; a whole number from {least} to {most} is expected"
        )
    return value


def text(value: object, what: str) -> str:
    """The text that a value is.

    Raises:
        UserError: it is no string, or has half a surrogate pair, which no text has.
    """
    if not isinstance(value, str):
        raise UserError(f"{what} is {shown(value, 40)}; a string is expected")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise UserError(f"{what} has half a surrogate pair: {shown(value, 40)}")
    return value


def position(value: object, what: str) -> Position:
    """A position; whether it is on a given board is another question.

    Raises:
        UserError: it is no array of two whole numbers that some board could have.
    """
    at = Position.from_json(value)
    if at is None or not all(0 <= number < MAX_TILES for number in at):
        raise UserError(
            f"{what} is {shown(value, 40)}; [row, column], whole numbers from 0, is expected"
        )
    return at


def state(value: object, what: str = "the state") -> CourseState:
    """A state, its penguins each on a tile of its own.

    Raises:
        UserError: it is none.
        InvalidBoard, InvalidState: its board, or where penguins stand, can't be.
    """
    board = Board.from_json(field(value, "board", what))
    players = tuple(
        _player(entry, f"players[{seat}]")
        for seat, entry in enumerate(array(field(value, "players", what), f"players of {what}"))
    )
    check_penguins(board, [player.places for player in players])
    return CourseState(board, players)


def _player(value: object, what: str) -> CoursePlayer:
    places = array(field(value, "places", what), f"places of {what}")
    return CoursePlayer(
        color=text(field(value, "color", what), f"color of {what}"),
        score=whole(field(value, "score", what), f"score of {what}", 0, _MAX_COUNT),
        places=tuple(
            position(place, f"places[{slot}] of {what}") for slot, place in enumerate(places)
        ),
    )


def depth(value: object, what: str) -> int:
    """How many turns are looked ahead.

    Raises:
        UserError: it is no whole number from 1.
    """
    return whole(value, what, 1, MAX_TILES)


def match(value: object) -> Match:
    """A match: ``{"row", "column", "players": [[name, depth], ...], "fish"}``.

    Raises:
        UserError: it is none.
    """
    what = "the input"
    rows = whole(field(value, "row", what), "row", 1, MAX_TILES)
    columns = whole(field(value, "column", what), "column", 1, MAX_TILES)
    if rows * columns > MAX_TILES:
        raise UserError(f"row * column is {rows * columns}; at most {MAX_TILES} is allowed")
    players = array(field(value, "players", what), "players")
    return Match(
        rows=rows,
        columns=columns,
        fish=whole(field(value, "fish", what), "fish", 1, MAX_FISH),
        entrants=tuple(_entrant(entry, f"players[{at}]") for at, entry in enumerate(players)),
    )


def _entrant(value: object, what: str) -> Entrant:
    name, turns = pair(value, what, "[name, depth]")
    return Entrant(text(name, f"the name of {what}"), depth(turns, f"the depth of {what}"))
