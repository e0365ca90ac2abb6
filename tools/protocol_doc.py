"""Write the marked parts of protocol.md from the models; `--check` only says if they are right.

The text between the parts is written by hand.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import structlog
from pydantic import TypeAdapter

import example_game
from croupier_common import messages
from croupier_common.board import Board
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
from croupier_common.game import Game
from croupier_common.grid import DIRECTIONS, Grid, Position
from croupier_common.messages import ErrorCode
from croupier_common.outcome import Color, Outcome
from croupier_common.rules import CLASSIC, FISH, OPTIONS
from croupier_common.session import TABLE, CloseCode
from croupier_common.verdict import Phase, Verdict
from croupier_server.settings import Clocks, Limits

PATH: Final = Path(__file__).parent.parent / "protocol.md"

PART: Final = re.compile(r"(<!-- made: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)

CALLS: Final = (
    messages.TournamentStart,
    messages.GameStart,
    messages.PlaceRequest,
    messages.MoveRequest,
    messages.TournamentEnd,
)
NOTIFICATIONS: Final = (messages.Events, messages.Ejection, messages.GameEnd)

TYPES: Final[Mapping[str, str]] = {
    "position": "[position](#positions)",
    "board": "[board](#the-board)",
    "colour": "[colour](#players-and-colours)",
    "event": "[event](#events-of-a-game)",
    "outcome": "[outcome](#the-outcome)",
    "StateEntry": "[state](#the-state)",
    "PlayerEntry": "[player](#the-state)",
    "EventEntry": "[numbered event](#events-of-a-game)",
    "SeatEntry": "[seat](#players-and-colours)",
    "LastAnswer": "[last answer](#place-and-move)",
}
"""By the title of a JSON schema, what it is called in a table."""

HERE, THERE = Position(0, 1), Position(2, 1)
OUTCOME: Final = Outcome(
    ranking=((Color.RED,), (Color.WHITE, Color.BLACK)),
    ejected=(Color.BROWN,),
    fish={Color.RED: 9, Color.WHITE: 6, Color.BLACK: 6},
    tiles={Color.RED: 4, Color.WHITE: 3, Color.BLACK: 2},
)
EVENTS: Final[tuple[Event, ...]] = (
    Placed(Color.RED, HERE),
    Moved(Color.RED, HERE, THERE, 3),
    Skipped(Color.WHITE),
    Ejected(Color.WHITE, Verdict.TIMEOUT, Phase.MOVEMENT),
    Lifted(Color.RED, (HERE, THERE), 4),
    Sunk((HERE, THERE)),
    Credited(Color.RED, 2, 5),
    Ended(OUTCOME),
)


def main(arguments: list[str]) -> int:
    """Write the parts, or compare them: 1 if one is not what it should be."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    text = PATH.read_text(encoding="utf-8")
    wanted = with_parts(text, asyncio.run(example_game.play_example()))
    if arguments != ["--check"]:
        PATH.write_text(wanted, encoding="utf-8", newline="\n")
        return 0
    for name in stale(text, wanted):
        sys.stderr.write(f"protocol.md: {name} is stale; run: python tools/protocol_doc.py\n")
    return 0 if text == wanted else 1


def with_parts(text: str, passed: list[example_game.Passed]) -> str:
    """The page with every part as it should be; `passed` is the game that it prints.

    Raises:
        ValueError: the page lacks a part, has one twice, or one that nobody makes.
    """
    parts = dict(PARTS) | {"example": lambda: example_game.transcript(passed)}
    named = [match[2] for match in PART.finditer(text)]
    if sorted(named) != sorted(parts):
        wrong = sorted(set(named) ^ set(parts)) or "one of them twice"
        raise ValueError(f"protocol.md has the parts {named}, and wrong is {wrong}")
    return PART.sub(lambda match: f"{match[1]}\n{parts[match[2]]()}\n\n{match[3]}", text)


def stale(text: str, wanted: str) -> list[str]:
    """The names of the parts that differ."""
    pairs = zip(PART.finditer(text), PART.finditer(wanted), strict=True)
    return [one[2] for one, other in pairs if one[0] != other[0]]


# -- tables of fields


def fields_table(model: Any, *, sent_by_player: bool = False) -> str:
    """A table of a model's fields, from its JSON schema."""
    schema = TypeAdapter(model).json_schema()
    required = schema.get("required", [])
    rows: list[tuple[str, ...]] = []
    for name, field in schema["properties"].items():
        kind, meaning = type_words(field), sentence(field.get("description", ""))
        if name in required and NULL in field.get("anyOf", []):
            kind += " or `null`"
        if sent_by_player:
            default = "required" if name in required else f"`{json.dumps(field.get('default'))}`"
            rows.append((f"`{name}`", kind, default, meaning))
        else:
            optional = "" if name in required else ", may be absent"
            rows.append((f"`{name}`", kind + optional, meaning))
    head = (
        ("field", "type", "default", "meaning") if sent_by_player else ("field", "type", "meaning")
    )
    return table(head, rows)


def type_words(schema: Mapping[str, Any]) -> str:
    """What a JSON schema allows, in words."""
    name = str(schema.get("$ref", "")).rpartition("/")[2] or str(schema.get("title", ""))
    if name in TYPES:
        return TYPES[name]
    if "anyOf" in schema:
        return " or ".join(type_words(part) for part in schema["anyOf"] if part != NULL)
    if "const" in schema:
        return code(schema["const"])
    if "enum" in schema:
        return " or ".join(code(value) for value in schema["enum"])
    words = WORDS[schema.get("type", "any")]
    if "items" in schema:
        return f"array of {plural(type_words(schema['items']))}" if schema["items"] else words
    if isinstance(schema.get("additionalProperties"), dict):
        most = f", at most {schema['maxProperties']}" if "maxProperties" in schema else ""
        return f"object, each value {article(type_words(schema['additionalProperties']))}{most}"
    return words + limits(schema)


NULL: Final = {"type": "null"}
WORDS: Final[Mapping[str, str]] = {
    "any": "any value",
    "array": "array",
    "boolean": "`true` or `false`",
    "integer": "integer",
    "object": "object",
    "string": "string",
}


def limits(schema: Mapping[str, Any]) -> str:
    """The least and the most that a number or a text's length may be."""
    if "maxLength" in schema:
        least = schema.get("minLength")
        size = f"{least} to" if least else "at most"
        return f", {size} {grouped(schema['maxLength'])} characters"
    if "maximum" in schema:
        return f", {schema['minimum']} to {grouped(schema['maximum'])}"
    return ""


def plural(words: str) -> str:
    """The same words for several, in a link or not."""
    return words.replace("]", "s]", 1) if "]" in words else f"{words}s"


def article(words: str) -> str:
    """Words with `a` or `an` before them."""
    return f"{'an' if words[0] in 'aeio' else 'a'} {words}"


def grouped(number: int) -> str:
    """A number with its thousands apart."""
    return f"{number:,}"


def code(value: object) -> str:
    """A value as JSON, set as code."""
    return f"`{json.dumps(value)}`"


def sentence(text: str) -> str:
    """A docstring's or a field's text on one line."""
    return " ".join(text.replace("``", "`").split())


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


# -- the other parts


def methods() -> str:
    """What the server sends by itself."""
    budgets = Clocks().budgets_ms()
    rows = [
        (
            f"[`{kind.METHOD}`](#{anchor(kind.METHOD)})",
            doc(kind),
            f"{grouped(budgets[kind.METHOD])} ms",
        )
        for kind in CALLS
    ]
    rows += [
        (f"[`{kind.METHOD}`](#{anchor(kind.METHOD)})", doc(kind), "none") for kind in NOTIFICATIONS
    ]
    return table(("method", "answer", "time for it, unless set otherwise"), rows)


def anchor(method: str) -> str:
    """The heading under which a method is explained."""
    return "place-and-move" if method in {"place", "move"} else f"the-{method}-message"


def doc(kind: type) -> str:
    """The first sentence of a class's docstring."""
    return sentence(kind.__doc__ or "").partition("\n")[0]


def states() -> str:
    """The table of who may send what when."""
    rows = [
        (f"`{state.value}`", *(sent_in(TABLE[state][sender]) for sender in ("player", "server")))
        for state in TABLE
    ]
    return table(("state", "the player may send", "the server may send"), rows)


def sent_in(kinds: frozenset[str]) -> str:
    """Kinds of messages, in the order in which they come up."""
    order = ["join", "join result", "error", "reply", *(k.METHOD for k in (*CALLS, *NOTIFICATIONS))]
    return ", ".join(f"`{kind}`" for kind in sorted(kinds, key=order.index)) or "nothing"


def error_codes() -> str:
    """The errors of a refused join."""
    return table(("code", "when"), [(f"`{c.value}`", c.meaning) for c in ErrorCode])


def close_codes() -> str:
    """How the server closes connections."""
    return table(("code", "meaning"), [(f"`{c.value}`", c.meaning) for c in CloseCode])


def defaults() -> str:
    """The settings that a player feels, with their defaults."""
    clocks, kept = Clocks(), Limits()
    rows = [
        ("time to join", f"{grouped(clocks.join_ms)} ms"),
        *((f"answer to `{name}`", f"{grouped(ms)} ms") for name, ms in clocks.budgets_ms().items()),
        ("latency allowance", f"{grouped(clocks.latency_allowance_ms)} ms"),
        ("largest message of a player", f"{grouped(kept.max_message)} bytes"),
        ("most that a player may leave unread", f"{grouped(kept.max_unread)} bytes"),
        ("replies to nothing that is open", grouped(kept.max_surplus)),
        ("pings in a second", grouped(kept.max_pings)),
        ("grace of a game for a player that is away", f"{grouped(clocks.grace_ms)} ms"),
        ("connections at once", grouped(kept.max_connections)),
        ("of one address, that have not joined", grouped(kept.max_unjoined)),
    ]
    return table(("what", "unless set otherwise"), rows)


def directions() -> str:
    """The steps from a tile to its neighbours."""
    rows = [
        (name, *(f"({signed(row)}, {signed(column)})" for row, column in steps))
        for name, steps in zip(DIRECTIONS, neighbours(), strict=True)
    ]
    return table(("direction", "from an even row", "from an odd row"), rows)


def signed(number: int) -> str:
    """A number with its sign, 0 without one."""
    return f"{number:+d}" if number else "0"


def neighbours() -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """By direction, the step as (rows, columns) from an even and from an odd row."""
    grid = Grid.of(9, 9)
    for direction in range(len(DIRECTIONS)):
        steps: list[tuple[int, int]] = []
        for start in (Position(4, 4), Position(5, 4)):
            end = grid.position(grid.rays[grid.tile(start)][direction][0])
            steps.append((end.row - start.row, end.column - start.column))
        yield steps[0], steps[1]


def rule_options() -> str:
    """The options of the rules, and what the two presets have."""
    rows = [
        (
            f"`{name}`",
            f"`{getattr(FISH, name)}`",
            f"`{getattr(CLASSIC, name)}`",
            ", ".join(f"`{value}`" for value in values),
        )
        for name, values in OPTIONS.items()
    ]
    return table(("option", "in `fish`", "in `classic`", "all values"), rows)


def events() -> str:
    """One event of each kind, with its class's docstring."""
    rows = [
        (f"`{event.kind}`", doc(type(event)), f"`{json.dumps(event.to_json())}`")
        for event in EVENTS
        if not isinstance(event, Ended)
    ]
    rows.append(("`end`", doc(Ended), '`{"kind": "end", "outcome": ...}`'))
    return table(("kind", "what happened", "example"), rows)


def outcome() -> str:
    """An outcome."""
    return f"```json\n{example_game.folded(OUTCOME.to_json())}\n```"


def version_refusal() -> str:
    """What a join of another version is answered with."""
    join = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "join",
        "params": {"protocol": 2, "name": "Pingu"},
    }
    try:
        messages.parse_from_player(json.dumps(join))
    except messages.Rejected as rejected:
        error = messages.RefusalBody(code=rejected.code, message=str(rejected), data=rejected.data)
        refusal = messages.Refusal(id=rejected.id, error=error)
        return block(refusal.model_dump(), "server")
    raise AssertionError("version 2 is spoken")


def ejected_example() -> str:
    """What an illegal move in the example game is answered with."""
    game = Game("1.1", Board.from_json(example_game.BOARD), [Color.RED, Color.WHITE])
    game.begin()
    while game.request is not None and game.request.method == "place":
        game.act(next(iter(game.request.state.legal_actions)))
    game.reply([[0, 1], [1, 3]])
    params = messages.EjectionParams(game=game.id, **game.faults[Color.RED].to_json())
    return block(messages.Ejection(params=params).model_dump(exclude_none=True), "server")


def block(message: object, sender: str) -> str:
    """A message as a block of JSON that says who sends it."""
    return f"```json {sender}\n{example_game.folded(message)}\n```"


def verdicts() -> str:
    """A section for each verdict."""
    return "\n\n".join(_verdict(verdict) for verdict in Verdict)


def _verdict(verdict: Verdict) -> str:
    lines = [f"### {verdict.value}", "", f"- **When:** {verdict.when}"]
    if verdict.phases:
        lines.append(f"- **Phases:** {', '.join(f'`{phase.value}`' for phase in verdict.phases)}")
    else:
        lines.append("- **Phases:** none yet. The name is reserved, and no server gives it today.")
    lines.append(f"- **What to do:** {verdict.fix}")
    return "\n".join(lines)


PARTS: Final[Mapping[str, Callable[[], str]]] = {
    "defaults": defaults,
    "close-codes": close_codes,
    "states": states,
    "join": lambda: fields_table(messages.JoinParams, sent_by_player=True),
    "join-result": lambda: fields_table(messages.JoinResult),
    "error-codes": error_codes,
    "version-refusal": version_refusal,
    "reply-error": lambda: fields_table(messages.ErrorBody, sent_by_player=True),
    "methods": methods,
    "tournament-start": lambda: fields_table(messages.TournamentStartParams),
    "game-start": lambda: fields_table(messages.GameStartParams),
    "seat": lambda: fields_table(messages.SeatEntry),
    "turn": lambda: fields_table(messages.TurnParams),
    "last-answer": lambda: fields_table(messages.LastAnswer),
    "events-notification": lambda: fields_table(messages.EventsParams),
    "ejected": lambda: fields_table(messages.EjectionParams),
    "ejected-example": ejected_example,
    "game-end": lambda: fields_table(messages.GameEndParams),
    "tournament-end": lambda: fields_table(messages.TournamentEndParams),
    "state": lambda: fields_table(messages.StateEntry),
    "player": lambda: fields_table(messages.PlayerEntry),
    "event": lambda: fields_table(messages.EventEntry),
    "events": events,
    "outcome": outcome,
    "directions": directions,
    "rule-options": rule_options,
    "verdicts": verdicts,
}
"""By the name in its mark, what makes a part; the example game is made apart, as it is played."""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
