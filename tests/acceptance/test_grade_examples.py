"""The examples for submissions, graded: good ones get their points, broken ones their reason."""

import csv
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from support.needs import require

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
RUBRIC = EXAMPLES / "rubric.toml"

TOOLS = {"c": "gcc", "java": "javac", "javascript": "node"}
"""What a submission in a language needs, by its folder."""

REASONS = {
    "build_fails": r"did not build: gcc .* error: ",
    "crashes_at_start": r"did not start: .*FileNotFoundError",
    "no_player": r"no player in it",
    "syntax_error": r"no Python: line 6",
    "wrong_command": r"did not start: .*plyer\.py",
    "wrong_manifest": r"no key 'cmd'",
}
"""Why broken submissions are not played, by name."""

VERDICTS = {
    "crashes_in_game": "disconnected",
    "illegal_moves": "illegal_action",
    "prints_on_stdout": "malformed",
    "too_slow": "timeout",
}
"""By what the others lose their games."""

FULL = {"c": 84.5, "java": 94, "javascript": 100, "python_kit": 98, "python_stdio": 96}
"""The table of the good ones by the whole rubric."""

Row = Mapping[str, str]


def graded(submissions: Path, rubric: Path, out: Path) -> dict[str, Row]:
    """The instructor's table, by name."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "croupier_server", "grade", str(submissions)),
            *("--rubric", str(rubric), "--out", str(out)),
        ],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    with (out / "grades.csv").open(encoding="utf-8-sig", newline="") as file:
        return {row["submission"]: row for row in csv.DictReader(file)}


def rubric_in(folder: Path, *, count: int, blocks: int) -> Path:
    """The example with fewer games."""
    text = set_to(RUBRIC.read_text(encoding="utf-8"), count=count, max_blocks=blocks)
    path = folder / "rubric.toml"
    path.write_text(text, encoding="utf-8")
    return path


def set_to(text: str, **values: int) -> str:
    """A rubric with other values of some keys."""
    for key, value in values.items():
        text = re.sub(rf"^{key} = .*", f"{key} = {value}", text, flags=re.MULTILINE)
    return text


def unchecked(rubric: Path) -> Path:
    """Without the conformance check, which takes long with broken players, and in a hurry."""
    text = set_to(rubric.read_text(encoding="utf-8"), place_ms=400, move_ms=400)
    tables = re.split(r"(?=^\[)", text, flags=re.MULTILINE)
    kept = [table for table in tables if 'kind = "conformance"' not in table]
    rubric.write_text("".join(kept), encoding="utf-8")
    return rubric


def points_of(table: Mapping[str, Row]) -> dict[str, float]:
    return {name: float(row["points"]) for name, row in table.items()}


def good_ones(folder: Path, subtests: pytest.Subtests) -> Path:
    """Those whose languages are there."""
    place = folder / "submissions"
    place.mkdir()
    for found in (EXAMPLES / "submissions").iterdir():
        with subtests.test(found.name):
            tool = TOOLS.get(found.name)
            if tool is not None and shutil.which(tool) is None:
                pytest.skip(f"there is no {tool}")
            if found.is_dir():
                shutil.copytree(found, place / found.name)
            else:
                shutil.copy(found, place)
    return place


@pytest.mark.timeout(300)
def test_good_examples_build_pass_the_check_and_play_without_a_verdict(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    require("posix", sys.platform != "win32", "programs are ended by signals")
    rubric = rubric_in(tmp_path, count=2, blocks=2)
    table = graded(good_ones(tmp_path, subtests), rubric, tmp_path / "out")
    assert {"python_kit", "python_stdio"} <= table.keys()
    for name, row in table.items():
        for line in ("builds (10)", "first-steps (10)", "conformance (20)", "games (20)"):
            assert float(row[line]) == float(line.split("(")[1].rstrip(")")), (name, line, row)
        assert row["problem"] == ""
    assert min(int(row["place"]) for row in table.values()) == 1


@pytest.mark.timeout(300)
def test_each_broken_example_gets_its_reason_or_its_verdict(tmp_path: Path) -> None:
    require("posix", sys.platform != "win32", "programs are ended by signals")
    rubric = unchecked(rubric_in(tmp_path, count=2, blocks=1))
    table = graded(EXAMPLES / "submissions-broken", rubric, tmp_path / "out")
    assert table.keys() == REASONS.keys() | VERDICTS.keys()
    for name, row in table.items():
        report = (tmp_path / "out" / name / "report.html").read_text(encoding="utf-8")
        if name in REASONS and (name != "build_fails" or shutil.which("gcc")):
            assert re.search(REASONS[name], row["problem"]), row["problem"]
            assert float(row["games (20)"]) == 0
        if name in VERDICTS:
            assert int(row[VERDICTS[name]]) > 0
            assert VERDICTS[name] in report
        assert float(row["points"]) < 40


@pytest.mark.full
@pytest.mark.timeout(600)
def test_whole_rubric_gives_the_expected_table_twice(tmp_path: Path) -> None:
    require("posix", sys.platform != "win32", "programs are ended by signals")
    missing = [tool for tool in TOOLS.values() if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"not here: {', '.join(missing)}")
    for out in ("first", "second"):
        table = graded(EXAMPLES / "submissions", RUBRIC, tmp_path / out)
        assert points_of(table) == FULL
