"""Bubblewrap: namespaces of the kernel in which next to nothing of this machine can be seen.

A program gets the system's programs and libraries, the players' kit, and its own folder, all only
to be read; a temporary folder in memory; a loopback that is nobody else's; no process but its own.
Root makes a user of its own for each submission on top of that; anybody else needs user namespaces.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, Literal

from croupier_server.errors import UserError
from croupier_server.grading.isolation import ownership, stage, sweep
from croupier_server.grading.isolation.cell import Place, WardenCell, new_base
from croupier_server.grading.isolation.ids import Ids
from croupier_server.grading.isolation.interpreter import Interpreter, variables
from croupier_server.grading.limits import MIB, Limits

__all__ = ["Bubblewrap", "find_bubblewrap"]

_CODE: Final = "/run/croupier"
_STAGE: Final = f"import sys; sys.path.append({_CODE!r}); import stage; stage.main()"
"""As a module, so that it need not be compiled at every start."""

_SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_ETC: Final = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "java*")
_SHARED_MEMORY: Final = 64 * MIB
_COUNTS_PER_NAMESPACE: Final = (5, 14)
"""Since this Linux, the limit on processes counts those in one's own user namespace alone."""


def find_bubblewrap() -> str:
    """The program.

    Raises:
        UserError: it is not installed.
    """
    found = shutil.which("bwrap")
    if found is None:
        raise UserError("no program bwrap (on Debian and its kin: apt install bubblewrap)")
    return found


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """The best level; an :class:`~croupier_server.grading.isolation.model.Isolation`.

    Attributes:
        program: bwrap itself.
        python: what the programs use, and what starts them.
        ids: for root; None for anybody else.
        cgroups: where control groups can be made.
    """

    program: str
    python: Interpreter
    ids: Ids | None
    cgroups: Mapping[str, str] = field(default_factory=dict[str, str])
    name: Literal["bubblewrap"] = "bubblewrap"

    @property
    def title(self) -> str:
        """What it is, in one line."""
        user = "a user id for each submission" if self.ids else "a user namespace"
        counts = "control groups" if self.cgroups else "watching"
        return (
            f"bubblewrap: no network, read-only system, own processes, {user}; limits by {counts}"
        )

    @property
    def not_contained(self) -> Sequence[str]:
        """What it does not keep a program from: nothing that is known."""
        return ()

    def cell(self, own: Path, limits: Limits, *, number: int, writable: bool = False) -> WardenCell:
        """A place for a submission."""
        user = None if self.ids is None else self.ids.of(number)
        own = own.resolve()
        base = new_base()
        _write_etc(base, os.getuid() if user is None else user)
        if user is not None:
            ownership.give(own, user, writable=writable)
        most = _most_processes(limits, is_root=user is not None)
        inner = [
            self.python.path,
            "-I",
            "-S",
            "-c",
            _STAGE,
            str(-1 if user is None else user),
            str(most),
        ]
        prefix = [*self._arguments(own, base, limits, writable=writable), *inner]

        def wrap(argv: Sequence[str]) -> Sequence[str]:
            return [*prefix, *argv]

        place = Place(
            python=self.python.path,
            env={**variables("/tmp"), **self.python.env},  # noqa: S108 - its own
            wrap=wrap,
            around=2,  # bwrap, and the first process inside
            is_staged=True,
            disk=[str(own)] if writable else [],
            cgroups=self.cgroups,
            close=partial(_close, own, base, user, writable=writable),
        )
        return WardenCell(stage.FOLDER, base, limits, place)

    def _arguments(self, own: Path, base: Path, limits: Limits, *, writable: bool) -> list[str]:
        return [
            self.program,
            *("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"),
            *("--unshare-cgroup-try", "--new-session", "--die-with-parent", "--as-pid-1"),
            *("--hostname", "player", "--cap-drop", "ALL"),
            *(["--unshare-user"] if self.ids is None else _may_change_user()),
            *("--proc", "/proc", "--dev", "/dev"),
            *_temporary("/dev/shm", min(_SHARED_MEMORY, limits.disk_bytes)),  # noqa: S108 - its own
            *_temporary("/tmp", limits.disk_bytes),  # noqa: S108 - its own
            *_folders("/etc/passwd", _CODE, *self.python.folders),
            *_system(),
            *_only_read(*self.python.folders),
            *(word for name in _NAMES for word in ("--ro-bind", f"{base}/{name}", f"/etc/{name}")),
            *("--ro-bind", str(Path(__file__).parent), _CODE),
            *("--bind" if writable else "--ro-bind", str(own), stage.FOLDER),
            *("--remount-ro", "/dev", "--remount-ro", "/"),
            *("--chdir", "/", "--"),
        ]


def _may_change_user() -> Sequence[str]:
    return ("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")


def _folders(*paths: str) -> Sequence[str]:
    """Make the folders that some paths are in, which bubblewrap itself makes for their owner."""
    wanted = {str(folder) for path in paths for folder in Path(path).parents}
    made = sorted(path for path in wanted if path != "/" and not path.startswith("/usr"))
    return [word for path in made for word in ("--perms", "0755", "--dir", path)]


def _temporary(place: str, size: int) -> Sequence[str]:
    return ("--perms", "1777", "--size", str(size), "--tmpfs", place)


def _only_read(*paths: str) -> Sequence[str]:
    """Show files and folders that are not part of the system in any case."""
    shown = [path for path in paths if not path.startswith("/usr/")]
    return [word for path in shown for word in ("--ro-bind", path, path)]


def _system() -> Sequence[str]:
    words: list[str] = []
    for path in map(Path, _SYSTEM):
        if path.is_symlink():
            words += ["--symlink", str(path.readlink()), str(path)]
        elif path.exists():
            words += ["--ro-bind", str(path), str(path)]
    for path in (path for name in _ETC for path in sorted(Path("/etc").glob(name))):
        if path.is_symlink():
            words += ["--symlink", str(path.readlink()), str(path)]
        else:
            words += ["--ro-bind", str(path), str(path)]
    return words


_NAMES: Final = ("passwd", "group", "hosts")


def _write_etc(base: Path, user: int) -> None:
    """Write what is asked after names: there is root and the player."""
    texts = (
        f"root:x:0:0::/:/bin/false\nplayer:x:{user}:{user}::/tmp:/bin/sh\n",
        f"root:x:0:\nplayer:x:{user}:\n",
        "127.0.0.1 localhost player\n",
    )
    for name, text in zip(_NAMES, texts, strict=True):
        path = base / name
        path.write_text(text, encoding="ascii")
        path.chmod(0o644)


def _most_processes(limits: Limits, *, is_root: bool) -> int:
    """What the kernel itself holds it to; -1 if it would count those of others too."""
    release = tuple(int(word) for word in os.uname().release.split(".")[:2] if word.isdigit())
    if not is_root and release < _COUNTS_PER_NAMESPACE:
        return -1
    return 4 * limits.processes  # of all its starts together; one start is counted by the warden


def _close(own: Path, base: Path, user: int | None, *, writable: bool) -> int:
    if user is None:
        # a killed warden's program dies with it; that it is dead is another matter
        return sweep.end_inside(base.name) if sweep.has_lost_wardens(base) else 0
    killed = sweep.end_user(user)
    if writable:
        ownership.take_back(own)
    return killed
