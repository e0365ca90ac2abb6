"""The codec: what is a message and what is not, and never anything but Rejected for what is not."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from croupier_common.actions import move_from_json, placement_from_json
from croupier_common.errors import NotAMessage, NotAnAction
from croupier_common.jsontypes import is_array, is_object
from croupier_common.messages import (
    MAX_MESSAGE,
    PROTOCOL,
    Ejection,
    EjectionParams,
    ErrorCode,
    GameEnd,
    Join,
    Joined,
    MoveRequest,
    PlaceRequest,
    Refusal,
    RefusalBody,
    Rejected,
    Reply,
    load_json,
    parse_from_player,
    parse_from_server,
)

LONG_NUMBER = "7" * 5_000
DEEP = "[" * 100_000
JOIN: dict[str, Any] = {"protocol": 1, "name": "Pingu"}

STATE: dict[str, Any] = {
    "board": [[1, 2], [3, 0]],
    "players": [{"color": "red", "fish": 0, "tiles": 0, "penguins": [[0, 0]]}],
    "turn": "red",
    "stage": "movement",
    "penguins_each": 1,
}
FROM_SERVER: dict[str, dict[str, Any]] = {
    "tournament_start": {"tournament": "t", "players": ["a"], "budget_ms": 1},
    "game_start": {
        "game": "1.1",
        "you": "red",
        "players": [{"color": "red", "name": "a"}],
        "rules": "fish",
        "board": [[1, 2], [3, 0]],
        "budget_ms": 1,
        "budgets_ms": {"place": 1, "move": 1},
    },
    "place": {"game": "1.1", "you": "red", "state": STATE, "events": [], "budget_ms": 1},
    "move": {
        "game": "1.1",
        "you": "red",
        "state": STATE,
        "events": [{"seq": 1, "event": {"kind": "skip", "color": "red"}}],
        "budget_ms": 1,
        "last": {"think_ms": 1, "verdict": "ok"},
        "legal_actions": [[[0, 0], [1, 0]]],
    },
    "tournament_end": {"tournament": "t", "won": True, "winners": ["a"], "budget_ms": 1},
    "events": {"game": "1.1", "events": []},
    "ejected": {
        "game": "1.1",
        "verdict": "timeout",
        "phase": "movement",
        "detail": "d",
        "fix": "f",
        "link": "l",
    },
    "game_end": {"game": "1.1", "outcome": {"ranking": []}, "events": []},
}
CALLS = ("tournament_start", "game_start", "place", "move", "tournament_end")


def reply(**fields: Any) -> str:
    """A reply as text; a field of None is left out."""
    message = {"jsonrpc": "2.0", "id": "1.1:9", "result": [0, 1], **fields}
    return json.dumps({name: value for name, value in message.items() if value is not None})


def join(params: object = None, **fields: Any) -> str:
    """A join as text; a field of None is left out."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "join", "params": params or JOIN, **fields}
    return json.dumps({name: value for name, value in message.items() if value is not None})


def with_result(text: str) -> str:
    """A reply whose result is a text that need not be JSON."""
    return f'{{"jsonrpc":"2.0","id":"1.1:9","result":{text}}}'


def rejected(raw: str | bytes) -> Rejected:
    with pytest.raises(Rejected) as caught:
        parse_from_player(raw)
    return caught.value


def from_server(method: str, **fields: Any) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "method": method, "params": FROM_SERVER[method], **fields}
    return {"id": "1.1:9", **message} if method in CALLS else message


# -- replies


@pytest.mark.parametrize("result", [True, False, 0, "x", [0, 1], [[0, 1], [2, 3]], {"a": []}])
def test_reply_with_any_result_is_a_reply(result: object) -> None:
    message = parse_from_player(reply(result=result))
    assert isinstance(message, Reply)
    assert (message.id, message.result, message.has_result) == ("1.1:9", result, True)


def test_reply_with_null_is_a_reply_with_a_result() -> None:
    message = parse_from_player(with_result("null"))
    assert isinstance(message, Reply)
    assert message.has_result
    assert message.result is None


def test_reply_with_an_error_is_a_reply() -> None:
    error = {"code": -1, "message": "oh", "data": [1]}
    message = parse_from_player(reply(result=None, error=error))
    assert isinstance(message, Reply)
    assert message.error is not None
    assert message.error.model_dump() == error
    assert not message.has_result


def test_reply_with_an_error_of_null_beside_its_result_is_a_reply() -> None:
    message = parse_from_player('{"jsonrpc":"2.0","id":"x","result":true,"error":null}')
    assert isinstance(message, Reply)
    assert message.result is True
    assert message.error is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (reply(jsonrpc="1.0"), "jsonrpc"),
        (reply(jsonrpc=2.0), "jsonrpc"),
        (reply(jsonrpc=None), "jsonrpc"),
        (reply(id=None), "id"),
        (reply(id=9), "id"),
        ('{"jsonrpc":"2.0","id":null,"result":1}', "id"),
        (reply(id=True), "not true"),
        (reply(result=None), "a result or an error, and this one has neither"),
        (reply(error={"code": 1, "message": "m"}), "a result or an error, and this one has both"),
        ('{"jsonrpc":"2.0","id":"x","error":null}', "and this one has neither"),
        (reply(result=None, error={"code": 1}), "error.message"),
        (reply(result=None, error={"code": "1", "message": "m"}), "error.code"),
        (reply(result=None, error={"code": True, "message": "m"}), "error.code"),
        (reply(result=None, error={"code": 1, "message": "m", "more": 1}), "error.more"),
        (reply(result=None, error={"code": 1, "message": "m" * 10_001}), "error.message"),
        (reply(result=None, error="oh"), "error"),
        (reply(more=1), "more"),
        (reply(params={}), "params"),
        ("{}", "jsonrpc"),
    ],
)
def test_reply_that_is_none_is_an_invalid_request(text: str, told: str) -> None:
    problem = rejected(text)
    assert problem.code == ErrorCode.INVALID_REQUEST
    assert told in str(problem)


@pytest.mark.parametrize(
    ("text", "ident"),
    [
        (reply(more=1), "1.1:9"),
        (reply(result=None), "1.1:9"),
        (reply(id=9), 9),
        (reply(id=True), None),
        (reply(id=1.0), None),
        (reply(id=["x"]), None),
    ],
)
def test_rejected_message_keeps_its_id_where_it_can_be_one(text: str, ident: object) -> None:
    found = rejected(text).id
    assert (type(found), found) == (type(ident), ident)


def test_reason_is_one_printable_line_whatever_the_sender_called_its_fields() -> None:
    reason = str(rejected(reply(**{"evil\n\x1b[2J\u202e": "\n"})))
    assert reason.isprintable()
    assert len(reason) <= 320


# -- what is no message at all


NOT_JSON: dict[str, str | bytes] = {
    "nothing": "",
    "nothing at all": b"",
    "space": " ",
    "a word": "nonsense",
    "a quote": '"',
    "cut at its end": reply()[:-1],
    "cut in the middle": reply()[:20],
    "followed by a letter": reply() + "x",
    "twice": reply() * 2,
    "nan": with_result("NaN"),
    "infinity": with_result("[0,Infinity]"),
    "minus infinity": with_result("-Infinity"),
    "nan in an error": '{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m","data":NaN}}',
    "nan in a join": join().replace("1", "NaN", 1),
    "a number of 5,000 digits": with_result(LONG_NUMBER),
    "a negative one": with_result("-" + LONG_NUMBER),
    "a version of 5,000 digits": join().replace('"protocol": 1', f'"protocol": {LONG_NUMBER}'),
    "100,000 brackets": with_result(DEEP),
    "100,000 brackets, closed": with_result(DEEP + "]" * 100_000),
    "100,000 braces": with_result('{"a":' * 100_000),
    "half a surrogate pair": with_result(r'"\ud800"'),
    "a half and a letter": with_result(r'"\ud800\u0041"'),
    "half a pair, unescaped": with_result('"\ud800"'),
    "half a pair as a name": join().replace('"Pingu"', r'"\udc00"'),
    "a comma too much": with_result("[0,1,]"),
    "a leading zero": with_result("01"),
    "a hexadecimal number": with_result("0x1"),
    "single quotes": with_result("'x'"),
    "not utf-8": b"\xff\xfe",
    "not utf-8 within": b'"\x80"',
    "utf-16": reply().encode("utf-16"),
    "a byte order mark": "\ufeff" + reply(),
}


@pytest.mark.parametrize("raw", NOT_JSON.values(), ids=NOT_JSON.keys())
def test_text_that_is_not_json_is_a_parse_error(raw: str | bytes) -> None:
    assert rejected(raw).code == ErrorCode.PARSE
    assert str(rejected(raw)).startswith("not JSON: ")


@pytest.mark.parametrize(
    "raw", [f"[{reply()}]", f"[{join()}]", "[]", "null", "true", "1", '"join"', "1e400"]
)
def test_what_is_no_object_is_an_invalid_request(raw: str) -> None:
    assert rejected(raw).code == ErrorCode.INVALID_REQUEST


def test_names_of_no_numbers_within_a_text_are_right() -> None:
    message = parse_from_player(with_result('"NaN, Infinity"'))
    assert isinstance(message, Reply)
    assert message.result == "NaN, Infinity"


def test_largest_messages_are_read_or_rejected() -> None:
    filler = "x" * (MAX_MESSAGE - len(with_result('""')))
    assert isinstance(parse_from_player(with_result(f'"{filler}"')), Reply)
    assert len(str(rejected(reply(more=filler)))) <= 320


# -- actions: what a result is, is judged apart from the message


@pytest.mark.parametrize(
    "text",
    [
        *("true", "null", "1", '"0,1"', "{}", "[]", "[0]", "[0,1,2]", "[[0,1]]", "[0,[1]]"),
        *("[true,1]", "[1.0,1]", '["1",1]', "[null,1]", "[1e2,1]", "[1e400,0]"),
    ],
)
def test_result_that_is_no_position_is_no_placement(text: str) -> None:
    message = parse_from_player(with_result(text))
    assert isinstance(message, Reply)
    with pytest.raises(NotAnAction, match="a placement is"):
        placement_from_json(message.result)
    with pytest.raises(NotAnAction, match="a move is"):
        move_from_json([[0, 0], message.result])


# -- joins


def test_shortest_join_has_the_defaults() -> None:
    message = parse_from_player(join())
    assert isinstance(message, Join)
    assert message.params.model_dump() == {
        **JOIN,
        **dict.fromkeys(["age", "room", "token", "session", "last_event"]),
        **dict.fromkeys(["legal_actions", "events"], False),
        "max_games": 1,
    }


@pytest.mark.parametrize("ident", [0, -1, 10**30, "", "join"])
def test_join_has_an_id_of_either_kind(ident: object) -> None:
    message = parse_from_player(join(id=ident))
    assert isinstance(message, Join)
    assert message.id == ident
    assert type(message.id) is type(ident)


RIGHT: dict[str, list[object]] = {
    "protocol": [1],
    "name": ["a", "a" * 32, "Ä ö", "\U0001f427"],
    "age": [0, 7, 1_000_000, None],
    "room": ["", "blue", "x" * 256, None],
    "token": ["", "x" * 256, None],
    "session": ["", "x" * 256, None],
    "last_event": [{}, {"1.1": 0, "1.2": 9}, {str(n): n for n in range(64)}, None],
    "max_games": [1, 64],
    "legal_actions": [True, False],
    "events": [True, False],
}
WRONG: dict[str, list[object]] = {
    "protocol": [None, True, 1.0, "1", [1]],
    "name": [None, "", "a" * 33, 1, ["a"], True],
    "age": [-1, 1_000_001, 7.0, "7", True],
    "room": ["x" * 257, 1, False],
    "token": ["x" * 257, 1],
    "session": ["x" * 257, 1],
    "last_event": [
        *([], "1.1", {"1.1": "1"}, {"1.1": True}, {"1.1": -1}, {"1.1": None}),
        {str(n): n for n in range(65)},
    ],
    "max_games": [0, 65, True, 1.0, "1", None],
    "legal_actions": [0, 1, "true", None],
    "events": [0, 1, "true", None],
}


def cases(values: dict[str, list[object]]) -> list[Any]:
    return [
        pytest.param(name, value, id=f"{name}-{at}")
        for name, several in values.items()
        for at, value in enumerate(several)
    ]


def test_every_field_of_join_is_tried() -> None:
    fields = list(Join.model_fields["params"].annotation.model_fields)  # type: ignore[union-attr]
    assert fields == list(RIGHT) == list(WRONG)


@pytest.mark.parametrize(("name", "value"), cases(RIGHT))
def test_join_with_a_right_value_is_taken(name: str, value: object) -> None:
    message = parse_from_player(join(JOIN | {name: value}))
    assert isinstance(message, Join)
    assert getattr(message.params, name) == value


@pytest.mark.parametrize(("name", "value"), cases(WRONG))
def test_join_with_a_wrong_value_is_rejected_by_name(name: str, value: object) -> None:
    problem = rejected(join(JOIN | {name: value}))
    assert (problem.code, problem.id) == (ErrorCode.INVALID_PARAMS, 1)
    assert f"params.{name}" in str(problem)


@pytest.mark.parametrize("name", ["protocol", "name"])
def test_join_without_a_field_that_it_needs_is_rejected(name: str) -> None:
    problem = rejected(join({key: value for key, value in JOIN.items() if key != name}))
    assert problem.code == ErrorCode.INVALID_PARAMS
    assert str(problem) == f"not a join: params.{name}: Field required"


def test_join_with_an_unknown_field_is_rejected_by_name() -> None:
    problem = rejected(join(JOIN | {"legal_action": True}))
    assert problem.code == ErrorCode.INVALID_PARAMS
    assert "params.legal_action:" in str(problem)


@pytest.mark.parametrize("params", [[1], "Pingu", 1, True])
def test_join_with_params_that_are_no_object_is_rejected(params: object) -> None:
    assert rejected(join(params)).code == ErrorCode.INVALID_PARAMS


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (join(jsonrpc="1.0"), "jsonrpc"),
        (join(jsonrpc=None), "jsonrpc"),
        (join(id=None), "id"),
        (join(id=True), "id is a string or a whole number, not true"),
        (join(id=1.0), "id is a string or a whole number, not 1.0"),
        (join(more=1), "more"),
    ],
)
def test_join_that_is_no_request_is_an_invalid_request(text: str, told: str) -> None:
    problem = rejected(text)
    assert problem.code == ErrorCode.INVALID_REQUEST
    assert f"not a join: {told}" in str(problem)


@pytest.mark.parametrize("method", ["Join", "move", "rpc.join", "", 1, ["join"], False])
def test_other_method_is_not_found(method: object) -> None:
    problem = rejected(join(method=method))
    assert (problem.code, problem.id) == (ErrorCode.METHOD_NOT_FOUND, 1)


@pytest.mark.parametrize("version", [0, 2, -1, 10**40])
@pytest.mark.parametrize(
    "wrong",
    [
        {"params": {"name": 7, "nme": ""}},
        {"params": {}, "jsonrpc": "3.0"},
        {"params": {}, "id": None, "more": 1},
    ],
)
def test_other_version_is_refused_before_all_else(version: int, wrong: dict[str, Any]) -> None:
    params = {"protocol": version, **wrong["params"]}
    problem = rejected(join(**{**wrong, "params": params}))
    assert problem.code == ErrorCode.VERSION
    assert problem.id == (None if "id" in wrong else 1)
    assert str(version)[:20] in str(problem)
    assert f"this server speaks protocol {PROTOCOL}" in str(problem)
    assert problem.data == {"requested": version, "supported": [PROTOCOL]}


@pytest.mark.parametrize("raw", [join({"protocol": 10**4_000}, id=10**4_000), join(id=None)])
def test_refusal_of_whatever_was_rejected_can_be_sent_and_read(raw: str) -> None:
    problem = rejected(raw)
    body = RefusalBody(code=problem.code, message=str(problem), data=problem.data)
    refusal = Refusal(id=problem.id, error=body)
    assert parse_from_server(refusal.model_dump_json()) == refusal


# -- from a server


@pytest.mark.parametrize("method", FROM_SERVER)
def test_message_of_a_server_is_read(method: str) -> None:
    message = parse_from_server(json.dumps(from_server(method)))
    assert message.model_dump(exclude_unset=True) == from_server(method)


def widened(value: object) -> object:
    """A JSON value with one more field in each of its objects."""
    if is_object(value):
        return {**{name: widened(part) for name, part in value.items()}, "later": [{"x": 1}]}
    return [widened(part) for part in value] if is_array(value) else value


@pytest.mark.parametrize("method", [name for name in FROM_SERVER if name != "game_start"])
def test_fields_that_a_player_does_not_know_are_passed_over(method: str) -> None:
    known = parse_from_server(json.dumps(from_server(method)))
    message = parse_from_server(json.dumps(widened(from_server(method))))
    assert message.model_dump(exclude={"params": {"events", "outcome"}}) == known.model_dump(
        exclude={"params": {"events", "outcome"}}
    )


def test_answers_with_fields_that_a_player_does_not_know_are_read() -> None:
    result = dict.fromkeys(["server", "session", "name"], "x")
    numbers = {"protocol": 1, "max_message": 1, "budgets_ms": {"move": 1}, "later": 1}
    joined = {"jsonrpc": "2.0", "id": 1, "result": result | numbers, "later": 1}
    assert isinstance(parse_from_server(json.dumps(joined)), Joined)
    error = {"code": -32001, "message": "m", "data": None, "later": 1}
    refusal = {"jsonrpc": "2.0", "id": None, "error": error, "later": 1}
    assert isinstance(parse_from_server(json.dumps(refusal)), Refusal)


def test_ejection_outside_a_game_is_read_as_it_is_sent() -> None:
    params = EjectionParams(
        game=None, verdict="no_start", phase="tournament_start", detail="d", fix="f", link="l"
    )
    sent = Ejection(params=params).model_dump_json(exclude_none=True)
    assert "game" not in json.loads(sent)["params"]
    assert parse_from_server(sent) == Ejection(params=params)


@pytest.mark.parametrize(
    ("method", "kind"), [("place", PlaceRequest), ("move", MoveRequest), ("game_end", GameEnd)]
)
def test_method_decides_the_kind(method: str, kind: type) -> None:
    assert isinstance(parse_from_server(json.dumps(from_server(method))), kind)


@pytest.mark.parametrize(
    "raw",
    [
        *("", "[]", "null", "{", "[" * 100_000, b"\xff", '"\ud800"'),
        json.dumps(from_server("move") | {"method": "dance"}),
        json.dumps(from_server("move") | {"id": None}),
        json.dumps(from_server("move") | {"params": {}}),
        json.dumps({"jsonrpc": "2.0", "id": 1}),
    ],
)
def test_what_no_server_sends_is_no_message(raw: str | bytes) -> None:
    with pytest.raises(NotAMessage):
        parse_from_server(raw)


# -- whatever comes


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
NAMES = st.sampled_from(
    ["jsonrpc", "id", "method", "params", "result", "error", "protocol", "name", "code", "message"]
)
LIKELY_VALUES = JSON_VALUES | st.sampled_from(["2.0", "join", 1, "1.1:9", True, [0, 1]])
NEAR_MESSAGES = st.dictionaries(
    NAMES, LIKELY_VALUES | st.dictionaries(NAMES, LIKELY_VALUES, max_size=4), max_size=5
)


def taken_or_rejected(raw: str | bytes) -> None:
    problem = None
    try:
        message = parse_from_player(raw)
        assert parse_from_player(message.model_dump_json(exclude_unset=True)) == message
    except Rejected as caught:
        problem = caught
    if problem is not None:
        assert problem.code in set(ErrorCode)
        assert len(str(problem)) <= 400
        assert str(problem).isprintable()
        body = RefusalBody(code=problem.code, message=str(problem), data=problem.data)
        Refusal(id=problem.id, error=body).model_dump_json()


@given(JSON_VALUES | NEAR_MESSAGES)
def test_any_json_is_taken_or_rejected(value: object) -> None:
    taken_or_rejected(json.dumps(value))


@given(st.binary(max_size=200))
def test_any_bytes_are_taken_or_rejected(raw: bytes) -> None:
    taken_or_rejected(raw)


@given(st.text(st.characters(), max_size=100))  # half surrogate pairs among them
def test_any_text_is_taken_or_rejected(raw: str) -> None:
    taken_or_rejected(raw)


@given(st.sampled_from([reply(), join()]), st.integers(0, 60), st.text(max_size=3))
def test_any_damage_to_a_message_is_taken_or_rejected(text: str, at: int, new: str) -> None:
    taken_or_rejected(text[:at] + new + text[at + 1 :])


@given(JSON_VALUES | NEAR_MESSAGES)
def test_any_json_from_a_server_is_read_or_no_message(value: object) -> None:
    with suppress(NotAMessage):
        parse_from_server(json.dumps(value))


@given(JSON_VALUES)
def test_load_json_gives_what_the_standard_library_gives(value: object) -> None:
    text = json.dumps(value)
    try:
        loaded = load_json(text)
    except Rejected:
        assert any(word in text for word in ("NaN", "Infinity", r"\ud"))
    else:
        assert loaded == json.loads(text)
