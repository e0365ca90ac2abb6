"""Many games in one process leave nothing behind."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from croupier_common.verdict import Verdict
from croupier_server.options import configure_logs
from support.needs import require
from support.wire import Script, play, quick_settings, results


def open_files() -> int:
    """How many files and sockets this process has open (Linux)."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def resident_kib() -> int:
    """How much memory this process holds (Linux)."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    (line,) = (line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1])


async def play_games(games: int, records: Path) -> None:
    settings = quick_settings(records, game={"board": "4x3"})
    scripts = [Script("a"), Script("b"), Script("bad", results("move", [[0, 0], [9, 9]]))]
    for _ in range(games):
        arena = await play(settings, scripts)
        assert arena.result.faults["bad"].verdict is Verdict.ILLEGAL_ACTION


async def soak(games: int, folder: Path) -> None:
    """Play so many, and fail if anything is left of them."""
    await play_games(games // 4, folder)  # caches fill
    gc.collect()
    before = open_files(), len(asyncio.all_tasks()), len(gc.get_objects())
    memory = resident_kib()
    await play_games(games, folder)
    gc.collect()
    files, tasks, objects = open_files(), len(asyncio.all_tasks()), len(gc.get_objects())
    assert files <= before[0], (before[0], files)
    assert tasks <= before[1], (before[1], tasks)
    # a single object kept per game would show, whatever its kind
    assert objects - before[2] < games, (before[2], objects)
    grown_kib = resident_kib() - memory
    assert grown_kib < 4_096 + games, grown_kib


@pytest.mark.parametrize(
    "games", [200, pytest.param(2_000, marks=[pytest.mark.full, pytest.mark.timeout(900)])]
)
def test_many_games_leave_memory_tasks_and_sockets_flat(games: int, tmp_path: Path) -> None:
    """In a process of its own: what other tests have left in this one's memory comes and goes."""
    require("linux", sys.platform == "linux", "open files and memory are read from /proc")
    ended = subprocess.run(
        [sys.executable, __file__, str(games), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-2_000:]


if __name__ == "__main__":
    configure_logs(verbose=False)
    asyncio.run(soak(int(sys.argv[1]), Path(sys.argv[2])))
