"""What a killed server had reported durable is there; a full or read-only disk stops it loudly."""

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from croupier_server.storage import catalogue
from croupier_server.storage.database import Database
from support.databases import where
from support.mounts import in_own_mounts
from support.storage import stored_lines

__all__ = ["where"]

TESTS = Path(__file__).resolve().parent.parent
CHILD = (sys.executable, "-m", "support.storage_child")


def child(*arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*CHILD, *arguments],
        cwd=TESTS,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


async def test_killed_server_has_kept_what_it_reported(where: Path | str) -> None:
    with child("append", str(where)) as process:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(300)]
        process.kill()
        said += process.stdout.readlines()
    reported: dict[int, int] = defaultdict(int)
    for line in said:
        if line.endswith("\n"):  # the last one may be cut off
            game, seq = map(int, line.split())
            reported[game] = seq
    assert len(reported) == 8
    async with await Database.open(where) as database:
        for game, seq in reported.items():
            stored = await stored_lines(database, game)
            assert list(stored) == list(range(1, len(stored) + 1))  # no gap, no half a pair
            assert len(stored) >= seq
            assert len(stored) % 2 == 0
            assert all(line == f"{number}\n" for number, line in stored.items())
        [cup] = await database.run(catalogue.tournaments)
        running = await database.run(lambda c: catalogue.running_games(c, cup.id))
        assert len(running) == 8


def test_full_disk_stops_it_and_nothing_reported_is_lost(tmp_path: Path) -> None:
    out = in_own_mounts(
        'mount -t tmpfs -o size=1m none "$1"; shift; exec "$@"',
        str(tmp_path),
        *(*CHILD, "fill", str(tmp_path)),
    )
    failed, counts, told = out.splitlines()
    assert failed == "True"
    # All 8 players and a later caller were told; what was reported is there, and nothing else.
    assert counts == "9 True True 0"
    assert told == f"{tmp_path}/data/croupier.db: database or disk is full"


async def test_read_only_directory_is_told_at_once(tmp_path: Path) -> None:
    async with await Database.open(tmp_path):
        pass
    out = in_own_mounts(
        'mount --bind "$1" "$1"; mount -o remount,bind,ro "$1"; shift; exec "$@"',
        str(tmp_path),
        *(*CHILD, "open", str(tmp_path)),
    )
    assert out == f"{tmp_path}: Read-only file system\n"


async def test_database_that_may_not_be_written_is_told(tmp_path: Path) -> None:
    async with await Database.open(tmp_path):
        pass
    out = in_own_mounts(
        'mount --bind "$1" "$1"; mount -o remount,bind,ro "$1"; shift; exec "$@"',
        str(tmp_path / "croupier.db"),
        *(*CHILD, "open", str(tmp_path)),
    )
    assert out == (
        f"{tmp_path}/croupier.db: can't be written: attempt to write a readonly database\n"
    )
