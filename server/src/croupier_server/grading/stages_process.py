"""A process that a stage waits for: bounded in time, its output kept up to a cap."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from croupier_common.programs import CappedLog
from croupier_server.gateway.child import environment

__all__ = ["Ended", "run"]

_TERM_S: Final = 2.0
"""A warden has killed all that it watches long before that."""

_DRAIN_S: Final = 1.0
"""How long what a process wrote may take to come, once it has ended."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended.

    Attributes:
        status: its exit code, or the number of the signal that ended it, negative.
        output: what it wrote on standard output and error, in the order in which it came.
        is_late: whether it was ended since its time was over.
    """

    status: int
    output: str
    is_late: bool = False


async def run(
    command: Sequence[str], *, limit_s: float, output_bytes: int, cwd: Path | None = None
) -> Ended:
    """Run a command to its end, without input and with none of our variables.

    If this is cancelled, the process is ended first.

    Args:
        limit_s: how long it may take; then it gets SIGTERM, and is killed.
        output_bytes: how much of its output is kept: the beginning and the end.
    """
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=cwd,
        env=environment({}),
        start_new_session=sys.platform != "win32",
    )
    assert process.stdout is not None
    log = CappedLog(output_bytes // 2, output_bytes - output_bytes // 2)
    kept = bytearray()
    reading = asyncio.create_task(_read(process.stdout, log, kept), name="output")
    is_late = False
    try:
        async with asyncio.timeout(limit_s):
            await process.wait()
    except TimeoutError:
        is_late = True
    finally:
        await _end(process)
        await asyncio.wait({reading}, timeout=_DRAIN_S)
        reading.cancel()
    assert process.returncode is not None
    text = bytes(kept + log.end()).decode("utf-8", "replace")
    return Ended(process.returncode, text, is_late)


async def _read(stream: asyncio.StreamReader, log: CappedLog, kept: bytearray) -> None:
    while data := await stream.read(1 << 16):
        kept += log.feed(data)


async def _end(process: asyncio.subprocess.Process) -> None:
    """See to it that it has ended."""
    if process.returncode is not None:
        return
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(_TERM_S):
            await process.wait()
    except TimeoutError:
        _kill(process)
        await process.wait()


def _kill(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        if sys.platform != "win32":
            import os

            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
