"""Programs that run where they can mount what they like, and nothing of it stays."""

import shutil
import subprocess
from functools import cache
from pathlib import Path

from support.needs import require

TESTS = Path(__file__).resolve().parent.parent


@cache
def alone() -> tuple[str, ...]:
    """Give what a command is prefixed with so that it can mount what it likes; nothing if not."""
    if shutil.which("unshare") is None:
        return ()
    for prefix in (("unshare", "--mount"), ("unshare", "--mount", "--map-root-user")):
        mount = [*prefix, "mount", "-t", "tmpfs", "none", "/mnt"]
        if subprocess.run(mount, capture_output=True, check=False).returncode == 0:
            return prefix
    return ()


def in_own_mounts(script: str, *arguments: str) -> str:
    """Run a shell script where it can mount what it likes, and that ends with it."""
    done = run_in_own_mounts(script, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_in_own_mounts(script: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run a shell script where it can mount what it likes; give how it ended."""
    require("mounts", alone(), "unshare --mount can't mount a tmpfs")
    return subprocess.run(
        [*alone(), "sh", "-ec", script, "sh", *arguments],
        cwd=TESTS,
        capture_output=True,
        encoding="utf-8",
        timeout=100,
        check=False,
    )
