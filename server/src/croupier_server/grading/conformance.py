"""The conformance check of a submission: `penguin check`, as a process of its own."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast, get_args

from croupier_common.jsontypes import is_array, is_object
from croupier_common.render import printable
from croupier_server.errors import CroupierError
from croupier_server.grading.evidence import Checked, StepResult, StepStatus
from croupier_server.grading.stages_process import Ended, run

__all__ = ["CheckFailed", "check"]

LIMIT_S: Final = 300.0
"""How long a whole check may take; what is left then is skipped."""

_GRACE_S: Final = 30.0
_BUDGETS_MS: Final = (50, 600_000)
_OUTPUT: Final = 64 * 1024


class CheckFailed(CroupierError):
    """The check itself did not do its work."""


async def check(command: Sequence[str], *, budget_ms: int, report: Path) -> Checked:
    """Put a program through the steps of the check.

    Args:
        command: starts it with pipes.
        budget_ms: how long each of its answers may take.
        report: where the check leaves its report, in a folder of ours; it is removed.

    Raises:
        CheckFailed: it could not be done, for a fault of ours.
    """
    began = time.monotonic()
    low, high = _BUDGETS_MS
    checking = [
        # -P: not with modules from where we are, which may be among what strangers have sent
        *(sys.executable, "-P", "-m", "croupier_client", "check"),
        *("--json", str(report), "--budget", str(min(max(budget_ms, low), high))),
        *("--limit", f"{LIMIT_S:g}", "--", *command),
    ]
    ended = await run(checking, limit_s=LIMIT_S + _GRACE_S, output_bytes=_OUTPUT)
    took_s = time.monotonic() - began
    if ended.is_late:
        return Checked(problem=f"it did not end within {LIMIT_S:g} s", took_s=took_s)
    return Checked(_steps(report, ended), took_s=took_s)


def _steps(report: Path, ended: Ended) -> tuple[StepResult, ...]:
    try:
        found: object = json.loads(report.read_text(encoding="utf-8"))
        report.unlink()
    except (OSError, ValueError):
        found = None
    steps = found.get("steps") if is_object(found) else None
    if not is_array(steps):
        last = printable(" ".join(ended.output.split()), 400)
        raise CheckFailed(f"the conformance check ended with {ended.status}: {last}")
    return tuple(_step(step) for step in steps if is_object(step))


def _step(step: Mapping[str, Any]) -> StepResult:
    status = str(step["status"])
    assert status in get_args(StepStatus)
    return StepResult(
        step=str(step["step"]),
        group=str(step["group"]),
        about=str(step["about"]),
        status=cast("StepStatus", status),
        told=str(step["told"]),
        hint=str(step["hint"]),
    )
