"""Messages between roles: their bytes, and what crosses in them.

A message is one line of JSON, its head, and the text after it, its body. Fields that a reader does
not know are ignored, so that the roles of two versions can play together while they are upgraded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json, to_json

from croupier_common.jsontypes import is_object, is_whole, shown
from croupier_common.messages import JoinParams
from croupier_common.verdict import Fault, Phase, Verdict
from croupier_server.errors import CroupierError
from croupier_server.seats import Answer, NoAnswer
from croupier_server.settings import Clocks

__all__ = [
    "WIRE",
    "Message",
    "WireError",
    "answer_from",
    "answer_to",
    "clocks_from_json",
    "clocks_to_json",
    "fault_from_json",
    "fault_to_json",
    "join_params_from_json",
    "join_params_to_json",
    "no_answer_from_json",
    "no_answer_to_json",
]

WIRE: Final = 1
"""The major version: roles of different ones don't understand each other, nor share a subject."""

_MOST: Final = 1 << 62
"""The largest whole number that means anything here."""

_M = TypeVar("_M", bound=BaseModel)

_ENCODE: Final = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def _no_number(name: str) -> object:
    raise ValueError(f"{name} is no number")


_DECODE: Final = json.JSONDecoder(parse_constant=_no_number).decode  # made once: it takes a while


class WireError(CroupierError):
    """What came, or was to be sent, is no message between roles."""


@dataclass(frozen=True, slots=True)
class Message:
    """What one role says to another.

    Attributes:
        head: a JSON object; what is asked is its ``op``, what is answered its ``re``.
        body: any text, such as a request to a player as it is sent.
    """

    head: Mapping[str, Any]
    body: str = ""

    def to_bytes(self) -> bytes:
        """The message as it is sent.

        Raises:
            WireError: the head is no JSON.
        """
        try:
            head = _ENCODE({"v": WIRE, **self.head})
        except (TypeError, ValueError, RecursionError) as problem:
            raise WireError(f"not a head: {problem}") from None
        return f"{head}\n{self.body}".encode("utf-8", "replace")  # half a character is none

    @classmethod
    def from_bytes(cls, raw: bytes) -> Message:
        """The message in these bytes.

        Raises:
            WireError: there is none, or one of another major version.
        """
        try:
            line, _, body = raw.decode().partition("\n")
            head: object = _DECODE(line)
        except (ValueError, RecursionError) as problem:
            raise WireError(f"not a message: {shown(str(problem))}: {shown(raw[:60])}") from None
        if not is_object(head):
            raise WireError(f"not a message: its head is no object: {shown(head)}")
        if not _is_ours(head.pop("v", None)):
            raise WireError(f"a message of another version than {WIRE}: {shown(raw[:60])}")
        return cls(head, body)

    def text(self, key: str) -> str:
        """A field that is a text.

        Raises:
            WireError: it is none, or is absent.
        """
        value = self.head.get(key)
        if not isinstance(value, str):
            raise WireError(f"{key!r} is to be a text, not {shown(value)}")
        return value

    def whole(self, key: str, absent: int | None = None) -> int:
        """A field that is a whole number.

        Args:
            absent: what it is if it is absent.

        Raises:
            WireError: it is none, or beyond all reason, or absent.
        """
        number = whole_from_json(self.head.get(key, absent), key)
        if number is None:
            raise WireError(f"{key!r} is absent")
        return number


def _is_ours(version: object) -> bool:
    """Whether a version is 1, or "1.4" as a later one may have it."""
    if is_whole(version):
        return version == WIRE
    return isinstance(version, str) and version.partition(".")[0] == str(WIRE)


def whole_from_json(value: object, what: str) -> int | None:
    """A whole number, or None for null.

    Raises:
        WireError: it is none, or beyond all reason.
    """
    if value is not None and not (is_whole(value) and -_MOST <= value <= _MOST):
        raise WireError(f"{what!r} is to be a whole number, not {shown(value)}")
    return value


# -- what a player answered


def answer_to(answer: Answer | NoAnswer) -> Message:
    """An answer on its way to whoever asked: its result is the body, as JSON."""
    if isinstance(answer, NoAnswer):
        return Message({"re": "none", **no_answer_to_json(answer)})
    head = {"re": "answer", "think_ms": answer.think_ms, "stall_ms": answer.stall_ms}
    if answer.rtt_ms is not None:
        head["rtt_ms"] = answer.rtt_ms
    return Message(head, to_json(answer.result, inf_nan_mode="constants").decode())


def answer_from(message: Message) -> Answer | NoAnswer:
    """The answer in a message.

    Raises:
        WireError: there is none.
    """
    kind = message.text("re")
    if kind == "none":
        return no_answer_from_json(message.head)
    if kind != "answer":
        raise WireError(f"no answer, but {shown(kind)}")
    try:
        result: object = from_json(message.body)
    except ValueError as problem:
        raise WireError(f"a result that is no JSON: {problem}") from None
    return Answer(
        result,
        message.whole("think_ms"),
        message.whole("stall_ms", 0),
        whole_from_json(message.head.get("rtt_ms"), "rtt_ms"),
    )


def no_answer_to_json(answer: NoAnswer) -> dict[str, Any]:
    """Why there is no result to judge."""
    told: dict[str, Any] = {
        "verdict": answer.verdict.value,
        "detail": answer.detail,
        "sent": answer.sent,
        "think_ms": answer.think_ms,
        "stall_ms": answer.stall_ms,
        "rtt_ms": answer.rtt_ms,
    }
    return {key: value for key, value in told.items() if value is not None}


def no_answer_from_json(value: Mapping[str, object]) -> NoAnswer:
    """Why there is no result to judge.

    Raises:
        WireError: it does not say.
    """
    message = Message(value)
    return NoAnswer(
        _verdict(message),
        message.text("detail"),
        None if value.get("sent") is None else message.text("sent"),
        message.whole("think_ms", 0),
        message.whole("stall_ms", 0),
        whole_from_json(value.get("rtt_ms"), "rtt_ms"),
    )


def _verdict(message: Message) -> Verdict:
    try:
        return Verdict(message.text("verdict"))
    except ValueError:
        raise WireError(f"no verdict: {shown(message.head.get('verdict'))}") from None


# -- what else crosses


def fault_to_json(fault: Fault) -> dict[str, Any]:
    """A fault, as the offender gets it."""
    return fault.to_json()


def fault_from_json(value: object) -> Fault:
    """The fault in a JSON value.

    Raises:
        WireError: there is none.
    """
    message = Message(_object(value, "fault"))
    try:
        phase = Phase(message.text("phase"))
    except ValueError:
        raise WireError(f"no phase: {shown(message.head.get('phase'))}") from None
    sent = None if message.head.get("sent") is None else message.text("sent")
    return Fault(_verdict(message), phase, message.text("detail"), sent)


def clocks_to_json(clocks: Clocks) -> dict[str, Any]:
    """Clocks, as the settings have them."""
    return clocks.model_dump(mode="json")


def clocks_from_json(value: object) -> Clocks:
    """The clocks in a JSON value.

    Raises:
        WireError: there are none.
    """
    return _model(Clocks, value)


def join_params_to_json(params: JoinParams) -> dict[str, Any]:
    """What a player says of itself, without what it does not say."""
    return params.model_dump(mode="json", exclude_none=True)


def join_params_from_json(value: object) -> JoinParams:
    """What a player says of itself.

    Raises:
        WireError: that is no such thing.
    """
    return _model(JoinParams, value)


def _object(value: object, what: str) -> dict[str, object]:
    if not is_object(value):
        raise WireError(f"{what!r} is to be an object, not {shown(value)}")
    return value


def _model(kind: type[_M], value: object) -> _M:
    """A model that forbids what it does not know, of the fields that it knows."""
    given = _object(value, kind.__name__)
    known = {key: value for key, value in given.items() if key in kind.model_fields}
    try:
        return kind.model_validate_json(to_json(known))
    except (ValidationError, ValueError) as problem:
        raise WireError(f"no {kind.__name__}: {shown(str(problem), 200)}") from None
