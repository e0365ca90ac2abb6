"""``croupier grade --gradescope``: inside the container of that system, from its usual folders."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click

from croupier_server.app import Stopped
from croupier_server.errors import CroupierError, UserError
from croupier_server.grading.cli_run import RUBRIC, Wish, run_grading
from croupier_server.grading.evidence import FAULT
from croupier_server.grading.grader_results import NOT_FINISHED
from croupier_server.grading.results.gradescope import failing_json
from croupier_server.grading.results.writing import write_atomic
from croupier_server.grading.rubric import load_rubric

__all__ = ["grade_for_gradescope"]

SET_UP: Final = "The autograder is not set up as it should be, which is not your fault"


def grade_for_gradescope(wish: Wish, root: Path) -> int:
    """Grade the one submission that is in the system's folder; gives the exit code.

    A valid failing file is written first, so that a run that is killed from outside leaves one; and
    whatever goes wrong with ours, the student's file says that it did.

    Raises:
        CroupierError: it can't be done.
    """
    results = _results(root)
    rubric_file = wish.rubric or root / "source" / RUBRIC
    for folder in ("source", "results", "submission"):
        with suppress(OSError):
            (root / folder).chmod(0o700)
    try:
        rubric = load_rubric(rubric_file)
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
            out = wish.out or Path(scratch) / "graded"
            wish = replace(wish, out=out)
            outcome = run_grading(wish, root / "submission", rubric, rubric_file, is_one=True)
            if len(outcome.graded) != 1:
                raise UserError(f"{root / 'submission'}: one submission is wanted there")
            name = outcome.graded[0].grade.name
            write_atomic(results, (out / name / "results.json").read_text(encoding="utf-8"))
    except Stopped as stopped:
        return 128 + stopped.signum
    except CroupierError as problem:
        _write(results, failing_json(f"{SET_UP}: {problem}"))
        raise
    except Exception:  # whatever it is, the student is to read that it is ours
        _write(results, failing_json(FAULT))
        raise
    click.echo(f"wrote {results}")
    return 1 if outcome.faults else 0


def _results(root: Path) -> Path:
    """The file of results, which is there and says that the grading did not finish."""
    results = root / "results" / "results.json"
    try:
        results.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise UserError(f"--root {root}: {problem.strerror}") from None
    _write(results, failing_json(NOT_FINISHED))
    return results


def _write(path: Path, value: Mapping[str, Any]) -> None:
    write_atomic(path, json.dumps(value, indent=2) + "\n")
