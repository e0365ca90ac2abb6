"""The protocol as an AsyncAPI 3.0 document, from the schemas of its messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from croupier_common import messages
from croupier_common.jsontypes import is_array, is_object
from croupier_common.messages import PROTOCOL
from message_schemas import PLAYER, SERVER, Schema

__all__ = ["asyncapi"]

CALLS: Final = (
    messages.TournamentStart,
    messages.GameStart,
    messages.PlaceRequest,
    messages.MoveRequest,
    messages.TournamentEnd,
)
NOTIFICATIONS: Final = (messages.Events, messages.Ejection, messages.GameEnd)
ANSWERS: Final[Mapping[str, str]] = {"place": "place-reply", "move": "move-reply"}


def asyncapi() -> Schema:
    """An AsyncAPI 3.0 document of the server."""
    made = {name: make() for name, make in {**PLAYER, **SERVER}.items() if name != "reply"}
    definitions: dict[str, Schema] = {}
    for name, schema in made.items():
        local = schema.pop("$defs", {})
        for key, each in [*local.items(), (name, schema)]:
            part = _for_asyncapi(each)
            if definitions.setdefault(key, part) != part:
                raise ValueError(f"two schemas are called {key}")
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Croupier, a server for tournaments of Fish",
            "version": f"{PROTOCOL}.0.0",
            "description": (
                "JSON-RPC 2.0 objects in text frames of a WebSocket. A player joins with the only "
                "request of its own; then the server calls the player. A reply has the id of its "
                "request. `protocol.md` says what all of it means."
            ),
            "license": {"name": "MIT"},
            "tags": [{"name": "game"}, {"name": "json-rpc"}],
        },
        "defaultContentType": "application/json",
        "servers": {
            "local": {
                "host": "localhost:8000",
                "protocol": "ws",
                "description": (
                    "A server on this machine. No security is needed to connect; a server with a "
                    "list of entrants wants each one's token in `join`."
                ),
            }
        },
        "channels": {
            "players": {
                "address": "/",
                "title": "A player's connection",
                "description": "Any path will do. No subprotocol, no compression.",
                "servers": [{"$ref": "#/servers/local"}],
                "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in made},
                "bindings": {"ws": {"bindingVersion": "0.1.0"}},
            }
        },
        "operations": operations(),
        "components": {
            "messages": {name: _message(name, schema) for name, schema in made.items()},
            "schemas": definitions,
        },
    }


def operations() -> Schema:
    """What the server does, each request with the messages that may answer it."""
    answered: Schema = {
        "join": {
            "action": "receive",
            "summary": "A player joins, or comes back to its session.",
            "reply": _reply("join-result", "error"),
        }
    }
    for call in CALLS:
        answer = ANSWERS.get(call.METHOD, "true-reply")
        answered[call.METHOD] = {
            "action": "send",
            "summary": _first_line(call),
            "reply": _reply(answer),
        }
    for notification in NOTIFICATIONS:
        answered[notification.METHOD] = {"action": "send", "summary": _first_line(notification)}
    return {
        name: {
            "action": operation.pop("action"),
            "channel": {"$ref": "#/channels/players"},
            "messages": [{"$ref": f"#/channels/players/messages/{name}"}],
            **operation,
        }
        for name, operation in answered.items()
    }


def _reply(*names: str) -> Schema:
    return {
        "channel": {"$ref": "#/channels/players"},
        "messages": [{"$ref": f"#/channels/players/messages/{name}"} for name in names],
    }


def _first_line(kind: type) -> str:
    return (kind.__doc__ or "").partition("\n")[0]


def _message(name: str, schema: Schema) -> Schema:
    message: Schema = {
        "name": name,
        "title": schema["title"],
        "summary": schema["description"],
        "payload": {"$ref": f"#/components/schemas/{name}"},
    }
    if "id" in schema["properties"]:
        message["correlationId"] = {
            "description": "A reply has the id of its request.",
            "location": "$message.payload#/id",
        }
    return message


def _for_asyncapi(value: Any) -> Any:
    """A schema as AsyncAPI has them: other places, and nothing beside a reference."""
    if is_array(value):
        return [_for_asyncapi(part) for part in value]
    if not is_object(value):
        return value
    if "$ref" in value:
        place = {"$ref": str(value["$ref"]).replace("#/$defs/", "#/components/schemas/")}
        rest = {name: part for name, part in value.items() if name != "$ref"}
        return {**rest, "allOf": [place]} if rest else place
    return {name: _for_asyncapi(part) for name, part in value.items()}
