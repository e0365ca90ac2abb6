"""The processes of this machine, as /proc shows them; nothing where there is none."""

# ruff: noqa: PTH116, PTH123, PTH208 - no
# pathlib, without which a warden starts quicker

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


class Process:
    """One process, as it was when it was looked at.

    Attributes:
        started: when, in ticks since the machine's start; with the id, like no other's.
        cpu_s: its processor time, with that of the children that it has waited for.
        memory: bytes, each page in full even if it is shared.
    """

    __slots__ = ("cpu_s", "memory", "parent", "pid", "started", "state", "threads")

    def __init__(self, pid: int, line: str) -> None:
        fields = line[line.rindex(")") + 2 :].split()
        self.pid = pid
        self.state = fields[0]
        self.parent = int(fields[1])
        self.cpu_s = sum(map(int, fields[11:15])) / _TICKS
        self.threads = int(fields[17])
        self.started = int(fields[19])
        self.memory = int(fields[21]) * _PAGE

    @property
    def is_alive(self) -> bool:
        """Whether it is more than a name that its parent has not asked after yet."""
        return self.state not in "ZX"


def find(pid: int) -> Process | None:
    """A process; None if there is no such any more."""
    try:
        with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
            return Process(pid, file.read())
    except (OSError, ValueError):
        return None


def scan() -> list[Process]:
    """All processes."""
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    found = (find(int(name)) for name in names if name.isdigit())
    return [process for process in found if process is not None]


def descendants(pid: int) -> list[Process]:
    """All that a process has started, and what those have started, and so on."""
    children: dict[int, list[Process]] = {}
    for process in scan():
        children.setdefault(process.parent, []).append(process)
    found: list[Process] = []
    parents = [pid]
    while parents:
        those = children.pop(parents.pop(), [])
        found += those
        parents += [process.pid for process in those]
    return found


def owned_by(user: int) -> list[Process]:
    """All processes of a user, alive or not."""
    found: list[Process] = []
    for process in scan():
        try:
            if os.stat(f"/proc/{process.pid}").st_uid == user or _real_user(process.pid) == user:
                found.append(process)
        except OSError:
            continue
    return found


def _real_user(pid: int) -> int:
    """The real user: /proc shows a process that may not be looked into as root's."""
    with open(f"/proc/{pid}/status", encoding="latin-1") as file:
        for line in file:
            if line.startswith("Uid:"):
                return int(line.split()[1])
    return -1


def exact_memory(processes: Iterable[Process]) -> int:
    """What they have in memory, with what they share counted once; takes a while."""
    return sum(_share(process) for process in processes)


def _share(process: Process) -> int:
    try:
        with open(f"/proc/{process.pid}/smaps_rollup", encoding="latin-1") as file:
            for line in file:
                if line.startswith("Pss:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        return process.memory
    return 0  # it has ended since


def kill(processes: Iterable[Process]) -> int:
    """Kill processes; give how many were alive."""
    killed = 0
    for process in processes:
        if process.is_alive:
            try:
                os.kill(process.pid, 9)
            except (ProcessLookupError, PermissionError):
                continue
            killed += 1
    return killed
