"""Fixtures and rules for all tests."""

import os

import pytest
import pytest_asyncio

from croupier_server.options import configure_logs
from support import needs

pytest_plugins = ["pytester", "support.alone", "support.nats", "support.tasks"]


def pytest_configure() -> None:
    """Refuse a mistyped CROUPIER_REQUIRE before anything runs; log as the server does."""
    needs.demanded_needs(os.environ.get(needs.VARIABLE, ""))
    configure_logs(verbose=False)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put `no_tasks_left` around every async test, its other fixtures included."""
    for item in items:
        if isinstance(item, pytest.Function) and pytest_asyncio.is_async_test(item):
            item.fixturenames.insert(0, "no_tasks_left")
