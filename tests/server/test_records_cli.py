"""`croupier verify` and `croupier show`: clear lines about files, folders and archives."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Sequence
from pathlib import Path

import click
import pytest

from croupier_common.board_spec import BoardSpec
from croupier_server.errors import UserError
from croupier_server.records_cli import show, verify
from support.needs import require
from support.recorded import recorded

BOARD = BoardSpec.from_text("4x4")
ESCAPES = "\x1b]0;mine\x07\x1b[31mAda\nall records hold"


def run(command: click.Command, *args: object) -> int:
    code: int = command.main([str(one) for one in args], standalone_mode=False)
    return code


def put(file: Path, seed: int, names: Sequence[str] = ("Ada", "Blaise"), plies: int = 99) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = recorded(seed, BOARD, names=names, plies=plies)
    file.write_text("".join(lines), encoding="utf-8", newline="")
    return file


def archived(file: Path, *members: tuple[str, Path]) -> Path:
    with zipfile.ZipFile(file, "w") as archive:
        for name, member in members:
            archive.write(member, name)
    return file


# -- files that can't be read


def test_verify_passes_over_a_folder_with_a_records_ending(tmp_path: Path) -> None:
    put(tmp_path / "1.1.jsonl", 1)
    (tmp_path / "old.jsonl").mkdir()
    assert run(verify, tmp_path) == 0


def test_verify_of_what_can_not_be_read_says_which_file(tmp_path: Path) -> None:
    require("posix", os.name == "posix", "links need no rights only there")
    put(tmp_path / "1.1.jsonl", 1)
    (tmp_path / "1.2.jsonl").symlink_to("gone.jsonl")
    with pytest.raises(UserError, match=r"1\.2\.jsonl: can't be read: No such file"):
        run(verify, tmp_path)


# -- --same


def test_same_takes_a_folder_and_an_archive(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "games"
    files = [put(folder / "records" / f"1.{number}.jsonl", number) for number in (1, 2)]
    members = [(f"records/{file.name}", file) for file in files]
    assert run(verify, "--same", folder, archived(tmp_path / "a.zip", *members)) == 0
    assert "the same: 2 games" in capsys.readouterr().out
    assert run(verify, "--same", folder, archived(tmp_path / "b.zip", *members[:1])) == 1
    assert f"records/1.2.jsonl: only in {folder}" in capsys.readouterr().out


def test_same_refuses_a_file_beside_a_folder(tmp_path: Path) -> None:
    file = put(tmp_path / "1.1.jsonl", 1)
    with pytest.raises(UserError, match=r"two files or two folders .* are one of each"):
        run(verify, "--same", file, tmp_path)


def test_same_names_the_file_that_is_damaged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, cut = put(tmp_path / "whole.jsonl", 1), tmp_path / "cut.jsonl"
    cut.write_bytes(whole.read_bytes()[:-9])
    assert run(verify, "--same", whole, cut) == 1
    assert capsys.readouterr().out.startswith(f"{cut}: DAMAGED, line ")


# -- archives


def test_verify_checks_each_of_two_records_of_one_name_in_an_archive(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = put(tmp_path / "good.jsonl", 1)
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(good.read_bytes()[:-9])
    archive = archived(tmp_path / "two.zip", ("a/1.1.jsonl", bad), ("b/1.1.jsonl", good))
    assert run(verify, archive) == 1
    told = capsys.readouterr().out
    assert f"{archive}: a/1.1.jsonl  DAMAGED" in told
    assert "1 of 2 records hold" in told


# -- what a record's maker wrote into it


def test_names_in_a_record_reach_no_terminal_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = put(tmp_path / "1.1.jsonl", 1, names=(ESCAPES, ESCAPES))
    assert run(verify, file) == 0
    assert run(show, "--color", file) == 0
    told = capsys.readouterr().out
    assert "\x07" not in told
    assert "\x1b]" not in told
    assert not [line for line in told.splitlines() if line.startswith("all records hold")]


def test_show_says_that_a_game_was_interrupted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(show, put(tmp_path / "1.1.jsonl", 1, plies=3)) == 0
    told = capsys.readouterr().out
    assert told.count("interrupted: the game was not played to its end") == 1
    assert "interrupted" in told.rpartition("after event 3")[2]
