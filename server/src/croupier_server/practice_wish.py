"""What a visitor of the practice room wishes for, as the name of the room in ``join`` says it.

``practice:human,greedy;board=5x5,holes=2;rules=classic;clock=none;table=CODE``: who else plays, by
strategies and ``human`` for each other person; then options, in any order. All may be left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from croupier_common.board_spec import BoardSpec
from croupier_common.errors import InvalidBoard, InvalidRules
from croupier_common.jsontypes import shown
from croupier_common.messages import ErrorCode
from croupier_common.rules import MAX_PLAYERS, Rules
from croupier_server.errors import Refused
from croupier_server.settings import GameSettings, PracticeSettings

__all__ = ["HUMAN", "Wish", "wish_of"]

HUMAN: Final = "human"
"""In the list of who else plays: another person, who joins by the table's code."""

_OPTIONS: Final = ("board", "rules", "clock", "table")
_CODE: Final = re.compile(r"[A-Za-z0-9_-]{1,24}")


@dataclass(frozen=True, slots=True)
class Wish:
    """Who plays what.

    Attributes:
        house: the strategies that play too.
        people: how many play in all, the visitor among them.
        has_clock: whether those who joined have one.
        table: the code by which people find one another.
        is_open: whether nothing but the table is said, so that the first one there decides.
    """

    house: tuple[str, ...]
    people: int
    game: GameSettings
    has_clock: bool = True
    table: str | None = None
    is_open: bool = False

    def agrees(self, other: Wish) -> bool:
        """Whether both can sit at one table."""
        return self.is_open or self == other


def wish_of(room: str, practice: PracticeSettings, game: GameSettings) -> Wish:
    """What the name of a room wishes for.

    Args:
        game: what is played where the wish says nothing of it.

    Raises:
        Refused: that can't be had; says what can.
    """
    _, _, asked = room.partition(":")
    listed, *parts = asked.split(";")
    options = _options(parts)
    table = _table(options.get("table"))
    names = [name.strip() for name in listed.split(",")] if listed.strip() else []
    house = [name for name in names if name != HUMAN]
    people = 1 + len(names) - len(house)
    _check_players(house, people, practice)
    is_open = table is not None and not names and len(options) == 1
    if not is_open:
        _check_table(table, people)
    if not names:
        house = [] if is_open else [practice.house[0]]
    played = _game(options, len(house) + people, practice, game)
    has_clock = _has_clock(options.get("clock"), practice)
    return Wish(tuple(house), people, played, has_clock, table, is_open)


def _options(parts: Sequence[str]) -> Mapping[str, str]:
    options: dict[str, str] = {}
    for part in parts:
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not value or name not in _OPTIONS:
            raise _refused(
                f"no option {shown(part, 40)} in the practice room; "
                f"there are {', '.join(f'{option}=...' for option in _OPTIONS)}"
            )
        if name in options:
            raise _refused(f"the option {name} is there twice")
        options[name] = value
    return options


def _table(code: str | None) -> str | None:
    if code is not None and _CODE.fullmatch(code) is None:
        raise _refused(
            f"table is {shown(code, 40)}; a code has 1 to 24 letters, digits, '_' and '-'"
        )
    return None if code is None else code.upper()


def _check_players(house: Sequence[str], people: int, practice: PracticeSettings) -> None:
    for name in house:
        if name not in practice.house:
            raise _refused(
                f"no house player {shown(name, 40)} in the practice room; "
                f"there are {', '.join(practice.house)}, and {HUMAN} for another person"
            )
    opponents = len(house) + people - 1
    if opponents >= MAX_PLAYERS:
        raise _refused(f"{opponents} opponents; a game has {MAX_PLAYERS} players at most")


def _check_table(table: str | None, people: int) -> None:
    if people > 1 and table is None:
        raise _refused(
            f"{HUMAN} needs a table at which people find one another; add ;table=CODE, any code"
        )
    if people == 1 and table is not None:
        raise _refused(
            f"table={table} has no seat for another person; add {HUMAN} to the list of players, "
            f"or give nothing but the table to sit down at one: practice:;table={table}"
        )


def _game(
    options: Mapping[str, str], players: int, practice: PracticeSettings, game: GameSettings
) -> GameSettings:
    try:
        rules = Rules.from_json(options["rules"]) if "rules" in options else game.rules
        board = _board(options["board"], practice) if "board" in options else game.board
        if players > 1:
            board.check_room(rules, players)
    except (InvalidBoard, InvalidRules) as problem:
        raise _refused(str(problem)) from None
    return GameSettings(rules=rules, board=board)


def _board(text: str, practice: PracticeSettings) -> BoardSpec:
    board = BoardSpec.from_text(text)
    if board.rows * board.columns > practice.max_tiles:
        raise _refused(
            f"a board of {board.rows} x {board.columns} is too large for the practice room; "
            f"at most {practice.max_tiles} tiles are allowed"
        )
    return board


def _has_clock(clock: str | None, practice: PracticeSettings) -> bool:
    if clock is None:
        return True
    if clock != "none":
        raise _refused(f"clock is {shown(clock, 40)}; it can be none, or be left out")
    if not practice.clockless:
        raise _refused("this practice room has a clock for everybody; leave clock=none out")
    return False


def _refused(reason: str) -> Refused:
    return Refused(reason, ErrorCode.INVALID_PARAMS)
