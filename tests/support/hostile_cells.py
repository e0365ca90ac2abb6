"""What a test of isolation needs: a level, a place with secrets, and hostile programs in it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex

from croupier_server.errors import UserError
from croupier_server.grading.isolation import processes
from croupier_server.grading.isolation.bubblewrap import Bubblewrap
from croupier_server.grading.isolation.choice import choose
from croupier_server.grading.isolation.model import Cell, Isolation, Report
from croupier_server.grading.isolation.same_user import SameUser
from croupier_server.grading.isolation.users import Users
from croupier_server.grading.limits import MIB, Limits
from support.needs import require

PROGRAM = Path(__file__).with_name("hostile.py")
SMALL = Limits(
    cpu_s=1.0,
    wall_s=8.0,
    memory=128 * MIB,
    processes=20,
    open_files=64,
    file_bytes=4 * MIB,
    disk_bytes=8 * MIB,
)
PUBLIC = ("/tmp", "/var/tmp", "/dev/shm", "/run/lock")


def level(name: str) -> Isolation:
    """Give a level, or skip for what it needs; ``NAME, watched`` is without control groups,
    and without namespaces if it can do without."""
    name, _, watched = name.partition(", ")
    if name == "users":
        require("root", os.geteuid() == 0, "not root")
    require("linux", sys.platform.startswith("linux"), "not Linux")
    try:
        found = choose(name)
    except UserError as problem:
        need = {"bubblewrap": "bubblewrap", "users": "root"}[name]
        require(need, False, str(problem))
        raise
    if watched and isinstance(found, Users):
        return replace(found, cgroups={}, is_offline=False)
    if watched and isinstance(found, Bubblewrap | SameUser):
        return replace(found, cgroups={})
    return found


@dataclass(slots=True)
class Ground:
    """Folders as a grading has them: secrets, results, a sibling, and one's own."""

    folder: Path
    token: str

    @classmethod
    def made(cls, folder: Path) -> Ground:
        ground = cls(folder, f"hostile-{token_hex(6)}")
        for path in (ground.own, ground.sibling, ground.results):
            path.mkdir(parents=True, mode=0o700)
        shutil.copy(PROGRAM, ground.own / "player.py")
        (ground.sibling / "player.py").write_text("the sibling's", encoding="utf-8")
        ground.rubric.write_text("the rubric's", encoding="utf-8")
        ground.rubric.chmod(0o600)
        (ground.results / "results.json").write_text("the results", encoding="utf-8")
        return ground

    @property
    def own(self) -> Path:
        return self.folder / "work" / "own"

    @property
    def sibling(self) -> Path:
        return self.folder / "work" / "sibling"

    @property
    def results(self) -> Path:
        return self.folder / "results"

    @property
    def rubric(self) -> Path:
        return self.folder / "rubric.toml"

    def argv(self, habit: str, *arguments: str) -> list[str]:
        return ["python3", "-I", "-S", "player.py", self.token, habit, *arguments]

    def running(self) -> list[int]:
        """The ids of processes with the token on their command line, wardens left out."""
        return [process.pid for process in processes.scan() if self._is_one(process)]

    def _is_one(self, process: processes.Process) -> bool:
        try:
            line = Path(f"/proc/{process.pid}/cmdline").read_bytes()
        except OSError:
            return False
        return process.is_alive and self.token.encode() in line

    def left(self) -> list[Path]:
        """Files with the token in their name where all may write."""
        return [path for place in PUBLIC for path in Path(place).glob(f"*{self.token}*")]

    def clean(self) -> None:
        """Remove them."""
        for path in self.left():
            path.unlink()
        for pid in self.running():
            os.kill(pid, signal.SIGKILL)


@dataclass(slots=True)
class Ran:
    """How a hostile program ended."""

    status: int
    said: str
    errors: str
    report: Report
    took_s: float

    @property
    def lines(self) -> Sequence[str]:
        return self.said.splitlines()


def run(cell: Cell, argv: Sequence[str], *, ends_after: str | None = None) -> Ran:
    """Run a program to its end; SIGTERM once it has said a line, where that is given."""
    began = time.monotonic()
    with started(cell, argv) as process:
        assert process.stdout is not None
        head = b""
        if ends_after is not None:
            head = process.stdout.readline()
            assert head.decode().strip() == ends_after
            assert process.stdin is not None
            process.stdin.close()
            process.stdin = None
            began = time.monotonic()
            os.killpg(process.pid, signal.SIGTERM)
        said, errors = process.communicate(timeout=30)
        took = time.monotonic() - began
    text = (head + said).decode("utf-8", "replace")
    reports = cell.reports()
    return Ran(process.returncode, text, errors.decode("utf-8", "replace"), reports[-1], took)


@contextmanager
def started(cell: Cell, argv: Sequence[str]) -> Generator[subprocess.Popen[bytes]]:
    """A program that runs, with pipes, as a seat starts it; killed in the end if it runs still."""
    process = subprocess.Popen(
        cell.command(argv),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for file in (process.stdin, process.stdout, process.stderr):
            if file is not None:
                file.close()
