"""Clients of the course's protocol over real sockets, in every phase and with every bad habit."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import Any

import pytest

from croupier_common.verdict import Phase, Verdict
from support.course_wire import (
    CourseArena,
    CourseScript,
    CourseWire,
    Habit,
    hangs_up_when_asked,
    play_course,
    says,
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


def the_fault(arena: CourseArena) -> tuple[Verdict, Phase, str]:
    """Why the bad one is out; nobody else is."""
    assert set(arena.result.faults) == {"bad"}
    fault = arena.result.faults["bad"]
    return fault.verdict, fault.phase, fault.detail


# -- honest ones


async def test_client_is_called_as_the_protocol_says() -> None:
    arena = await play_course([CourseScript(name) for name in ("ann", "bo", "cy")])
    assert not arena.result.faults
    placements, colors = 3, ("red", "white", "brown")
    for at, wire in enumerate(arena.wires):
        turns = len(wire.calls("take-turn"))
        assert wire.called == [
            *("start", "playing-as", "playing-with"),
            *["setup"] * placements,
            *["take-turn"] * turns,
            "end",
        ]
        assert wire.calls("start") == [[True]]
        assert wire.calls("playing-as") == [[colors[at]]]
        assert wire.calls("playing-with") == [[[c for c in colors if c != colors[at]]]]
        assert wire.calls("end") == [[wire.name in arena.result.winners]]
        assert wire.closed


async def test_states_have_the_asked_player_first_and_actions_lead_from_one_to_the_next() -> None:
    arena = await play_course([CourseScript(name) for name in ("ann", "bo", "cy")])
    order = ["red", "white", "brown"]
    for at, wire in enumerate(arena.wires):
        for ((state,)) in wire.calls("setup"):
            assert [player["color"] for player in state["players"]] == order[at:] + order[:at]
        before: dict[str, Any] = {}
        for number, (state, actions) in enumerate(wire.calls("take-turn")):
            assert [player["color"] for player in state["players"]] == order[at:] + order[:at]
            if number == 0:
                assert actions == []
            else:
                assert len(actions) == 2
                seen = {tuple(place) for player in before["players"] for place in player["places"]}
                moved = [action for action in actions if action is not False]
                assert all(tuple(start) in seen for start, _ in moved)
            before = state


async def test_ejected_player_is_left_out_of_states_and_its_turn_is_no_action() -> None:
    arena = await with_bad(says("take-turn", "[[0,0],[9,9]]", after=1))
    turns = arena.wires[2].calls("take-turn")
    colors = [[player["color"] for player in state["players"]] for state, _ in turns]
    gone = colors.index(["brown", "red"])
    assert colors == [["brown", "red", "white"]] * gone + [["brown", "red"]] * (len(turns) - gone)
    assert gone == 1
    assert [len(actions) for _, actions in turns[:4]] == [0, 0, 1, 1]


async def test_skips_are_false() -> None:
    """Somewhere in this game a player has no move while others go on."""
    arena = await play_course([CourseScript(name, depth=2) for name in "abcd"])
    skips = [
        False in actions for wire in arena.wires for _, actions in wire.calls("take-turn")
    ]
    assert any(skips)


@pytest.mark.parametrize(
    "parts",
    [
        tuple("RIGHT"),
        ("RIGHT\n",),
        ("  \r\n\t RIGHT",),
        (" ", "RIGHT", " "),
    ],
    ids=["plain", "newline", "spaces", "pieces"],
)
@pytest.mark.parametrize("name", PHASES)
async def test_white_space_around_answers_is_nothing(name: str, parts: tuple[str, ...]) -> None:
    parts = parts if "RIGHT" in "".join(parts) and len(parts) < 5 else ("RIGHT",)
    arena = await with_bad(says(name, *parts))
    assert not arena.result.faults


async def byte_by_byte(wire: CourseWire, call: Any) -> bool:
    for byte in wire.right_answer(call).encode():
        await wire.send(bytes([byte]))
        await asyncio.sleep(0)
    return True


async def test_answers_byte_by_byte_are_answers() -> None:
    assert not (await with_bad(byte_by_byte)).result.faults
