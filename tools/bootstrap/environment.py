"""Where Croupier's own environment is, what it has to hold, and who may change it now."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import tomllib
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

ROOT = Path(__file__).resolve().parent.parent.parent
MEMBERS = ("common", "client", "server")
WINDOWS = os.name == "nt"

STATE_NAME = "croupier-env.json"
"""The file that marks an environment as ours and, written last, as finished."""


class SetupError(Exception):
    """What stands in the way of setting up, in one line for the user."""


def say(text: str) -> None:
    """Tell the user, beside the command's own output."""
    print(f"run.py: {text}", file=sys.stderr, flush=True)


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment of ours, and the files beside it."""

    folder: Path

    @property
    def scripts(self) -> Path:
        """The folder of its commands."""
        return self.folder / ("Scripts" if WINDOWS else "bin")

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.scripts / ("python.exe" if WINDOWS else "python")

    @property
    def lock(self) -> Path:
        """The file that is locked while the environment is changed; it outlives the folder."""
        return self.folder.with_name(f"{self.folder.name}.lock")

    @property
    def log(self) -> Path:
        """What pip said."""
        return self.folder.with_name(f"{self.folder.name}.log")

    def script(self, name: str) -> str:
        """Give the path of an installed command."""
        return str(self.scripts / (f"{name}.exe" if WINDOWS else name))

    def read_state(self) -> dict[str, Any] | None:
        """Give what the last finished set-up wrote, or None when there is none."""
        try:
            state = json.loads((self.folder / STATE_NAME).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return cast("dict[str, Any]", state) if isinstance(state, dict) else None

    def write_state(self, state: Mapping[str, Any]) -> None:
        """Replace the state file in one step."""
        path = self.folder / STATE_NAME
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(state, indent=1), encoding="utf-8")
        fresh.replace(path)


def environment_folder(variables: Mapping[str, str] = os.environ) -> Path:
    """Give the environment's folder: one per Python version, so that two do not fight over it."""
    named = variables.get("CROUPIER_VENV")
    if named:
        return Path(named).expanduser().absolute()
    tag = sys.implementation.cache_tag or f"python-{sys.version_info[0]}{sys.version_info[1]}"
    return ROOT / ".venv-run" / tag


def read_toml(path: Path) -> dict[str, Any]:
    """Give a TOML file's content."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def dev_requirements() -> list[str]:
    """Give the dev group, which pip reads by itself only from 25.1 on, and what extras ask for."""
    wanted: list[Any] = list(read_toml(ROOT / "pyproject.toml")["dependency-groups"]["dev"])
    for member in MEMBERS:
        project = read_toml(ROOT / member / "pyproject.toml")["project"]
        for extra in project.get("optional-dependencies", {}).values():
            wanted += extra
    return [str(requirement) for requirement in wanted]


def build_requirements() -> list[str]:
    """Give what the members are built with."""
    wanted: set[str] = set()
    for member in MEMBERS:
        wanted.update(read_toml(ROOT / member / "pyproject.toml")["build-system"]["requires"])
    return sorted(wanted)


def wanted_state(environment: Environment, dev: bool) -> dict[str, str]:
    """Give the state that a finished set-up has for what is asked now.

    `place` holds what only a new environment can follow (a moved folder, another Python), `base`
    and `dev` what pip can change in place.
    """
    place = f"{ROOT}\n{environment.folder}\n{sys.implementation.cache_tag}\n{sys.platform}"
    base = hashlib.sha256((ROOT / "constraints.txt").read_bytes())
    for member in MEMBERS:
        base.update((ROOT / member / "pyproject.toml").read_bytes())
    state = {"place": place, "base": base.hexdigest()}
    if dev:
        extra = base.copy()
        extra.update("\n".join(dev_requirements()).encode())
        state["dev"] = extra.hexdigest()
    return state


def is_ready(environment: Environment, wanted: Mapping[str, str]) -> bool:
    """Whether a finished set-up holds all that is wanted and its Python is still there."""
    state = environment.read_state()
    if state is None or not environment.python.exists():
        return False
    return all(state.get(key) == value for key, value in wanted.items())


@contextlib.contextmanager
def locked(environment: Environment) -> Generator[int]:
    """Hold the environment against another run.py; gives the lock's file descriptor."""
    with environment.lock.open("a+b") as file:
        if not try_lock(file):
            say("waiting for another run.py that is setting up")
            wait_lock(file)
        yield file.fileno()


if sys.platform == "win32":
    import msvcrt
    import time

    def try_lock(file: IO[bytes]) -> bool:
        """Take the lock if nobody has it."""
        file.seek(0)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def wait_lock(file: IO[bytes]) -> None:
        """Wait for the lock: Windows has no call that waits for longer than ten seconds."""
        while not try_lock(file):
            time.sleep(0.2)

else:
    import fcntl

    def try_lock(file: IO[bytes]) -> bool:
        """Take the lock if nobody has it."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def wait_lock(file: IO[bytes]) -> None:
        """Wait for the lock."""
        fcntl.flock(file, fcntl.LOCK_EX)
