"""A manager that stands still keeps its lock; an operator can take it away, as the page says."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest

from croupier_server.cluster.nats_server import NatsServer
from support.databases import execute, fetch_value, made_database
from support.fleet import fleet
from support.needs import require

PAGE = Path(__file__).parents[2] / "docs" / "cluster.md"
NAMES = ["eve", "finn"]
VALUES = {"players": 3 + len(NAMES), "format": "round-robin", "board": "4x4", "think_s": 0.02}


def statements() -> tuple[str, str]:
    """What the page has an operator tell the database: who has the lock, and to end that."""
    [block] = re.findall(r"^```sql\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    who, end = (part.strip() for part in block.split(";") if part.strip())
    return who, end


@pytest.mark.timeout(120)
async def test_lock_of_a_manager_that_stands_still_can_be_given_to_the_next(
    tmp_path: Path, nats_server: NatsServer
) -> None:
    require("posix", os.name == "posix", "SIGSTOP is not known here")
    who, end = statements()
    async with (
        made_database() as database,
        fleet(tmp_path / "fleet", nats_server.url, database, **VALUES) as cluster,
    ):
        frozen = await cluster.manager("frozen")
        await frozen.says("active")
        waiting = await cluster.manager("waiting")
        await waiting.says("standing by")
        await cluster.gateway("gateway")
        await (await cluster.worker("worker")).says("ready to play")
        playing = await cluster.join(NAMES[:1])
        frozen.signal(signal.SIGSTOP)
        pid = await fetch_value(database, who)
        assert await fetch_value(database, f"SELECT count(*) FROM ({who}) AS held") == 1
        await execute(database, end.replace("12345", str(pid)))
        await waiting.says("active")
        frozen.signal(signal.SIGCONT)
        playing += await cluster.join(NAMES[1:])
        for manager in (waiting, frozen):
            assert await manager.ended() == 0, manager.told()
        assert "Standings" in waiting.lines
        assert "nothing is left to do" in frozen.lines[-1]
        for player in playing:
            assert await player.ended() == 0, player.told()
        kept = await cluster.kept()
    assert kept.result["faults"] == {}
