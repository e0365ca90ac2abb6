"""The Python that can see the players' kit, and all that it has to be able to read for that."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final, cast

from croupier_common.programs import friendly_variables
from croupier_server.errors import UserError

__all__ = ["SYSTEM_PATH", "Interpreter", "find_for", "ours", "variables"]

SYSTEM_PATH: Final = "/usr/local/bin:/usr/bin:/bin"
_SHOW: Final = (
    "import croupier_client.stdio, json, sys;"
    "print(json.dumps([sys.prefix, sys.base_prefix, sys.path]))"
)
_PATIENCE_S: Final = 60


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python.

    Attributes:
        path: its program.
        folders: all that it reads, folders within the others left out.
        packages: those of them that modules are in, but for the standard library.
        env: variables that it needs.
    """

    path: str
    folders: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])


def variables(home: str, *, path: str = SYSTEM_PATH) -> dict[str, str]:
    """The variables that a program of a submission gets, and no other."""
    given = {"PATH": path, "HOME": home, "TMPDIR": home, "LANG": "C.UTF-8"}
    python = {"PYTHONNOUSERSITE": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    return {**friendly_variables({}), **given, **python}


@cache
def ours() -> Interpreter:
    """The one that we run on.

    Raises:
        UserError: it can't see the players' kit.
    """
    env = variables("/", path=os.environ.get("PATH", SYSTEM_PATH))
    if sys.platform == "win32":
        env |= {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
    search = os.environ.get("PYTHONPATH", "")
    for more in ({}, {"PYTHONPATH": search}):
        done = _run([sys.executable, "-s", "-P", "-c", _SHOW], env | more, None)
        if done is not None:
            return _shown(done, more)
    raise UserError(
        f"isolation: {sys.executable} can't import croupier_client; install it beside "
        "croupier_server"
    )


def _shown(text: str, env: Mapping[str, str]) -> Interpreter:
    prefix, base, search = cast("tuple[str, str, list[str]]", json.loads(text))
    folders = [prefix, base, *search, str(Path(sys.executable).resolve().parent)]
    library = [str(Path(os.__file__).parent), str(Path(os.__file__).parent / "lib-dynload")]
    packages = [path for path in search if Path(path).is_dir() and path not in library]
    return Interpreter(sys.executable, tuple(_outermost(folders)), tuple(packages), env)


def find_for(user: int) -> Interpreter:
    """One that a user who owns nothing can run.

    Raises:
        UserError: there is none.
    """
    env = variables("/")
    search = os.pathsep.join(ours().packages)
    for path in _candidates():
        for more in ({}, {"PYTHONPATH": search}):
            if _run([path, "-s", "-P", "-c", _SHOW], env | more, user) is not None:
                return Interpreter(path, env=more)
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    raise UserError(
        f"isolation users: no Python {version} that every user can run sees the players' kit "
        f"({sys.executable} and its packages are out of their reach); install croupier where "
        "all may read, as in a virtual environment below /opt made with the system's Python"
    )


def _candidates() -> Iterator[str]:
    yield sys.executable
    for name in (f"python{sys.version_info[0]}.{sys.version_info[1]}", "python3"):
        for folder in SYSTEM_PATH.split(":"):
            found = shutil.which(name, path=folder)
            if found is not None:
                yield found


def _run(argv: Sequence[str], env: Mapping[str, str], user: int | None) -> str | None:
    """What a command prints; None if it fails."""
    try:
        done = subprocess.run(
            argv,
            env=env,
            cwd="/",
            capture_output=True,
            timeout=_PATIENCE_S,
            check=True,
            encoding="utf-8",
            stdin=subprocess.DEVNULL,
            user=user,
            group=user,
            extra_groups=None if user is None else (),
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout


def _outermost(paths: Sequence[str]) -> list[str]:
    """Those folders that exist and are in none of the others."""
    there = sorted({str(Path(path)) for path in paths if path and Path(path).exists()})
    kept: list[str] = []
    for path in there:
        if not any(Path(path).is_relative_to(outer) for outer in kept):
            kept.append(path)
    return kept
