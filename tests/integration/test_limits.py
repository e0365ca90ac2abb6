"""What a connection may cost, and what happens to who takes more."""

from __future__ import annotations

import asyncio
import json
import socket
from contextlib import AsyncExitStack, suppress

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from croupier_common.messages import (
    Events,
    EventsParams,
    JoinParams,
    TournamentEnd,
    TournamentEndParams,
)
from croupier_common.verdict import Verdict
from croupier_server.gateway.websocket import WebSocketGateway
from croupier_server.seats import Admission, NoAnswer, Seat
from croupier_server.settings import Settings
from support.hand import Hand, table
from support.hosts import anywhere as anywhere  # noqa: PLC0414 - a fixture
from support.viewers import soon
from support.wire import Call, Script, Wire, play, quick_settings, serving

pytestmark = pytest.mark.usefixtures("anywhere")


def lobby(**limits: object) -> Settings:
    return quick_settings(
        lobby={"min_players": 2, "max_players": 2, "wait_ms": 20_000}, limits=limits
    )


async def test_connections_that_do_not_join_are_limited_by_address() -> None:
    async with serving(lobby(max_unjoined=3)) as (port, server), AsyncExitStack() as stack:
        url = f"ws://127.0.0.1:{port}"
        for _ in range(3):
            await stack.enter_async_context(connect(url, compression=None))
        with pytest.raises(InvalidStatus, match="429"):
            await connect(url, compression=None)
        await stack.aclose()
        async with asyncio.TaskGroup() as group:
            for name in "ab":
                group.create_task(_when_let_in(name, port))
        assert not (await server).faults


async def _when_let_in(name: str, port: int) -> Wire:
    """The server hears of closed connections a moment later than we do."""
    while True:
        try:
            return await Script(name).play(port)
        except InvalidStatus:
            await asyncio.sleep(0.01)


async def test_who_has_joined_does_not_count_against_its_address() -> None:
    settings = quick_settings(limits={"max_unjoined": 2})
    arena = await play(settings, [Script(name) for name in "abcdef"])
    assert not arena.result.faults


async def test_connections_in_all_are_limited() -> None:
    async with serving(lobby(max_connections=2)) as (port, _), AsyncExitStack() as stack:
        url = f"ws://127.0.0.1:{port}"
        for _ in range(2):
            await stack.enter_async_context(connect(url, compression=None))
        with pytest.raises(InvalidStatus, match="503"):
            await connect(url, compression=None)


async def test_flood_of_pings_is_a_verdict() -> None:
    settings = quick_settings(limits={"max_pings": 20})
    async with table(settings, "hand", Script("b")) as (hand, server):
        await hand.until("move")
        for _ in range(60):
            try:
                _ = await hand.connection.ping()
            except ConnectionClosed:
                break
        fault = (await server).faults["hand"]
    assert fault.verdict is Verdict.FLOOD
    assert "20 pings" in fault.detail


async def test_few_pings_are_answered_and_harm_nothing() -> None:
    async def pings(wire: Wire, _call: Call) -> bool:
        await (await wire.connection.ping())
        return False

    for most in (1_000, 0):
        relaxed = quick_settings(limits={"max_pings": most})
        assert not (await play(relaxed, [Script("a", pings), Script("b")])).result.faults


async def test_flood_of_replies_to_nothing_is_a_verdict() -> None:
    settings = quick_settings(limits={"max_surplus": 10})

    async def talks(wire: Wire, call: Call) -> bool:
        for _ in range(4):
            await wire.reply({"id": "9:9"}, True)
        await wire.reply(call, wire.right_answer(call))
        return True

    arena = await play(settings, [Script("a", talks), Script("b")])
    assert arena.result.faults["a"].verdict is Verdict.FLOOD


async def test_flood_of_garbage_ends_and_the_others_play_on() -> None:
    async def floods(wire: Wire, call: Call) -> bool:
        if call["method"] == "place":
            for _ in range(2_000):
                await wire.send("garbage")
            return True
        return False

    arena = await play(quick_settings(), [Script("a", floods), Script("b"), Script("c")])
    assert arena.result.faults["a"].verdict in {Verdict.MALFORMED, Verdict.FLOOD}
    assert set(arena.result.faults) == {"a"}


async def test_player_that_never_reads_is_dropped_and_holds_up_nobody() -> None:
    settings = quick_settings(
        lobby={"min_players": 3, "max_players": 3, "wait_ms": 20_000},
        limits={"max_unread": 65_536},
        clocks={"move_ms": 2_000, "place_ms": 2_000},
        game={"board": "20x20"},
    )
    async with serving(settings) as (port, server):
        deaf = Hand(port, "deaf", events=True, legal_actions=True)
        await deaf.join()
        raw = deaf.connection.transport.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        tasks = [asyncio.create_task(Script(name).play(port)) for name in "bc"]
        await deaf.answer(await deaf.until("game_start"))
        deaf.connection.transport.pause_reading()
        result = await asyncio.wait_for(server, 40)
        await asyncio.wait(tasks)
        await deaf.close()
    assert result.faults["deaf"].verdict in {Verdict.TIMEOUT, Verdict.DISCONNECTED}
    assert set(result.faults) == {"deaf"}


async def test_player_that_leaves_too_much_unread_is_dropped_and_told_so() -> None:
    given = quick_settings(limits={"max_unread": 65_536}, clocks={"grace_ms": 50})
    seats: list[Seat] = []

    def admit(params: JoinParams, seat: Seat) -> Admission:
        seats.append(seat)
        return Admission(params.name, None)

    gateway = WebSocketGateway(given, admit, lambda _: False)
    await gateway.start()
    try:
        deaf = Hand(gateway.port, "deaf")
        await deaf.join()
        deaf.connection.transport.pause_reading()
        params = EventsParams(game="1.1", events=[{"seq": 1, "event": {"kind": "x" * 1_000_000}}])
        for _ in range(40):
            await seats[0].tell(Events(params=params))
        end_params = TournamentEndParams(tournament="t", won=False, winners=[], budget_ms=300)
        end = TournamentEnd(id="t:end", params=end_params)
        answer = await asyncio.wait_for(seats[0].ask(end, 300), 5)
        assert isinstance(answer, NoAnswer)
        assert answer.verdict is Verdict.DISCONNECTED
        assert "bytes unread" in answer.detail
        await deaf.close()
    finally:
        await gateway.stop()


async def test_half_open_connections_keep_nobody_out() -> None:
    async with serving(lobby()) as (port, server):
        sockets = [socket.create_connection(("127.0.0.1", port)) for _ in range(50)]
        try:
            async with asyncio.TaskGroup() as group:
                for name in "ab":
                    group.create_task(Script(name).play(port))
            assert not (await server).faults
        finally:
            for half_open in sockets:
                half_open.close()


async def test_one_address_can_not_hoard_connections_that_say_nothing() -> None:
    async with serving(lobby(max_unjoined=2)) as (port, server):
        ends = [await asyncio.open_connection("127.0.0.1", port) for _ in range(20)]
        dropped = [asyncio.create_task(_end_of(reader)) for reader, _ in ends]
        await soon(lambda: sum(task.done() for task in dropped) == 4, 3)
        for _, writer in ends:
            writer.close()
        await asyncio.wait(dropped)
        async with asyncio.TaskGroup() as group:
            for name in "ab":
                group.create_task(Script(name).play(port))
        assert not (await server).faults


async def _end_of(reader: asyncio.StreamReader) -> None:
    with suppress(ConnectionError):
        await reader.read()


@pytest.mark.parametrize("size", [65_536, 65_537])
async def test_message_at_the_limit_is_read_and_one_byte_more_is_oversize(size: int) -> None:
    async def pads(wire: Wire, call: Call) -> bool:
        if call["method"] == "place" and len(wire.calls("place")) == 1:
            head = f'{{"jsonrpc":"2.0","id":"{call["id"]}","result":'
            answer = f"{wire.right_answer(call)}}}"
            await wire.send(head + " " * (size - len(head) - len(answer)) + answer)
            return True
        return False

    arena = await play(quick_settings(), [Script("a", pads), Script("b")])
    verdicts = {name: fault.verdict for name, fault in arena.result.faults.items()}
    assert verdicts == ({} if size == 65_536 else {"a": Verdict.OVERSIZE})


@pytest.mark.parametrize("compression", [True, False])
async def test_compressed_bomb_is_oversize_where_compression_is_on_at_all(
    compression: bool,
) -> None:
    limits = {"compression": compression}
    async with table(quick_settings(limits=limits), "hand", Script("b")) as (hand, server):
        call = await hand.until("move")
        hand.drop()
        uri = f"ws://127.0.0.1:{hand.port}"
        async with connect(uri, compression="deflate", ping_interval=None) as bomber:
            join = {"protocol": 1, "name": "hand", "session": hand.session}
            await bomber.send(
                json.dumps({"jsonrpc": "2.0", "id": "j", "method": "join", "params": join})
            )
            await bomber.recv()
            zeros = " " * (10_000_000 if compression else 100_000)
            with suppress(ConnectionClosed):
                await bomber.send(f'{{"jsonrpc":"2.0","id":"{call["id"]}","result":{zeros}1}}')
            fault = (await server).faults["hand"]
        assert bool(bomber.protocol.extensions) is compression
    assert fault.verdict is Verdict.OVERSIZE
