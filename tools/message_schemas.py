"""JSON Schemas of the protocol's messages, from the models; of events and records beside them.

What a player sends is described as strictly as the server takes it. What the server sends is left
open, since fields may be added.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel, TypeAdapter

from croupier_common import messages
from croupier_common.hello import OPTIONS, Hello
from croupier_common.messages import PROTOCOL
from croupier_common.outcome import Color
from croupier_common.record import FORMAT
from croupier_common.verdict import Phase, Verdict

__all__ = ["EVENTS", "PLAYER", "REPLIES", "SERVER", "Schema", "schemas"]

Schema = dict[str, Any]

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


# -- one message


def plain(model: Any) -> Schema:
    """A model's schema without the titles that only repeat a field's name."""
    schema: Schema = TypeAdapter(model).json_schema()
    for part in [schema, *schema.get("$defs", {}).values()]:
        for name, field in part.get("properties", {}).items():
            if field.get("title") == name.replace("_", " ").title():
                del field["title"]
    return schema


def from_player(model: type[BaseModel], about: str) -> Schema:
    """What a player sends: exactly what the server takes."""
    schema = plain(model)
    schema["description"] = about
    return schema


def from_server(model: type[BaseModel], about: str = "") -> Schema:
    """What the server sends: what is null in a model is left out on the wire."""
    schema = plain(model)
    for part in [schema, *schema.get("$defs", {}).values()]:
        for name, field in part.get("properties", {}).items():
            part["properties"][name] = _left_out_if_null(field)
    schema["required"] = [name for name in schema["properties"] if name != "data"]
    params = schema["properties"].get("params", {}).get("$ref", "").rpartition("/")[2]
    if params:
        schema["description"] = f"{schema['$defs'][params]['description']} {schema['description']}"
    if about:
        schema["description"] = about
    _close_events(schema)
    return schema


def _left_out_if_null(field: Schema) -> Schema:
    if field.get("default", "") is not None or "anyOf" not in field:
        return {name: value for name, value in field.items() if name != "default"}
    kept = [option for option in field["anyOf"] if option != {"type": "null"}]
    rest = {name: value for name, value in field.items() if name not in {"anyOf", "default"}}
    return {**kept[0], **rest} if len(kept) == 1 else {"anyOf": kept, **rest}


def _close_events(schema: Schema) -> None:
    """Say what events and outcomes are, which the models leave to the rules' own types."""
    definitions = schema.get("$defs", {})
    if "EventEntry" in definitions:
        definitions["EventEntry"]["properties"]["event"] = {"$ref": "#/$defs/Event"}
        definitions |= {"Event": event(), "Outcome": outcome()}
    if "GameEndParams" in definitions:
        definitions["GameEndParams"]["properties"]["outcome"] = {"$ref": "#/$defs/Outcome"}


def with_legal_actions(schema: Schema, name: str, action: Schema) -> Schema:
    """A request for a turn, whose params get a name of their own and one kind of actions."""
    definitions = schema["$defs"]
    definitions[name] = {**definitions.pop("TurnParams"), "title": name}
    definitions[name]["properties"]["legal_actions"]["items"] = action
    schema["properties"]["params"]["$ref"] = f"#/$defs/{name}"
    return schema


# -- what the models leave to the rules' types

POSITION: Final[Schema] = {
    "title": "position",
    "description": "[row, column], both from 0.",
    **{k: v for k, v in TypeAdapter(messages.Spot).json_schema().items() if k != "title"},
}
MOVE: Final[Schema] = {
    "title": "move",
    "description": "[from, to].",
    "type": "array",
    "items": POSITION,
    "minItems": 2,
    "maxItems": 2,
}
COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
COLOUR: Final[Schema] = {"enum": [color.value for color in Color]}
POSITIONS: Final[Schema] = {"type": "array", "items": POSITION}

EVENTS: Final[Mapping[str, Mapping[str, Schema]]] = {
    "place": {"color": COLOUR, "at": POSITION},
    "move": {"color": COLOUR, "from": POSITION, "to": POSITION, "fish": COUNT},
    "skip": {"color": COLOUR},
    "eject": {
        "color": COLOUR,
        "verdict": {"enum": [verdict.value for verdict in Verdict]},
        "phase": {"enum": [phase.value for phase in Phase]},
    },
    "lift": {"color": COLOUR, "at": POSITIONS, "fish": COUNT},
    "sink": {"at": POSITIONS},
    "credit": {"color": COLOUR, "tiles": COUNT, "fish": COUNT},
    "end": {"outcome": {"$ref": "#/$defs/Outcome"}},
}
"""By kind, an event's other fields; a test holds them to :mod:`croupier_common.events`."""


def event() -> Schema:
    """An event, of a kind that is known here or not."""
    return {
        "title": "Event",
        "description": "What happened. There may be more kinds later.",
        **kinds(EVENTS),
    }


def kinds(known: Mapping[str, Mapping[str, Schema]]) -> Schema:
    """An object whose other fields depend on its `kind`; other kinds are let pass."""
    return {
        "type": "object",
        "properties": {"kind": {"type": "string"}},
        "required": ["kind"],
        "allOf": [
            {
                "if": {"properties": {"kind": {"const": kind}}},
                "then": {"properties": dict(fields), "required": list(fields)},
            }
            for kind, fields in known.items()
        ],
    }


def outcome() -> Schema:
    """How a game ended."""
    by_color = {"type": "object", "propertyNames": COLOUR, "additionalProperties": COUNT}
    colors = {"type": "array", "items": COLOUR}
    fields = {
        "ranking": {
            "description": "First to last, in groups of equals.",
            "type": "array",
            "items": {**colors, "minItems": 1},
        },
        "ejected": {"description": "Who was put out; they come after all others.", **colors},
        "fish": {"description": "Each ranked player's fish.", **by_color},
        "tiles": {"description": "Each ranked player's tiles.", **by_color},
    }
    return {
        "title": "Outcome",
        "description": "How a game ended.",
        "type": "object",
        "properties": fields,
        "required": list(fields),
    }


# -- what a player sends


def join() -> Schema:
    """The request to join; another version is refused, and `method` can't be left out."""
    schema = from_player(messages.Join, "The player's one request, and its first message.")
    del schema["properties"]["method"]["default"]
    schema["required"] = list(schema["properties"])
    schema["$defs"]["JoinParams"]["properties"]["protocol"]["const"] = PROTOCOL
    return schema


def reply(title: str, about: str, result: Schema | None = None) -> Schema:
    """A reply with a result or an error; `result` is the form of the result, if it is known."""
    schema = from_player(messages.Reply, about)
    schema["title"] = title
    if result is not None:
        schema["properties"]["result"] = result
    with_result: Schema = {"required": ["result"], "properties": {"error": {"type": "null"}}}
    with_error: Schema = {
        "required": ["error"],
        "properties": {"result": False, "error": {"type": "object"}},
    }
    schema["anyOf"] = [with_result, with_error]
    return schema


REPLIES: Final[Mapping[str, Callable[[], Schema]]] = {
    "true-reply": lambda: reply(
        "TrueReply",
        "The answer to tournament_start, game_start and tournament_end.",
        {"const": True},
    ),
    "place-reply": lambda: reply(
        "PlaceReply", "The answer to place: where to put a penguin.", POSITION
    ),
    "move-reply": lambda: reply("MoveReply", "The answer to move: which penguin goes where.", MOVE),
}

PLAYER: Final[Mapping[str, Callable[[], Schema]]] = {
    "join": join,
    "reply": lambda: reply(
        "Reply", "A player's answer to any request: a result or an error, never both."
    ),
    **REPLIES,
}


# -- what the server sends

SERVER: Final[Mapping[str, Callable[[], Schema]]] = {
    "join-result": lambda: from_server(messages.Joined),
    "error": lambda: from_server(messages.Refusal),
    "tournament_start": lambda: from_server(messages.TournamentStart),
    "game_start": lambda: from_server(messages.GameStart),
    "place": lambda: with_legal_actions(
        from_server(messages.PlaceRequest), "PlaceParams", POSITION
    ),
    "move": lambda: with_legal_actions(from_server(messages.MoveRequest), "MoveParams", MOVE),
    "tournament_end": lambda: from_server(messages.TournamentEnd),
    "events": lambda: from_server(
        messages.Events, "Events of a running game, for those who asked. No answer."
    ),
    "ejected": lambda: from_server(messages.Ejection),
    "game_end": lambda: from_server(messages.GameEnd),
}


# -- programs on stdio


def hello_reply() -> Schema:
    """The answer of a program to hello: those options of join that are its own."""
    joining = join()["$defs"]["JoinParams"]["properties"]
    options: Schema = {
        "description": "Those options of join that the program chooses.",
        "type": "object",
        "properties": {name: joining[name] for name in OPTIONS},
        "additionalProperties": False,
    }
    return reply("HelloReply", "The answer of a program on stdio to hello.", options)


STDIO: Final[Mapping[str, Callable[[], Schema]]] = {
    "hello": lambda: from_server(
        Hello, "The first request to a program on stdio, which stands for its join."
    ),
    "hello-reply": hello_reply,
}


# -- all of them


def schemas() -> dict[str, Schema]:
    """Every JSON Schema by its file's name."""
    made = {name: make() for name, make in {**PLAYER, **SERVER, **STDIO}.items()}
    made["player-message"] = any_of(
        "PlayerMessage", "Any message that a player may send.", ["join", "reply"]
    )
    made["server-message"] = any_of(
        "ServerMessage", "Any message that a server sends.", list(SERVER)
    )
    made["record-line"] = record_line()
    return {
        name: {"$schema": DIALECT, "$id": f"{name}.json", **_ordered(schema)}
        for name, schema in made.items()
    }


def any_of(title: str, about: str, names: Sequence[str]) -> Schema:
    """One of several other files."""
    options = [{"$ref": f"{name}.json"} for name in names]
    return {"title": title, "description": about, "anyOf": options}


def record_line() -> Schema:
    """A line of a game's record."""
    definitions = plain(messages.GameStart)["$defs"]["GameStartParams"]["properties"]
    start: dict[str, Schema] = {
        "format": {"const": FORMAT},
        "game": {"type": "string"},
        "seed": {"type": "integer"},
        "spec": {"description": "How the board was asked for; null where it was given."},
        "board": definitions["board"],
        "rules": definitions["rules"],
        "players": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "color": COLOUR},
                "required": ["name", "color"],
            },
        },
    }
    sha256 = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
    fields: dict[str, Schema] = {
        "seq": {"description": "0 for the header, then from 1.", **COUNT},
        "event": {
            "description": "What rules and seed decide: the header, an event, or the footer.",
            **kinds({"start": start, "interrupted": {}, **EVENTS}),
        },
        "obs": {"description": "What was observed: times, versions.", "type": "object"},
        "digest": {
            "description": "SHA-256 over the digest before it and the event's bytes.",
            **sha256,
        },
        "chain": {
            "description": "SHA-256 over the chain before it and the line's bytes without it.",
            **sha256,
        },
    }
    return {
        "title": "RecordLine",
        "description": "A line of a game's record: the header, an event, or the footer.",
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "$defs": {"Outcome": outcome()},
    }


def _ordered(schema: Schema) -> Schema:
    """What a reader wants to know first comes first."""
    first = ["title", "description", "type", "required", "properties"]
    keys = [key for key in first if key in schema]
    return {key: schema[key] for key in [*keys, *(k for k in schema if k not in keys)]}
