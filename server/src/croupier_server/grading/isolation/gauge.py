"""What a program uses, with all that it has started, against its limits.

By a control group if there is one; else by looking at its processes every now and then, so that a
limit may be crossed for that long.
"""

from __future__ import annotations

import os
import sys
import time

from croupier_server.grading.isolation import disk, processes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from croupier_server.grading.isolation.cgroup import Cgroup
    from croupier_server.grading.isolation.processes import Process
    from croupier_server.grading.isolation.spec import Spec

_LOOK_S = 0.05
_LOOK_AT_DISK_S = 0.25
_SHARE = 20
"""A look that took t seconds is followed by at least this many times t without one."""

_TOO_MUCH_TIME = -24
"""SIGXCPU: one process alone has used more time than all may."""


class Gauge:
    """To be looked at by the parent of the program.

    Attributes:
        next_look: when to look, on the monotonic clock.
        cpu_s: processor time so far.
        peak: the most bytes in memory so far.
    """

    def __init__(self, spec: Spec, group: Cgroup | None) -> None:
        now = time.monotonic()
        self.next_look = now + _LOOK_S
        self.cpu_s = 0.0
        self.peak = 0
        self._next_disk = now + _LOOK_AT_DISK_S
        self._spec = spec
        self._group = group

    def look(self) -> str | None:
        """The limit that it has crossed, if it has."""
        began = time.monotonic()
        crossed = self._crossed() if self._spec["is_watched"] else None
        if crossed is None and began >= self._next_disk:
            crossed = self._crossed_on_disk()
            ended = time.monotonic()
            self._next_disk = ended + max(_LOOK_AT_DISK_S, _SHARE * (ended - began))
        ended = time.monotonic()
        self.next_look = ended + max(_LOOK_S, _SHARE * (ended - began))
        return crossed

    def crossed_in_the_end(self, status: int | None) -> str | None:
        """The same when nothing of it runs any more: a limit may have ended it before a look.

        Args:
            status: how it has ended.
        """
        # an exit status can look like that signal with no time used
        if status == _TOO_MUCH_TIME and self._count_time([]) > self._spec["cpu_s"]:
            return "cpu"
        return self._refused() or self._crossed_on_disk()

    def take_stock(self) -> None:
        """Count once more, when nothing of it runs."""
        self.cpu_s = max(self.cpu_s, self._count_time([]))
        if self._group is not None:
            self.peak = self._group.peak
        elif self.peak == 0 and sys.platform != "win32":
            import resource

            most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
            self.peak = most * (1 if sys.platform == "darwin" else 1024)

    def _crossed(self) -> str | None:
        spec, group = self._spec, self._group
        there: list[Process] = []
        if group is None or not group.counts_time:
            there = processes.descendants(os.getpid())
        self.cpu_s = max(self.cpu_s, self._count_time(there))
        if self.cpu_s > spec["cpu_s"]:
            return "cpu"
        return self._crossed_by(there) if group is None else self._refused()

    def _refused(self) -> str | None:
        """What the control group has kept from it."""
        if self._group is None:
            return None
        if self._group.lacked_memory:
            return "memory"
        return "processes" if self._group.lacked_processes else None

    def _crossed_by(self, there: list[Process]) -> str | None:
        spec = self._spec
        if sum(process.threads for process in there) > spec["processes"] + spec["around"]:
            return "processes"
        memory = sum(process.memory for process in there)
        if memory > spec["memory"]:
            memory = processes.exact_memory(there)
        self.peak = max(self.peak, memory)
        return "memory" if memory > spec["memory"] else None

    def _count_time(self, there: list[Process]) -> float:
        if self._group is not None and self._group.counts_time:
            return self._group.cpu_s
        import resource

        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        return ended.ru_utime + ended.ru_stime + sum(process.cpu_s for process in there)

    def _crossed_on_disk(self) -> str | None:
        spec = self._spec
        most = spec["disk_bytes"]
        if spec["disk"] and disk.used(spec["disk"], spec["disk_user"], most) > most:
            return "disk"
        return None
