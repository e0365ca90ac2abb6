"""What a submission wrote on standard error: a file for each start, one text of them all."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from croupier_common.programs import CappedLog
from croupier_server.grading.results.writing import write_atomic

__all__ = ["STAGE_BYTES", "gather", "joined"]

STAGE_BYTES: Final = 64 * 1024
"""How much of a stage's log is kept: the beginning and the end."""


def gather(folder: Path, into: Path) -> None:
    """Put the logs of all starts in a folder into one file, and remove the folder."""
    log = CappedLog(STAGE_BYTES // 2, STAGE_BYTES - STAGE_BYTES // 2)
    kept = bytearray()
    for path in sorted(folder.glob("*.log")):
        with suppress(OSError):
            kept += log.feed(path.read_bytes())
    kept += log.end()
    shutil.rmtree(folder, ignore_errors=True)
    if kept:
        write_atomic(into, bytes(kept).decode("utf-8", "replace"), lasts=False)
    else:
        into.unlink(missing_ok=True)


def joined(logs: Mapping[str, Path]) -> str:
    """The logs of matches as one text, each below a title; what is empty is left out.

    Args:
        logs: by level of the house players.
    """
    found: list[str] = []
    for level, path in logs.items():
        with suppress(OSError):
            text = path.read_text(encoding="utf-8", errors="replace")
            found.append(f"== match against {level}\n{text.rstrip()}\n")
    return "\n".join(found)
