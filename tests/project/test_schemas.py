"""docs/schema and docs/asyncapi.json are what the models say, and say what the wire says."""

from __future__ import annotations

import copy
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import message_schemas
import protocol_doc
import schemas
from croupier_common.actions import move_from_json, placement_from_json
from croupier_common.errors import NotAMessage, NotAnAction
from croupier_common.hello import Hello, HelloParams, options_from_hello
from croupier_common.messages import parse_from_player, parse_from_server
from croupier_common.session import TABLE, ConnectionState
from support.node import ready_to_run
from support.schemas import SCHEMAS, accepts, check_schema, findings
from support.transcripts import read
from support.wire import Script, hangs_up, play, quick_settings, results

ROOT = schemas.DOCS.parent


# -- what is made


def test_files_are_what_the_models_say() -> None:
    assert schemas.stale(schemas.files()) == []


def test_stale_missing_and_surplus_files_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(schemas, "DOCS", tmp_path)
    assert schemas.main(["--check"]) == 1
    assert schemas.main([]) == 0
    assert schemas.main(["--check"]) == 0
    (tmp_path / "schema" / "join.json").write_text("{}")
    (tmp_path / "schema" / "old.json").write_text("{}")
    capsys.readouterr()
    assert schemas.main(["--check"]) == 1
    said = capsys.readouterr().err
    assert "docs/schema/join.json is stale" in said
    assert "docs/schema/old.json is stale" in said
    assert schemas.main([]) == 0
    assert not (tmp_path / "schema" / "old.json").exists()


@pytest.mark.parametrize("name", SCHEMAS)
def test_schema_is_one_by_the_metaschema(name: str) -> None:
    check_schema(name)
    schema = SCHEMAS[name]
    assert schema["$id"] == f"{name}.json"
    assert schema["title"]
    assert schema["description"]


def test_every_message_has_its_schema() -> None:
    sent = TABLE[ConnectionState.CONNECTED]["server"] | TABLE[ConnectionState.JOINED]["server"]
    assert set(message_schemas.SERVER) == {kind.replace(" ", "-") for kind in sent}
    assert {"join", "reply"} < set(message_schemas.PLAYER)


# -- what a player sends

JOIN: dict[str, Any] = {"protocol": 1, "name": "Ada"}
PARAMS: list[dict[str, Any]] = [
    {"age": 0},
    {"age": 1_000_000},
    {"age": None},
    {"room": "r" * 256},
    {"token": "t" * 256},
    {"session": "", "last_event": {}},
    {"last_event": {"1.1": 17, "2.1": 0}},
    {"last_event": None},
    {"max_games": 64},
    {"legal_actions": True, "events": True},
    {"name": "x" * 32},
    {"name": "雪" * 32},
    {"name": "\U0001f427" * 32},
    # and what is wrong
    {"name": ""},
    {"name": "x" * 33},
    {"name": 1},
    {"name": None},
    {"protocol": 2},
    {"protocol": "1"},
    {"protocol": True},
    {"protocol": None},
    {"protocol": 1.5},
    {"age": -1},
    {"age": 1_000_001},
    {"age": "7"},
    {"age": True},
    {"age": 7.5},
    {"room": "r" * 257},
    {"token": "t" * 257},
    {"session": 1},
    {"last_event": {"1.1": -1}},
    {"last_event": {"1.1": "1"}},
    {"last_event": [1]},
    {"last_event": {str(n): n for n in range(65)}},
    {"max_games": 0},
    {"max_games": 65},
    {"max_games": None},
    {"legal_actions": 1},
    {"legal_actions": "yes"},
    {"events": None},
    {"colour": "red"},
]
HEAD = {"jsonrpc": "2.0", "id": "1.1:1"}
ERROR = {"code": 1, "message": "no"}
WRONG_PARAMS: list[Any] = [{}, [], None, "x"]
IDS: list[Any] = [1, -1, "", "x", None, True, 1.5, [], {}]
ANY_RESULTS: list[Any] = [True, None, [0, 1], [[0, 1], [2, 1]], "x", {}]
WRONG_ERRORS: list[Any] = [None, "no", {}, {"code": 1}, {"message": "no"}, []]
MESSAGES: list[Any] = [
    *({**HEAD, "method": "join", "params": {**JOIN, **params}} for params in PARAMS),
    *({**HEAD, "method": "join", "params": params} for params in [*WRONG_PARAMS, JOIN]),
    {**HEAD, "method": "join"},
    {**HEAD, "params": JOIN},
    {"jsonrpc": "2.0", "method": "join", "params": JOIN},
    *({"jsonrpc": "2.0", "id": ident, "method": "join", "params": JOIN} for ident in IDS),
    *(
        {"jsonrpc": version, "id": 1, "method": "join", "params": JOIN}
        for version in ("2.0", "1.0", 2.0, 2, None)
    ),
    {**HEAD, "method": "play", "params": JOIN},
    {**HEAD, "method": None, "params": JOIN},
    {**HEAD, "method": "join", "params": JOIN, "result": True},
    {**HEAD, "method": "join", "params": JOIN, "x": 1},
    *({**HEAD, "result": result} for result in ANY_RESULTS),
    {**HEAD, "result": True, "error": None},
    {**HEAD, "result": None, "error": None},
    {**HEAD, "result": True, "error": ERROR},
    {**HEAD, "result": None, "error": ERROR},
    {**HEAD, "error": ERROR},
    {**HEAD, "error": {**ERROR, "data": {"why": [1]}}},
    {**HEAD, "error": {**ERROR, "message": "x" * 10_000}},
    {**HEAD, "error": {**ERROR, "message": "x" * 10_001}},
    {**HEAD, "error": {**ERROR, "code": "1"}},
    {**HEAD, "error": {**ERROR, "code": True}},
    {**HEAD, "error": {**ERROR, "code": 10**30}},
    {**HEAD, "error": {**ERROR, "x": 1}},
    *({**HEAD, "error": error} for error in WRONG_ERRORS),
    HEAD,
    {**HEAD, "result": True, "x": 1},
    {"id": "1", "result": True},
    {"jsonrpc": "2.0", "result": True},
    *(
        {"jsonrpc": "2.0", "id": ident, "result": True}
        for ident in IDS
        if not isinstance(ident, str)
    ),
    [{**HEAD, "result": True}],
    [],
    {},
    None,
    True,
    1,
    "join",
]


def test_schema_of_players_takes_exactly_what_the_server_takes() -> None:
    for message in MESSAGES:
        assert accepts("player-message", message) is is_taken(message), message


def is_taken(message: Any) -> bool:
    try:
        parse_from_player(json.dumps(message))
    except NotAMessage:
        return False
    return True


def test_examples_of_players_are_good_and_bad() -> None:
    good = sum(accepts("player-message", message) for message in MESSAGES)
    assert 25 < good < len(MESSAGES) - 50


RESULTS: list[Any] = [
    [0, 1],
    [-1, 10**30],
    [[0, 1], [2, 1]],
    [],
    [0],
    [0, 1, 2],
    [0, None],
    [True, False],
    ["0", "1"],
    [0.5, 1],
    [[0, 1]],
    [[0, 1], [2]],
    [[0, 1], [2, 1], [4, 1]],
    [[0, 1], [2, "1"]],
    [[0, 1], 2],
    {"from": [0, 1], "to": [2, 1]},
    "pass",
    True,
    False,
    None,
    1,
]


@pytest.mark.parametrize("result", RESULTS, ids=json.dumps)
def test_schema_of_a_reply_takes_exactly_the_results_that_are_not_malformed(result: Any) -> None:
    reply = {**HEAD, "result": result}
    for method in ("place", "move"):
        assert accepts(f"{method}-reply", reply) is has_form(method, result), method
    assert accepts("true-reply", reply) is (result is True)
    assert accepts("reply", reply)


def has_form(method: str, result: Any) -> bool:
    """Whether the game judges the action by the rules, and not by its form."""
    try:
        placement_from_json(result) if method == "place" else move_from_json(result)
    except NotAnAction:
        return False
    return True


@pytest.mark.parametrize("name", message_schemas.REPLIES)
def test_schema_of_a_reply_takes_an_error_and_no_other_field(name: str) -> None:
    assert accepts(name, {**HEAD, "error": ERROR})
    assert not accepts(name, {**HEAD, "error": ERROR, "x": 1})
    assert not accepts(name, HEAD)


HELLOS: list[Any] = [
    {},
    {"protocol": 1, "age": 7, "max_games": 2, "legal_actions": True, "events": True},
    {"age": None},
    {"protocol": 2},
    {"protocol": None},
    {"age": "7"},
    {"max_games": 0},
    {"legal_actions": 1},
    {"name": "Ada"},
    {"session": "x"},
    {"x": 1},
    [],
    None,
    True,
]


def test_schema_of_the_answer_to_hello_takes_exactly_what_the_host_takes() -> None:
    assert (
        findings("hello", json.loads(Hello(params=HelloParams(protocol=1, name="A")).text())) == []
    )
    for result in HELLOS:
        assert accepts("hello-reply", {**HEAD, "result": result}) is is_hello(result), result


def is_hello(result: Any) -> bool:
    try:
        options_from_hello(result, "Ada")
    except NotAMessage:
        return False
    return True


GOOD = [message for message in MESSAGES if is_taken(message)]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=4,
)


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_schema_of_players_takes_exactly_what_the_server_takes_of_anything(
    data: st.DataObject,
) -> None:
    """A good message, with one thing in it put in, taken out or put in the place of another."""
    message = copy.deepcopy(data.draw(st.sampled_from(GOOD)))
    part = message
    while inner := [name for name, value in part.items() if value and isinstance(value, dict)]:
        if data.draw(st.booleans()):
            break
        part = part[data.draw(st.sampled_from(inner))]
    name = data.draw(st.sampled_from([*part, "result", "error", "x"]))
    if data.draw(st.booleans()):
        part.pop(name, None)
    else:
        part[name] = data.draw(VALUES)
    assert accepts("player-message", message) is is_taken(message)


# -- what the server sends


async def messages_of_a_tournament() -> list[Any]:
    """What the server sends in two tournaments, with ejections and without."""
    hostile = [
        Script("a", join={"events": True}),
        Script("b", results("move", [[0, 0], [9, 9]], after=1), {"legal_actions": True}),
        Script("c", hangs_up("move", after=2)),
        Script("d", results("place", None), {"events": True, "legal_actions": True}),
    ]
    classic = [Script("a", join={"legal_actions": True}), Script("b", join={"events": True})]
    arenas = [
        await play(quick_settings(clocks={"bank_ms": 500}), hostile),
        await play(quick_settings(game={"rules": "classic", "board": "6x5"}), classic),
    ]
    return [m for arena in arenas for wire in arena.wires.values() for m in wire.received]


def kind_of(message: Any) -> str:
    return str(message.get("method") or ("join-result" if "result" in message else "error"))


async def test_schemas_of_servers_say_what_is_sent() -> None:
    told = await messages_of_a_tournament()
    assert {kind_of(message) for message in told} == set(message_schemas.SERVER) - {"error"}
    for message in told:
        assert findings(kind_of(message), message) == []
        assert findings("server-message", message) == []


def test_schemas_of_servers_take_more_fields_and_no_fewer() -> None:
    lines = [*read("reconnect"), *read("illegal_action")]
    seen = {kind_of(line["message"]): line["message"] for line in lines if line["from"] == "server"}
    assert set(seen) == set(message_schemas.SERVER) - {"error"}
    for kind, message in seen.items():
        inner = "result" if kind == "join-result" else "params"
        assert accepts(kind, {**message, inner: {**message[inner], "later": 1}, "later": 1})
        for field in message:
            assert not accepts(kind, {k: v for k, v in message.items() if k != field}), field
        for field in SCHEMAS[kind]["$defs"][SCHEMAS[kind]["properties"][inner]["$ref"][8:]][
            "required"
        ]:
            fewer = {k: v for k, v in message[inner].items() if k != field}
            assert not accepts(kind, {**message, inner: fewer}), (kind, field)
            assert not accepts(kind, {**message, inner: {**fewer, field: {"x": None}}}), field


def test_messages_in_the_protocol_page_are_what_the_schemas_say() -> None:
    blocks = protocol_doc.PATH.read_text(encoding="utf-8").split("```json ")[1:]
    for block in blocks:
        sender, _, rest = block.partition("\n")
        message = json.loads(rest.partition("```")[0])
        assert findings(f"{sender}-message", message) == []


def test_refusals_are_what_the_schema_says() -> None:
    for ident in (1, "j", None):
        error = {"code": -32700, "message": "not JSON", "data": None}
        message = {"jsonrpc": "2.0", "id": ident, "error": error}
        parse_from_server(json.dumps(message))
        assert findings("error", message) == []


def test_events_have_the_fields_that_the_schema_says() -> None:
    assert {event.kind for event in protocol_doc.EVENTS} == set(message_schemas.EVENTS)
    for event in protocol_doc.EVENTS:
        told = event.to_json()
        assert list(told) == ["kind", *message_schemas.EVENTS[event.kind]]
        assert findings("events", events_message(told)) == []
        for field in message_schemas.EVENTS[event.kind]:
            assert not accepts("events", events_message({**told, field: "x"})), field


def test_event_of_another_kind_is_let_pass() -> None:
    assert accepts("events", events_message({"kind": "thaw", "by": 3}))


def events_message(event: Any) -> Any:
    params = {"game": "1.1", "events": [{"seq": 1, "event": event}]}
    return {"jsonrpc": "2.0", "method": "events", "params": params}


# -- records


async def test_schema_of_records_takes_every_line(tmp_path: Path) -> None:
    scripts = [Script("a"), Script("b", results("move", 1, after=1)), Script("c")]
    await play(quick_settings(tmp_path), scripts)
    await play(quick_settings(tmp_path, game={"rules": "classic", "board": "6x5"}), scripts)
    lines = lines_below(tmp_path)
    assert sum(line["seq"] == 0 for line in lines) >= 2
    for line in lines:
        assert findings("record-line", line) == []
        assert not accepts("record-line", {**line, "digest": "0"})


def lines_below(folder: Path) -> list[Any]:
    texts = [path.read_text(encoding="utf-8") for path in folder.rglob("*.jsonl")]
    return [json.loads(line) for text in texts for line in text.splitlines()]


# -- AsyncAPI


def test_asyncapi_document_is_one_by_its_own_parser(tmp_path: Path) -> None:
    command = ready_to_run(ROOT / "tests" / "node" / "asyncapi_check.mjs", tmp_path)
    checked = subprocess.run(
        [*command, str(schemas.DOCS / "asyncapi.json")],
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    read = json.loads(checked.stdout)
    assert read["version"] == "3.0.0"
    assert read["operations"]["join"] == {
        "action": "receive",
        "messages": ["join"],
        "reply": ["join-result", "error"],
    }
    assert read["operations"]["move"]["reply"] == ["move-reply"]
    assert read["operations"]["game_end"] == {
        "action": "send",
        "messages": ["game_end"],
        "reply": [],
    }
    assert len(read["operations"]) == 9
