"""One timer that guards many waits."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator

import pytest

from croupier_server.guard import Guard


class Clock:
    """The loop's clock, moved by hand."""

    def __init__(self, now: float) -> None:
        self.now = now

    def time(self) -> float:
        return self.now

    async def move(self, seconds: float) -> None:
        """Let so much time pass, and all happen that is due then."""
        self.now += seconds
        for _ in range(5):
            await asyncio.sleep(0)


@pytest.fixture
async def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    loop = asyncio.get_running_loop()
    moved = Clock(loop.time())
    monkeypatch.setattr(loop, "time", moved.time)
    return moved


class Waits:
    """A task that waits again and again, under a guard."""

    def __init__(self, guard: Guard) -> None:
        self.guard = guard
        self.task = asyncio.ensure_future(self._run())

    async def _run(self) -> None:
        async with self.guard:
            await asyncio.get_running_loop().create_future()

    async def stop(self) -> BaseException | None:
        """Give how the task ended; None if it was cancelled just now."""
        self.task.cancel()
        await asyncio.wait({self.task})
        return None if self.task.cancelled() else self.task.exception()


@pytest.fixture
async def waits(clock: Clock) -> AsyncIterator[Waits]:
    found = Waits(Guard())
    await clock.move(0)
    yield found
    ended = await found.stop()
    assert (ended is not None) == found.guard.fired


async def test_guard_ends_a_wait_that_takes_too_long(clock: Clock, waits: Waits) -> None:
    waits.guard.begin(10)
    await clock.move(9.9)
    assert not waits.task.done()
    await clock.move(0.2)
    assert waits.guard.fired
    assert isinstance(await waits.stop(), TimeoutError)


async def test_guard_lets_waits_pass_that_end_in_time(clock: Clock, waits: Waits) -> None:
    for _ in range(7):
        waits.guard.begin(10)
        await clock.move(6)
        waits.guard.end()
    assert not waits.guard.fired


async def test_guard_measures_each_wait_from_its_own_beginning(clock: Clock, waits: Waits) -> None:
    waits.guard.begin(10)
    await clock.move(6)
    waits.guard.begin(10)
    await clock.move(9.9)  # the timer has fired for the first wait, and is set again
    assert not waits.task.done()
    await clock.move(0.2)
    assert waits.guard.fired


async def test_guard_keeps_to_a_shorter_limit_after_a_longer_one(
    clock: Clock, waits: Waits
) -> None:
    waits.guard.begin(100)
    waits.guard.end()
    waits.guard.begin(1)
    await clock.move(1.1)
    assert waits.guard.fired


async def test_guard_between_waits_is_off(clock: Clock, waits: Waits) -> None:
    waits.guard.begin(10)
    waits.guard.end()
    await clock.move(100)
    assert not waits.guard.fired
    waits.guard.begin(10)
    await clock.move(10.1)
    assert waits.guard.fired


async def test_guard_without_a_limit_never_fires(clock: Clock, waits: Waits) -> None:
    waits.guard.begin(math.inf)
    await clock.move(1e6)
    assert not waits.guard.fired


async def test_guard_does_not_swallow_a_cancellation(waits: Waits) -> None:
    waits.guard.begin(10)
    assert await waits.stop() is None
    assert waits.task.cancelled()


async def test_guard_does_not_hide_another_error() -> None:
    async def failing(guard: Guard) -> None:
        async with guard:
            guard.begin(10)
            raise TimeoutError("another")

    guard = Guard()
    with pytest.raises(TimeoutError, match="another"):
        await failing(guard)
    assert not guard.fired
