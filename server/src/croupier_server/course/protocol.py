"""The words of the course's remote protocol, for both its ends.

A client sends its name, a JSON string; then it is called, ``[name, [arguments]]``, and answers.
Values follow each other without any framing; :mod:`~croupier_server.course.framing` cuts them out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from croupier_common.messages import EventEntry, StateEntry

__all__ = ["NAME_LENGTH", "VOID", "actions_since", "course_state", "encode", "is_name"]

VOID: Final = "void"
"""The answer to a call that only wants to be heard."""

NAME_LENGTH: Final = 12


def encode(value: object) -> bytes:
    """A value as it is sent, without white space around it.

    Not every client passes over white space before a value.
    """
    return json.dumps(value, separators=(",", ":")).encode()


def is_name(value: object) -> bool:
    """Whether a JSON value is a client's name: 1 to 12 ASCII letters."""
    return (
        isinstance(value, str)
        and 1 <= len(value) <= NAME_LENGTH
        and value.isascii()
        and value.isalpha()
    )


def course_state(state: StateEntry, you: str) -> dict[str, Any]:
    """A state as the course has it: who is asked is first, and who was ejected is left out."""
    players = [player for player in state["players"] if not player.get("ejected", False)]
    first = next((at for at, player in enumerate(players) if player["color"] == you), 0)
    return {
        "players": [
            {"color": player["color"], "score": player["fish"], "places": player["penguins"]}
            for player in [*players[first:], *players[:first]]
        ],
        "board": state["board"],
    }


def actions_since(events: Sequence[EventEntry]) -> list[Any]:
    """The moves among events, and false for a player that was passed over.

    With an ejection among them there are none, for then a client can't follow them anyway.
    """
    actions: list[Any] = []
    for entry in events:
        event = entry["event"]
        if event["kind"] == "eject":
            return []
        if event["kind"] == "move":
            actions.append([event["from"], event["to"]])
        elif event["kind"] == "skip":
            actions.append(False)
    return actions
