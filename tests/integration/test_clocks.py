"""The clocks over real sockets: who is charged for what. The arithmetic is in test_clock."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from croupier_common.messages import NO_CLOCK_MS
from croupier_common.verdict import Verdict
from croupier_server import croupier
from support.hand import Hand, table
from support.hosts import anywhere as anywhere  # noqa: PLC0414 - a fixture
from support.wire import Call, Script, Wire, play, quick_settings, serving, thinks

pytestmark = [pytest.mark.usefixtures("anywhere"), pytest.mark.alone]


@asynccontextmanager
async def elsewhere(script: Script, port: int) -> AsyncGenerator[asyncio.Future[Wire]]:
    """A scripted player in a thread and a loop of its own, which no stall of ours touches."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Wire] = loop.create_future()

    def run() -> None:
        wire = asyncio.run(script.play(port))
        loop.call_soon_threadsafe(done.set_result, wire)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield done
    finally:
        await asyncio.to_thread(thread.join)


def blocking(seconds: float, *, at_move: int) -> Callable[[Wire, Call], Any]:
    """A habit of standing still, loop and all, before one of its moves is answered."""

    async def habit(wire: Wire, call: Call) -> bool:
        if call["method"] == "move" and len(wire.calls("move")) == at_move:
            time.sleep(seconds)  # noqa: ASYNC251 - that is the point
        return False

    return habit


async def stalled_game(habit: Callable[[Wire, Call], Any], folder: Path) -> dict[str, Verdict]:
    """A game in which our loop stands still for 3 s while a player's move is open."""
    settings = quick_settings(folder, lobby={"min_players": 2, "max_players": 2})
    stalled = False

    async def stall(_wire: Wire, call: Call) -> bool:
        """Played in our own loop: its events tell when the other is about to be asked."""
        nonlocal stalled
        if call["method"] == "move" and not stalled:
            stalled = True
            asyncio.get_running_loop().call_later(0.05, time.sleep, 3)
        return False

    async with serving(settings) as (port, server), elsewhere(Script("far", habit), port) as far:
        near = asyncio.create_task(Script("near", stall).play(port))
        result = await server
        await near
        await far
    return {name: fault.verdict for name, fault in result.faults.items()}


async def test_nobody_is_ejected_for_a_stall_of_ours(tmp_path: Path) -> None:
    assert await stalled_game(thinks("move", 0.1), tmp_path) == {}
    lines = (tmp_path / "1" / "1.1.jsonl").read_text(encoding="utf-8").splitlines()
    stalls = [json.loads(line)["obs"].get("stall_ms", 0) for line in lines]
    assert max(stalls) > 2_000


async def test_stall_is_credited_and_no_more(tmp_path: Path) -> None:
    async def late_once(wire: Wire, call: Call) -> bool:
        if call["method"] == "move" and len(wire.calls("move")) == 1:
            await asyncio.sleep(4.5)
        return False

    faults = await stalled_game(late_once, tmp_path)
    assert faults == {"far": Verdict.TIMEOUT}


@pytest.mark.parametrize(
    ("budget", "thinking"),
    [(6.0, 4.5), pytest.param(60.0, 45.0, marks=[pytest.mark.full, pytest.mark.timeout(120)])],
)
async def test_player_that_thinks_long_without_answering_pings_is_not_dropped(
    budget: float, thinking: float
) -> None:
    settings = quick_settings(
        clocks={"move_ms": int(budget * 1000)}, lobby={"min_players": 2, "max_players": 2}
    )
    async with (
        serving(settings) as (port, server),
        elsewhere(Script("deaf", blocking(thinking, at_move=2)), port),
    ):
        await asyncio.create_task(Script("near").play(port))
        assert not (await server).faults


@pytest.mark.parametrize(
    ("clocks", "games"),
    [
        ({"move_ms": 3_000}, ["1.1"]),  # within the budget
        ({"move_ms": 200, "no_clock": ["HAND"]}, ["1.1"]),  # without one
        ({"move_ms": 200}, ["1.1", "1.1-2"]),  # beyond it
    ],
)
async def test_game_is_interrupted_only_for_stalls_that_it_waited_for(
    clocks: dict[str, Any], games: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(croupier, "MAX_STALL_MS", 500)
    async with table(quick_settings(clocks=clocks), "hand", Script("b")) as (hand, server):
        call = await hand.until("move")
        time.sleep(1)  # noqa: ASYNC251 - our loop stands still
        await hand.answer(call)
        await hand.play_on()
        assert not (await server).faults
    starts = [call for call in hand.heard if call.get("method") == "game_start"]
    assert [call["params"]["game"] for call in starts] == games


async def test_delayed_pongs_win_no_time() -> None:
    """They make the round trip look long, which is shown and not credited."""
    lobby = {"min_players": 2, "max_players": 2, "wait_ms": 20_000}
    async with serving(quick_settings(lobby=lobby)) as (port, server):
        hand = Hand(port, "hand")
        await hand.connect()
        join = {"protocol": 1, "name": "hand"}
        await hand.send({"jsonrpc": "2.0", "id": "j", "method": "join", "params": join})
        hand.connection.transport.pause_reading()
        await asyncio.sleep(0.4)
        hand.connection.transport.resume_reading()
        await hand.hear()
        other = asyncio.create_task(Script("b").play(port))
        await hand.answer(await hand.until("move"))
        call = await hand.until("move")
        assert call["params"]["last"]["rtt_ms"] >= 300
        await asyncio.sleep(0.45)
        with suppress(ConnectionClosed):
            await hand.answer(call)
        assert (await server).faults["hand"].verdict is Verdict.TIMEOUT
        await other
        await hand.close()


async def test_requests_show_how_the_last_answer_was_taken() -> None:
    arena = await play(quick_settings(), [Script("a", thinks("move", 0.05)), Script("b")])
    first, second = arena.wires["a"].calls("move")[:2]
    assert first["params"]["budget_ms"] == 300
    last = second["params"]["last"]
    assert last["verdict"] == "ok"
    assert last["think_ms"] >= 50
    assert last["stall_ms"] <= last["think_ms"]
    assert 0 <= last["rtt_ms"] < 1_000
    assert "bank_ms" not in first["params"]


async def test_bank_pays_for_what_goes_beyond_the_budget_until_it_is_empty() -> None:
    settings = quick_settings(clocks={"move_ms": 50, "place_ms": 300, "bank_ms": 600})
    arena = await play(settings, [Script("a", thinks("move", 0.25)), Script("b")])
    shown = [call["params"]["bank_ms"] for call in arena.wires["a"].calls("move")]
    assert shown[0] == 600
    assert shown == sorted(shown, reverse=True)
    assert 300 < shown[1] < 450
    assert arena.result.faults["a"].verdict is Verdict.TIMEOUT
    assert len(shown) in {3, 4}
    assert set(arena.result.faults) == {"a"}


async def test_increment_fills_the_bank_again() -> None:
    settings = quick_settings(clocks={"bank_ms": 100, "increment_ms": 40})
    arena = await play(settings, [Script("a"), Script("b")])
    calls = [call for call in arena.wires["a"].received if call.get("method") in {"place", "move"}]
    assert [call["params"]["bank_ms"] for call in calls[:3]] == [100, 140, 180]


async def test_player_without_a_clock_takes_its_time() -> None:
    settings = quick_settings(clocks={"move_ms": 100, "no_clock": ["person"]})

    async def slow_once(wire: Wire, call: Call) -> bool:
        if call["method"] == "move" and len(wire.calls("move")) == 1:
            await asyncio.sleep(0.8)
        return False

    arena = await play(settings, [Script("person", slow_once), Script("b")])
    assert not arena.result.faults
    assert arena.wires["person"].calls("move")[0]["params"]["budget_ms"] == NO_CLOCK_MS
    assert arena.wires["b"].calls("move")[0]["params"]["budget_ms"] == 100


async def test_reply_at_the_deadline_is_a_move_or_a_time_out_and_the_record_agrees(
    tmp_path: Path,
) -> None:
    for number, after in enumerate((0.28, 0.295, 0.3, 0.305, 0.32, 0.34), 1):

        async def at_deadline(wire: Wire, call: Call, after: float = after) -> bool:
            if call["method"] == "move" and len(wire.calls("move")) == 1:
                await asyncio.sleep(after)
            return False

        arena = await play(quick_settings(tmp_path), [Script("a", at_deadline), Script("b")])
        lines = (tmp_path / str(number) / "1.1.jsonl").read_text(encoding="utf-8").splitlines()
        events = [json.loads(line) for line in lines]
        mine = [
            line
            for line in events
            if line["event"].get("color") == "red" and line["event"]["kind"] in {"move", "eject"}
        ]
        if "a" in arena.result.faults:
            assert arena.result.faults["a"].verdict is Verdict.TIMEOUT
            assert mine[0]["event"]["kind"] == "eject"
        else:
            assert mine[0]["event"]["kind"] == "move"
            obs = mine[0]["obs"]
            assert obs["think_ms"] - obs["stall_ms"] <= 320
        assert len(mine) >= 1


async def test_pace_for_an_audience_is_charged_to_nobody(tmp_path: Path) -> None:
    settings = quick_settings(
        tmp_path, clocks={"pace_ms": 60, "move_ms": 50, "place_ms": 50}, game={"board": "4x3"}
    )
    began = time.monotonic()
    arena = await play(settings, [Script("a"), Script("b")])
    took = time.monotonic() - began
    assert not arena.result.faults
    record = (tmp_path / "1" / "1.1.jsonl").read_text(encoding="utf-8")
    obs = [json.loads(line)["obs"] for line in record.splitlines()]
    think = [one["think_ms"] for one in obs if "think_ms" in one]
    assert took > 0.06 * (len(think) - 1)
    assert max(think) < 50
