"""Building a submission: its commands in order, in a cell that it may write into."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from typing import Final

from croupier_common.programs import end_text
from croupier_common.render import printable
from croupier_server.grading.evidence import Built
from croupier_server.grading.isolation.model import Cell
from croupier_server.grading.limits import Limits
from croupier_server.grading.stages_process import Ended, run

__all__ = ["build"]

_GRACE_S: Final = 5.0
"""How much longer than its limit a warden may take, before it is ended itself."""


async def build(commands: Sequence[Sequence[str]], cell: Cell, limits: Limits) -> Built:
    """Build a submission: the first command that fails is the last.

    Args:
        cell: a place in which it may write.
        limits: for each command.
    """
    if not commands:
        return Built("none")
    began = time.monotonic()
    told = ""
    for argv in commands:
        seen = len(cell.reports())
        ended = await run(
            cell.command(argv),
            limit_s=limits.wall_s + _GRACE_S,
            output_bytes=limits.output_bytes,
        )
        told = _joined(told, argv, ended, limits.output_bytes)
        detail = _problem(argv, ended, cell, seen)
        if detail:
            return Built("failed", detail, told, time.monotonic() - began)
    return Built("ok", "", told, time.monotonic() - began)


def _joined(told: str, argv: Sequence[str], ended: Ended, most: int) -> str:
    """What all commands have written so far, the last part of it."""
    return f"{told}$ {shlex.join(argv)}\n{ended.output}"[-most:]


def _problem(argv: Sequence[str], ended: Ended, cell: Cell, seen: int) -> str:
    """Why a command failed, in one line; empty if it did not."""
    name = printable(shlex.join(argv), 80)
    reports = cell.reports()[seen:]
    if reports and reports[-1].exceeded is not None:
        return f"{name}: {reports[-1].detail}"
    if ended.is_late:
        return f"{name}: it did not end in time"
    if ended.status == 0:
        return ""
    words = _words(ended.output)
    return f"{name}: {end_text(ended.status)}" + (f"; {words}" if words else "")


def _words(output: str) -> str:
    """What in a build's output says best why it failed: its first error, else its last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    error = next((line for line in lines if "error" in line.casefold()), None)
    if error is not None:
        return f"its first error: {printable(error, 200)}"
    return f"the last line of its output: {printable(lines[-1], 200)}" if lines else ""
