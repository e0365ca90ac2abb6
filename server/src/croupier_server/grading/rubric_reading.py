"""Reading a rubric from TOML; each mistake is one line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from croupier_common.errors import FishError
from croupier_common.jsontypes import is_array, is_object, shown
from croupier_common.rules import MAX_PLAYERS, MIN_PLAYERS
from croupier_common.verdict import Verdict
from croupier_server.errors import UserError
from croupier_server.grading.limits import BUILD_LIMITS, PLAY_LIMITS, Limits
from croupier_server.grading.rubric_line_reading import read_lines
from croupier_server.grading.rubric_model import (
    CAUSES,
    Cap,
    Cause,
    Deductions,
    GameSetup,
    Hidden,
    Robin,
    Rubric,
)
from croupier_server.grading.rubric_table import (
    NotAllowed,
    Table,
    number,
    one_of,
    points,
    text,
    whole,
)
from croupier_server.grading.rubric_units import size_from, time_from
from croupier_server.settings import Clocks, GameSettings

__all__ = ["load_rubric"]

M = TypeVar("M", bound=BaseModel)

PARTS: Final = (
    "title",
    "seed",
    "max_mishaps",
    "hidden",
    "game",
    "clocks",
    "limits",
    "build",
    "robin",
    "line",
    "deductions",
    "cap",
)
LIMITS: Final[dict[str, tuple[str, Callable[[object], float]]]] = {
    "cpu": ("cpu_s", time_from),
    "wall": ("wall_s", time_from),
    "memory": ("memory", size_from),
    "processes": ("processes", whole(1, 1_000_000)),
    "open_files": ("open_files", whole(16, 1_000_000)),
    "file": ("file_bytes", size_from),
    "disk": ("disk_bytes", size_from),
    "output": ("output_bytes", size_from),
}
"""By name in a rubric: the limit, and what reads it."""

POSITIVE: Final = frozenset({"cpu", "wall", "memory"})

CLOCKS: Final = tuple(name for name in Clocks.model_fields if name not in {"no_clock", "pace_ms"})
"""No player is without a clock here, whatever its name."""

HIDDEN: Final[tuple[Hidden, ...]] = ("hidden", "after_due_date", "after_published")

FAULTS: Final = tuple(verdict for verdict in Verdict if verdict.is_fault)

_PERCENT: Final = re.compile(r"(\d{1,3}(?:\.\d{1,2})?) ?%")


def load_rubric(path: Path) -> Rubric:
    """The rubric in a TOML file.

    Raises:
        UserError: it can't be read, or something in it can't be; says what, where, and what is
            allowed.
    """
    try:
        value = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise UserError(f"{path}: {problem.strerror}") from None
    except (ValueError, RecursionError) as problem:  # not TOML, or a number of 5,000 digits
        raise UserError(f"{path}: not TOML: {problem}") from None
    try:
        return _rubric(value)
    except UserError as problem:
        raise UserError(f"{path}: {problem}") from None


def _rubric(value: dict[str, Any]) -> Rubric:
    top = Table(value, "", PARTS)
    robin = _robin(value["robin"]) if "robin" in value else None
    rubric = Rubric(
        title=top.need("title", text(80)),
        lines=read_lines(value.get("line"), has_robin=robin is not None),
        seed=top.take("seed", whole(0, 2**63 - 1), None),
        game=_game(value.get("game", {})),
        clocks=_clocks(value.get("clocks", {})),
        limits=_limits(value.get("limits", {}), "limits.", PLAY_LIMITS),
        build_limits=_limits(value.get("build", {}), "build.", BUILD_LIMITS),
        deductions=_deductions(value.get("deductions", {})),
        caps=_caps(value.get("cap", [])),
        robin=robin,
        max_mishaps=top.take("max_mishaps", whole(1, 1_000), 3),
        hidden=top.take("hidden", one_of(HIDDEN), "hidden"),
    )
    if not sum(line.points for line in rubric.lines):
        raise UserError("line: all lines together have 0 points; give one of them some")
    return rubric


# -- the game and what may be used


def _game(value: object) -> GameSetup:
    table = Table(value, "game.", ("players", "rules", "board"))
    players = table.take("players", whole(MIN_PLAYERS, MAX_PLAYERS), MIN_PLAYERS)
    given = {name: part for name, part in _dict(value).items() if name != "players"}
    found = _model(GameSettings, given, "game.")
    try:
        found.board.check_room(found.rules, players)
    except FishError as problem:
        raise table.fail("board", problem) from None
    return GameSetup(players, found.rules, found.board)


def _clocks(value: object) -> Clocks:
    Table(value, "clocks.", CLOCKS)
    return _model(Clocks, _dict(value), "clocks.")


def _model(kind: type[M], values: dict[str, object], where: str) -> M:
    try:
        return kind.model_validate(values)
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        at = ".".join(map(str, first["loc"]))
        told = str(first["msg"]).removeprefix("Value error, ")
        value = first["input"]
        what = "" if first["type"] == "value_error" else f", not {shown(value, 60)}"
        raise UserError(f"{where}{at}: {told}{what}") from None


def _limits(value: object, where: str, default: Limits) -> Limits:
    table = Table(value, where, tuple(LIMITS))
    found: dict[str, Any] = {
        LIMITS[name][0]: table.need(name, LIMITS[name][1]) for name in LIMITS if name in table
    }
    for name in sorted(POSITIVE):
        if name in table and not found[LIMITS[name][0]]:
            raise table.fail(name, "0 leaves nothing to run with; give more")
    return replace(default, **found)


def _robin(value: object) -> Robin:
    return Robin(Table(value, "robin.", ("blocks",)).take("blocks", whole(1, 1_000), 1))


# -- what is taken off


def _deductions(value: object) -> Deductions:
    table = Table(value, "deductions.", (*FAULTS, "most"))
    each = {verdict: table.need(verdict, points) for verdict in FAULTS if verdict in table}
    most = table.need("most", points) if "most" in table else None
    return Deductions(each, most)


def _caps(value: object) -> tuple[Cap, ...]:
    if not is_array(value):
        raise UserError("cap: tables, each under [[cap]], with when and most")
    return tuple(_cap(one, f"cap {at}: ") for at, one in enumerate(value, 1))


def _cap(value: object, where: str) -> Cap:
    table = Table(value, where, ("when", "most", "games"))
    when: Cause = table.need("when", one_of(CAUSES))
    most, is_percent = table.need("most", _points_or_percent)
    if "games" in table and when != "verdicts":
        raise table.fail("games", "it goes with when = 'verdicts' only; take it away")
    return Cap(when, most, is_percent, table.take("games", whole(1, 100_000), 1))


def _points_or_percent(value: object) -> tuple[float, bool]:
    allowed = "points, or a text like '40 %' of all points, at most '100 %'"
    try:
        if not isinstance(value, str):
            return points(value), False
        found = _PERCENT.fullmatch(value)
        if found is not None:
            return number(0, 100)(float(found[1])), True
    except NotAllowed:
        pass
    raise NotAllowed(allowed)


def _dict(value: object) -> dict[str, object]:
    return dict(value) if is_object(value) else {}
