"""Control groups of Linux: they count memory, processes and time exactly, and hold them to limits.

Both versions are known. A group is made below the one that we are in, so that limits which are set
for us hold for it too; with version 2 mostly beside it, since a group that has processes can't have
groups with limits.
"""

# ruff: noqa: PTH102, PTH106, PTH120, PTH123, PTH208 - no
# pathlib, without which a warden starts quicker

from __future__ import annotations

import os

_NEEDED = ("memory", "pids")
_WANTED = ("memory", "pids", "cpuacct")
_PREFIX = "croupier"


def find_parents(
    mounts: str = "/proc/self/mountinfo", groups: str = "/proc/self/cgroup"
) -> dict[str, str]:
    """Where groups can be made: a folder for each controller, or one as ``unified``; {} if nowhere.

    Each is tried out.
    """
    try:
        found = _version_1(_read(mounts), _read(groups))
        if all(name in found for name in _NEEDED):
            return found
        for folder in _version_2(_read(mounts), _read(groups)):
            if _holds(folder, "memory.max", "pids.max"):
                return {"unified": folder}
    except OSError:
        pass
    return {}


def _version_1(mounts: str, groups: str) -> dict[str, str]:
    found: dict[str, str] = {}
    files = {"memory": "memory.limit_in_bytes", "pids": "pids.max", "cpuacct": "cpuacct.usage"}
    ours = {
        name: path
        for _, names, path in (line.split(":", 2) for line in groups.splitlines())
        for name in names.split(",")
    }
    for root, place, kind, options in _mounts(mounts):
        for name in _WANTED:
            if kind == "cgroup" and name in options and name in ours:
                folder = _below(place, root, ours[name])
                if _holds(folder, files[name]):
                    found[name] = folder
    return found


def _version_2(mounts: str, groups: str) -> list[str]:
    for line in groups.splitlines():
        if line.startswith("0::"):
            for root, place, kind, _ in _mounts(mounts):
                if kind == "cgroup2":
                    folder = _below(place, root, line[3:])
                    beside = os.path.dirname(folder)
                    return [folder, beside] if len(beside) >= len(place) else [folder]
    return []


def _mounts(text: str) -> list[tuple[str, str, str, list[str]]]:
    """Of each mounted file system: what of it, where, its kind, its options."""
    found: list[tuple[str, str, str, list[str]]] = []
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        found.append((fields[3], fields[4], kind[0], kind[2].split(",")))
    return found


def _below(place: str, root: str, path: str) -> str:
    inner = path[len(root) :] if root != "/" and path.startswith(root) else path
    return f"{place}/{inner.strip('/')}".rstrip("/")


def _holds(folder: str, *files: str) -> bool:
    """Whether a group with these files can be made there."""
    trial = f"{folder}/{_PREFIX}-trial-{os.getpid()}"
    try:
        os.mkdir(trial)
    except OSError:
        return False
    try:
        return all(os.access(f"{trial}/{file}", os.W_OK) for file in files)
    finally:
        os.rmdir(trial)


class Cgroup:
    """A group with limits, for one start of a program.

    Attributes:
        folders: by controller; or one as ``unified``.
    """

    def __init__(self, folders: dict[str, str]) -> None:
        self.folders = folders
        self._is_new = "unified" in folders
        self._memory = folders.get("unified") or folders["memory"]
        self._pids = folders.get("unified") or folders["pids"]

    @classmethod
    def make(
        cls, parents: dict[str, str], token: str, *, memory: int, processes: int
    ) -> Cgroup | None:
        """A group below `parents`; None if that can't be after all.

        Args:
            token: of all groups that belong together; see :func:`find_groups`.
        """
        name = f"{_PREFIX}-{token}-{os.getpid()}"
        group = cls({kind: f"{folder}/{name}" for kind, folder in parents.items()})
        try:
            for folder in group.folders.values():
                os.mkdir(folder)
            group._limit(memory, processes)
        except OSError:
            group.remove()
            return None
        return group

    def _limit(self, memory: int, processes: int) -> None:
        _write(f"{self._pids}/pids.max", processes)
        if self._is_new:
            _write(f"{self._memory}/memory.max", memory)
            _try_write(f"{self._memory}/memory.swap.max", 0)
            _try_write(f"{self._memory}/memory.oom.group", 1)
        else:
            _write(f"{self._memory}/memory.limit_in_bytes", memory)
            _try_write(f"{self._memory}/memory.memsw.limit_in_bytes", memory)

    def join(self) -> None:
        """Put this process into it, and with that all that it starts."""
        for folder in self.folders.values():
            _write(f"{folder}/cgroup.procs", 0)

    @property
    def counts_time(self) -> bool:
        """Whether :attr:`cpu_s` can be had."""
        return self._is_new or "cpuacct" in self.folders

    @property
    def cpu_s(self) -> float:
        """Seconds of processor time of all that were ever in it."""
        if self._is_new:
            return _value(f"{self._memory}/cpu.stat", "usage_usec") / 1e6
        return int(_read(f"{self.folders['cpuacct']}/cpuacct.usage")) / 1e9

    @property
    def peak(self) -> int:
        """The most bytes of memory it had at a time."""
        file = "memory.peak" if self._is_new else "memory.max_usage_in_bytes"
        try:
            return int(_read(f"{self._memory}/{file}"))
        except OSError:  # Linux before 5.19
            return int(_read(f"{self._memory}/memory.current"))

    @property
    def lacked_memory(self) -> bool:
        """Whether one of its processes was killed for want of memory."""
        file = "memory.events" if self._is_new else "memory.oom_control"
        return _value(f"{self._memory}/{file}", "oom_kill") > 0

    @property
    def lacked_processes(self) -> bool:
        """Whether it was kept from starting one more."""
        return _value(f"{self._pids}/pids.events", "max") > 0

    def members(self) -> list[int]:
        """The ids of its processes."""
        try:
            return [int(word) for word in _read(f"{self._pids}/cgroup.procs").split()]
        except OSError:
            return []

    def kill(self) -> int:
        """Kill what is in it, and let nothing new start; give how many there were."""
        _try_write(f"{self._pids}/pids.max", 0)
        there = self.members()
        if self._is_new:
            _try_write(f"{self._pids}/cgroup.kill", 1)
        for pid in there:
            try:
                os.kill(pid, 9)
            except (ProcessLookupError, PermissionError):
                continue
        return len(there)

    def remove(self) -> bool:
        """Remove it; False if something is in it still."""
        for folder in self.folders.values():
            try:
                os.rmdir(folder)
            except FileNotFoundError:
                continue
            except OSError:
                return False
        return True


def find_groups(parents: dict[str, str], token: str) -> list[Cgroup]:
    """The groups with a token that are still there, as when their warden was killed."""
    names: set[str] = set()
    for folder in parents.values():
        try:
            names.update(os.listdir(folder))
        except OSError:
            continue
    return [
        Cgroup({kind: f"{folder}/{name}" for kind, folder in parents.items()})
        for name in sorted(names)
        if name.startswith(f"{_PREFIX}-{token}-")
    ]


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def _value(path: str, key: str) -> int:
    """The number that follows a word in a file; 0 if it does not."""
    try:
        for line in _read(path).splitlines():
            name, _, value = line.partition(" ")
            if name == key:
                return int(value)
    except OSError:
        pass
    return 0


def _write(path: str, value: int) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(str(value))


def _try_write(path: str, value: int) -> None:
    try:  # noqa: SIM105 - contextlib takes its time
        _write(path, value)
    except OSError:
        pass
