"""The greeting of programs."""

from __future__ import annotations

import json

import pytest

from croupier_common.errors import NotAMessage
from croupier_common.hello import Hello, HelloParams, hello_from_text, options_from_hello


def test_hello_is_a_request_with_protocol_and_name() -> None:
    hello = Hello(params=HelloParams(protocol=1, name="Pingu"))
    assert json.loads(hello.text()) == {
        "jsonrpc": "2.0",
        "id": "hello",
        "method": "hello",
        "params": {"protocol": 1, "name": "Pingu"},
    }
    assert hello_from_text(hello.text()) == hello


def test_hello_with_more_fields_is_read() -> None:
    text = (
        '{"jsonrpc":"2.0","id":"h","method":"hello","params":{"protocol":2,"name":"a","x":1},"y":2}'
    )
    hello = hello_from_text(text)
    assert hello is not None
    assert (hello.id, hello.params.protocol) == ("h", 2)


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"jsonrpc":"2.0","id":"1.1:1","method":"move","params":{"protocol":1,"name":"a"}}'],
)
def test_other_messages_are_no_hello(text: str) -> None:
    assert hello_from_text(text) is None


def test_options_are_those_of_join() -> None:
    assert options_from_hello({}, "Pingu").model_dump(exclude_unset=True) == {
        "protocol": 1,
        "name": "Pingu",
    }
    said = {"protocol": 1, "age": 7, "max_games": 3, "legal_actions": True, "events": True}
    assert options_from_hello(said, "Pingu").model_dump(exclude_unset=True) == {
        "name": "Pingu",
        **said,
    }


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (True, "answered with an object, {} or one with options of join, not True"),
        (None, "not None"),
        ([], "not []"),
        ({"name": "Pingo"}, "no option 'name'"),
        ({"token": "t"}, "there are protocol, age, max_games, legal_actions, events"),
        ({"legal_action": True}, "no option 'legal_action'"),
        ({"protocol": 2}, "protocol 2 is not spoken here"),
        ({"protocol": True}, "protocol: Input should be a valid integer"),
        ({"legal_actions": 1}, "legal_actions: Input should be a valid boolean, not 1"),
        ({"age": "7"}, "age"),
        ({"max_games": 0}, "max_games"),
    ],
)
def test_wrong_answer_is_refused_with_the_reason(result: object, told: str) -> None:
    with pytest.raises(NotAMessage) as refused:
        options_from_hello(result, "Pingu")
    assert told in str(refused.value)
