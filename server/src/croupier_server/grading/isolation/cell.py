"""The cell that all levels make: commands that start a warden, and the reports that it leaves."""

from __future__ import annotations

import json
import marshal
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from secrets import token_hex
from typing import Any, Final, cast

from croupier_common.programs import start_problem
from croupier_server.errors import UserError
from croupier_server.grading.isolation import removal, sweep
from croupier_server.grading.isolation.model import Exceeded, Report
from croupier_server.grading.isolation.spec import Spec
from croupier_server.grading.limits import MIB, Limits

__all__ = ["PREFIX", "Place", "WardenCell", "new_base"]

PREFIX: Final = "croupier-cell-"
"""What the names of cells' folders begin with."""

_WARDEN: Final = str(Path(__file__).with_name("warden.py"))


def new_base() -> Path:
    """A new folder that only we can read, for all that a cell has outside of its own folder.

    Raises:
        UserError: it can't be made.
    """
    try:
        return Path(tempfile.mkdtemp(prefix=PREFIX)).resolve()
    except OSError as problem:
        raise UserError(f"isolation: no folder can be made: {problem}") from None


def _unchanged(argv: Sequence[str]) -> Sequence[str]:
    return argv


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """How a level starts programs in a cell.

    Attributes:
        python: what stands for ``python3``.
        env: all variables.
        cwd: where the warden is to start what it starts; empty for where it is.
        wrap: what to put around a program.
        around: how many processes that adds.
        user: the id of the user to become, if another.
        is_offline: whether to leave the machine's network.
        rlimits: beyond those that every level sets.
        disk: folders that it may write in, other than those which have a size of their own.
        disk_user: whose files elsewhere count.
        cgroups: where control groups can be made.
        grace_s: how long what is started may take to end after SIGTERM.
        start_mark: what in it stands for something that makes names like no other start's.
        close: ends what may run still, and takes things back; how many processes it killed.
    """

    python: str
    env: Mapping[str, str]
    cwd: str = ""
    wrap: Callable[[Sequence[str]], Sequence[str]] = _unchanged
    around: int = 0
    is_staged: bool = False
    is_watched: bool = True
    user: int | None = None
    is_offline: bool = False
    rlimits: Mapping[str, int] = field(default_factory=dict[str, int])
    disk: Sequence[str] = ()
    disk_user: int | None = None
    cgroups: Mapping[str, str] = field(default_factory=dict[str, str])
    grace_s: float = 0.0
    start_mark: str = ""
    close: Callable[[], int] = int


@dataclass(slots=True)
class WardenCell:
    """A :class:`~croupier_server.grading.isolation.model.Cell`; made by the levels.

    Attributes:
        folder: where its programs start, as they see it.
        base: a folder of ours; see :func:`new_base`.
    """

    folder: str
    base: Path
    limits: Limits
    place: Place
    token: str = field(default_factory=lambda: token_hex(8))
    _programs: list[str] = field(default_factory=list[str])
    _is_closed: bool = False
    _reports: Sequence[Report] = ()

    def __post_init__(self) -> None:
        """Make the folder for the reports."""
        self._folder.mkdir(mode=0o700)

    def command(self, argv: Sequence[str], *, relayed: bool = False) -> Sequence[str]:
        """What to start, with pipes, in place of a program."""
        program = argv[0]
        if relayed:
            relay = ("-s", "-P", "-m", "croupier_client", "relay", "--")
            argv = [self.place.python, *relay, *self._with_python(argv)]
        whole = self.place.wrap(self._with_python(argv))
        path = self._folder / f"{len(self._programs)}.spec"
        self._programs.append(program)
        path.write_bytes(marshal.dumps(dict(self._spec(program, whole))))
        return [sys.executable, "-I", "-S", _WARDEN, str(path)]

    def reports(self) -> Sequence[Report]:
        """How the programs that have ended did so, in that order."""
        if not self._is_closed:
            found = [self._read(path) for path in sorted(self._folder.glob("*.json"))]
            lost = len([pid for pid, runs in sweep.wardens(self._folder) if not runs])
            self._reports = [*found, *(Report(None, detail="its warden was killed"),) * lost]
        return self._reports

    def close(self) -> int:
        """Kill what still runs, remove what was written outside of the folder."""
        if self._is_closed:
            return 0
        killed = sweep.end_wardens(self._folder)
        killed += sweep.end_groups(self.place.cgroups, self.token)
        killed += self.place.close()
        self.reports()
        self._is_closed = True
        removal.remove(self.base)
        return killed

    @property
    def _folder(self) -> Path:
        return self.base / sweep.REPORTS

    def _with_python(self, argv: Sequence[str]) -> list[str]:
        first = self.place.python if argv[0] in {"python3", "python"} else argv[0]
        return [first, *argv[1:]]

    def _spec(self, program: str, argv: Sequence[str]) -> Spec:
        limits, place = self.limits, self.place
        rlimits = {
            "CPU": ceil(limits.cpu_s) + 1,
            "FSIZE": limits.file_bytes,
            "NOFILE": limits.open_files,
            "CORE": 0,
            **place.rlimits,
        }
        return Spec(
            argv=list(argv),
            start_mark=place.start_mark,
            program=program,
            number=len(self._programs) - 1,
            cwd=place.cwd,
            env=dict(place.env),
            is_staged=place.is_staged,
            is_watched=place.is_watched,
            user=place.user,
            is_offline=place.is_offline,
            rlimits=rlimits if place.is_watched else {},
            cpu_s=limits.cpu_s,
            wall_s=limits.wall_s,
            memory=limits.memory,
            processes=limits.processes,
            disk_bytes=limits.disk_bytes,
            around=place.around,
            disk=list(place.disk),
            disk_user=place.disk_user,
            cgroups=dict(place.cgroups),
            token=self.token,
            grace_s=place.grace_s,
            reports=str(self._folder),
        )

    def _read(self, path: Path) -> Report:
        found = cast("dict[str, Any]", json.loads(path.read_text(encoding="utf-8")))
        never = found.get("errno") is not None or not found.get("is_set_up", True)
        return Report(
            status=None if never else found["status"],
            exceeded=found["exceeded"],
            detail=self._detail(found),
            wall_s=found["wall_s"],
            cpu_s=found.get("cpu_s", 0.0),
            memory=found.get("memory", 0),
            left=found.get("left", 0),
            is_ours=not found.get("is_set_up", True),
        )

    def _detail(self, found: Mapping[str, Any]) -> str:
        if found.get("errno") is not None:
            problem = OSError(found["errno"], os.strerror(found["errno"]))
            return start_problem(self._programs[int(found["number"])], problem)
        if found["exceeded"] is not None:
            return crossed_text(found["exceeded"], self.limits)
        if not found.get("is_set_up", True):
            return "it was not started, by no fault of its own: its sandbox could not be set up"
        if found.get("is_told"):
            return "it ran on when it was to end, and was killed"
        left = found.get("left", 0)
        return f"{left} of its processes still ran when it had ended" if left else ""


def crossed_text(exceeded: Exceeded, limits: Limits) -> str:
    """What a program did that has crossed a limit: it "used more than 512 MiB of memory"."""
    match exceeded:
        case "cpu":
            return f"it used more than {limits.cpu_s:g} s of processor time"
        case "wall":
            return f"it ran for longer than {limits.wall_s:g} s"
        case "memory":
            return f"it used more than {limits.memory / MIB:g} MiB of memory"
        case "processes":
            return f"it had more than {limits.processes} processes and threads at a time"
        case "disk":
            return f"it wrote more than {limits.disk_bytes / MIB:g} MiB to disk"
