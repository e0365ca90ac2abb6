"""A grade as GitHub Classroom's autograding reporter reads it.

The reporter (https://github.com/classroom-resources/autograding-grading-reporter) takes such an
object, in base64, as the result of a runner; the points are the sum of its tests' scores. All that
stands in it is in the log of a workflow, which the student reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from croupier_common.render import printable
from croupier_server.grading.scoring import Grade, LineScore

__all__ = ["classroom_json"]


def classroom_json(grade: Grade) -> dict[str, Any]:
    """The object, whose scores add up to the grade's points.

    Lines that are not public are one test together, without a reason.
    """
    tests = list(_tests(grade))
    has_passed = all(test["status"] == "pass" for test in tests)
    return {
        "version": 1,
        "status": "pass" if has_passed else "fail",
        "max_score": grade.of,
        "tests": tests,
    }


def _tests(grade: Grade) -> Iterator[dict[str, Any]]:
    for line in grade.lines:
        if line.public:
            yield _test(line)
    hidden = [line for line in grade.lines if not line.public]
    if hidden:
        points = round(sum(line.points for line in hidden), 2)
        has_passed = all(line.status == "passed" for line in hidden)
        told = "" if has_passed else "the reasons are with the instructor"
        yield _entry("Lines that are not shown", points, has_passed=has_passed, message=told)
    for taken in grade.taken:
        yield _entry("Taken off", -taken.points, has_passed=False, message=taken.reason)


def _test(line: LineScore) -> dict[str, Any]:
    told = f"{line.points:g} of {line.of:g} points. " + "\n".join(line.reasons)
    return _entry(line.title, line.points, has_passed=line.status == "passed", message=told)


def _entry(name: str, points: float, *, has_passed: bool, message: str) -> dict[str, Any]:
    return {
        "name": printable(name, 200),
        "status": "pass" if has_passed else "fail",
        "score": points,
        "message": _no_command(message),
        "test_code": "",
        "filename": "",
        "line_no": 0,
        "duration": 0,
    }


def _no_command(text: str) -> str:
    """Text that a workflow's log takes for nothing but text: ``::`` and ``##[`` make commands."""
    return re.sub(r":(?=:)|#(?=#\[)", r"\g<0> ", text)
