"""A server that is killed at any moment, again and again: nothing is lost, nobody is blamed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path
from random import Random

import pytest

from support.databases import where as where  # noqa: PLC0414 - a fixture
from support.killed import PATIENCE_S, players, prepared, started, undisturbed
from support.needs import require


async def _killed_again_and_again(
    tmp_path: Path,
    where: Path | str,
    kills: int,
    *,
    signum: signal.Signals = signal.SIGKILL,
    **values: object,
) -> None:
    require("posix", os.name == "posix", "SIGKILL is not known here")
    names = ["eve", "finn"]
    values = {"players": 3 + len(names), **values}
    right = await asyncio.to_thread(undisturbed, tmp_path / "right", names, **values)
    random = Random(kills)
    server = prepared(tmp_path / "killed", where, **values)
    finished: dict[str, str | None] = {}
    done = 0
    with server, players(started(server).url, server.folder, names) as playing:
        while done < kills:
            if random.random() < 0.7:  # once they play on, and else while they come back
                await server.plays_on()
            await asyncio.sleep(random.uniform(0.0, 0.5))
            if server.has_ended():
                break
            server.kill(signum)
            done += 1
            kept = await server.kept()
            for game, chain in finished.items():
                assert kept.chains[game] == chain
            finished = kept.chains
            print(f"kill {done}: {len(finished)} games over, {sorted(kept.statuses)}")  # noqa: T201
            server.start()
        told = server.end()
        for process in playing:
            out, _ = process.communicate(timeout=PATIENCE_S)
            assert process.returncode == 0, out
    kept = await server.kept()
    assert done == kills, f"the tournament was over after {done} kills"
    assert kept.status == "finished"
    assert "is out" not in told
    assert "ejected" not in told
    assert kept.statuses == {"finished"}
    assert kept.results == right.results
    assert kept.digests == right.digests
    assert kept.result["standings"] == right.result["standings"]
    assert not kept.result["faults"]
    assert json.dumps(kept.result["games"]) == json.dumps(right.result["games"])


@pytest.mark.timeout(180)
async def test_server_that_is_killed_goes_on_where_it_was(
    tmp_path: Path, where: Path | str
) -> None:
    await _killed_again_and_again(
        tmp_path, where, 3, format="round-robin", board="6x6,fish=1-5", think_s=0.03
    )


@pytest.mark.full
@pytest.mark.timeout(900)
async def test_server_that_is_killed_thirty_times_goes_on_where_it_was(
    tmp_path: Path, where: Path | str
) -> None:
    await _killed_again_and_again(
        tmp_path, where, 30, format="round-robin", board="9x9,fish=1-5", think_s=0.1
    )


@pytest.mark.timeout(180)
async def test_knock_out_that_is_killed_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    await _killed_again_and_again(
        tmp_path, tmp_path / "data", 2, format="knockout", board="9x9,fish=1-5", think_s=0.05
    )


@pytest.mark.timeout(180)
async def test_server_that_is_stopped_in_peace_goes_on_with_the_same_players(
    tmp_path: Path,
) -> None:
    await _killed_again_and_again(
        tmp_path,
        tmp_path / "data",
        2,
        signum=signal.SIGTERM,
        format="round-robin",
        board="6x6,fish=1-5",
        think_s=0.03,
    )
