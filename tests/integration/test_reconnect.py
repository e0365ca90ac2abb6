"""Players that lose their connection: they come back, and gain no time by it."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from croupier_common.session import CloseCode
from croupier_common.verdict import Verdict
from croupier_server.gateway.websocket import WebSocketGateway
from croupier_server.lobby import Lobby
from croupier_server.settings import Settings
from support.hand import PATIENCE_S, Hand, events_of, table
from support.hosts import anywhere as anywhere  # noqa: PLC0414 - a fixture
from support.wire import Script, quick_settings, results, serving, thinks

pytestmark = [pytest.mark.usefixtures("anywhere"), pytest.mark.alone]


def settings(**clocks: object) -> Settings:
    return quick_settings(clocks={"place_ms": 1_000, "move_ms": 1_000, "grace_ms": 1_000, **clocks})


async def test_open_request_comes_again_under_its_id_and_play_goes_on() -> None:
    async with table(settings(), "hand", Script("b")) as (hand, server):
        first = await hand.until("move")
        hand.drop()
        await hand.join(again=True)
        again = await hand.until("move")
        assert again == first
        await hand.answer(again)
        await hand.play_on()
        assert not (await server).faults


async def test_connection_lost_between_turns_harms_nothing() -> None:
    async with table(settings(), "hand", Script("b")) as (hand, server):
        for _ in range(3):
            await hand.answer(await hand.until("place"))
            hand.drop()
            await hand.join(again=True)
        await hand.play_on()
        assert not (await server).faults


async def test_clock_runs_on_while_the_player_is_away() -> None:
    async with table(settings(move_ms=500), "hand", Script("b")) as (hand, server):
        started = asyncio.get_running_loop().time()
        await hand.until("move")
        asked = asyncio.get_running_loop().time()
        hand.drop()
        fault = (await server).faults["hand"]
        over = asyncio.get_running_loop().time()
    assert fault.verdict is Verdict.DISCONNECTED
    assert "was not back in time" in fault.detail
    assert 0.4 < over - asked < 3
    assert started <= asked


async def test_dropping_ten_times_in_one_turn_wins_no_time() -> None:
    loop = asyncio.get_running_loop()
    async with table(settings(move_ms=1_000), "hand", Script("b")) as (hand, server):
        call = await hand.until("move")
        asked = loop.time()
        for _ in range(10):
            hand.drop()
            await hand.join(again=True)
            call = await hand.until("move")
            await asyncio.sleep(0.04)
        # in time only for who got some of it back
        await asyncio.sleep(asked + 1.2 - loop.time())
        with suppress(ConnectionClosed):
            await hand.answer(call)
        assert (await server).faults["hand"].verdict is Verdict.TIMEOUT


async def test_bank_pays_for_the_time_that_a_player_is_away() -> None:
    loop = asyncio.get_running_loop()
    clocks = settings(move_ms=100, bank_ms=3_000)
    async with table(clocks, "hand", Script("b")) as (hand, server):
        await hand.until("move")
        asked = loop.time()
        for _ in range(3):
            hand.drop()
            await asyncio.sleep(0.1)
            await hand.join(again=True)
            assert (await hand.until("move"))["params"]["bank_ms"] == 3_000
        await hand.answer(hand.heard[-1])
        took_ms = (loop.time() - asked) * 1_000
        left_ms = (await hand.until("move"))["params"]["bank_ms"]
        assert left_ms == pytest.approx(3_000 - (took_ms - 100), abs=60)
        hand.drop()
        await server


async def test_request_waits_for_a_player_that_is_away_and_its_clock_starts_on_delivery() -> None:
    async with table(settings(move_ms=400, grace_ms=5_000), "hand", Script("b")) as (hand, server):
        await hand.answer(await hand.until("move"))
        hand.drop()
        await asyncio.sleep(0.6)  # the next request is due, and has nobody to go to
        await hand.join(again=True)
        await hand.play_on()
        assert not (await server).faults


async def test_grace_is_given_once_a_game() -> None:
    clocks = settings(move_ms=5_000, grace_ms=400)
    async with table(clocks, "hand", Script("b")) as (hand, server):
        await hand.answer(await hand.until("move"))
        hand.drop()
        await asyncio.sleep(0.3)
        await hand.join(again=True)
        await hand.answer(await hand.until("move"))
        hand.drop()
        await asyncio.sleep(0.3)  # more than is left of the grace, and less than all of it
        with suppress(OSError, InvalidHandshake, ConnectionClosed, KeyError):
            await hand.join(again=True)
            await hand.play_on()
        fault = (await server).faults["hand"]
    assert fault.verdict is Verdict.DISCONNECTED


async def test_newest_connection_wins_and_the_old_one_is_closed_with_the_reason() -> None:
    async with table(settings(), "hand", Script("b")) as (hand, server):
        call = await hand.until("move")
        old = hand.connection
        await hand.join(again=True)
        await asyncio.wait_for(old.wait_closed(), PATIENCE_S)
        assert (old.close_code, "newer connection" in (old.close_reason or "")) == (4002, True)
        assert await hand.until("move") == call
        await hand.answer(call)
        await hand.play_on()
        assert not (await server).faults


async def test_events_missed_are_told_from_the_last_one_seen() -> None:
    watching = settings(grace_ms=5_000)
    async with table(watching, "hand", Script("b"), events=True) as (hand, server):
        await hand.answer(await hand.until("move"))
        seen = events_of(hand.heard)[-1]["seq"]
        hand.drop()
        await asyncio.sleep(0.2)
        await hand.join(again=True, last_event={"1.1": seen})
        await hand.play_on()
        assert not (await server).faults
    numbers = [entry["seq"] for entry in events_of(hand.heard)]
    assert numbers == list(range(1, len(numbers) + 1))


async def test_end_of_a_game_that_was_missed_is_told() -> None:
    def last_move_of(hand: Hand) -> bool:
        return any(call.get("method") == "game_end" for call in hand.heard)

    scripts = [Script(name) for name in "bcde"]
    async with table(settings(grace_ms=8_000, ack_ms=8_000), "hand", *scripts) as (hand, server):
        await hand.until("game_end")
        hand.heard.clear()
        hand.drop()
        await hand.join(again=True, last_event={"1.1": 3})
        heard = await hand.play_on()
        await server
    ends = [call for call in heard if call.get("method") == "game_end"]
    assert ends
    assert ends[0]["params"]["game"] == "1.1"
    assert last_move_of(hand)


async def test_player_ejected_while_away_learns_why_at_its_next_join() -> None:
    slow = [Script("b", thinks("move", 0.1)), Script("c", thinks("move", 0.1))]
    async with table(settings(move_ms=300), "hand", *slow) as (hand, _):
        await hand.until("move")
        hand.drop()
        await asyncio.sleep(0.6)
        await hand.join(again=True)
        ejected = await hand.until("ejected")
        assert ejected["params"]["verdict"] == "disconnected"
        await asyncio.wait_for(hand.connection.wait_closed(), PATIENCE_S)
        assert hand.connection.close_code == 4000


async def test_fault_before_the_loss_is_not_undone_by_coming_back() -> None:
    async with table(settings(), "hand", Script("b")) as (hand, server):
        await hand.answer(await hand.until("place"))
        await hand.connection.send("garbage")
        _ = await hand.connection.ping()
        hand.drop()
        await hand.join(again=True)
        await hand.until("ejected")
        assert (await server).faults["hand"].verdict is Verdict.MALFORMED


async def test_session_of_who_left_before_the_start_is_gone() -> None:
    async with table(settings(), "hand", Script("b")) as (hand, server):
        await hand.play_on()
        await server
    lobby = quick_settings(lobby={"min_players": 2, "max_players": 2, "wait_ms": 20_000})
    async with serving(lobby) as (port, _):
        left = Hand(port, "left")
        await left.join()
        await left.connection.close()
        answer = await left.join(again=True)
        assert answer["error"]["code"] == -32004
        await left.close()


async def test_others_are_not_kept_waiting_longer_than_budget_and_grace() -> None:
    bad = Script("bad", results("move", [[0, 0], [9, 9]]))
    async with table(settings(place_ms=400, grace_ms=300), "hand", Script("b"), bad) as (_, server):
        result = await asyncio.wait_for(server, 15)
    assert result.faults["hand"].verdict in {
        Verdict.DISCONNECTED,
        Verdict.TIMEOUT,
        Verdict.NO_START,
    }
    assert result.winners == ("b",)


async def test_who_comes_back_while_the_server_stops_is_told_to_come_again() -> None:
    # by then its room may have let go of it, so that its session is not known any more
    given = settings()
    lobby = Lobby(given.lobby)
    gateway = WebSocketGateway(given, lobby.admit, lobby.leave)
    await gateway.start()
    try:
        here, quick = Hand(gateway.port, "here"), Hand(gateway.port, "quick")
        await here.join()
        await quick.connect()
        gateway.shut(CloseCode.RESTARTING, "come again")
        with pytest.raises(InvalidStatus, match="503"):
            await Hand(gateway.port, "late").connect()
        params = {"protocol": 1, "name": "quick", "session": "gone"}
        await quick.send({"jsonrpc": "2.0", "id": "j", "method": "join", "params": params})
        await quick.connection.wait_closed()
        assert quick.connection.close_code == CloseCode.RESTARTING
        assert here.connection.close_code is None  # it is sent away by its room
    finally:
        await gateway.stop()
