"""Clients of the course's protocol over real sockets, in every phase and with every bad habit."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from croupier_common.messages import TournamentStart, TournamentStartParams
from croupier_common.verdict import Phase, Verdict
from croupier_server.gateway.course_tcp import CourseGateway
from croupier_server.lobby import Lobby
from croupier_server.seats import Answer, NoAnswer
from support.course_wire import (
    QUICK,
    CourseArena,
    CourseScript,
    CourseWire,
    Habit,
    course_settings,
    hangs_up,
    play_course,
    says,
)

START = TournamentStart(
    id="t:start", params=TournamentStartParams(tournament="t", players=["ann"], budget_ms=50)
)

PHASES = {
    "start": Phase.TOURNAMENT_START,
    "playing-as": Phase.GAME_START,
    "playing-with": Phase.GAME_START,
    "setup": Phase.PLACEMENT,
    "take-turn": Phase.MOVEMENT,
    "end": Phase.TOURNAMENT_END,
}


async def with_bad(habit: Habit) -> CourseArena:
    """A tournament of three in which the second has a habit."""
    return await play_course([CourseScript("a"), CourseScript("bad", habit), CourseScript("c")])


# -- what a client is told


async def test_client_is_called_as_the_protocol_says() -> None:
    arena = await play_course([CourseScript(name) for name in ("ann", "bo", "cy")])
    assert not arena.result.faults
    colors = ["red", "white", "brown"]
    for at, wire in enumerate(arena.wires):
        turns = len(wire.calls("take-turn"))
        penguins = ["setup"] * 3
        wanted = ["start", "playing-as", "playing-with", *penguins, *["take-turn"] * turns, "end"]
        assert wire.called == wanted
        assert wire.calls("start") == [[True]]
        assert wire.calls("playing-as") == [[colors[at]]]
        assert wire.calls("playing-with") == [[colors[:at] + colors[at + 1 :]]]
        assert wire.calls("end") == [[wire.name in arena.result.winners]]
        assert wire.closed


async def test_states_have_the_asked_player_first_and_actions_are_those_of_the_others() -> None:
    arena = await play_course([CourseScript(name) for name in ("ann", "bo", "cy")])
    order = ["red", "white", "brown"]
    for at, wire in enumerate(arena.wires):
        turns = wire.calls("take-turn")
        for state, *_ in [*wire.calls("setup"), *turns]:
            assert [player["color"] for player in state["players"]] == order[at:] + order[:at]
            assert set(state) == {"players", "board"}
            assert set(state["players"][0]) == {"color", "score", "places"}
        assert turns[0][1] == []
        for (before, _), (after, actions) in pairwise(turns):
            assert len(actions) == 2
            there = [place for player in before["players"] for place in player["places"]]
            here = [place for player in after["players"] for place in player["places"]]
            for start, end in filter(None, actions):
                assert start in there
                assert start not in here
                assert end in here


async def test_ejected_player_is_in_no_state_and_after_it_there_are_no_actions() -> None:
    arena = await with_bad(says("take-turn", "[[0,0],[9,9]]", after=1))
    turns = arena.wires[2].calls("take-turn")
    colors = [[player["color"] for player in state["players"]] for state, _ in turns]
    assert colors[0] == ["brown", "red", "white"]
    assert set(map(tuple, colors[1:])) == {("brown", "red")}
    assert [len(actions) for _, actions in turns[:4]] == [0, 0, 1, 1]


async def test_skip_is_false() -> None:
    arena = await play_course([CourseScript(name, depth=2) for name in "abcd"])
    assert any(False in actions for w in arena.wires for _, actions in w.calls("take-turn"))


async def test_everybody_learns_whether_it_won() -> None:
    arena = await play_course([CourseScript(name) for name in "abcdefg"])
    assert arena.count == [len(arena.result.winners), 0]
    for wire in arena.wires:
        assert wire.calls("end") == [[wire.name in arena.result.winners]]


# -- how an answer may come


@pytest.mark.parametrize(
    "parts",
    [("RIGHT\n",), ("\r\n\t RIGHT",), (" ", "RIGHT", " ", "\n")],
    ids=["line", "space before", "space in segments of its own"],
)
async def test_white_space_is_nothing(parts: tuple[str, ...]) -> None:
    async def spacious(wire: CourseWire, call: Any) -> bool:
        return await says(call[0], *parts)(wire, call)

    assert not (await with_bad(spacious)).result.faults


async def test_answers_split_byte_by_byte_are_answers() -> None:
    async def byte_by_byte(wire: CourseWire, call: Any) -> bool:
        for byte in wire.right_answer(call).encode():
            await wire.send(bytes([byte]))
            await asyncio.sleep(0)
        return True

    assert not (await with_bad(byte_by_byte)).result.faults


async def test_slow_answer_in_time_is_an_answer() -> None:
    async def slow(wire: CourseWire, call: Any) -> bool:
        if len(wire.calls(call[0])) == 1:
            await asyncio.sleep(0.06)
        return False

    assert not (await with_bad(slow)).result.faults


async def test_first_turn_of_a_game_has_more_time_than_the_others() -> None:
    def slow(number: int) -> Habit:
        async def habit(wire: CourseWire, call: Any) -> bool:
            if call[0] == "take-turn" and len(wire.calls("take-turn")) == number:
                await asyncio.sleep(0.22)
            return False

        return habit

    assert not (await with_bad(slow(1))).result.faults
    fault = (await with_bad(slow(2))).result.faults["bad"]
    assert (fault.verdict, fault.phase) == (Verdict.TIMEOUT, Phase.MOVEMENT)
    assert "no answer to take-turn within 150 ms" in fault.detail


async def test_stall_of_our_own_loop_is_no_players_time() -> None:
    async def blocks_everybody(wire: CourseWire, call: Any) -> bool:
        if call[0] == "take-turn" and len(wire.calls("take-turn")) == 2:
            time.sleep(0.5)  # noqa: ASYNC251 - on purpose
        return False

    assert not (await with_bad(blocks_everybody)).result.faults


async def test_answer_counts_that_came_before_hanging_up() -> None:
    async def answers_and_leaves(wire: CourseWire, call: Any) -> bool:
        if call[0] != "take-turn":
            return False
        await wire.send(wire.right_answer(call))
        wire.writer.close()
        return True

    arena = await with_bad(answers_and_leaves)
    fault = arena.result.faults["bad"]
    assert (fault.verdict, fault.phase) == (Verdict.DISCONNECTED, Phase.MOVEMENT)
    (_, report) = arena.result.games[0]
    assert report is not None
    second = arena.wires[2].calls("take-turn")[0][0]  # brown's first turn, after white's
    assert [player["color"] for player in second["players"]] == ["brown", "red", "white"]
    assert second["players"][2]["score"] == 2


# -- what puts a client out


def player(call: str) -> str:
    """The name of the client whose habit is about that call."""
    return call.replace("-", "")


async def faults_of(habit: Callable[[str], Habit], *calls: str) -> dict[str, tuple[Verdict, str]]:
    """By call, why a client with that habit about it is out, all in one tournament.

    Each is out in the right phase, and its connection is closed; nobody else is out.
    """
    bad = [CourseScript(player(call), habit(call)) for call in calls]
    arena = await play_course([CourseScript("a"), *bad, CourseScript("z")])
    faults = arena.result.faults
    assert set(faults) == {script.name for script in bad}, faults
    assert all(wire.closed for wire in arena.wires)
    assert arena.wires[0].called[-1] == arena.wires[-1].called[-1] == "end"
    for call in calls:
        assert faults[player(call)].phase is PHASES[call], faults[player(call)]
    return {call: (faults[player(call)].verdict, faults[player(call)].detail) for call in calls}


def late(call: str) -> Verdict:
    is_start = call == "start" or call.startswith("playing")
    return Verdict.NO_START if is_start else Verdict.TIMEOUT


async def test_silence() -> None:
    for call, (verdict, detail) in (await faults_of(says, *PHASES)).items():
        assert verdict is late(call)
        assert f"no answer to {call} within " in detail


async def test_part_of_a_value_and_then_silence() -> None:
    found = await faults_of(lambda call: says(call, "[[0,0],[0,"), *PHASES)
    for call, (verdict, detail) in found.items():
        assert verdict is late(call)
        assert "only a part of one: [[0,0],[0," in detail


async def test_hanging_up() -> None:
    for verdict, detail in (await faults_of(hangs_up, *PHASES)).values():
        assert verdict is Verdict.DISCONNECTED
        assert "closed by the player" in detail


async def test_hanging_up_in_the_middle_of_a_value() -> None:
    found = await faults_of(lambda call: hangs_up(call, saying='["vo'), *PHASES)
    for verdict, detail in found.values():
        assert verdict is Verdict.DISCONNECTED
        assert 'in the middle of a value: ["vo' in detail


@pytest.mark.parametrize(
    "raw",
    ["void", "[0,,1]", "[NaN,0]", "[" * 100_000, "[" + "1" * 5_000 + ",0]", b'"\xff"', '"\\ud800"'],
    ids=["word", "commas", "NaN", "deep", "5,000 digits", "not UTF-8", "surrogate"],
)
async def test_no_json(raw: str | bytes) -> None:
    for verdict, _ in (await faults_of(lambda call: says(call, raw), *PHASES)).values():
        assert verdict is Verdict.MALFORMED


async def test_too_much() -> None:
    found = await faults_of(lambda call: says(call, '"' + "a" * 70_000 + '"'), *PHASES)
    for verdict, detail in found.values():
        assert verdict is Verdict.OVERSIZE
        assert "more than 65536 bytes" in detail


@pytest.mark.parametrize("raw", ['"Void"', "true", "null", '["void"]', "[0,0]", "12 "])
async def test_wrong_word(raw: str) -> None:
    calls = [call for call in PHASES if call not in {"setup", "take-turn"}]
    found = await faults_of(lambda call: says(call, raw), *calls)
    for call, (verdict, detail) in found.items():
        assert verdict is Verdict.MALFORMED
        assert detail == f'the answer to {call} is "void", not {raw.strip()}'


@pytest.mark.parametrize(
    ("name", "raw", "verdict"),
    [
        ("setup", "[1,0,0]", Verdict.MALFORMED),
        ("setup", '"void"', Verdict.MALFORMED),
        ("setup", "[0.0,1.0]", Verdict.MALFORMED),
        ("setup", "[true,false]", Verdict.MALFORMED),
        ("setup", '{"position":[0,0]}', Verdict.MALFORMED),
        ("setup", "[5,0]", Verdict.ILLEGAL_ACTION),
        ("setup", "[-1,0]", Verdict.ILLEGAL_ACTION),
        ("take-turn", "false", Verdict.MALFORMED),
        ("take-turn", "[0,0]", Verdict.MALFORMED),
        ("take-turn", "[[0,0],[0,1],[0,2]]", Verdict.MALFORMED),
        ("take-turn", "[[0,0],[0,0]]", Verdict.ILLEGAL_ACTION),
        ("take-turn", "[[0,0],[9,9]]", Verdict.ILLEGAL_ACTION),
    ],
)
async def test_wrong_action(name: str, raw: str, verdict: Verdict) -> None:
    found = await faults_of(lambda call: says(call, raw), name)
    assert found[name][0] is verdict


async def test_all_failing_in_one_game_gives_each_one_verdict() -> None:
    arena = await play_course(
        [
            CourseScript("a", says("take-turn")),
            CourseScript("b", says("take-turn", "1 ")),
            CourseScript("c", hangs_up("take-turn")),
        ]
    )
    assert {name: fault.verdict for name, fault in arena.result.faults.items()} == {
        "a": Verdict.TIMEOUT,
        "b": Verdict.MALFORMED,
        "c": Verdict.DISCONNECTED,
    }
    assert arena.count == [0, 3]


# -- values that no call was open for


AFTER = {
    "start": Phase.GAME_START,
    "playing-as": Phase.GAME_START,
    "playing-with": Phase.PLACEMENT,
    "setup": Phase.PLACEMENT,
    "take-turn": Phase.MOVEMENT,
}
"""When the next call comes, by the call that is answered twice."""


@pytest.mark.parametrize("name", AFTER)
@pytest.mark.parametrize("twice", ["RIGHTRIGHT", "RIGHT \n RIGHT"])
async def test_second_answer_is_no_answer_to_the_next_call(name: str, twice: str) -> None:
    arena = await with_bad(says(name, twice))
    fault = arena.result.faults["bad"]
    assert (fault.verdict, fault.phase) == (Verdict.MALFORMED, AFTER[name])
    assert "one answer to each call" in fault.detail
    assert arena.wires[1].called[-1] == name


@pytest.mark.parametrize("name", AFTER)
async def test_second_answer_that_comes_while_the_next_call_is_open_puts_out_too(name: str) -> None:
    """Without ids it can't be told from the answer; it is the wrong one anyway."""
    arena = await with_bad(says(name, "RIGHT", "RIGHT"))
    if name != "start":  # for "playing-as" it may be the right one
        assert set(arena.result.faults) == {"bad"}


async def test_answer_to_a_call_that_is_yet_to_come_is_no_answer() -> None:
    """All answers of a game, guessed and sent at once."""
    arena = await with_bad(says("start", '"void"' * 3, "[0,1][0,3][1,0]"))
    fault = arena.result.faults["bad"]
    assert (fault.verdict, fault.phase) == (Verdict.MALFORMED, Phase.GAME_START)
    assert arena.wires[1].called == ["start"]


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_what_lies_in_the_socket_before_a_call_is_no_answer_to_it(loop: str) -> None:
    factory = pytest.importorskip("uvloop").new_event_loop if loop == "uvloop" else None

    async def ask_with_something_unread(raw: bytes) -> Answer | NoAnswer:
        lobby = Lobby(course_settings().lobby)
        gateway = CourseGateway(course_settings(), 0, lobby.admit, lobby.leave, QUICK)
        await gateway.start()
        try:
            with socket.create_connection(("127.0.0.1", gateway.port)) as client:
                client.sendall(b'"ann"')
                while not lobby.seats:  # noqa: ASYNC110 - it has no event to wait for
                    await asyncio.sleep(0.001)
                client.sendall(raw)  # and without a chance for the loop to read it
                return await lobby.seats[0].ask(START, 50)
        finally:
            await gateway.stop()

    with asyncio.Runner(loop_factory=factory) as runner:
        for raw in (b'"void"', b'"vo', b"12"):
            answer = runner.run(ask_with_something_unread(raw))
            assert isinstance(answer, NoAnswer)
            assert answer.verdict is Verdict.MALFORMED
        answer = runner.run(ask_with_something_unread(b" \n"))
        assert isinstance(answer, NoAnswer)
        assert answer.verdict is Verdict.TIMEOUT


async def test_beginning_of_a_value_out_of_turn_is_no_beginning_of_an_answer() -> None:
    arena = await with_bad(says("playing-with", '"void"[0'))
    fault = arena.result.faults["bad"]
    assert (fault.verdict, fault.phase) == (Verdict.MALFORMED, Phase.PLACEMENT)
    assert fault.sent == "[0"


async def test_second_answer_to_the_end_is_too_late_to_matter() -> None:
    assert not (await with_bad(says("end", "RIGHTRIGHT"))).result.faults


async def test_fault_out_of_turn_decides_at_the_next_call() -> None:
    arena = await with_bad(says("setup", "RIGHT garbage", after=2))
    fault = arena.result.faults["bad"]
    assert (fault.verdict, fault.phase) == (Verdict.MALFORMED, Phase.MOVEMENT)
    assert fault.sent is not None
    assert fault.sent.strip() == "garbage"
    assert len(arena.wires[0].calls("take-turn")[0][0]["players"]) == 3


async def test_flood_ends_with_the_connection_and_disturbs_nobody() -> None:
    async def floods(wire: CourseWire, call: Any) -> bool:
        if call[0] != "setup":
            return False
        await wire.send(wire.right_answer(call))
        for _ in range(200):
            await wire.send("1 " * 50_000)
        return True

    arena = await with_bad(floods)
    fault = arena.result.faults["bad"]
    assert fault.verdict in {Verdict.MALFORMED, Verdict.OVERSIZE}
    assert set(arena.result.faults) == {"bad"}


async def test_record_of_calls_is_json_without_white_space_between() -> None:
    """What a client reads is exactly the calls, joined."""
    arena = await play_course([CourseScript("a"), CourseScript("b")])
    for wire in arena.wires:
        assert json.dumps(wire.received, separators=(",", ":")) == f"[{','.join(wire.texts)}]"
