"""All grades of a course in one file: a table for spreadsheets, and everything as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from croupier_common.verdict import Verdict
from croupier_server.commands.csv_files import Cell, csv_text
from croupier_server.grading.evidence import Evidence
from croupier_server.grading.kept import dumped
from croupier_server.grading.results.graded import Graded
from croupier_server.grading.results.problems import problem_of
from croupier_server.grading.scoring import Taken, verdict_counts
from croupier_server.grading.scoring_lines import percentile

__all__ = ["grades_csv", "grades_json"]

FAULTS: Final = tuple(verdict.value for verdict in Verdict if verdict.is_fault)

VERSION: Final = 1
"""Of the JSON file's form."""


def grades_csv(graded: Sequence[Graded]) -> str:
    """A row for each submission, by name, and a column for each line; names are as they are."""
    rows = sorted(graded, key=lambda one: one.grade.name)
    lines = _lines(rows)
    titles = [f"{line} ({of:g})" for line, of in lines]
    taken = ["deductions", "caps"]
    rest = [*FAULTS, "place", "of", "think_median_ms", "problem", "source"]
    head = ["submission", "player", "points", "of_points", *titles, *taken, *rest]
    return csv_text([head, *(list(_row(one, [line for line, _ in lines])) for one in rows)])


def grades_json(graded: Sequence[Graded]) -> dict[str, Any]:
    """All grades with all that was found out, by name, as an object of JSON."""
    rows = sorted(graded, key=lambda one: one.grade.name)
    return {"version": VERSION, "submissions": list(map(_whole, rows))}


def _whole(one: Graded) -> dict[str, Any]:
    return {
        "name": one.grade.name,
        "grade": json.loads(dumped(one.grade)),
        "evidence": json.loads(dumped(one.evidence)),
    }


def _lines(rows: Sequence[Graded]) -> list[tuple[str, float]]:
    """The ids of all lines, with their points, in the rubric's order."""
    return list(dict.fromkeys((line.id, line.of) for row in rows for line in row.grade.lines))


def _row(one: Graded, lines: Sequence[str]) -> Iterator[Cell]:
    grade, evidence = one.grade, one.evidence
    reached = {line.id: line.points for line in grade.lines}
    yield from (grade.name, evidence.intake.player, grade.points, grade.of)
    yield from (reached.get(line) for line in lines)
    yield _taken(grade.deductions)
    yield _taken(grade.caps)
    counts = verdict_counts(evidence)
    yield from (counts[verdict] for verdict in FAULTS)
    placing = evidence.placing
    yield from (None, None) if placing is None else (placing.place, placing.of)
    yield _median(evidence)
    yield from (_problem(evidence), evidence.intake.source)


def _taken(taken: Sequence[Taken]) -> float:
    """What was taken off, as a number below 0; 0 and not -0 where nothing was."""
    return round(0.0 - sum(one.points for one in taken), 2)


def _median(evidence: Evidence) -> int | None:
    matches = evidence.matches.values()
    return percentile((time for m in matches for g in m.games for time in g.thinks_ms), 50)


def _problem(evidence: Evidence) -> str:
    """What kept it from being graded in full; empty if nothing did."""
    found = problem_of(evidence)
    return "" if found is None else f"{found.title}: {' '.join(found.text.split())}"
