"""A grade as Gradescope reads it, from ``results.json``.

The form is in its autograder specifications
(https://gradescope-autograders.readthedocs.io/en/latest/specs/). All texts are plain: their format
is ``text`` everywhere, which Gradescope shows as it is, so that nothing that a program says becomes
HTML or a link.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from croupier_common.render import printable
from croupier_server import __version__
from croupier_server.grading.evidence import Evidence
from croupier_server.grading.rubric_lines import Kind
from croupier_server.grading.scoring import Grade, LineScore, verdict_counts
from croupier_server.grading.scoring_lines import counted

__all__ = ["failing_json", "gradescope_json"]

NAMED: dict[Kind, str] = {
    "builds": "building",
    "conformance": "conformance",
    "games": "games",
    "beats": "strength",
    "place": "round robin",
    "think_time": "think time",
}
"""By kind of line, its tag."""


def gradescope_json(grade: Grade, evidence: Evidence) -> dict[str, Any]:
    """The content of ``results.json``.

    Lines that are not public have the visibility that the rubric says, and nothing of them stands
    in what all see but their points in the sum.
    """
    return {
        **_frame(grade.points, "\n".join(_output(grade, evidence))),
        "execution_time": round(_took_s(evidence)),
        "tests": [_test(line, number, grade.hidden) for number, line in enumerate(grade.lines, 1)],
        "leaderboard": list(_leaderboard(grade, evidence)),
        "extra_data": {
            "croupier": __version__,
            "submission": printable(grade.name, 200),
            "digest": evidence.intake.digest,
            "of": grade.of,
        },
    }


def failing_json(reason: str) -> dict[str, Any]:
    """Results of a grading that did not come to its end: no points, and what happened.

    Args:
        reason: one line, that an outer kill leaves as the last word.
    """
    told = printable(reason, 1_000)
    return {
        **_frame(0.0, f"This submission has no grade: {told}"),
        "tests": [
            {
                "name": "Grading",
                "number": "1",
                "score": 0.0,
                "max_score": 0.0,
                "status": "failed",
                "output": told,
                "visibility": "visible",
                **_plain(),
            }
        ],
        "leaderboard": [],
        "extra_data": {"croupier": __version__},
    }


def _frame(score: float, output: str) -> dict[str, Any]:
    """What all results have; the standard output is the grader's, and nobody else's business."""
    return {
        "score": score,
        "output": output,
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
    }


def _plain() -> dict[str, str]:
    return {"name_format": "text", "output_format": "text"}


def _test(line: LineScore, number: int, hidden: str) -> dict[str, Any]:
    return {
        "name": printable(line.title, 200),
        "number": str(number),
        "score": line.points,
        "max_score": line.of,
        "status": "passed" if line.status == "passed" else "failed",
        "output": "\n".join(line.reasons),
        "tags": [NAMED[line.kind]],
        "visibility": "visible" if line.public else hidden,
        **_plain(),
    }


def _output(grade: Grade, evidence: Evidence) -> Iterator[str]:
    """What belongs to no line."""
    yield f"{printable(grade.title, 200)}: {grade.points:g} of {grade.of:g} points"
    for note in evidence.intake.notes:
        yield f"taken in: {printable(note, 300)}"
    for taken in grade.taken:
        yield f"-{taken.points:g}: {taken.reason}"
    for verdict, games in sorted(verdict_counts(_shown(grade, evidence)).items()):
        yield f"{verdict}: {counted(games, 'game')}"


def _shown(grade: Grade, evidence: Evidence) -> Evidence:
    """Without the games that hidden lines alone look at."""
    public = {level for line in grade.lines if line.public for level in line.levels}
    hidden = {level for line in grade.lines for level in line.levels} - public
    kept = {level: one for level, one in evidence.matches.items() if level not in hidden}
    return replace(evidence, matches=kept)


def _leaderboard(grade: Grade, evidence: Evidence) -> Iterator[dict[str, Any]]:
    """Who did nothing is not on it."""
    match = evidence.matches.get(grade.strongest)
    if match is not None and match.games:
        mean = sum(sorted(game.score for game in match.games)) / len(match.games)
        name = f"Score against {grade.strongest} (%)"
        yield {"name": name, "value": round(100 * mean, 1), "order": "desc"}
    if evidence.placing is not None:
        yield {"name": "Place in the round robin", "value": evidence.placing.place, "order": "asc"}


def _took_s(evidence: Evidence) -> float:
    stages = [stage.took_s for stage in (evidence.built, evidence.checked) if stage is not None]
    return sum(stages) + sum(match.took_s for match in evidence.matches.values())
