"""Results as data: other systems' forms, and nothing in them that a program could put there."""

from __future__ import annotations

import csv
import io
import json
import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from croupier_common.verdict import Verdict
from croupier_server.errors import UserError
from croupier_server.grading.evidence import (
    BlockPlayed,
    Built,
    Evidence,
    GamePlayed,
    Intake,
    Match,
    Mishap,
    Placing,
)
from croupier_server.grading.results.classroom import classroom_json
from croupier_server.grading.results.explain import explain_lines
from croupier_server.grading.results.graded import Graded
from croupier_server.grading.results.gradescope import failing_json, gradescope_json
from croupier_server.grading.results.tables import grades_csv, grades_json
from croupier_server.grading.results.writing import write_atomic
from croupier_server.grading.rubric import (
    Beats,
    Builds,
    Cap,
    Deductions,
    FinishedGames,
    PlaceLine,
    Robin,
    Rubric,
)
from croupier_server.grading.scoring import Grade, grade

RUBRIC: Final = Rubric(
    "Fish players",
    (
        Builds(id="builds", title="It builds", points=10),
        FinishedGames(id="games", title="It plays on", points=20, against="greedy", count=4),
        Beats(
            id="secret",
            title="It beats minimax",
            points=5,
            against="minimax:2",
            score1=0.7,
            public=False,
        ),
        PlaceLine(id="place", title="Its place", points=5),
    ),
    deductions=Deductions({Verdict.TIMEOUT: 1.0}),
    caps=(Cap("verdicts", 20),),
    robin=Robin(),
    hidden="after_published",
)
VISIBILITIES: Final = {"visible", "hidden", "after_due_date", "after_published"}
FORMATS: Final = {"text"}


def evidence(name: str = "ada", player: str = "Ada", detail: str = "no move in time") -> Evidence:
    late = Mishap(Verdict.TIMEOUT, "movement", detail, "Be quicker.")
    games = tuple(
        GamePlayed(
            f"greedy.1.{at + 1}",
            at,
            (player, "greedy"),
            1.0 - at,
            20,
            thinks_ms=(10 + at,),
            mishap=late if at else None,
        )
        for at in range(2)
    )
    strong = replace(games[1], game="minimax.1.1", seat=0)
    return Evidence(
        Intake(name, player, f"{name}.zip", notes=("one folder was entered",), digest="ab12"),
        Built("ok", took_s=1.5),
        None,
        {
            "greedy": Match("greedy", (BlockPlayed(1, 7, games),), took_s=2.4),
            "minimax:2": Match("minimax:2", (BlockPlayed(1, 7, (strong,)),)),
        },
        Placing(2, 3, 0.5, 4),
    )


def graded(*several: Evidence) -> list[Graded]:
    return [Graded(grade(RUBRIC, one), one) for one in several]


def made(found: Evidence) -> tuple[Grade, dict[str, Any]]:
    points = grade(RUBRIC, found)
    return points, gradescope_json(points, found)


# -- Gradescope


def check_gradescope(results: dict[str, Any]) -> None:
    """The form of https://gradescope-autograders.readthedocs.io/en/latest/specs/."""
    assert json.loads(json.dumps(results, allow_nan=False)) == results
    assert set(results) <= {
        "score",
        "execution_time",
        "output",
        "output_format",
        "test_output_format",
        "test_name_format",
        "visibility",
        "stdout_visibility",
        "extra_data",
        "tests",
        "leaderboard",
    }
    assert isinstance(results["score"], float)
    assert {results["visibility"], results["stdout_visibility"]} <= VISIBILITIES
    for test in results["tests"]:
        assert set(test) == {
            "name",
            "name_format",
            "number",
            "score",
            "max_score",
            "status",
            "output",
            "output_format",
            "tags",
            "visibility",
        } - (set() if "tags" in test else {"tags"})
        assert test["status"] in {"passed", "failed"}
        assert test["visibility"] in VISIBILITIES
        assert {test["name_format"], test["output_format"]} == FORMATS
        assert 0 <= test["score"] <= test["max_score"]
    for entry in results["leaderboard"]:
        assert set(entry) == {"name", "value", "order"}
        assert entry["order"] in {"asc", "desc"}
    # what is HTML by default elsewhere, the top-level output above all, is text here
    for name in ("output_format", "test_output_format", "test_name_format"):
        assert results[name] in FORMATS


def test_gradescope_reads_a_grade() -> None:
    points, results = made(evidence())
    check_gradescope(results)
    assert results["score"] == points.points
    assert results["execution_time"] == 4
    assert [test["score"] for test in results["tests"]] == [line.points for line in points.lines]
    assert [test["number"] for test in results["tests"]] == ["1", "2", "3", "4"]
    assert results["leaderboard"] == [
        {"name": "Score against greedy (%)", "value": 50.0, "order": "desc"},
        {"name": "Place in the round robin", "value": 2, "order": "asc"},
    ]


def test_hidden_line_is_hidden_as_the_rubric_says_and_told_nowhere_else() -> None:
    _, results = made(evidence())
    shown = {test["name"]: test["visibility"] for test in results["tests"]}
    assert shown["It beats minimax"] == "after_published"
    assert shown["It builds"] == "visible"
    results["tests"] = [test for test in results["tests"] if test["visibility"] == "visible"]
    assert "minimax" not in json.dumps(results)
    assert "timeout: 1 game" in results["output"], "and not the one of the hidden match"


def test_what_a_program_says_stays_text_of_one_line() -> None:
    hostile = evidence(
        name="<b>x</b>", detail='<script>alert(1)</script>\n\n# head\n\x1b[2J[a](javascript:1) " "'
    )
    _, results = made(hostile)
    check_gradescope(results)
    [told] = [line for line in results["tests"][1]["output"].splitlines() if "script" in line]
    assert told.startswith("timeout in 1 game: <script>alert(1)</script> # head")
    assert "\x1b" not in results["tests"][1]["output"]


def test_grade_of_nothing_is_valid() -> None:
    _, results = made(Evidence(Intake("x", "", "x.zip", problem="a zip bomb")))
    check_gradescope(results)
    assert (results["score"], results["leaderboard"]) == (0, [])


def test_run_that_did_not_finish_has_valid_results_that_say_so() -> None:
    results = failing_json("the grading was cut off after 600 s\nby its container")
    check_gradescope(results)
    assert results["score"] == 0
    assert results["tests"][0]["status"] == "failed"
    assert "the grading was cut off after 600 s" in results["output"]


# -- GitHub Classroom


def test_classroom_adds_up_to_the_grade() -> None:
    points = grade(RUBRIC, evidence())
    results = classroom_json(points)
    assert json.loads(json.dumps(results)) == results
    assert (results["version"], results["status"]) == (1, "fail")
    assert results["max_score"] == points.of
    assert sum(test["score"] for test in results["tests"]) == pytest.approx(points.points)
    for test in results["tests"]:
        assert test["status"] in {"pass", "fail", "error"}
        assert isinstance(test["name"], str)
        assert isinstance(test["message"], str)


def test_classroom_shows_no_hidden_line() -> None:
    results = classroom_json(grade(RUBRIC, evidence()))
    assert "minimax" not in json.dumps(results)
    assert [test["name"] for test in results["tests"]] == [
        "It builds",
        "It plays on",
        "Its place",
        "Lines that are not shown",
        "Taken off",
    ]


def test_program_gives_no_command_to_a_workflow() -> None:
    told = "::error file=x::y\n::set-output::z\n:::::error::\n###[error]x ##[add-path]/tmp"
    text = json.dumps(classroom_json(grade(RUBRIC, evidence(detail=told))))
    assert "::" not in text
    assert "##[" not in text


# -- the instructor's tables


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_table_has_a_row_for_each_submission_and_a_column_for_each_line() -> None:
    failed = Evidence(Intake("bob", "Bób", "bob.zip"), Built("failed", "no\njavac"))
    rows = read(grades_csv(graded(failed, evidence())))
    assert [row["submission"] for row in rows] == ["ada", "bob"]
    ada, bob = rows
    assert (ada["builds (10)"], ada["games (20)"], ada["place (5)"]) == ("10", "5", "2.5")
    assert (ada["deductions"], ada["caps"], ada["points"], ada["of_points"]) == (
        "-2",
        "0",
        "15.5",
        "40",
    )
    assert (ada["timeout"], ada["malformed"], ada["place"], ada["think_median_ms"]) == (
        "2",
        "0",
        "2",
        "11",
    )
    assert (bob["player"], bob["points"], bob["place"]) == ("Bób", "0", "")
    assert bob["problem"] == "It did not build: no javac"


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_name_is_no_formula_and_stays_as_it_is(name: str) -> None:
    [row] = read(grades_csv(graded(evidence(player=name))))
    assert not row["player"].startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
    assert row["player"].removeprefix("'") == name.removeprefix("'")


def test_all_of_it_is_in_the_json() -> None:
    several = graded(evidence("bob"), evidence("ada"))
    found = json.loads(json.dumps(grades_json(several), allow_nan=False))
    assert [one["name"] for one in found["submissions"]] == ["ada", "bob"]
    [first, _] = found["submissions"]
    assert first["grade"]["points"] == several[1].grade.points
    assert first["evidence"]["matches"]["greedy"]["blocks"][0]["games"][1]["mishap"]["detail"]


# -- explaining


def test_explanation_shows_how_each_point_came_about() -> None:
    lines = list(explain_lines(grade(RUBRIC, evidence())))
    text = "\n".join(lines)
    assert lines[0] == "ada: Fish players"
    assert " 10.00 / 10.00  It builds" in lines
    assert "                it builds" in text
    assert "  0.00 /  5.00  It beats minimax (not shown to students)" in lines
    assert " -2.00          deduction: timeout in 2 games, 1 point each" in lines
    assert lines[-1] == " 15.50 / 40.00  in all"


def test_explanation_of_a_cap() -> None:
    cap = replace(RUBRIC, caps=(Cap("verdicts", 3),))
    lines = list(explain_lines(grade(cap, evidence())))
    assert "-12.50          cap: at most 3 points: 2 games ended with a verdict" in lines


@given(st.text(max_size=400), st.text(max_size=200))
def test_explanation_is_80_columns_wide(name: str, detail: str) -> None:
    for line in explain_lines(grade(RUBRIC, evidence(name=name, detail=detail))):
        assert len(line) <= 80
        assert line.isprintable()


# -- writing


def test_file_is_replaced_whole_and_nothing_else_is_left(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    write_atomic(file, "old")
    write_atomic(file, "néw \udc80")
    assert file.read_text(encoding="utf-8") == "néw ?"
    assert list(tmp_path.iterdir()) == [file]
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(file.stat().st_mode) == 0o666 & ~mask


def test_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    other, file = tmp_path / "other", tmp_path / "results.json"
    other.write_text("mine")
    file.symlink_to(other)
    write_atomic(file, "new")
    assert other.read_text() == "mine"
    assert not file.is_symlink()


def test_what_was_there_stays_if_writing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "results.json"
    write_atomic(file, "old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match=r"results\.json: No space left on device"):
        write_atomic(file, "new")
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_missing_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file or directory"):
        write_atomic(tmp_path / "none" / "x", "")
