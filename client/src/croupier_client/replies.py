"""The texts that a player sends to a server's calls."""

from __future__ import annotations

from typing import Final

from croupier_client.turns import Answer, Answered, Failed, Garbage
from croupier_common.errors import NotAMessage
from croupier_common.jsontypes import is_object
from croupier_common.messages import ErrorBody, ErrorCode, Reply, load_json

__all__ = ["PLAYER_ERROR", "reply_text", "unknown_text"]

PLAYER_ERROR: Final = -32000
"""The code of the error that answers for an exception in a player's code."""

_CALLS: Final = frozenset({"tournament_start", "game_start", "place", "move", "tournament_end"})


def reply_text(call_id: str, answer: Answer) -> str | None:
    """The text that an answer is sent as; None where nothing is sent."""
    match answer:
        case Answered(result):
            return _dump(Reply(jsonrpc="2.0", id=call_id, result=result))
        case Failed(message):
            return _error(call_id, PLAYER_ERROR, message)
        case Garbage():
            return answer.text
        case _:
            return None


def unknown_text(raw: str | bytes, reason: str) -> str | None:
    """What is sent to a message that this kit can't read: an error to a call, else nothing."""
    try:
        value = load_json(raw)
    except NotAMessage:
        return None
    if not is_object(value):
        return None
    call_id, method = value.get("id"), value.get("method")
    if not isinstance(call_id, str) or not isinstance(method, str):
        return None
    if method in _CALLS:
        return _error(call_id, ErrorCode.INVALID_PARAMS, f"{method}: {reason[:300]}")
    return _error(call_id, ErrorCode.METHOD_NOT_FOUND, f"no method {method[:40]!r}")


def _error(call_id: str, code: int, message: str) -> str:
    error = ErrorBody(code=code, message=message)
    return _dump(Reply(jsonrpc="2.0", id=call_id, error=error))


def _dump(reply: Reply) -> str:
    return reply.model_dump_json(exclude_unset=True)
