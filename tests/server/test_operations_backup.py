"""``croupier backup``: a sound copy, or none."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from croupier_server.errors import UserError
from croupier_server.operations import backup as module
from croupier_server.operations.backup import back_up
from croupier_server.storage import catalogue
from croupier_server.storage.database import Database
from support.storage import begin_games, stored_lines


def croupier(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "croupier_server", *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=30,
        check=False,
    )


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_copy_has_all_that_was_durable_while_the_server_writes_on(tmp_path: Path) -> None:
    data, restored = tmp_path / "data", tmp_path / "restored"
    async with await Database.open(data) as database:
        (game,) = await begin_games(database, 1)
        await database.append(game, [(seq, f"line {seq}\n") for seq in range(1, 2_001)])
        made = back_up(data, tmp_path / "copy.db")
        await database.append(game, [(2_001, "later\n")])
    assert (made.tournaments, made.games, made.lines) == (1, 1, 2_001)
    assert made.size == (tmp_path / "copy.db").stat().st_size
    restored.mkdir()
    (tmp_path / "copy.db").rename(restored / "croupier.db")
    async with await Database.open(restored) as database:
        assert list(await stored_lines(database, game)) == list(range(1, 2_001))
        assert [row.name for row in await database.run(catalogue.tournaments)] == ["cup"]


async def test_copy_of_a_directory_that_a_crash_has_left_has_its_log_too(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with await Database.open(data) as database:
        (game,) = await begin_games(database, 1)
        await database.append(game, [(1, "line\n")])
        left = tmp_path / "left"
        left.mkdir()
        for path in data.iterdir():  # as it is, with the log that no checkpoint has seen
            if path.name.startswith("croupier.db"):
                (left / path.name).write_bytes(path.read_bytes())
    assert (left / "croupier.db-wal").stat().st_size
    assert back_up(left, tmp_path / "copy.db").lines == 2


async def test_copy_is_one_file_that_its_owner_alone_can_read(tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    out.mkdir()
    async with await Database.open(data):
        back_up(data, out / "copy.db")
    assert names(out) == ["copy.db"]
    with closing(sqlite3.connect(out / "copy.db")) as copy:
        assert copy.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    if os.name == "posix":
        assert (out / "copy.db").stat().st_mode & 0o077 == 0


async def test_copy_that_cannot_be_made_whole_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    out.mkdir()
    (out / "copy.db").write_text("the last one", encoding="utf-8")
    async with await Database.open(data):
        pass

    def full(_path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "_sync", full)
    with pytest.raises(UserError, match="No space left"):
        back_up(data, out / "copy.db", is_replaced=True)
    assert [path.read_text("utf-8") for path in out.iterdir()] == ["the last one"]


async def test_damaged_database_is_refused(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with await Database.open(data) as database:
        (game,) = await begin_games(database, 1)
        await database.append(game, [(seq, f"line {seq}\n" * 50) for seq in range(1, 500)])
    file = data / "croupier.db"
    content = bytearray(file.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 8_192] = b"\xff" * 8_192
    file.write_bytes(content)
    with pytest.raises(UserError, match="damaged"):
        back_up(data, tmp_path / "copy.db")
    assert names(tmp_path) == ["data"]


async def test_older_or_foreign_database_is_refused(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with await Database.open(data):
        pass
    with closing(sqlite3.connect(data / "croupier.db")) as database, database:
        database.execute("UPDATE croupier_version SET version_num = '0000'")
    with pytest.raises(UserError, match="schema 0000"):
        back_up(data, tmp_path / "copy.db")
    with closing(sqlite3.connect(data / "croupier.db")) as database, database:
        database.execute("DROP TABLE croupier_version")
    with pytest.raises(UserError, match="no croupier database"):
        back_up(data, tmp_path / "copy.db")


async def test_command_says_what_it_copied_and_refuses_to_overwrite(tmp_path: Path) -> None:
    data, file = tmp_path / "data", tmp_path / "copy.db"
    async with await Database.open(data) as database:
        await begin_games(database, 2)
        done = croupier("backup", data, file)
    assert done.returncode == 0, done.stderr
    assert f"{file}: 1 tournaments, 2 games, 2 lines" in done.stdout
    again = croupier("backup", data, file)
    assert (again.returncode, again.stderr) == (
        2,
        f"croupier: {file}: there already; give another name, or --replace\n",
    )
    assert croupier("backup", data, file, "--replace").returncode == 0


@pytest.mark.parametrize(
    ("data", "file", "told"),
    [
        ("nowhere", "copy.db", "nowhere: no croupier.db here"),
        ("data", "data/croupier.db", "the database itself"),
        ("data", "data", "a directory"),
        ("data", "none/copy.db", "No such file"),
    ],
)
async def test_wrong_place_is_told_in_one_line(
    tmp_path: Path, data: str, file: str, told: str
) -> None:
    async with await Database.open(tmp_path / "data"):
        pass
    with pytest.raises(UserError, match=told):
        back_up(tmp_path / data, tmp_path / file, is_replaced=True)


def test_postgresql_is_sent_to_its_own_program() -> None:
    done = croupier("backup", "postgresql://here/cup", "copy.db")
    assert done.returncode == 2
    assert "pg_dump" in done.stderr
