"""What an isolation is: a way to run programs of submissions that can't hurt anybody else.

A :class:`Cell` is the place of one submission in one stage. It gives commands that anybody can
start with pipes, such as a seat or the conformance check: each is a warden of ours that sets up the
limits, starts the program with those very pipes, watches it, ends it with all that it has started,
and leaves a :class:`Report`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from croupier_server.grading.limits import Limits

__all__ = ["Cell", "Exceeded", "Isolation", "IsolationName", "Report"]

IsolationName = Literal["bubblewrap", "users", "same-user", "container"]

Exceeded = Literal["cpu", "wall", "memory", "processes", "disk"]
"""Limits whose crossing ends a program; the others make its own calls fail."""


@dataclass(frozen=True, slots=True)
class Report:
    """How one start of a program ended.

    Attributes:
        status: its exit code, or the number of the signal that ended it, negative; None if it
            never started, or the warden was killed.
        exceeded: the limit for which it was ended, if that is why.
        detail: in words for the student: "it used more than 512 MiB of memory".
        wall_s: how long it ran.
        cpu_s: processor time of all its processes, as far as it could be counted.
        memory: the most bytes it had at a time; likewise.
        left: how many of its processes still ran when it had ended, and were killed.
        is_ours: whether it did not run for a fault of ours: its place could not be set up.
    """

    status: int | None
    exceeded: Exceeded | None = None
    detail: str = ""
    wall_s: float = 0.0
    cpu_s: float = 0.0
    memory: int = 0
    left: int = 0
    is_ours: bool = False

    def to_json(self) -> dict[str, Any]:
        """The same as JSON."""
        return {
            "status": self.status,
            "exceeded": self.exceeded,
            "detail": self.detail,
            "wall_s": round(self.wall_s, 3),
            "cpu_s": round(self.cpu_s, 3),
            "memory": self.memory,
            "left": self.left,
            "is_ours": self.is_ours,
        }


class Cell(Protocol):
    """The place of one submission in one stage; to be closed."""

    @property
    def folder(self) -> str:
        """Where the submission's own folder is, as its programs see it; they start in it."""
        ...

    def command(self, argv: Sequence[str], *, relayed: bool = False) -> Sequence[str]:
        """What to start, with pipes, in place of a program; may be started many times.

        Args:
            argv: the program and its arguments, from within :attr:`folder`; the first word may be
                ``python3`` or ``python``, for the interpreter that can see the players' kit.
            relayed: it speaks WebSocket: a relay on the cell's own loopback stands between, and
                ``{url}`` in an argument becomes its address (also in ``CROUPIER_URL``).
        """
        ...

    def reports(self) -> Sequence[Report]:
        """How the programs that have ended did so, in that order."""
        ...

    def close(self) -> int:
        """Kill what still runs, remove what was written outside of the folder.

        Returns:
            how many processes had to be killed; again it is 0.
        """
        ...


class Isolation(Protocol):
    """One level of isolation, as found to work on this machine."""

    @property
    def name(self) -> IsolationName:
        """Its name."""
        ...

    @property
    def title(self) -> str:
        """What it is, in one line for the terminal and the report."""
        ...

    @property
    def not_contained(self) -> Sequence[str]:
        """What it does not keep a program from, as sentences; empty if there is nothing."""
        ...

    def cell(self, own: Path, limits: Limits, *, number: int, writable: bool = False) -> Cell:
        """A place for a submission.

        Args:
            own: the submission's own folder; nobody else's is below it.
            number: of the submission, from 0: like no other's that is graded at this time.
            writable: whether it may write into its folder, as it must to be built.

        Raises:
            UserError: it can't be made.
        """
        ...
