"""A tournament whose cluster is hurt, and the end that it has to come to: that of one unhurt."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from support.fleet import Fleet, Running
from support.killed import Kept, undisturbed

NAMES = ["eve", "finn", "gil", "hana"]
THINK_S = 0.03
VALUES = {
    "players": 3 + len(NAMES),
    "format": "round-robin",
    "board": "6x6,fish=1-5",
    "think_s": THINK_S,
}


@cache
def right() -> Kept:
    """What the same file comes to in one process without any fault; how long players think, which
    is for faults to come between, makes no difference.
    """
    with TemporaryDirectory() as folder:
        return undisturbed(Path(folder) / "right", NAMES, **{**VALUES, "think_s": 0})


async def same_end(fleet: Fleet, managers: Sequence[Running], players: Sequence[Running]) -> Kept:
    """Wait for the end, and see that it is the right one: nobody was blamed for anything."""
    active = [manager for manager in managers if manager.is_running]
    statuses = await asyncio.gather(*(manager.ended() for manager in active))
    assert set(statuses) == {0}, "\n".join(manager.told() for manager in active)
    for player in players:
        assert await player.ended() == 0, player.told()
    kept = await fleet.kept()
    told = "\n".join(manager.told() for manager in managers)
    assert "is out" not in told
    assert "ejected" not in told
    assert kept.status == "finished"
    assert not kept.result["faults"], kept.result["faults"]
    assert kept.results == right().results
    assert kept.digests == right().digests
    assert kept.result["standings"] == right().result["standings"]
    assert json.dumps(kept.result["games"]) == json.dumps(right().result["games"])
    return kept
