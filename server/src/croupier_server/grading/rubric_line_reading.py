"""Reading the lines of a rubric from its tables ``[[line]]``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, Final, TypedDict, cast

from croupier_common.jsontypes import is_array, is_object, shown
from croupier_server.errors import UserError
from croupier_server.grading.rubric_lines import (
    KINDS,
    Beats,
    Builds,
    Conformance,
    FinishedGames,
    Kind,
    Line,
    PlaceLine,
    ThinkTime,
)
from croupier_server.grading.rubric_steps import GROUPS, STEPS
from croupier_server.grading.rubric_table import (
    NotAllowed,
    Table,
    flag,
    listed,
    near,
    number,
    one_of,
    points,
    strategy,
    text,
    whole,
)
from croupier_server.grading.rubric_units import time_from

__all__ = ["read_lines"]

COMMON: Final = ("id", "title", "kind", "points", "public")
OWN: Final[dict[Kind, tuple[str, ...]]] = {
    "builds": (),
    "conformance": ("steps", "required"),
    "games": ("against", "count"),
    "beats": ("against", "confidence", "score0", "score1", "max_blocks", "partial"),
    "place": ("last",),
    "think_time": ("below", "percentile", "against"),
}
"""By kind, what a line has beside what all have."""

_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")


class _Common(TypedDict):
    id: str
    title: str
    points: float
    public: bool


def read_lines(value: object, *, has_robin: bool) -> tuple[Line, ...]:
    """The lines of a rubric.

    Raises:
        UserError: something in them can't be.
    """
    if not is_array(value) or not value:
        raise UserError(
            "line: at least one table under [[line]], with id, title, kind and points; "
            + ("there is none" if value is None else f"not {shown(value, 60)}")
        )
    lines = tuple(_line(one, at) for at, one in enumerate(value, 1))
    _check_ids(lines)
    _check_needs(lines, has_robin=has_robin)
    return lines


def _line(value: object, at: int) -> Line:
    table = Table(value, f"{_where(value, at)}: ", _allowed(value))
    kind: Kind = table.need("kind", one_of(KINDS))
    common: _Common = {
        "id": table.need("id", _id),
        "title": table.need("title", text(80)),
        "points": table.need("points", points),
        "public": table.take("public", flag, True),
    }
    match kind:
        case "builds":
            return Builds(**common)
        case "conformance":
            return _conformance(table, common)
        case "games":
            against, count = table.need("against", strategy), table.need("count", whole(1, 1_000))
            return FinishedGames(**common, against=against, count=count)
        case "beats":
            return _beats(table, common)
        case "place":
            return PlaceLine(**common, last=table.take("last", number(0, 1), 0.0))
        case "think_time":
            return _think_time(table, common)


def _where(value: object, at: int) -> str:
    name = value.get("id") if is_object(value) else None
    return f"line {shown(name, 42)}" if isinstance(name, str) else f"line {at}"


def _allowed(value: object) -> tuple[str, ...]:
    """What a line may have: all there is, while its kind is not known."""
    kind = cast("dict[str, Any]", value).get("kind") if is_object(value) else None
    if isinstance(kind, str) and kind in KINDS:
        return (*COMMON, *OWN[kind])
    return tuple(dict.fromkeys((*COMMON, *(name for own in OWN.values() for name in own))))


def _id(value: object) -> str:
    if isinstance(value, str) and _ID.fullmatch(value):
        return value
    raise NotAllowed("1 to 40 letters of English, digits, '_' and '-'")


def _conformance(table: Table, common: _Common) -> Line:
    return Conformance(
        **common,
        steps=table.take("steps", listed(_step), ()),
        required=table.take("required", one_of(("each", "all")), "each"),
    )


def _step(value: object) -> str:
    known = (*STEPS, *GROUPS)
    if isinstance(value, str) and value in known:
        return value
    raise NotAllowed(
        f"steps of `penguin check --list` or their groups ({', '.join(GROUPS)})",
        near(value, known),
    )


def _beats(table: Table, common: _Common) -> Line:
    line = Beats(
        **common,
        against=table.need("against", strategy),
        confidence=table.take("confidence", number(0.5, 0.9999), 0.95),
        score0=table.take("score0", number(0.01, 0.98), 0.5),
        score1=table.take("score1", number(0.02, 0.99), 0.6),
        max_blocks=table.take("max_blocks", whole(1, 10_000), 60),
        partial=table.take("partial", _partial, ()),
    )
    if line.score0 >= line.score1:
        raise table.fail("score1", f"more than score0, {line.score0:g}, not {line.score1:g}")
    return line


def _partial(value: object) -> tuple[tuple[float, float], ...]:
    allowed = "pairs [mean score, share of the points], both from 0 to 1 and rising"
    if not is_array(value):
        raise NotAllowed(allowed)
    share = number(0, 1)
    try:
        pairs = [listed(share)(pair) for pair in value]
    except NotAllowed:
        raise NotAllowed(allowed) from None
    found = [(pair[0], pair[1]) for pair in pairs if len(pair) == 2]
    if len(found) != len(value) or not _rises(one for one, _ in found):
        raise NotAllowed(allowed)
    if not _rises(one for _, one in found):
        raise NotAllowed(allowed)
    return tuple(found)


def _rises(values: Iterable[float]) -> bool:
    found = list(values)
    return all(one < other for one, other in pairwise(found))


def _think_time(table: Table, common: _Common) -> Line:
    below_ms = round(table.need("below", time_from) * 1000)
    if not below_ms:
        raise table.fail("below", "nobody is below 0 s; give more")
    return ThinkTime(
        **common,
        below_ms=below_ms,
        percentile=table.take("percentile", whole(1, 100), 50),
        against=table.take("against", strategy, ""),
    )


def _check_ids(lines: tuple[Line, ...]) -> None:
    seen = set[str]()
    for line in lines:
        if line.id.lower() in seen:
            raise UserError(f"line {line.id!r}: two lines have this id; give one another")
        seen.add(line.id.lower())


def _check_needs(lines: tuple[Line, ...], *, has_robin: bool) -> None:
    """Check that what lines build on is there."""
    levels = [line.against for line in lines if isinstance(line, FinishedGames | Beats)]
    for line in lines:
        if isinstance(line, PlaceLine) and not has_robin:
            raise UserError(
                f"line {line.id!r}: a place comes from a round robin; add [robin] with blocks = 1"
            )
        if isinstance(line, ThinkTime) and (
            not levels or (line.against and line.against not in levels)
        ):
            told = ", ".join(dict.fromkeys(levels)) or "none"
            raise UserError(
                f"line {line.id!r}: think time is taken in games that another line asks for, "
                f"against {told}; add a line of the kind 'games' or 'beats'"
            )
