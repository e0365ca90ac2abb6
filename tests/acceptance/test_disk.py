"""A server whose disk is full or can't be written: it stops loudly, and goes on once it can."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

from croupier_common.record import read_record, replay
from croupier_server.storage import catalogue
from croupier_server.storage.database import Database
from support.mounts import run_in_own_mounts

SETTINGS = """
[server]
port = 0
[lobby]
house = ["ada=greedy", "bo=random", "cleo=first", "dan=greedy", "eve=random", "finn=first"]
min_players = 6
max_players = 6
[tournament]
format = "round-robin"
table = 4
games_at_once = 1
seed = 5
[game]
board = "4x4,fish=1-5"
"""


def serve(folder: Path, data: Path) -> list[str]:
    """The command that plays the tournament, its settings in a folder."""
    config = folder / "t.toml"
    config.write_text(SETTINGS, encoding="utf-8")
    command = ["-m", "croupier_server", "serve", "--config", str(config), "--data", str(data)]
    return [sys.executable, *command]


def played(folder: Path, data: Path) -> str:
    done = subprocess.run(
        serve(folder, data), capture_output=True, encoding="utf-8", timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout[done.stdout.index("Standings") :]


async def finished(data: Path) -> dict[str, str]:
    """The games that are over, each with a result and a whole record that holds; by digest."""
    async with await Database.look(data) as database:
        rows = await database.run(lambda c: catalogue.games(c, 1))
        results = await database.run(lambda c: catalogue.results(c, 1))
        over = {row.id: row.name for row in rows if row.status == "finished"}
        lines = await database.run(lambda c: {row: catalogue.lines(c, row) for row in over})
    digests: dict[str, str] = {}
    for row, name in over.items():
        record = read_record(line.encode() for line in lines[row])
        assert replay(record).outcome is not None
        digests[name] = record.digest
    assert set(digests) == set(results)
    return digests


def test_full_disk_stops_the_server_which_goes_on_where_there_is_room(tmp_path: Path) -> None:
    small, roomy = tmp_path / "small", tmp_path / "roomy"
    small.mkdir()
    done = run_in_own_mounts(
        'mount -t tmpfs -o size=1m none "$1"; small=$1; roomy=$2; shift 2; code=0; '
        '"$@" || code=$?; cp -r "$small/data" "$roomy"; exit $code',
        *(str(small), str(roomy), *serve(tmp_path, small / "data")),
    )
    assert done.returncode == 1, done.stdout + done.stderr
    (told,) = [line for line in done.stderr.splitlines() if line.startswith("croupier: ")]
    assert told == f"croupier: {small}/data/croupier.db: database or disk is full"
    assert "Traceback" not in done.stderr
    before = asyncio.run(finished(roomy))
    assert 0 < len(before) < 60
    standings = played(tmp_path, roomy)
    after = asyncio.run(finished(roomy))
    assert before.items() <= after.items()
    assert len(after) == 60
    assert standings == played(tmp_path, tmp_path / "undisturbed")


def test_read_only_data_directory_stops_the_server_before_anyone_joins(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    done = run_in_own_mounts(
        'mount --bind "$1" "$1"; mount -o remount,bind,ro "$1"; shift; exec "$@"',
        *(str(tmp_path / "data"), *serve(tmp_path, tmp_path / "data")),
    )
    assert done.returncode == 2
    assert done.stderr == f"croupier: {tmp_path}/data: Read-only file system\n"
    assert done.stdout == ""
    assert not list((tmp_path / "data").iterdir())
