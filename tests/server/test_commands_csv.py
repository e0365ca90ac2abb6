"""CSV and archives: any text comes through, nothing is taken for a formula, all or nothing."""

from __future__ import annotations

import csv
import io
import zipfile
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from croupier_server.commands.archive import FileNames, records_in, written
from croupier_server.commands.csv_files import csv_text, moment
from croupier_server.errors import UserError

DANGEROUS = ("=", "+", "-", "@", "\t", "\r", "\n")
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


def read(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


@given(st.lists(st.lists(TEXTS, min_size=2, max_size=4), max_size=4))
def test_text_comes_through_and_never_begins_like_a_formula(rows: list[list[str]]) -> None:
    found = read(csv_text(rows))
    assert [[_plain(cell) for cell in row] for row in found] == rows
    assert not any(cell.startswith(DANGEROUS) for row in found for cell in row)


def _plain(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(DANGEROUS) else cell


@pytest.mark.parametrize(
    "name",
    [
        "=1+1",
        "@sum(A1)",
        "-2",
        "+3",
        "\tx",
        "\r=x",
        "a,b",
        'a"b',
        "a\nb",
        "\u202etxt",
        "x" * 10_000,
    ],
)
def test_hostile_name_is_one_cell_of_text(name: str) -> None:
    [[cell, after]] = read(csv_text([[name, "after"]]))
    assert cell.removeprefix("'") == name
    assert after == "after"


def test_our_numbers_stay_numbers() -> None:
    assert csv_text([[-1, -0.25, Fraction(-1, 3), None, 2.0]]) == "-1,-0.25,-0.3333,,2\n"


def test_moment_is_universal_time() -> None:
    assert moment(1_700_000_000_042) == "2023-11-14T22:13:20.042Z"
    assert moment(None) == ""


@given(st.lists(st.text(max_size=300), max_size=20))
def test_file_names_differ_whatever_the_case_and_stay_in_their_folder(wanted: list[str]) -> None:
    names = FileNames()
    given_names = [names.name(name, ".jsonl") for name in [*wanted, *wanted]]
    assert len({name.lower() for name in given_names}) == 2 * len(wanted)
    for name in given_names:
        assert Path(name).name == name
        assert len(name) < 140
        assert name.isascii()


def test_file_names_keep_what_is_plain() -> None:
    names = FileNames()
    assert [names.name(name, "") for name in ("1.1", "1.1-2", "../x", "CON", "1.1")] == [
        *("1.1", "1.1-2", "_x", "_CON"),
        "1.1_2",
    ]


def interrupted(out: Path) -> None:
    with written(out) as target:
        target.add("a.csv", "a")
        raise KeyboardInterrupt


@pytest.mark.parametrize("out", ["x.zip", "x"])
def test_failure_in_the_middle_leaves_nothing(out: str, tmp_path: Path) -> None:
    if out == "x.zip":
        (tmp_path / out).write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt):
        interrupted(tmp_path / out)
    assert [path.name for path in tmp_path.iterdir()] == (["x.zip"] if out == "x.zip" else [])
    if out == "x.zip":
        assert (tmp_path / out).read_bytes() == b"old"


def test_archive_has_the_same_bytes_again(tmp_path: Path) -> None:
    for name in ("a.zip", "b.ZIP"):
        with written(tmp_path / name) as target:
            target.add("records/ä.jsonl", "ä\r\n")
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.ZIP").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        assert archive.read("records/ä.jsonl") == "ä\r\n".encode()


def test_folder_with_something_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with written(tmp_path / "mine") as target:  # empty: it is filled
        target.add("a.csv", "a")
    with pytest.raises(UserError, match="no empty folder"), written(tmp_path / "mine"):
        pass
    with pytest.raises(UserError, match="a-file"), written(tmp_path / "mine" / "a.csv" / "a-file"):
        pass


def test_archive_that_is_none_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "bad.zip").write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(UserError, match=r"bad\.zip: no whole archive"):
        records_in(tmp_path / "bad.zip", tmp_path)
    with zipfile.ZipFile(tmp_path / "none.zip", "w") as archive:
        archive.writestr("x.csv", "x")
    with pytest.raises(UserError, match="no records"):
        records_in(tmp_path / "none.zip", tmp_path)
