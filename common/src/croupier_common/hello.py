"""The greeting of a program that speaks over its standard input and output, in place of the join.

The host (a server, or a bridge to one) asks ``hello`` first; the program answers with those options
of ``join`` that are its own to choose. The host joins for it::

    {"jsonrpc": "2.0", "id": "hello", "method": "hello", "params": {"protocol": 1, "name": "Pingu"}}
    {"jsonrpc": "2.0", "id": "hello", "result": {"legal_actions": true}}
"""

from __future__ import annotations

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from croupier_common.errors import NotAMessage
from croupier_common.jsontypes import is_object, shown
from croupier_common.messages import PROTOCOL, JoinParams

__all__ = ["HELLO_ID", "OPTIONS", "Hello", "HelloParams", "hello_from_text", "options_from_hello"]

HELLO_ID: Final = "hello"
"""The id of the request."""

OPTIONS: Final = ("protocol", "age", "max_games", "legal_actions", "events")
"""The fields of join that the program chooses; the rest of them are the host's."""


class HelloParams(BaseModel):
    """What the host says of itself: the protocol's version, and the name that it joins with."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    protocol: int
    name: str


class Hello(BaseModel):
    """The first request to a program; answer with an object that has options of join, or none."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    jsonrpc: Literal["2.0"] = "2.0"
    id: str = HELLO_ID
    method: Literal["hello"] = "hello"
    params: HelloParams

    def text(self) -> str:
        """The message as it is sent."""
        return self.model_dump_json()


def hello_from_text(raw: str | bytes) -> Hello | None:
    """The hello that a host sent; None if the message is another one."""
    try:
        return Hello.model_validate_json(raw)
    except ValidationError:
        return None


def options_from_hello(result: object, name: str) -> JoinParams:
    """What a program's answer to hello makes of its join.

    Args:
        name: the name that the host joins with.

    Raises:
        NotAMessage: the result is no object with options of join, or one is wrong.
    """
    if not is_object(result):
        raise NotAMessage(
            f"hello is answered with an object, {{}} or one with options of join, "
            f"not {shown(result, 60)}"
        )
    for field in result:
        if field not in OPTIONS:
            raise NotAMessage(
                f"no option {shown(field, 40)} in the answer to hello; there are "
                f"{', '.join(OPTIONS)}"
            )
    if result.get("protocol", PROTOCOL) != PROTOCOL:
        version = shown(result["protocol"], 20)
        raise NotAMessage(f"protocol {version} is not spoken here, but protocol {PROTOCOL}")
    try:
        return JoinParams.model_validate({"protocol": PROTOCOL, "name": name, **result})
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise NotAMessage(
            f"in the answer to hello, {where}: {first['msg']}, not {shown(first['input'], 60)}"
        ) from None
