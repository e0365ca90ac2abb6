"""A player's way from one gateway to another while the first lives: all of it, as a message."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import structlog

from croupier_common.jsontypes import is_array, is_object, shown
from croupier_server.cluster.link import Link, NoOneThere, NoReply
from croupier_server.cluster.remote_seat import seat_subject
from croupier_server.cluster.wire import (
    Message,
    WireError,
    answer_from,
    answer_to,
    clocks_from_json,
    clocks_to_json,
    fault_from_json,
    fault_to_json,
    no_answer_from_json,
    no_answer_to_json,
    whole_from_json,
)
from croupier_server.gateway.seat_state import Asked, SeatState
from croupier_server.seats import Answer, NoAnswer

__all__ = ["state_from", "state_to", "take_over"]

log = structlog.get_logger(__name__)

_HAND_OVER_S: Final = 3.0
"""A gateway that does not answer for so long is taken for dead, or cut off."""

_AGAIN_S: Final = 0.1


async def take_over(link: Link, key: str) -> SeatState | None:
    """What a player is, from the gateway that held it and has let it go; None if none does.

    Args:
        key: what is kept of its session.
    """
    subject, message = seat_subject(link.root, key), Message({"op": "hand_over"})
    try:
        while True:
            reply = await link.request(subject, message, _HAND_OVER_S)
            if reply.head.get("re") != "moved":
                return state_from(reply)
            await asyncio.sleep(_AGAIN_S)  # to a third one, which will be there in a moment
    except NoOneThere:
        return None
    except (NoReply, WireError) as problem:
        log.warning("player not handed over", session=key[:8], problem=str(problem))
        return None


def state_to(state: SeatState, most: int) -> Message:
    """The state as a message; what was told is cut to the newest if that is too much.

    Args:
        most: how many bytes a message may have.
    """
    while True:
        message = Message({"re": "state"}, json.dumps(_to_json(state), separators=(",", ":")))
        if len(message.body) + 64 <= most or not (state.told or state.missed):
            return message
        state = replace(
            state,
            told={game: told[len(told) // 2 + 1 :] for game, told in state.told.items() if told},
            missed=state.missed[len(state.missed) // 2 + 1 :],
        )


def _to_json(state: SeatState) -> dict[str, Any]:
    return {
        "key": state.key,
        "name": state.name,
        "age": state.age,
        "clocks": clocks_to_json(state.clocks),
        "max_games": state.max_games,
        "wants_events": state.wants_events,
        "wants_legal_actions": state.wants_legal_actions,
        "missed": state.missed,
        "told": dict(state.told),
        "grace_ms": dict(state.grace_ms),
        "surplus": state.surplus,
        "kept": None if state.kept is None else no_answer_to_json(state.kept),
        "away": state.away,
        "is_dismissed": state.is_dismissed,
        "dismissed": None if state.dismissed is None else fault_to_json(state.dismissed),
        "ran_ms": dict(state.ran_ms),
        "asked": [_asked_to_json(asked) for asked in state.asked],
        "answers": {game: _answered_to_json(*kept) for game, kept in state.answers.items()},
        "epochs": dict(state.epochs),
        "notes": dict(state.notes),
    }


def _asked_to_json(asked: Asked) -> dict[str, Any]:
    return {
        "id": asked.id,
        "method": asked.method,
        "text": asked.text,
        "budget_ms": asked.budget_ms,
        "epoch": asked.epoch,
    }


def _answered_to_json(request: str, answer: Answer | NoAnswer) -> dict[str, Any]:
    message = answer_to(answer)
    return {"id": request, "answer": dict(message.head), "body": message.body}


def state_from(message: Message) -> SeatState:
    """The state in a message.

    Raises:
        WireError: there is none.
    """
    if message.text("re") != "state":
        raise WireError(f"no state, but {shown(dict(message.head))}")
    try:
        value: object = json.loads(message.body)
    except (ValueError, RecursionError) as problem:
        raise WireError(f"no state: {shown(str(problem))}") from None
    if not is_object(value):
        raise WireError(f"no state: {shown(value)}")
    return _from_json(Message(value))


def _from_json(given: Message) -> SeatState:
    head = given.head
    kept, dismissed = head.get("kept"), head.get("dismissed")
    return SeatState(
        key=given.text("key"),
        name=given.text("name"),
        age=whole_from_json(head.get("age"), "age"),
        clocks=clocks_from_json(head.get("clocks")),
        max_games=given.whole("max_games", 1),
        wants_events=head.get("wants_events") is True,
        wants_legal_actions=head.get("wants_legal_actions") is True,
        missed=tuple(_text(text) for text in _array(head, "missed")),
        told={game: _told(told) for game, told in _object(head, "told").items()},
        grace_ms=_numbers(head, "grace_ms"),
        surplus=given.whole("surplus", 0),
        kept=None if kept is None else no_answer_from_json(_message(kept).head),
        away=given.text("away"),
        is_dismissed=head.get("is_dismissed") is True,
        dismissed=None if dismissed is None else fault_from_json(dismissed),
        ran_ms={
            key: whole_from_json(ran, "ran_ms") for key, ran in _object(head, "ran_ms").items()
        },
        asked=tuple(_asked(asked) for asked in _array(head, "asked")),
        answers={game: _answered(kept) for game, kept in _object(head, "answers").items()},
        epochs=_numbers(head, "epochs"),
        notes=_numbers(head, "notes"),
    )


def _asked(value: object) -> Asked:
    given = _message(value)
    budget_ms = whole_from_json(given.head.get("budget_ms"), "budget_ms")
    return Asked(
        given.text("id"),
        given.text("method"),
        given.text("text"),
        budget_ms,
        given.whole("epoch", 0),
    )


def _answered(value: object) -> tuple[str, Answer | NoAnswer]:
    given = _message(value)
    return given.text("id"), answer_from(Message(_object(given.head, "answer"), given.text("body")))


def _told(value: object) -> tuple[tuple[int, str], ...]:
    if not is_array(value):
        raise WireError(f"'told' is to be an array, not {shown(value)}")
    return tuple(_told_one(pair) for pair in value)


def _told_one(pair: object) -> tuple[int, str]:
    if not is_array(pair) or len(pair) != 2:
        raise WireError(f"'told' is to have pairs, not {shown(pair)}")
    last = whole_from_json(pair[0], "told")
    return last or 0, _text(pair[1])


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise WireError(f"a text is to be there, not {shown(value)}")
    return value


def _message(value: object) -> Message:
    if not is_object(value):
        raise WireError(f"an object is to be there, not {shown(value)}")
    return Message(value)


def _object(head: Mapping[str, object], key: str) -> dict[str, object]:
    value = head.get(key, {})
    if not is_object(value):
        raise WireError(f"{key!r} is to be an object, not {shown(value)}")
    return value


def _array(head: Mapping[str, object], key: str) -> list[object]:
    value = head.get(key, [])
    if not is_array(value):
        raise WireError(f"{key!r} is to be an array, not {shown(value)}")
    return value


def _numbers(head: Mapping[str, object], key: str) -> dict[str, int]:
    numbers = {name: whole_from_json(n, key) for name, n in _object(head, key).items()}
    return {name: n for name, n in numbers.items() if n is not None}
