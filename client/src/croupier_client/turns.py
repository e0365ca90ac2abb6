"""Calling a player's methods: what it returns made into an answer, what goes wrong told its author.

A method gives :class:`Answered` or :class:`Failed`, or, if it is a scripted bad player's, a
:class:`Trick`; nothing that the player's code does comes out as an exception.
"""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, SupportsIndex, cast

from croupier_client.errors import BadAnswer
from croupier_client.player import Player, View
from croupier_client.reports import report_bad_answer, report_exception, report_illegal
from croupier_common.actions import Action, Move, Placement
from croupier_common.grid import Position
from croupier_common.jsontypes import shown
from croupier_common.state import why_illegal

__all__ = [
    "Answer",
    "Answered",
    "Answering",
    "Caller",
    "Failed",
    "Garbage",
    "Silence",
    "Trick",
    "Vanish",
    "Warn",
    "to_action",
]

Warn = Callable[[str], None]
"""Takes a text for the player's author."""

_MESSAGE: Final = 500
_SLOW: Final = 0.8
_BEYOND: Final = 1 << 53


@dataclass(frozen=True, slots=True)
class Answered:
    """What the method returned, as JSON."""

    result: Any


@dataclass(frozen=True, slots=True)
class Failed:
    """The method raised something, or returned what is no action.

    Attributes:
        message: what the server is told.
        report: what the player's author is told.
    """

    message: str
    report: str = field(default="", compare=False, repr=False)


class Trick(Exception):
    """What only a scripted bad player does; it raises one instead of returning."""


class Silence(Trick):
    """Not to answer at all."""


class Vanish(Trick):
    """To cut the connection."""


class Answering(Trick):
    """To give that very answer; nobody is told what is wrong with it."""

    def __init__(self, answer: Answered | Failed) -> None:
        super().__init__(answer)
        self.answer = answer


class Garbage(Trick):
    """To send a text that is no message."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


Answer = Answered | Failed | Trick


class Caller:
    """Calls methods of one kind of player.

    Args:
        name: what the author calls it.
        warn: takes the reports.
    """

    def __init__(self, name: str, warn: Warn) -> None:
        self.name = name
        self.warn = warn

    def turn(self, player: Player, method: str, view: View) -> Answer:
        """The answer of `place` or `move`; an illegal one is reported, and goes out as it is."""

        def act() -> Any:
            given = player.place(view) if method == "place" else player.move(view)
            action = to_action(method, given)
            if action not in view.legal_actions:
                reason = why_illegal(view.state, action)
                self.warn(report_illegal(f"{self.name}.{method}()", reason, view))
            return action.to_json()

        return self._call(method, act, view.budget_ms, view)

    def hook(
        self,
        name: str,
        function: Callable[[], None],
        budget_ms: int | None = None,
        view: View | None = None,
    ) -> Answer:
        """The answer of another method: true, unless it fails."""

        def act() -> bool:
            function()
            return True

        return self._call(name, act, budget_ms, view)

    def _call(
        self, method: str, function: Callable[[], Any], budget_ms: int | None, view: View | None
    ) -> Answer:
        began = time.monotonic()
        try:
            return Answered(function())
        except Answering as trick:
            return trick.answer
        except Trick as trick:
            return trick
        except BadAnswer as problem:
            report = report_bad_answer(f"{self.name}.{method}()", str(problem), view)
            self.warn(report)
            return Failed(error_message(problem), report)
        except (Exception, SystemExit) as problem:  # noqa: BLE001 - somebody else's code
            report = report_exception(f"{self.name}.{method}()", problem, view)
            self.warn(report)
            return Failed(error_message(problem), report)
        finally:
            self._check_time(method, time.monotonic() - began, budget_ms)

    def _check_time(self, method: str, took: float, budget_ms: int | None) -> None:
        if budget_ms is not None and took * 1000 > budget_ms * _SLOW:
            self.warn(f"{self.name}.{method}() took {took:.1f} s of {budget_ms / 1000:g} s")


def error_message(problem: BaseException) -> str:
    """An exception in one line that can be sent: its type's name and its text, cut."""
    try:
        text = " ".join(str(problem).split())
    except Exception:  # noqa: BLE001 - an exception of the author's, whose __str__ fails
        text = ""
    message = f"{type(problem).__name__}: {text}" if text else type(problem).__name__
    return message.encode("utf-8", "replace").decode()[:_MESSAGE]


def to_action(method: str, value: object) -> Action:
    """The action that a player's method returned.

    Raises:
        BadAnswer: it is none.
    """
    if method == "place":
        at = _position(value.at if isinstance(value, Placement) else value)
        if at is not None:
            return Placement(at)
        wanted = "a Placement of view.placements, or (row, column)"
    else:
        ends = (value.start, value.end) if isinstance(value, Move) else _pair(value)
        if ends is not None:
            start, end = _position(ends[0]), _position(ends[1])
            if start is not None and end is not None:
                return Move(start, end)
        wanted = "a Move of view.moves, or ((row, column), (row, column)), from and to"
    raise BadAnswer(f"it returned {shown(value)}, and is to return {wanted}")


def _pair(value: object) -> tuple[object, object] | None:
    """The two items of a tuple, list or array."""
    if not isinstance(value, Iterable) or isinstance(value, str | bytes | AbstractSet | Mapping):
        return None
    items = list(islice(cast("Iterable[object]", value), 3))
    return (items[0], items[1]) if len(items) == 2 else None


def _position(value: object) -> Position | None:
    """The position that two whole numbers say, numbers of numpy too."""
    pair = _pair(value)
    if pair is None:
        return None
    row, column = _whole(pair[0]), _whole(pair[1])
    return None if row is None or column is None else Position(row, column)


def _whole(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        return None
    try:
        number = operator.index(value)
    except TypeError:
        return None
    return number if abs(number) < _BEYOND else None
