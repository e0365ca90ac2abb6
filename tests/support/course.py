"""The course's cases, which are not ours to carry: one JSON object a line, read from a folder.

A case has `name`, `in` (the program's input), `out` (its only right output) and `checks`.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.needs import require

VARIABLE = "CROUPIER_COURSE_CASES"


@dataclass(frozen=True, slots=True)
class CourseCase:
    """One case of one of the course's programs."""

    name: str
    given: Any
    wanted: Any
    checks: str


def course_folder() -> Path | None:
    """Give the folder with the cases, or None where the variable is unset or names none."""
    setting = os.environ.get(VARIABLE)
    folder = Path(setting) if setting else None
    return folder if folder is not None and any(folder.glob("*.jsonl")) else None


def require_course_folder() -> Path:
    """Give the folder with the cases; without one, skip the test or fail it (support.needs)."""
    folder = course_folder()
    setting = os.environ.get(VARIABLE)
    reason = f"no *.jsonl in {VARIABLE}={setting}" if setting else f"{VARIABLE} is not set"
    require("course-cases", folder, reason)
    assert folder is not None
    return folder


def read_cases(path: Path) -> list[CourseCase]:
    """Read one program's cases."""
    cases: list[CourseCase] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        cases.append(CourseCase(case["name"], case["in"], case["out"], case["checks"]))
    return cases


def course_parameters(program: str) -> list[Any]:
    """Give a parameter for each case of a program (`xboard`), for `pytest.mark.parametrize`.

    Without the cases there is one parameter, None, so that the test still runs; it has to begin
    with `require_course_folder()`, which then says why there is nothing to do.
    """
    folder = course_folder()
    if folder is None:
        return [pytest.param(None, id="no-cases")]
    return [pytest.param(case, id=case.name) for case in read_cases(folder / f"{program}.jsonl")]
