"""A user for each submission: for root where namespaces are forbidden, or bubblewrap is missing.

Each submission runs as a user that owns nothing but a copy of its folder and a temporary folder.
What other users keep to themselves is out of its reach, our own folders above all.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, Literal

from croupier_server.errors import UserError
from croupier_server.grading.isolation import ownership, removal, sweep
from croupier_server.grading.isolation.cell import PREFIX, Place, WardenCell, new_base
from croupier_server.grading.isolation.ids import Ids
from croupier_server.grading.isolation.interpreter import Interpreter, variables
from croupier_server.grading.limits import Limits

__all__ = ["Users"]

_NETWORK: Final = "It can open network connections."
_NOT_CONTAINED: Final = (
    "It can read whatever every user of this machine may read, and see which processes run.",
    "While it runs, it can write where every user may, such as /tmp; that is removed afterwards.",
)


@dataclass(frozen=True, slots=True)
class Users:
    """The second best level; an :class:`~croupier_server.grading.isolation.model.Isolation`.

    Attributes:
        python: one that every user can run.
        is_offline: whether the kernel lets us leave the machine's network.
        cgroups: where control groups can be made.
    """

    python: Interpreter
    ids: Ids
    is_offline: bool = False
    cgroups: Mapping[str, str] = field(default_factory=dict[str, str])
    name: Literal["users"] = "users"

    @property
    def title(self) -> str:
        """What it is, in one line."""
        counts = "control groups" if self.cgroups else "watching"
        network = "no network, " if self.is_offline else ""
        return (
            f"users: a user id for each submission, its own files only; {network}limits by {counts}"
        )

    @property
    def not_contained(self) -> Sequence[str]:
        """What it does not keep a program from."""
        return _NOT_CONTAINED if self.is_offline else (_NETWORK, *_NOT_CONTAINED)

    def cell(self, own: Path, limits: Limits, *, number: int, writable: bool = False) -> WardenCell:
        """A place for a submission: a copy, since no folder above `own` may be open to others."""
        user = self.ids.of(number)
        _remove_left(user)
        base = new_base()
        base.chmod(0o711)
        copy, home = base / "player", base / "home"
        try:
            ownership.copy(own, copy)
        except OSError as problem:
            removal.remove(base)
            raise UserError(f"isolation users: {own} can't be copied: {problem}") from None
        ownership.give(copy, user, writable=writable)
        home.mkdir(mode=0o700)
        os.chown(home, user, user)
        place = Place(
            python=self.python.path,
            env={**variables(str(home)), **self.python.env},
            cwd=str(copy),
            user=user,
            is_offline=self.is_offline,
            rlimits={"NPROC": 4 * limits.processes},  # of all starts; one is counted by its warden
            disk=[str(copy), str(home)] if writable else [str(home)],
            disk_user=user,
            cgroups=self.cgroups,
            close=partial(_close, own, copy, user, limits.disk_bytes if writable else None),
        )
        return WardenCell(str(copy), base, limits, place)


def _close(own: Path, copy: Path, user: int, brought: int | None) -> int:
    killed = sweep.end_user(user)
    if brought is not None:
        ownership.bring_back(copy, own, user, brought)
    sweep.remove_files_of(user)
    return killed


def _remove_left(user: int) -> None:
    """Remove what a killed grading has left of a user, who may be another submission by now."""
    sweep.end_user(user)
    sweep.remove_files_of(user)
    for base in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):
            if (base / "home").lstat().st_uid == user:
                removal.remove(base)
