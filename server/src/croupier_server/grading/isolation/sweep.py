"""Ends and removes whatever a submission may have left, when its cell is closed."""

from __future__ import annotations

import ctypes
import os
import signal
import stat
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from croupier_server.grading.isolation import disk, processes, removal
from croupier_server.grading.isolation.cgroup import find_groups
from croupier_server.grading.isolation.processes import Process

__all__ = [
    "REPORTS",
    "end_groups",
    "end_inside",
    "end_marked",
    "end_user",
    "end_wardens",
    "has_lost_wardens",
    "remove_files_of",
    "wardens",
]

REPORTS: Final = "reports"
_PATIENCE_S: Final = 2.0
_KILL_S: Final = 20.0


def wardens(folder: Path) -> Iterator[tuple[int, bool]]:
    """Of each warden that has left no report in a folder: its process id, and whether it runs."""
    for path in folder.glob("*.running"):
        with suppress(OSError, ValueError):  # it has just ended
            pid, started = int(path.stem), int(path.read_text(encoding="utf-8") or 0)
            found = processes.find(pid)
            yield pid, found is not None and found.is_alive and found.started == started


def has_lost_wardens(folder: Path) -> bool:
    """Whether a warden was killed that has its reports below a folder."""
    return any(not runs for _, runs in wardens(folder / REPORTS))


def end_wardens(folder: Path) -> int:
    """End the wardens that run still, and with each its program; give how many there were."""

    def there() -> list[int]:
        return [pid for pid, runs in wardens(folder) if runs]

    found = there()
    for pid in found:
        _signal(pid, signal.SIGTERM)
    if not _until(lambda: not there(), _PATIENCE_S):
        for pid in there():
            _signal(pid, signal.SIGKILL)
        _until(lambda: not there(), _PATIENCE_S)
    return len(found)


def end_groups(parents: Mapping[str, str], token: str) -> int:
    """Kill what is in the control groups of a cell, and remove them; give how many were killed."""
    killed = 0
    for group in find_groups(dict(parents), token):
        killed += group.kill()
        deadline = time.monotonic() + _KILL_S
        while not group.remove() and time.monotonic() < deadline:
            time.sleep(0.005)
            group.kill()
    return killed


def end_user(user: int) -> int:
    """Kill all processes of a user; give how many there were.

    A process of that very user kills all that it may, which the kernel does at once: nothing can
    be started in between.
    """
    killed = 0
    deadline = time.monotonic() + _KILL_S
    while time.monotonic() < deadline:
        there = [process for process in processes.owned_by(user) if process.is_alive]
        if not there:
            break
        killed = max(killed, len(there))
        _kill_as(user)
    return killed


def _kill_as(user: int) -> None:
    subprocess.run(
        ["/bin/sh", "-c", "kill -9 -1"],
        user=user,
        group=user,
        extra_groups=[],
        capture_output=True,
        check=False,
        cwd="/",
        env={},
    )


def end_marked(home: str) -> int:
    """Kill all processes that were started with a home of this name; give how many there were."""
    mark = f"HOME={home}".encode()
    return _end_all(lambda process: mark in _read(process, "environ").split(b"\0"))


def end_inside(base: str) -> int:
    """Kill all processes that see files of the folder of a cell; give how many there were.

    Args:
        base: the folder's name, which is like no other's.
    """
    mark = base.encode()
    return _end_all(lambda process: mark in _read(process, "mountinfo"))


def _end_all(is_one: Callable[[Process], bool]) -> int:
    killed = 0
    deadline = time.monotonic() + _KILL_S
    while time.monotonic() < deadline:
        found = processes.kill(process for process in processes.scan() if is_one(process))
        if not found:
            break
        killed = max(killed, found)
        time.sleep(0.005)
    return killed


def _read(process: Process, name: str) -> bytes:
    try:
        return Path(f"/proc/{process.pid}/{name}").read_bytes()
    except OSError:
        return b""


def remove_files_of(user: int) -> None:
    """Remove what a user has left where every user may write, and in the kernel."""
    for place in disk.PUBLIC_PLACES:
        with suppress(OSError):
            _remove_from(place, None, user)
    _remove_ipc_of(user)


def _remove_from(name: str, parent: int | None, user: int, depth: int = 0) -> None:
    """Remove what a user has in a folder, and in those in it where every user may write.

    Each is opened from within the one above it: others whose programs run meanwhile may put a link
    in the place of a folder of theirs.
    """
    opened = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
    try:
        with os.scandir(opened) as entries:
            there = list(entries)
        for entry in there:
            with suppress(OSError):
                found = entry.stat(follow_symlinks=False)
                if found.st_uid == user:
                    removal.remove_entry(entry.name, opened)
                elif _is_open_to_all(found) and depth < disk.DEEPEST:
                    _remove_from(entry.name, opened, user, depth + 1)
    finally:
        os.close(opened)


def _is_open_to_all(found: os.stat_result) -> bool:
    return stat.S_ISDIR(found.st_mode) and bool(found.st_mode & stat.S_IWOTH)


def _remove_ipc_of(user: int) -> None:
    """Remove shared memory, semaphores and queues of System V."""
    for name, column in (("shm", 7), ("sem", 4), ("msg", 7)):
        with suppress(OSError):
            lines = Path(f"/proc/sysvipc/{name}").read_text(encoding="ascii").splitlines()
            fields = [line.split() for line in lines[1:]]
            for one in fields:
                if int(one[column]) == user:
                    _remove_ipc(name, int(one[1]))


def _remove_ipc(name: str, number: int) -> None:
    libc = ctypes.CDLL(None)
    if name == "sem":
        libc.semctl(number, 0, 0)
    else:
        getattr(libc, f"{name}ctl")(number, 0, None)


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _until(is_so: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True
