"""Tests that need the machine for themselves, where several processes run tests (`pytest -n 3`).

A test that is marked `alone` runs while no other does: it measures time or memory, or looks at what
the whole machine has. Each process holds a lock of its own while it runs a test; one with such a
test takes the locks of all. On the way to its locks each passes a turnstile, so that the others,
whose tests follow each other without a gap, can't keep it waiting for ever.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest
from filelock import FileLock

FOLDER: Final = "CROUPIER_TESTS_ALONE"
"""The variable by which the processes hear where the locks are."""

POLL_S: Final = 0.02


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Make the folder before the processes are started."""
    if config.getoption("numprocesses", None):
        os.environ[FOLDER] = tempfile.mkdtemp(prefix="croupier-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    if config.getoption("numprocesses", None):
        shutil.rmtree(os.environ.pop(FOLDER))


@pytest.hookimpl(wrapper=True, tryfirst=True)  # outside of the test's own time limit
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    with ExitStack() as locks:
        me = os.environ.get("PYTEST_XDIST_WORKER")
        if me is not None:
            _take(locks, me, is_alone=item.get_closest_marker("alone") is not None)
        return (yield)


def _take(locks: ExitStack, me: str, *, is_alone: bool) -> None:
    folder = Path(os.environ[FOLDER])
    everybody = [f"gw{number}" for number in range(int(os.environ["PYTEST_XDIST_WORKER_COUNT"]))]
    with FileLock(folder / "turnstile", poll_interval=POLL_S):
        for name in everybody if is_alone else [me]:
            locks.enter_context(FileLock(folder / name, poll_interval=POLL_S))
