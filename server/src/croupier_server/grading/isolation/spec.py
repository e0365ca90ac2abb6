"""What a warden is told, in a file, as `marshal` writes it: reading JSON takes its time."""

from __future__ import annotations

from typing import TypedDict

__all__ = ["Spec"]


class Spec(TypedDict):
    """One command of a cell.

    Attributes:
        argv: what to start, with whatever is put around it.
        start_mark: in `argv`, stands for what makes names like no other start's; if not empty.
        program: the program's name, for messages.
        number: of the command in its cell.
        cwd: the folder to start it in; empty for the one that the warden was started in.
        env: all its variables.
        is_staged: whether the first process inside tells how it went: see :mod:`.stage`.
        is_watched: whether its processes are ours to watch; a container's are not.
        user: the id of the user to become, if another.
        is_offline: whether to leave the machine's network.
        rlimits: by the system's names.
        cpu_s, wall_s, memory, processes, disk_bytes: as in
            :class:`~croupier_server.grading.limits.Limits`.
        around: how many processes of what is put around it are counted with its own.
        disk: folders that it may write in, to be watched.
        disk_user: whose files count as written by it, where all may write.
        cgroups: where groups can be made; see :func:`.cgroup.find_parents`.
        token: like no other cell's.
        grace_s: how long it may take to end after SIGTERM; without it, none is sent.
        reports: the folder for the report.
    """

    argv: list[str]
    start_mark: str
    program: str
    number: int
    cwd: str
    env: dict[str, str]
    is_staged: bool
    is_watched: bool
    user: int | None
    is_offline: bool
    rlimits: dict[str, int]
    cpu_s: float
    wall_s: float
    memory: int
    processes: int
    disk_bytes: int
    around: int
    disk: list[str]
    disk_user: int | None
    cgroups: dict[str, str]
    token: str
    grace_s: float
    reports: str
