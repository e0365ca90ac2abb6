"""The same seed gives the same pairings, boards and moves, in whatever process and at what pace."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SETTINGS = """
[server]
port = 0
[lobby]
house = ["ada=greedy", "bo=random", "cleo=first", "dan=minimax:1", "eve=random"]
min_players = 5
max_players = 5
[tournament]
format = "{format}"
seed = 11
[game]
board = "5x5,holes=2,fish=1-5"
"""


def played(folder: Path, format_name: str, hash_seed: str, at_once: str) -> dict[str, Any]:
    folder.mkdir()
    (folder / "t.toml").write_text(SETTINGS.format(format=format_name), encoding="utf-8")
    command = ["serve", "--config", "t.toml", "--records", ".", "--games-at-once", at_once]
    done = subprocess.run(
        [sys.executable, "-m", "croupier_server", *command],
        cwd=folder,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        encoding="utf-8",
        timeout=50,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads((folder / "1" / "tournament.json").read_text("utf-8"))
    return result


@pytest.mark.parametrize("format_name", ["knockout", "round-robin", "swiss"])
def test_same_seed_gives_the_same_tournament(format_name: str, tmp_path: Path) -> None:
    one = played(tmp_path / "one", format_name, "1", "1")
    two = played(tmp_path / "two", format_name, "2", "8")
    assert one == two
    folders = [str(tmp_path / name / "1") for name in ("one", "two")]
    same = subprocess.run(
        [sys.executable, "-m", "croupier_server", "verify", "--same", *folders],
        capture_output=True,
        encoding="utf-8",
        timeout=50,
        check=False,
    )
    assert same.returncode == 0, same.stdout + same.stderr
