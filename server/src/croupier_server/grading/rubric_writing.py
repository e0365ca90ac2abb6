"""Writing a rubric as TOML: the very rubric comes back from it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from croupier_common.jsontypes import is_object
from croupier_server.grading.limits import BUILD_LIMITS, PLAY_LIMITS, Limits
from croupier_server.grading.rubric_line_reading import OWN
from croupier_server.grading.rubric_lines import Line, ThinkTime
from croupier_server.grading.rubric_model import Cap, Deductions, Rubric
from croupier_server.grading.rubric_reading import LIMITS
from croupier_server.grading.rubric_units import size_from, size_text, time_from, time_text

__all__ = ["dump_rubric"]


def dump_rubric(rubric: Rubric) -> str:
    """The rubric as TOML, without what is as it is by default."""
    return "\n".join(_lines(rubric)).strip() + "\n"


def _lines(rubric: Rubric) -> Iterator[str]:
    top = {
        "title": rubric.title,
        "seed": rubric.seed,
        "max_mishaps": rubric.max_mishaps,
        "hidden": rubric.hidden,
    }
    yield from _pairs({name: value for name, value in top.items() if value is not None})
    game = rubric.game
    board = game.board_spec.to_json()
    yield from _table(
        "[game]", {"players": game.players, "rules": game.rules.to_json(), "board": board}
    )
    yield from _table("[clocks]", rubric.clocks.model_dump(mode="json", exclude_defaults=True))
    yield from _table("[limits]", _limits(rubric.limits, PLAY_LIMITS))
    yield from _table("[build]", _limits(rubric.build_limits, BUILD_LIMITS))
    if rubric.robin is not None:
        yield from _table("[robin]", {"blocks": rubric.robin.blocks})
    for line in rubric.lines:
        yield from _table("[[line]]", _line(line))
    yield from _table("[deductions]", _deductions(rubric.deductions))
    for cap in rubric.caps:
        yield from _table("[[cap]]", _cap(cap))


def _table(head: str, values: Mapping[str, Any]) -> Iterator[str]:
    if values:
        yield ""
        yield head
        yield from _pairs(values)


def _pairs(values: Mapping[str, Any]) -> Iterator[str]:
    for name, value in values.items():
        yield f"{name} = {_value(value)}"


def _value(value: object) -> str:
    """A value in one line; JSON's texts are TOML's but for one character."""
    if is_object(value):
        pairs = (f"{_text(name)} = {_value(one)}" for name, one in value.items())
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, cast("Sequence[object]", value))) + "]"
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _text(text: object) -> str:
    return json.dumps(str(text), ensure_ascii=False).replace("\x7f", "\\u007f")


def _limits(limits: Limits, default: Limits) -> dict[str, Any]:
    texts: dict[object, Callable[[Any], str]] = {size_from: size_text, time_from: time_text}
    found: dict[str, Any] = {}
    for name, (own, read) in LIMITS.items():
        value = getattr(limits, own)
        if value != getattr(default, own):
            found[name] = texts[read](value) if read in texts else value
    return found


def _line(line: Line) -> dict[str, Any]:
    found: dict[str, Any] = {
        "id": line.id,
        "title": line.title,
        "kind": line.kind,
        "points": line.points,
        "public": line.public,
    }
    for name in OWN[line.kind]:
        value = _value_of(line, name)
        if value not in {"", ()}:
            found[name] = value
    return found


def _value_of(line: Line, name: str) -> Any:
    if isinstance(line, ThinkTime) and name == "below":
        return time_text(line.below_ms / 1000)
    return getattr(line, name)


def _deductions(deductions: Deductions) -> dict[str, Any]:
    most = {} if deductions.most is None else {"most": deductions.most}
    return {**{verdict.value: each for verdict, each in deductions.each.items()}, **most}


def _cap(cap: Cap) -> dict[str, Any]:
    most = f"{cap.most:g} %" if cap.is_percent else cap.most
    games = {"games": cap.games} if cap.when == "verdicts" else {}
    return {"when": cap.when, "most": most, **games}
