"""The instructor's overview: every submission, every line, problems first, and nothing hostile."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from croupier_common.verdict import Verdict
from croupier_server.grading.evidence import Built, Evidence, Intake, Mishap, Placing
from croupier_server.grading.results.charts import split_svg, tenths, tenths_svg
from croupier_server.grading.results.graded import Graded
from croupier_server.grading.results.overview_html import overview_html
from support.graded import HIDDEN_GREEDY, HOSTILE, a_match, a_rubric, a_submission, graded_by

ILLEGAL = Mishap(Verdict.ILLEGAL_ACTION, "placement", "[0, 0] is a hole", "Place on a tile.")


def a_course(folder: Path) -> Sequence[Graded]:
    rubric = a_rubric(folder, HIDDEN_GREEDY)
    found = [
        a_submission("ada", matches=[a_match("ada", "random")], placing=Placing(1, 2, 0.9, 4)),
        a_submission("ben", matches=[a_match("ben", "random", mishaps=[ILLEGAL, ILLEGAL])]),
        Evidence(Intake("cy", "cy", "cy.zip", "cy.zip is encrypted")),
        Evidence(Intake("dee", "dee", "dee.zip"), Built("failed", "make: exit code 2")),
    ]
    return [graded_by(rubric, evidence) for evidence in found]


def page_of(graded: Sequence[Graded], not_contained: Sequence[str] = ()) -> str:
    return overview_html("Fish 101", graded, isolation="plainly", not_contained=not_contained)


def rows_of(page: str, after: str) -> list[list[str]]:
    """The cells of a table's body."""
    body = page.partition(after)[2].partition("<tbody>")[2].partition("</tbody>")[0]
    return [
        [" ".join(re.sub(r"<[^>]*>", "", cell).split()) for cell in re.split(r"</t[hd]>", row)[:-1]]
        for row in body.split("</tr>")[:-1]
    ]


def test_table_has_each_submission_with_all_its_points(tmp_path: Path) -> None:
    graded = a_course(tmp_path)
    rows = rows_of(page_of(graded), 'class="sortable"')
    assert [row[0] for row in rows] == ["ada", "ben", "cy", "dee"]
    for row, one in zip(rows, graded, strict=True):
        points = [one.grade.points, *(line.points for line in one.grade.lines)]
        assert [float(cell) for cell in row[2 : 3 + len(one.grade.lines)]] == points
    assert rows[0][7] == "1"
    assert rows[1][9] == "2"
    assert [row[-1] for row in rows] == ["", "", "It was not graded", "It did not build"]


def test_problems_come_before_the_table(tmp_path: Path) -> None:
    page = page_of(a_course(tmp_path))
    before = page.partition('class="sortable"')[0]
    assert "It was not graded: <bdi>cy.zip is encrypted" in before
    assert "It did not build: <bdi>make: exit code 2" in before


def test_lines_and_verdicts_are_counted(tmp_path: Path) -> None:
    page = page_of(a_course(tmp_path))
    lines = rows_of(page, 'id="lines"')
    assert lines[0][:6] == ["It builds builds", "10", "5", "2", "0", "2"]
    assert "hidden" in lines[3][0]
    assert rows_of(page, 'id="verdicts"')[0][:3] == ["illegal action", "2", "1"]


def test_what_was_not_contained_is_said(tmp_path: Path) -> None:
    graded = a_course(tmp_path)
    page = page_of(graded, ["It can read the rubric."])
    assert "<li>It can read the rubric.</li>" in page
    assert "plainly" in page
    assert "not contained" not in page_of(graded)


def test_hostile_names_are_text_and_links_stay_in_the_folder(tmp_path: Path) -> None:
    rubric = a_rubric(tmp_path)
    names = [HOSTILE, "javascript:alert(1)", "../../etc", '"><img src=x>', "//evil.example"]
    graded = [graded_by(rubric, a_submission(name, problem=HOSTILE)) for name in names]
    page = page_of(graded, [HOSTILE])
    assert page.count("<script") == 1
    assert "<img" not in page
    assert "\u202e" not in page
    links = set(re.findall(r'href="([^"]*)"', page)) - {"#main", "grades.csv", "grades.json"}
    assert len(links) == len(names)
    assert all(re.fullmatch(r"\./[^/]+/report\.html", link) for link in links)
    assert all(".." not in link.split("/")[1].replace("..%2F", "") for link in links)


def test_overview_of_nothing_is_a_page() -> None:
    page = page_of([])
    assert "0 submissions" in page
    assert "<table" not in page


def test_grades_are_counted_by_tenths() -> None:
    found = tenths([0.0, 0.05, 0.1, 0.7, 0.7 - 1e-12, 0.999, 1.0, 1.0])
    assert [one.count for one in found] == [2, 1, 0, 0, 0, 0, 0, 2, 0, 3]
    assert sum(one.count for one in tenths([])) == 0
    assert tenths_svg(tenths([])).count("<rect") == 10


def test_bar_is_split_as_the_counts_are() -> None:
    widths = [
        float(one) for one in re.findall(r'<rect[^>]* width="([\d.]+)"', split_svg((2, 1, 1)))
    ]
    assert widths == [120.0, 60.0, 60.0]
    assert "nan" not in split_svg((0, 0, 0))
