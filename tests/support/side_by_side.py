"""Tests in several processes at a time (`pytest -n 2 --dist loadfile`): which of them may.

A file's tests run in one process, so that what they share is made once, and all tests of gradings
run in the same, since a machine has user ids for few gradings at a time. A test that is marked
`alone` runs while no other does: it measures time, or fills the machine. Each process holds a lock
of its own while it runs a test; one with such a test takes the locks of all. On the way to its
locks each passes a turnstile, so that the others, whose tests follow each other without a gap,
can't keep it waiting for ever.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Generator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest
from filelock import FileLock
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

FOLDER: Final = "CROUPIER_TESTS_LOCKS"
"""The variable by which the processes hear where the locks are."""

GRADINGS: Final = re.compile(r"/test_(grade|grading|hostile)_?[^/]*$")

POLL_S: Final = 0.02


class ByFile(LoadFileScheduling):
    """What one process runs: the tests of a file, or all of gradings."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return "gradings" if GRADINGS.search(file) else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFile | None:
    return ByFile(config, log) if config.getoption("dist") == "loadfile" else None


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
