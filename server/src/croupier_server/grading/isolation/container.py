"""A container: the operator's own command, which starts one program and hands its pipes on.

``docker run --rm -i --network none --memory {memory} --pids-limit {processes} --name {name}
-v {folder}:/player:{mode} -w /player IMAGE``; the program and its arguments follow. What it keeps a
program from is the operator's business; wall time is watched. Where containers have a ``{name}``,
what is left of them in the end is removed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Final, Literal

from croupier_server.errors import UserError
from croupier_server.grading.isolation.cell import Place, WardenCell, new_base
from croupier_server.grading.limits import Limits

__all__ = ["Container"]

_FOLDER: Final = "/player"
_WORDS: Final = ("folder", "mode", "name", "memory", "processes", "open_files", "cpu_s", "number")
_PASSED_ON: Final = ("PATH", "HOME", "XDG_RUNTIME_DIR", "DOCKER_HOST", "DOCKER_CONFIG")
_ENGINE_S: Final = 30
_GRACE_S: Final = 0.5
"""A client passes SIGTERM on; one that is killed leaves its container behind."""


@dataclass(frozen=True, slots=True)
class Container:
    """Whatever the operator's command does; an isolation by its word.

    Attributes:
        template: the command; ``{folder}`` and the like stand for what it needs to know.

    Raises:
        UserError: it does not name the folder, or has a word that stands for nothing.
    """

    template: Sequence[str]
    name: Literal["container"] = field(default="container")

    def __post_init__(self) -> None:
        """Refuse what can't work."""
        used = re.findall(r"\{(\w*)\}", " ".join(self.template))
        allowed = ", ".join(f"{{{word}}}" for word in _WORDS)
        if "folder" not in used:
            raise UserError("the container command: nothing in it is {folder}, the submission's")
        for word in used:
            if word not in _WORDS:
                raise UserError(f"the container command: {{{word}}}; there may be {allowed}")
        if shutil.which(self.template[0]) is None:
            raise UserError(f"the container command: no program {self.template[0]}")

    @property
    def title(self) -> str:
        """What it is, in one line."""
        return f"container: as your command has it ({self.template[0]})"

    @property
    def not_contained(self) -> Sequence[str]:
        """What it does not keep a program from."""
        told = (
            "What a program is kept from is up to the container command: its network, processor "
            "time, memory, processes and disk are limited only if that limits them."
        )
        return (told,)

    def cell(self, own: Path, limits: Limits, *, number: int, writable: bool = False) -> WardenCell:
        """A place for a submission; within it, its folder is /player."""
        mark = token_hex(8)
        known = {
            "folder": own.resolve(),
            "mode": "rw" if writable else "ro",
            "name": f"croupier-{number}-{mark}",
            "memory": limits.memory,
            "processes": limits.processes,
            "open_files": limits.open_files,
            "cpu_s": round(limits.cpu_s),
            "number": number,
        }
        prefix = [_filled(word, known) for word in self.template]

        def wrap(argv: Sequence[str]) -> Sequence[str]:
            return [*prefix, *argv]

        place = Place(
            python="python3",
            env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
            wrap=wrap,
            is_watched=False,
            grace_s=_GRACE_S,
            start_mark=mark,
            close=partial(self._close, mark),
        )
        return WardenCell(_FOLDER, new_base(), limits, place)

    def _close(self, mark: str) -> int:
        """Remove the containers whose client has ended and which have not; needs their names."""
        if "run" not in self.template or "{name}" not in " ".join(self.template):
            return 0
        engine = self.template[: self.template.index("run")]
        there = _told([*engine, "ps", "--all", "--quiet", "--filter", f"name={mark}"]).split()
        if there:
            _told([*engine, "rm", "--force", *there])
        return len(there)


def _filled(word: str, known: Mapping[str, object]) -> str:
    return re.sub(r"\{(\w*)\}", lambda found: str(known[found[1]]), word)


def _told(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, encoding="utf-8", timeout=_ENGINE_S, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout if done.returncode == 0 else ""
