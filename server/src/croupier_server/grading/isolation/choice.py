"""Which level of isolation a machine has: each is tried before it is relied on."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

import structlog

from croupier_server.errors import UserError
from croupier_server.grading.isolation.bubblewrap import Bubblewrap, find_bubblewrap
from croupier_server.grading.isolation.cgroup import find_parents
from croupier_server.grading.isolation.container import Container
from croupier_server.grading.isolation.ids import Ids
from croupier_server.grading.isolation.interpreter import find_for, ours
from croupier_server.grading.isolation.model import Isolation
from croupier_server.grading.isolation.same_user import SameUser
from croupier_server.grading.isolation.users import Users
from croupier_server.grading.limits import Limits

__all__ = ["LEVELS", "choose", "slots"]

log = structlog.get_logger(__name__)

LEVELS: Final = ("bubblewrap", "users", "same-user", "container")
"""By name, the best first; a container is as good as its command."""

_PATIENCE_S: Final = 60
_TRIAL: Final = "import croupier_client, pathlib; print(pathlib.Path('trial.txt').read_text())"


def choose(wanted: str = "auto", *, container: Sequence[str] | None = None) -> Isolation:
    """A level of isolation that works here.

    Args:
        wanted: its name, or ``auto``: the container if there is a command for one, else the best
            that a trial has seen working.
        container: the operator's command; see :mod:`.container`.

    Raises:
        UserError: it can't be had, and why.
    """
    if wanted not in {"auto", *LEVELS}:
        raise UserError(f"isolation {wanted!r}: there is auto, {', '.join(LEVELS)}")
    if wanted == "container" or (wanted == "auto" and container is not None):
        if container is None:
            raise UserError("isolation container: it needs a container command")
        return Container(tuple(container))
    if container is not None:
        raise UserError(f"isolation {wanted}: a container command is for the level container")
    return _best() if wanted == "auto" else _tried(wanted)


def slots(cores: int | None = None) -> int:
    """How many programs may compute at a time: one for each core but one, and one at least."""
    if cores is None:
        there = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else ()
        cores = len(there) or os.cpu_count() or 1
    return max(1, cores - 1)


def _best() -> Isolation:
    for name in ("bubblewrap", "users"):
        try:
            return _tried(name)
        except UserError as problem:
            log.warning("a better isolation can't be had", reason=str(problem))
    return _tried("same-user")


@cache
def _tried(name: str) -> Isolation:
    """A level after its trial.

    Raises:
        UserError: it failed.
    """
    found = _made(name)
    if name != "same-user":  # for which there is nothing better
        _try_out(found)
    return found


def _made(name: str) -> Isolation:
    if name == "same-user":
        return SameUser(_groups())
    if not sys.platform.startswith("linux"):
        raise UserError(f"isolation {name}: needs Linux")
    is_root = os.geteuid() == 0
    if name == "bubblewrap":
        try:
            program = find_bubblewrap()
        except UserError as problem:
            raise UserError(f"isolation bubblewrap: {problem}") from None
        return Bubblewrap(program, ours(), Ids.claimed() if is_root else None, _groups())
    if not is_root:
        raise UserError("isolation users: needs root, to give each submission a user id")
    ids = Ids.claimed()
    return Users(find_for(ids.of(0)), ids, _can_leave_network(), _groups())


def _can_leave_network() -> bool:
    leave = f"import sys; sys.path.append({str(Path(__file__).parent)!r}); import stage; "
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"{leave}stage.leave_network()"],
        capture_output=True,
        check=False,
    )
    return done.returncode == 0


@cache
def _groups() -> dict[str, str]:
    return find_parents()


def _try_out(found: Isolation) -> None:
    """Have a program read a file of its own there, and see the players' kit."""
    with tempfile.TemporaryDirectory(prefix="croupier-trial-") as folder:
        Path(folder, "trial.txt").write_text("it works", encoding="utf-8")
        cell = found.cell(Path(folder), Limits(), number=0)
        try:
            done = subprocess.run(
                cell.command(["python3", "-s", "-P", "-c", _TRIAL]),
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=_PATIENCE_S,
                check=False,
                stdin=subprocess.DEVNULL,
            )
        except (OSError, subprocess.SubprocessError) as problem:
            raise UserError(f"isolation {found.name}: the trial failed: {problem}") from None
        finally:
            cell.close()
    if done.stdout.strip() != "it works":
        told = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise UserError(f"isolation {found.name}: the trial failed: {told[-1]}")
