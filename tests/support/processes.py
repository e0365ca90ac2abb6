"""Processes by their numbers: whether they are there, and what others see of them."""

import asyncio
import os
import sys
from collections.abc import Iterable
from pathlib import Path


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that is dead and waits for its parent does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    if sys.platform != "linux":
        return True
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in {"Z", "X"}


async def all_gone(pids: Iterable[int], within_s: float = 10.0) -> list[int]:
    """Wait until none of them runs; give those that still do in the end."""
    deadline = asyncio.get_running_loop().time() + within_s
    left = [pid for pid in pids if is_alive(pid)]
    while left and asyncio.get_running_loop().time() < deadline:
        await asyncio.sleep(0.02)
        left = [pid for pid in left if is_alive(pid)]
    return left


def command_line(pid: int) -> str:
    """What everybody can read of a process, on Linux: its program and its arguments."""
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
