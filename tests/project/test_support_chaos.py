"""The chaos proxy does to connections what it says, and the front leads them to who accepts."""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from support.chaos_proxy import ChaosProxy
from support.front import Front
from support.needs import require
from support.tcp_ends import PATIENCE_S, End, Place, dial, place
from support.tcp_link import CHUNK, MOST_WAITING


class Scene:
    """A proxy before a place, and clients that connect to it."""

    def __init__(self, stack: AsyncExitStack, target: Place, proxy: ChaosProxy) -> None:
        self._stack = stack
        self.target = target
        self.proxy = proxy

    async def dial(self) -> End:
        """Connect, whatever comes of it behind the proxy."""
        return await dial(self._stack, self.proxy.port)

    async def pair(self) -> tuple[End, End]:
        """Give both ends of a new connection: the client's and the target's."""
        client = await self.dial()
        return client, await self.target.next()


@pytest.fixture(autouse=True)
def posix() -> None:
    require("posix", sys.platform != "win32", "Windows")


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    async with AsyncExitStack() as stack:
        target = await stack.enter_async_context(place())
        proxy = await stack.enter_async_context(ChaosProxy("127.0.0.1", target.port))
        yield Scene(stack, target, proxy)


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not is_so():  # noqa: ASYNC110 - a proxy wakes nobody when it has counted
            await asyncio.sleep(0.002)


def now() -> float:
    return asyncio.get_running_loop().time()


# -- the proxy


async def test_proxy_passes_all_bytes_in_order_and_counts_them(scene: Scene) -> None:
    client, target = await scene.pair()
    much = random.Random(7).randbytes(3_000_000)
    client.say(much)
    target.say(b"hello")
    assert await client.said(5) == b"hello"
    assert await target.said(len(much)) == much
    proxy = scene.proxy
    assert (proxy.to_target, proxy.to_client, proxy.lost) == (len(much), 5, 0)
    assert proxy.connections == 1


async def test_proxy_passes_an_end_as_an_end_and_a_break_as_a_break(scene: Scene) -> None:
    client, target = await scene.pair()
    client.say(b"last")
    client.stop_saying()
    assert await target.rest() == b"last"
    target.say(b"yet")  # the other direction is open still
    assert await client.said(3) == b"yet"
    target.break_off()
    assert await client.is_reset()
    await until(lambda: not scene.proxy.links)


async def test_proxy_breaks_off_where_its_target_does_not_accept(scene: Scene) -> None:
    async with place() as gone:
        pass
    scene.proxy.target = ("127.0.0.1", gone.port)
    assert await (await scene.dial()).is_reset()


async def test_proxy_leads_to_a_unix_socket(tmp_path: Path) -> None:
    async with (
        place(tmp_path / "socket") as target,
        ChaosProxy(str(tmp_path / "socket")) as proxy,
        AsyncExitStack() as stack,
    ):
        client = await dial(stack, proxy.port)
        much = random.Random(9).randbytes(3_000_000)
        client.say(much)
        assert await (await target.next()).said(len(much)) == much


async def test_delay_is_each_way_and_keeps_the_order(scene: Scene) -> None:
    client, target = await scene.pair()
    scene.proxy.delay_ms = 60
    started = now()
    client.say(b"one")
    assert await target.said(3) == b"one"
    target.say(b"two")
    assert await client.said(3) == b"two"
    assert now() - started >= 0.12
    scene.proxy.delay_ms = 60_000
    client.say(b"a")
    assert await target.is_quiet()
    client.say(b"b")
    client.stop_saying()
    scene.proxy.delay_ms = 0  # at once, for what is on its way too
    assert await target.rest() == b"ab"


async def test_held_bytes_ends_and_new_connections_wait_and_are_not_lost(scene: Scene) -> None:
    client, target = await scene.pair()
    scene.proxy.hold()
    client.say(b"bye")
    client.stop_saying()
    other = await scene.dial()
    other.say(b"new")
    assert await target.is_quiet()
    assert scene.target.taken.empty()
    scene.proxy.release()
    assert await target.rest() == b"bye"
    assert await (await scene.target.next()).said(3) == b"new"
    assert scene.proxy.lost == 0


async def test_hold_keeps_the_middle_of_what_a_slow_reader_gets(scene: Scene) -> None:
    client, target = await scene.pair()
    much = random.Random(8).randbytes(8_000_000)
    client.say(much)
    head = await target.said(500_000)
    scene.proxy.hold()
    passed = scene.proxy.to_target
    body = await target.said(passed - len(head))
    assert await target.is_quiet()
    assert scene.proxy.to_target == passed
    assert scene.proxy.waiting <= MOST_WAITING + CHUNK  # the client is let wait
    scene.proxy.release()
    assert head + body + await target.said(len(much) - passed) == much


async def test_held_break_is_not_told_either(scene: Scene) -> None:
    client, target = await scene.pair()
    scene.proxy.hold()
    client.break_off()
    assert await target.is_quiet()
    scene.proxy.release()
    assert await target.is_reset()


async def test_dropped_bytes_and_ends_are_lost_and_heal_breaks_off(scene: Scene) -> None:
    client, target = await scene.pair()
    idle, unharmed = await scene.pair()
    scene.proxy.drop()
    target.say(b"lost")
    client.say(b"lost too")
    client.writer.transport.abort()  # an end or a break: the target is told of neither
    stranger = await scene.dial()
    await until(lambda: scene.proxy.lost == 12)
    assert await target.is_quiet()
    scene.proxy.heal()
    assert await target.is_reset()
    assert await stranger.is_reset()
    idle.say(b"here")  # it has lost nothing, and goes on
    assert await unharmed.said(4) == b"here"
    _, again = await scene.pair()
    assert await again.is_quiet()


async def test_drop_loses_what_is_on_its_way(scene: Scene) -> None:
    client, target = await scene.pair()
    scene.proxy.delay_ms = 60_000
    client.say(b"late")
    await until(lambda: scene.proxy.waiting == 4)
    scene.proxy.drop()
    assert (scene.proxy.lost, scene.proxy.waiting) == (4, 0)
    scene.proxy.heal()
    assert await client.is_reset()
    assert await target.is_reset()


async def test_reset_breaks_off_both_ends_and_new_connections_pass(scene: Scene) -> None:
    client, target = await scene.pair()
    scene.proxy.reset()
    assert await client.is_reset()
    assert await target.is_reset()
    other, there = await scene.pair()
    other.say(b"on")
    assert await there.said(2) == b"on"


async def test_reset_of_a_connection_that_waits_to_be_made(scene: Scene) -> None:
    scene.proxy.hold()
    client = await scene.dial()
    await until(lambda: scene.proxy.connections == 1)
    scene.proxy.reset()
    assert await client.is_reset()


async def test_half_closed_side_reads_an_end_and_still_sends(scene: Scene) -> None:
    client, target = await scene.pair()
    target.say(b"last")
    assert await client.said(4) == b"last"
    scene.proxy.half_close("client")
    assert await client.rest() == b""
    target.say(b"unheard")
    await until(lambda: scene.proxy.lost == 7)
    client.say(b"on")
    assert await target.said(2) == b"on"
    scene.proxy.half_close("target")
    assert await target.rest() == b""


async def test_refuse_refuses_new_connections_alone_until_it_heals(scene: Scene) -> None:
    client, target = await scene.pair()
    scene.proxy.refuse()
    with pytest.raises(ConnectionRefusedError):
        await scene.dial()
    client.say(b"on")
    assert await target.said(2) == b"on"
    port = scene.proxy.port
    scene.proxy.heal()
    await scene.pair()
    assert scene.proxy.port == port


async def test_proxy_that_is_left_closes_all_and_shows_what_failed() -> None:
    ends: list[End] = []

    async def fail(target: Place, stack: AsyncExitStack) -> None:
        async with proxy:
            ends.append(await dial(stack, proxy.port))
            ends.append(await target.next())
            proxy.hold()
            raise KeyError("of the test")

    async with place() as target, AsyncExitStack() as stack:
        proxy = ChaosProxy("127.0.0.1", target.port)
        with pytest.raises(KeyError, match="of the test"):
            await fail(target, stack)
        for end in ends:
            assert await end.rest() == b""
        with pytest.raises(ConnectionRefusedError):
            await dial(stack, proxy.port)


# -- the front


async def test_front_goes_round_robin_and_leaves_out_who_is_removed_or_gone() -> None:
    async with (
        place() as first,
        place() as second,
        Front() as front,
        AsyncExitStack() as stack,
    ):
        front.add("127.0.0.1", first.port)
        front.add("127.0.0.1", second.port)
        stays = await dial(stack, front.port)
        there = await first.next()
        for expected in (second, first, second):
            await dial(stack, front.port)
            await expected.next()
        front.remove("127.0.0.1", first.port)
        async with place() as third:
            front.add("127.0.0.1", third.port)
            for expected in (second, third, second):
                await dial(stack, front.port)
                await expected.next()
        for _ in range(3):  # the third is still a target, and does not accept any more
            await dial(stack, front.port)
            await second.next()
        stays.say(b"still here")
        assert await there.said(10) == b"still here"
        assert first.taken.empty()


async def test_front_without_a_target_that_accepts_breaks_off() -> None:
    async with Front() as front, AsyncExitStack() as stack:
        assert await (await dial(stack, front.port)).is_reset()
        with pytest.raises(ValueError, match="not in list"):
            front.remove("127.0.0.1", 1)
