"""What roles say to each other: kept bytes are still understood, and garbage is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from croupier_common.jsontypes import is_object
from croupier_common.messages import JoinParams
from croupier_common.verdict import Fault, Phase, Verdict
from croupier_server.cluster.hand_over import state_from, state_to
from croupier_server.cluster.wire import (
    Message,
    WireError,
    answer_from,
    answer_to,
    clocks_from_json,
    clocks_to_json,
    fault_from_json,
    fault_to_json,
    join_params_from_json,
    join_params_to_json,
)
from croupier_server.gateway.seat_state import Asked, SeatState
from croupier_server.seats import Answer, NoAnswer
from croupier_server.settings import Clocks

GOLDEN = Path(__file__).parents[1] / "data" / "cluster" / "1"
"""Messages as earlier versions of this major version sent them; never to be changed, only added."""

FAULT = Fault(Verdict.ILLEGAL_ACTION, Phase.MOVEMENT, "[9,9] is no tile", "[[0,0],[9,9]]")
ANSWER = Answer([[0, 1], [2, 3]], 412, 3, 7)
LATE = NoAnswer(Verdict.TIMEOUT, "no answer within 300 ms", None, 410, 2, 1)
STATE = SeatState(
    key="ab" * 32,
    name="Zoë",
    age=20,
    clocks=Clocks(move_ms=300),
    max_games=2,
    wants_events=True,
    missed=('{"method":"game_end"}',),
    told={"1.1": ((4, '{"method":"events"}'),)},
    grace_ms={"1.1": 8_000},
    surplus=1,
    kept=NoAnswer(Verdict.MALFORMED, "no JSON", "garbage"),
    away="the connection was lost",
    ran_ms={"1.1:5": 250, "1.2:0": None},
    asked=(Asked("1.1:5", "move", '{"id":"1.1:5"}', 300, 2), Asked("1.2:0", "game_start", "{}", 9)),
    answers={"1.0": ("1.0:7", ANSWER), "1.1": ("1.1:3", LATE)},
    epochs={"1.1": 2},
    notes={"f00d": 3},
)
HEAD = {"from": "f00d", "game": "1.1", "epoch": 2}

MESSAGES = {
    "ask": Message(
        {"op": "ask", **HEAD, "id": "1.1:5", "method": "move", "budget_ms": 300}, '{"id":"1.1:5"}'
    ),
    "tell": Message({"op": "tell", **HEAD, "n": 1, "method": "events", "last": 4}, '{"é":"\n"}'),
    "pardon": Message({"op": "pardon", **HEAD, "n": 2}),
    "dismiss": Message({"op": "dismiss", **HEAD, "n": 3, "fault": fault_to_json(FAULT)}),
    "ping": Message({"op": "ping"}),
    "hand_over": Message({"op": "hand_over"}),
    "answer": answer_to(ANSWER),
    "none": answer_to(LATE),
    "ok": Message({"re": "ok"}),
    "pardoned": Message({"re": "ok", "plays_on": False}),
    "here": Message({"re": "here", "is_here": True}),
    "moved": Message({"re": "moved"}),
    "stale": Message({"re": "stale"}),
    "error": Message({"re": "error", "detail": "internal error"}),
    "state": state_to(STATE, 1 << 20),
}


def golden(name: str) -> Message:
    return Message.from_bytes((GOLDEN / f"{name}.txt").read_bytes())


# -- rolling upgrades


def test_every_kind_of_message_has_golden_bytes() -> None:
    assert {file.stem for file in GOLDEN.glob("*.txt")} == set(MESSAGES)


@pytest.mark.parametrize("name", sorted(MESSAGES.keys() - {"state"}))
def test_golden_message_is_still_understood(name: str) -> None:
    assert golden(name) == MESSAGES[name]


def test_golden_values_are_still_understood() -> None:
    assert answer_from(golden("answer")) == ANSWER
    assert answer_from(golden("none")) == LATE
    assert fault_from_json(golden("dismiss").head["fault"]) == FAULT
    assert state_from(golden("state")) == STATE


@pytest.mark.parametrize("version", ["1", '"1"', '"1.7"'])
def test_minor_version_and_fields_that_are_not_known_are_ignored(version: str) -> None:
    raw = f'{{"v":{version},"re":"answer","think_ms":5,"of_2031":[1]}}\ntrue'
    assert answer_from(Message.from_bytes(raw.encode())) == Answer(True, 5)


def test_values_ignore_what_they_do_not_know() -> None:
    assert clocks_from_json({**clocks_to_json(Clocks()), "of_2031": 1}) == Clocks()
    assert fault_from_json({**fault_to_json(FAULT), "of_2031": 1}) == FAULT
    params = JoinParams(protocol=1, name="a", events=True, last_event={"1.1": 4})
    assert join_params_from_json({**join_params_to_json(params), "of_2031": 1}) == params
    body = json.loads(MESSAGES["state"].body)
    newer = Message({"re": "state", "of_2031": 1}, json.dumps({**body, "of_2031": 1}))
    assert state_from(newer) == STATE


# -- what is no message


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\n",
        b"null",
        b"[]\n",
        b"{}",
        b'{"v":2}',
        b'{"v":"2.1"}',
        b'{"v":true}',
        b'{"v":1.0}',
        b'{"v":1,"n":NaN}',
        b'{"v":1',
        b'{"v":' + b"9" * 5_000 + b"}",
        b'{"v":1,"n":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"v":1,"n":' + b'{"a":' * 100_000,
        b'{"v":1}\n\xff',
        b"\xff\xfe",
        b"\x00" * 40,
    ],
    ids=range(17),
)
def test_garbage_is_no_message(raw: bytes) -> None:
    with pytest.raises(WireError):
        Message.from_bytes(raw)


@given(st.binary() | st.text().map(str.encode))
def test_bytes_are_a_message_or_refused(raw: bytes) -> None:
    with suppress(WireError):
        Message.from_bytes(raw)


NO_ANSWERS: list[dict[str, Any]] = [
    {},
    {"re": "answer"},
    {"re": "answer", "think_ms": 10**400},
    {"re": "answer", "think_ms": "1"},
    {"re": "none", "verdict": "nobody_knows", "detail": ""},
    {"re": "none", "verdict": [], "detail": ""},
    {"re": "none", "verdict": "timeout"},
]


@pytest.mark.parametrize("head", NO_ANSWERS, ids=range(7))
def test_head_that_is_no_answer_is_refused(head: dict[str, Any]) -> None:
    with pytest.raises(WireError):
        answer_from(Message(head, "1"))


@pytest.mark.parametrize(
    ("parse", "value"),
    [
        (fault_from_json, {}),
        (fault_from_json, []),
        (fault_from_json, {"verdict": "timeout", "phase": "never", "detail": ""}),
        (clocks_from_json, None),
        (clocks_from_json, {"move_ms": -1}),
        (clocks_from_json, {"move_ms": 10**400}),
        (join_params_from_json, {}),
        (join_params_from_json, {"protocol": 1, "name": 7}),
    ],
    ids=range(8),
)
def test_value_that_is_none_is_refused(parse: Callable[[object], object], value: object) -> None:
    with pytest.raises(WireError):
        parse(value)


@pytest.mark.parametrize(
    "changed",
    [
        {"name": 7},
        {"told": 7},
        {"told": {"1.1": [[1]]}},
        {"missed": [7]},
        {"ran_ms": {"1.1:5": 10**400}},
        {"asked": [7]},
        {"answers": {"1.1": {"id": "1.1:5", "answer": {"re": "answer"}, "body": ""}}},
        {"kept": []},
    ],
    ids=range(8),
)
def test_state_that_is_none_is_refused(changed: dict[str, Any]) -> None:
    body = json.loads(MESSAGES["state"].body)
    with pytest.raises(WireError):
        state_from(Message({"re": "state"}, json.dumps({**body, **changed})))


def test_result_that_is_no_json_is_refused() -> None:
    for body in ("", "[1,", "[" * 100_000):
        with pytest.raises(WireError):
            answer_from(Message({"re": "answer", "think_ms": 1}, body))


# -- round trips


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def through(message: Message) -> Message:
    return Message.from_bytes(message.to_bytes())


@given(json_values, st.integers(0, 10**6), st.integers(0, 10**6) | st.none())
def test_answer_comes_through_as_it_was(result: object, think_ms: int, rtt_ms: int | None) -> None:
    answer = Answer(result, think_ms, 1, rtt_ms)
    again = answer_from(through(answer_to(answer)))
    assert isinstance(again, Answer)
    assert (repr(again.result), again) == (repr(result), answer)


@given(st.sampled_from(Verdict), st.text(), st.text() | st.none(), st.integers(0, 10**6))
def test_no_answer_comes_through_as_it_was(
    verdict: Verdict, detail: str, sent: str | None, think_ms: int
) -> None:
    answer = NoAnswer(verdict, detail, sent, think_ms)
    assert answer_from(through(answer_to(answer))) == answer


@given(st.text())
def test_body_comes_through_whatever_is_in_it(body: str) -> None:
    assert through(Message({"op": "x"}, body)).body == body


def test_deep_and_large_results_come_through() -> None:
    deep: object = 1
    for _ in range(150):
        deep = [deep]
    for result in (deep, 10**3_000, "x" * 60_000, float("inf")):
        assert answer_from(through(answer_to(Answer(result, 1)))) == Answer(result, 1)


def test_half_a_character_is_sent_as_something() -> None:
    answer = NoAnswer(Verdict.MALFORMED, "half \ud800", "\ud800")
    assert answer_from(through(answer_to(answer))) == answer
    assert through(Message({}, "half \ud800")).body == "half ?"


def test_head_that_is_no_json_is_refused() -> None:
    for value in (object(), float("nan"), b"bytes"):
        with pytest.raises(WireError):
            Message({"op": value}).to_bytes()


def test_state_that_is_too_large_is_cut_to_the_newest_told() -> None:
    told = tuple((n, f"told {n} " + "x" * 1_000) for n in range(200))
    state = SeatState("k", "a", None, Clocks(), told={"1.1": told, "1.2": told[:3]})
    cut = state_to(state, 20_000)
    assert len(cut.to_bytes()) <= 20_000
    kept = state_from(cut).told["1.1"]
    assert kept
    assert kept == told[-len(kept) :]
    body: object = json.loads(cut.body)
    assert is_object(body)
