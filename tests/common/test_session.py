"""The session: who may send what when, and what becomes of each message."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from croupier_common.messages import ErrorCode
from croupier_common.session import (
    TABLE,
    Answered,
    CloseCode,
    ConnectionState,
    Dropped,
    JoinAsked,
    Misbehaved,
    Received,
    Session,
)
from croupier_common.verdict import Verdict

CONNECTED, JOINED, CLOSED = ConnectionState

JOIN = json.dumps(
    {"jsonrpc": "2.0", "id": 1, "method": "join", "params": {"protocol": 1, "name": "Pingu"}}
)
GARBAGE: tuple[str | bytes, ...] = (
    *("", "{", "null", "[]", "NaN", "[" * 100_000, f"[{JOIN}]", '"\ud800"'),
    *('{"jsonrpc":"2.0","id":"1.1:1"}', '{"jsonrpc":"2.0","id":1,"result":[0,1]}'),
    *('{"jsonrpc":"2.0","id":"1.1:1","method":"move","params":{}}', JOIN.replace("join", "jion")),
    *(b"", JOIN.encode(), b"\xff"),
)


def reply(ident: str, result: object = True) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": ident, "result": result})


def refusal_of(ident: str) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": ident, "error": {"code": -1, "message": "oh"}})


def session_in(state: ConnectionState, *open_ids: str) -> Session:
    session = Session()
    if state is not CONNECTED:
        session.joined()
        for ident in open_ids:
            session.asked(ident)
    if state is CLOSED:
        session.closed()
    return session


# -- the table


def test_table_has_every_state_and_both_sides() -> None:
    assert list(TABLE) == list(ConnectionState)
    assert all(set(sides) == {"player", "server"} for sides in TABLE.values())


KINDS: dict[str, tuple[str, type[Received]]] = {
    "join": (JOIN, JoinAsked),
    "reply": (reply("1.1:1"), Answered),
}


@pytest.mark.parametrize("state", ConnectionState)
@pytest.mark.parametrize("kind", KINDS)
def test_message_is_taken_where_the_table_has_it_and_nowhere_else(
    kind: str, state: ConnectionState
) -> None:
    raw, taken = KINDS[kind]
    received = session_in(state, "1.1:1").receive(raw)
    assert type(received) is (taken if kind in TABLE[state]["player"] else Misbehaved)


def test_table_knows_no_other_kinds_from_players() -> None:
    assert {kind for sides in TABLE.values() for kind in sides["player"]} == KINDS.keys()


@pytest.mark.parametrize("state", ConnectionState)
@pytest.mark.parametrize("raw", GARBAGE, ids=range(len(GARBAGE)))
def test_garbage_is_malformed_in_every_state_and_changes_nothing(
    raw: str | bytes, state: ConnectionState
) -> None:
    session = session_in(state, "1.1:1")
    before = (session.state, set(session.open), session.dropped)
    received = session.receive(raw)
    assert isinstance(received, Misbehaved)
    assert received.verdict is Verdict.MALFORMED
    assert received.detail == str(received.rejected)
    assert received.raw == ("" if isinstance(raw, bytes) else raw[:400])
    assert (session.state, session.open, session.dropped) == before


@pytest.mark.parametrize(
    ("state", "raw", "told"),
    [
        (CONNECTED, reply("1.1:1"), "a reply before the join; the first message is join"),
        (JOINED, JOIN, "a second join on one connection"),
        (CLOSED, JOIN, "a message on a closed connection"),
        (CLOSED, reply("1.1:1"), "a message on a closed connection"),
        (CONNECTED, b"x", "a binary frame; messages are text"),
    ],
)
def test_message_out_of_turn_says_why(state: ConnectionState, raw: str | bytes, told: str) -> None:
    received = session_in(state).receive(raw)
    assert isinstance(received, Misbehaved)
    assert received.detail == told
    assert received.rejected.code == ErrorCode.INVALID_REQUEST


# -- joining


def test_join_gives_what_it_says_and_changes_nothing_before_it_is_accepted() -> None:
    session = Session()
    received = session.receive(JOIN)
    assert isinstance(received, JoinAsked)
    assert (received.id, received.params.name) == (1, "Pingu")
    assert session.state is CONNECTED
    session.joined()
    assert session.state is JOINED


# -- replies


def test_reply_to_an_open_request_closes_it() -> None:
    session = session_in(JOINED, "1.1:1", "1.2:5")
    raw = reply("1.2:5", [0, 1])
    received = session.receive(raw)
    assert isinstance(received, Answered)
    assert (received.id, received.reply.result, received.raw) == ("1.2:5", [0, 1], raw)
    assert session.open == {"1.1:1"}


@pytest.mark.parametrize("second", [reply("1.1:1"), refusal_of("1.1:1")])
def test_second_reply_is_dropped(second: str) -> None:
    session = session_in(JOINED, "1.1:1")
    session.receive(reply("1.1:1"))
    assert session.receive(second) == Dropped("'1.1:1'")
    assert session.dropped == 1


def test_error_reply_answers_too() -> None:
    session = session_in(JOINED, "1.1:1")
    received = session.receive(refusal_of("1.1:1"))
    assert isinstance(received, Answered)
    assert received.reply.error is not None
    assert session.open == set()


def test_late_reply_is_dropped() -> None:
    session = session_in(JOINED, "1.1:1")
    session.given_up("1.1:1")
    assert isinstance(session.receive(reply("1.1:1")), Dropped)


def test_dropped_reply_shows_no_more_of_its_id_than_a_log_can_bear() -> None:
    received = session_in(JOINED).receive(reply("x\n" * 10_000))
    assert isinstance(received, Dropped)
    assert received.id.isprintable()
    assert len(received.id) <= 60


def test_request_asked_again_can_be_answered_again() -> None:
    session = session_in(JOINED, "1.1:1")
    session.receive(reply("1.1:1"))
    session.asked("1.1:1")
    assert isinstance(session.receive(reply("1.1:1")), Answered)


def test_closing_closes_every_request() -> None:
    session = session_in(JOINED, "1.1:1", "1.2:1")
    session.closed()
    assert session.open == set()


@pytest.mark.parametrize("code", CloseCode)
def test_close_code_is_one_that_a_server_may_send(code: CloseCode) -> None:
    assert code in {1000, 1001, 1002, 1007, 1009, 1011, 1012} or 4000 <= code < 5000
    assert code.meaning


# -- a session against a naive model

IDS = st.sampled_from(["1.1:0", "1.1:1", "1.2:1", "t:start", "é", ""])


class Sessions(RuleBasedStateMachine):
    """The model keeps, for every id, whether an answer is awaited; and counts what is not."""

    def __init__(self) -> None:
        super().__init__()
        self.session = Session()
        self.state = "new"
        self.awaited: dict[str, bool] = {}
        self.surplus = 0

    def receive(self, raw: str | bytes) -> Received:
        return self.session.receive(raw)

    @rule()
    def join(self) -> None:
        received = self.receive(JOIN)
        if self.state != "new":
            assert isinstance(received, Misbehaved)
            return
        assert isinstance(received, JoinAsked)
        self.session.joined()
        self.state = "in"

    @precondition(lambda self: self.state == "in")
    @rule(ident=IDS)
    def ask(self, ident: str) -> None:
        self.session.asked(ident)
        self.awaited[ident] = True

    @rule(ident=IDS)
    def give_up(self, ident: str) -> None:
        self.session.given_up(ident)
        self.awaited[ident] = False

    @rule(ident=IDS, make=st.sampled_from([reply, refusal_of]))
    def answer(self, ident: str, make: Callable[[str], str]) -> None:
        received = self.receive(make(ident))
        if self.state != "in":
            assert isinstance(received, Misbehaved)
        elif self.awaited.get(ident):
            assert isinstance(received, Answered)
            assert received.id == received.reply.id == ident
            self.awaited[ident] = False
        else:
            assert isinstance(received, Dropped)
            self.surplus += 1

    @rule(raw=st.sampled_from(GARBAGE))
    def misbehave(self, raw: str | bytes) -> None:
        assert isinstance(self.receive(raw), Misbehaved)

    @precondition(lambda self: self.state == "in")
    @rule()
    def close(self) -> None:
        self.session.closed()
        self.awaited.clear()
        self.state = "closed"

    @invariant()
    def agrees(self) -> None:
        assert self.session.open == {
            ident for ident, is_awaited in self.awaited.items() if is_awaited
        }
        assert self.session.dropped == self.surplus
        assert self.session.state == {"new": CONNECTED, "in": JOINED, "closed": CLOSED}[self.state]


TestSessions = Sessions.TestCase
TestSessions.settings = settings(TestSessions.settings, stateful_step_count=25)
