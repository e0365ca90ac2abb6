"""Fixtures and rules for all tests."""

import os
import signal

import pytest
import pytest_asyncio

from croupier_server.options import configure_logs
from support import needs

pytest_plugins = ["pytester", "support.nats", "support.side_by_side", "support.tasks"]


def pytest_configure() -> None:
    """Refuse a mistyped CROUPIER_REQUIRE before anything runs; log as the server does.

    A shell that starts us in the background has us ignore Ctrl-C, and so would all that we start,
    which some tests interrupt.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    needs.demanded_needs(os.environ.get(needs.VARIABLE, ""))
    configure_logs(verbose=False)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put `no_tasks_left` around every async test, its other fixtures included."""
    for item in items:
        if isinstance(item, pytest.Function) and pytest_asyncio.is_async_test(item):
            item.fixturenames.insert(0, "no_tasks_left")
