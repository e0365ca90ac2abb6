"""A NATS server for tests: the one that comes with the extra, on a free port, gone afterwards."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from croupier_server.cluster.extra import find_nats_server, require_nats
from croupier_server.cluster.nats_server import NatsServer
from croupier_server.errors import UserError
from support.needs import require


def has_nats() -> bool:
    """Whether NATS can be run and spoken to."""
    try:
        require_nats()
        find_nats_server()
    except UserError:
        return False
    return True


@pytest.fixture
async def nats_server(tmp_path: Path) -> AsyncIterator[NatsServer]:
    """Give a NATS server of the test's own, whose files are in the test's folder."""
    require("nats", has_nats(), "the extra [cluster] is not installed")
    async with NatsServer(tmp_path / "nats") as server:
        yield server
