"""Tests in several processes at a time (`pytest -n 3 --dist loadgroup`): which of them may.

A file's tests run in one process, so that what they share is made once, and those of all files that
are marked with one `xdist_group` do. A test that is marked `alone` runs while no other does: it
measures time. Each process holds a lock of its own while it runs a test; one with such a test takes
the locks of all. On the way to its locks each passes a turnstile, so that the others, whose tests
follow each other without a gap, can't keep it waiting for ever.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest
from filelock import FileLock

FOLDER: Final = "CROUPIER_TESTS_LOCKS"
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


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist looks at the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


@pytest.hookimpl(wrapper=True, tryfirst=True)  # outside of the test's own time limit
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    with ExitStack() as locks:
        process: Mapping[str, Any] | None = getattr(item.config, "workerinput", None)
        if process is not None:
            everybody = [f"gw{number}" for number in range(process["workercount"])]
            is_alone = item.get_closest_marker("alone") is not None
            _take(locks, everybody if is_alone else [process["workerid"]])
        return (yield)


def _take(locks: ExitStack, names: list[str]) -> None:
    folder = Path(os.environ[FOLDER])
    with FileLock(folder / "turnstile", poll_interval=POLL_S):
        for name in names:
            locks.enter_context(FileLock(folder / name, poll_interval=POLL_S))
