"""No test may leave asyncio tasks behind: they outlive what they work for, and hide failures."""

import asyncio
from collections.abc import AsyncIterator

import pytest

TICKS = 5
"""How often the loop turns before a task counts as left: enough for callbacks that are due."""


async def tasks_left(before: set[asyncio.Task[object]]) -> list[asyncio.Task[object]]:
    """Give the tasks that were not there before, do not end by themselves now, and are not ours."""
    for _ in range(TICKS):
        await asyncio.sleep(0)
    ours = asyncio.current_task()
    return [task for task in asyncio.all_tasks() - before if task is not ours]


@pytest.fixture
async def no_tasks_left() -> AsyncIterator[None]:
    """Fail an async test, its fixtures included, that leaves tasks; conftest.py adds it to all."""
    before = asyncio.all_tasks()
    yield
    left = await tasks_left(before)
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    if left:
        names = ", ".join(sorted(f"{task.get_name()} ({task.get_coro()!r})" for task in left))
        pytest.fail(f"tasks left over: {names}", pytrace=False)
