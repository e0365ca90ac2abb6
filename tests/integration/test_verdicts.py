"""Every way in which a player can fail, over real sockets: it gets the right verdict, with the
reason, and the others play on."""

from __future__ import annotations

import asyncio

import pytest

from croupier_common.verdict import Phase, Verdict
from support.hosts import anywhere as anywhere  # noqa: PLC0414 - a fixture
from support.wire import (
    Call,
    Habit,
    Script,
    Wire,
    answers,
    hangs_up,
    play,
    quick_settings,
    results,
    silent,
)

pytestmark = pytest.mark.usefixtures("anywhere")

ANSWER = '{"jsonrpc":"2.0","id":"ID","result":'


FAILURES: dict[str, tuple[str, Habit, Verdict]] = {
    "outside": ("move", results("move", [[0, 0], [9, 9]]), Verdict.ILLEGAL_ACTION),
    "negative": ("place", results("place", [-1, 0]), Verdict.ILLEGAL_ACTION),
    "huge": ("place", results("place", [10**30, 0]), Verdict.ILLEGAL_ACTION),
    "placement as move": ("move", results("move", [0, 0]), Verdict.MALFORMED),
    "move as placement": ("place", results("place", [[0, 0], [0, 1]]), Verdict.MALFORMED),
    "boolean": ("place", results("place", [True, False]), Verdict.MALFORMED),
    "float": ("place", answers("place", ANSWER + "[0.0,1.0]}"), Verdict.MALFORMED),
    "text": ("place", results("place", ["0", "1"]), Verdict.MALFORMED),
    "null": ("move", results("move", None), Verdict.MALFORMED),
    "whole state": ("move", results("move", {"board": [[1]], "players": []}), Verdict.MALFORMED),
    "not JSON": ("move", answers("move", "move 1 2", after=1), Verdict.MALFORMED),
    "truncated": ("move", answers("move", ANSWER + "[[0,0],[0,1"), Verdict.MALFORMED),
    "NaN": ("place", answers("place", ANSWER + "[NaN,0]}"), Verdict.MALFORMED),
    "5,000 digits": (
        "place",
        answers("place", ANSWER + "[" + "1" * 5_000 + ",0]}"),
        Verdict.MALFORMED,
    ),
    "deep nest": ("place", answers("place", ANSWER + "[" * 30_000), Verdict.MALFORMED),
    "lone surrogate": ("place", answers("place", ANSWER + '"\\ud800"}'), Verdict.MALFORMED),
    "batch": ("place", answers("place", f"[{ANSWER}[0,0]}}]"), Verdict.MALFORMED),
    "binary": ("place", answers("place", b"[0,0]"), Verdict.MALFORMED),
    "unknown field": (
        "place",
        answers("place", '{"jsonrpc":"2.0","id":"ID","result":[0,0],"x":1}'),
        Verdict.MALFORMED,
    ),
    "a call of its own": (
        "move",
        answers("move", '{"jsonrpc":"2.0","id":"ID","method":"move"}'),
        Verdict.MALFORMED,
    ),
    "error reply": (
        "move",
        answers("move", '{"jsonrpc":"2.0","id":"ID","error":{"code":-32000,"message":"boom"}}'),
        Verdict.ERROR_REPLY,
    ),
    "silent": ("move", silent("move", after=1), Verdict.TIMEOUT),
    "foreign id": (
        "move",
        answers("move", '{"jsonrpc":"2.0","id":"9:9","result":1}'),
        Verdict.TIMEOUT,
    ),
    "hangs up": ("move", hangs_up("move", after=1), Verdict.DISCONNECTED),
    "hangs up placing": ("place", hangs_up("place"), Verdict.DISCONNECTED),
    "oversize": ("move", answers("move", ANSWER + "1" * 70_000), Verdict.OVERSIZE),
}


@pytest.mark.parametrize("failure", FAILURES)
async def test_failing_player_is_ejected_and_the_others_play_on(failure: str) -> None:
    method, habit, verdict = FAILURES[failure]
    arena = await play(
        quick_settings(), [Script("a", join={"events": True}), Script("bad", habit), Script("c")]
    )
    fault = arena.result.faults["bad"]
    assert fault.verdict is verdict, fault
    assert fault.phase is (Phase.PLACEMENT if method == "place" else Phase.MOVEMENT)
    assert set(arena.result.faults) == {"bad"}
    (_, report) = arena.result.games[0]
    assert report is not None
    assert {name for group in report.ranking for name in group} == {"a", "c"}

    told = [
        entry["event"]
        for call in arena.wires["a"].calls("events")
        for entry in call["params"]["events"]
        if entry["event"]["kind"] == "eject"
    ]
    assert told == [{"kind": "eject", "color": "white", "verdict": verdict, "phase": fault.phase}]
    assert arena.wires["a"].calls("game_end")


@pytest.mark.parametrize("failure", ["outside", "not JSON", "error reply", "silent"])
async def test_offender_gets_the_reason_before_the_connection_is_closed(failure: str) -> None:
    _, habit, verdict = FAILURES[failure]
    arena = await play(quick_settings(), [Script("a"), Script("bad", habit)])
    wire = arena.wires["bad"]
    (ejected,) = wire.calls("ejected")
    params = ejected["params"]
    assert params["verdict"] == verdict
    assert params["game"] == "1.1"
    assert params["detail"]
    assert params["fix"] == verdict.fix
    assert params["link"] == f"protocol.md#{verdict.value}"
    assert (wire.close_code, wire.close_reason) == (4000, verdict.value)


async def test_reason_names_what_was_sent_and_what_is_wrong_with_it() -> None:
    bad = Script("bad", results("move", [[0, 1], [0, 1]]))
    arena = await play(quick_settings(), [Script("a"), bad])
    (ejected,) = arena.wires["bad"].calls("ejected")
    assert "[[0,1],[0,1]] is not legal for white" in ejected["params"]["detail"]
    assert "at least one step" in ejected["params"]["detail"]
    assert ejected["params"]["sent"] == "[[0,1],[0,1]]"


async def test_move_that_came_before_hanging_up_counts() -> None:
    async def moves_and_leaves(wire: Wire, call: Call) -> bool:
        if call["method"] == "move" and len(wire.calls("move")) == 2:
            await wire.reply(call, wire.right_answer(call))
            await wire.connection.close()
            return True
        return False

    arena = await play(
        quick_settings(), [Script("a", join={"events": True}), Script("bad", moves_and_leaves)]
    )
    assert arena.result.faults["bad"].verdict is Verdict.DISCONNECTED
    events = [
        entry["event"]
        for call in arena.wires["a"].calls("events")
        for entry in call["params"]["events"]
    ]
    moves = [e for e in events if e["kind"] == "move" and e["color"] == "white"]
    assert len(moves) == 2


async def test_second_and_foreign_replies_are_dropped() -> None:
    async def talkative(wire: Wire, call: Call) -> bool:
        answer = wire.right_answer(call)
        await wire.reply({"id": "1.1:999"}, answer)
        await wire.reply(call, answer)
        await wire.reply(call, answer)
        await wire.reply(call, [[0, 0], [9, 9]])
        return True

    arena = await play(quick_settings(), [Script("a"), Script("talks", talkative)])
    assert not arena.result.faults


async def test_two_replies_in_a_row_never_become_a_later_move() -> None:
    """The reply to a later request, guessed before it is asked, counts for nothing."""

    async def guesses(wire: Wire, call: Call) -> bool:
        if call["method"] == "move":
            await wire.reply(call, wire.right_answer(call))
            game, seq = call["id"].split(":")
            for ahead in range(1, 8):
                await wire.reply({"id": f"{game}:{int(seq) + ahead}"}, [[0, 0], [9, 9]])
            return True
        return False

    arena = await play(quick_settings(), [Script("a"), Script("guesses", guesses)])
    assert not arena.result.faults


async def test_fault_out_of_turn_decides_at_the_next_turn() -> None:
    async def garbage_early(wire: Wire, call: Call) -> bool:
        if call["method"] == "place" and len(wire.calls("place")) == 1:
            await wire.reply(call, wire.right_answer(call))
            await wire.send("garbage")
            return True
        return False

    arena = await play(quick_settings(), [Script("a"), Script("bad", garbage_early)])
    fault = arena.result.faults["bad"]
    assert (fault.verdict, fault.phase) == (Verdict.MALFORMED, Phase.PLACEMENT)
    assert fault.sent == "garbage"


async def test_all_failing_in_one_game_gives_each_one_verdict() -> None:
    scripts = [
        Script("a", silent("move")),
        Script("b", results("move", 1)),
        Script("c", hangs_up("move")),
    ]
    arena = await play(quick_settings(), scripts)
    assert {name: fault.verdict for name, fault in arena.result.faults.items()} == {
        "a": Verdict.TIMEOUT,
        "b": Verdict.MALFORMED,
        "c": Verdict.DISCONNECTED,
    }
    assert arena.result.winners == ()


async def test_wrong_acknowledgement_is_malformed() -> None:
    arena = await play(
        quick_settings(), [Script("a"), Script("b", results("game_start", "yes")), Script("c")]
    )
    fault = arena.result.faults["b"]
    assert (fault.verdict, fault.phase) == (Verdict.MALFORMED, Phase.GAME_START)
    assert "the answer is true" in fault.detail


async def test_both_players_failing_in_one_moment_get_one_verdict_each() -> None:
    """Both have said something wrong before either is judged."""
    both = 0
    together = asyncio.Event()

    async def garbage_together(wire: Wire, call: Call) -> bool:
        nonlocal both
        if call["method"] != "game_start":
            return False
        both += 1
        if both == 2:
            together.set()
        await together.wait()
        await wire.send("garbage")
        await wire.send("more garbage")
        return True

    arena = await play(quick_settings(), [Script(name, garbage_together) for name in "ab"])
    assert {name: fault.verdict for name, fault in arena.result.faults.items()} == {
        "a": Verdict.MALFORMED,
        "b": Verdict.MALFORMED,
    }
    for wire in arena.wires.values():
        assert len(wire.calls("ejected")) == 1
    ((_, result),) = arena.result.games
    assert len(result.verdicts) == 2
