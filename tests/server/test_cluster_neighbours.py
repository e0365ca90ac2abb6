"""Gateways that hear of each other: silence of a dead link says nothing of the others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest

from croupier_server.cluster.link import Link
from croupier_server.cluster.nats_server import NatsServer
from croupier_server.cluster.neighbours import Neighbours
from support.chaos_proxy import ChaosProxy

SAY_S = 0.05
PATIENCE_S = 15


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not holds():  # noqa: ASYNC110 - they say nothing of it
            await asyncio.sleep(SAY_S / 5)


@asynccontextmanager
async def neighbour(url: str) -> AsyncGenerator[Neighbours]:
    link = await Link.open(url, name="gateway", root="test.1")
    one = Neighbours(link, say_s=SAY_S)
    await one.open()
    saying = asyncio.create_task(one.run())
    try:
        yield one
    finally:
        saying.cancel()
        await asyncio.wait({saying})
        await one.close()
        await link.close()


def are_heard(one: Neighbours) -> bool:
    return one.are_there


async def test_another_gateway_is_there_from_its_first_word_until_it_is_silent(
    nats_server: NatsServer,
) -> None:
    async with neighbour(nats_server.url) as one:
        await asyncio.sleep(10 * SAY_S)
        assert not are_heard(one)
        async with neighbour(nats_server.url) as other:
            await until(lambda: one.are_there and other.are_there)
            await asyncio.sleep(10 * SAY_S)
            assert are_heard(one)
        await until(lambda: not one.are_there)


@pytest.mark.parametrize("fault", [ChaosProxy.drop, ChaosProxy.hold, ChaosProxy.refuse])
async def test_silence_of_a_dead_link_says_nothing_of_the_others(
    nats_server: NatsServer, fault: Callable[[ChaosProxy], None]
) -> None:
    """Neither while nobody has noticed, nor when it was noticed, nor just after it is back."""
    async with (
        ChaosProxy("127.0.0.1", nats_server.port) as proxy,
        neighbour(nats_server.url.replace(str(nats_server.port), str(proxy.port))) as one,
        neighbour(nats_server.url),
    ):
        await until(lambda: one.are_there)
        there: list[bool] = []

        async def look() -> None:
            while True:
                there.append(one.are_there)
                await asyncio.sleep(SAY_S / 5)

        looking = asyncio.create_task(look())
        fault(proxy)
        if fault is ChaosProxy.refuse:
            proxy.reset()
        await asyncio.sleep(30 * SAY_S)
        proxy.heal()
        before = proxy.to_client
        await until(lambda: proxy.to_client > before + 1_000)
        looking.cancel()
        await asyncio.wait({looking})
        assert all(there)
