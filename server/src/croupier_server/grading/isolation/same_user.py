"""The same user: limits and a certain end, and nothing that keeps a program from what is ours."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, Literal

from croupier_server.grading.isolation import removal, sweep
from croupier_server.grading.isolation.cell import Place, WardenCell, new_base
from croupier_server.grading.isolation.interpreter import SYSTEM_PATH, ours, variables
from croupier_server.grading.limits import Limits

__all__ = ["SameUser"]

_NOT_CONTAINED: Final = (
    "It can read all that you can read: the other submissions, the rubric and the seeds.",
    "It can write all that you can write, for good: the other submissions, results, other files.",
    "It can open network connections.",
    "It can end the grader and other programs of yours, and look into them.",
)
_ROOT: Final = "It runs as root: nothing on this machine is safe from it."
_ELSEWHERE: Final = (
    "What it starts may outlive it, and its processor time, memory, processes and disk are not all "
    "counted: that needs Linux."
)


@dataclass(frozen=True, slots=True)
class SameUser:
    """The level that every machine has; an isolation in little more than the name.

    Attributes:
        cgroups: where control groups can be made.
    """

    cgroups: Mapping[str, str] = field(default_factory=dict[str, str])
    name: Literal["same-user"] = "same-user"

    @property
    def title(self) -> str:
        """What it is, in one line."""
        counts = "control groups" if self.cgroups else "watching"
        return f"same-user: NOT CONTAINED, programs run with your own rights; limits by {counts}"

    @property
    def not_contained(self) -> Sequence[str]:
        """What it does not keep a program from."""
        more: list[str] = []
        if not _is_linux():
            more.append(_ELSEWHERE)
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            more.append(_ROOT)
        return (*_NOT_CONTAINED, *more)

    def cell(
        self,
        own: Path,
        limits: Limits,
        *,
        number: int,  # noqa: ARG002 - nobody is told from another here
        writable: bool = False,
    ) -> WardenCell:
        """A place for a submission."""
        own, python = own.resolve(), ours()
        base = new_base()
        home = base / "home"
        home.mkdir()
        place = Place(
            python=python.path,
            env={**_variables(str(home)), **python.env},
            cwd=str(own),
            rlimits=_most_processes(limits),
            disk=[str(own), str(home)] if writable else [str(home)],
            cgroups=self.cgroups,
            close=partial(_close, str(home)),
        )
        return WardenCell(str(own), base, limits, place)


def _is_linux() -> bool:
    return sys.platform.startswith("linux")


def _variables(home: str) -> Mapping[str, str]:
    env = variables(home, path=os.environ.get("PATH", SYSTEM_PATH))
    if os.name == "nt":  # hardly a program starts without these
        kept = ("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT")
        env |= {"TEMP": home, "TMP": home, "USERPROFILE": home}
        env |= {name: os.environ[name] for name in kept if name in os.environ}
    return env


def _most_processes(limits: Limits) -> Mapping[str, int]:
    """What the kernel holds it to, which counts those of yours that run already, roughly."""
    if not _is_linux() or os.geteuid() == 0:
        return {}
    there = sum(1 for _ in Path("/proc").glob("[0-9]*/task/*"))
    return {"NPROC": there + 4 * limits.processes}


def _close(home: str) -> int:
    killed = sweep.end_marked(home)
    removal.remove(Path(home))
    return killed
