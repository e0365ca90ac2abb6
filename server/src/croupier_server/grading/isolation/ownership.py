"""Whose the files of a submission are. Links are never followed, nor what is not a plain file read.

To be used only while no process of the submission runs.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

__all__ = ["bring_back", "empty", "give", "take_back"]


def give(folder: Path, user: int, *, writable: bool) -> None:
    """Give a folder to a user: to have, or only to read through its group."""
    for path, found in _walk(folder):
        os.chown(path, user if writable else 0, user, follow_symlinks=False)
        if not stat.S_ISLNK(found.st_mode):
            own = found.st_mode & 0o700 | (0o700 if stat.S_ISDIR(found.st_mode) else 0o600)
            path.chmod(own if writable else own | (own & 0o500) >> 3)


def take_back(folder: Path) -> None:
    """Make it ours again; nothing in it runs with anybody's rights."""
    user, group = os.geteuid(), os.getegid()
    for path, found in _walk(folder):
        os.chown(path, user, group, follow_symlinks=False)
        if not stat.S_ISLNK(found.st_mode):
            own = found.st_mode & 0o700 | (0o700 if stat.S_ISDIR(found.st_mode) else 0o600)
            path.chmod(own | (own & 0o500) >> 3 | (own & 0o500) >> 6)


def bring_back(source: Path, target: Path, user: int) -> None:
    """Put copies of all that a user has in one folder into another, in place of what is there.

    What is somebody else's is left out: a name can be given to any file.
    """
    empty(target)
    for path, found in _walk(source):
        there = target / path.relative_to(source)
        if path == source or found.st_uid != user:
            continue
        if stat.S_ISDIR(found.st_mode):
            there.mkdir()
        elif stat.S_ISLNK(found.st_mode):
            there.symlink_to(path.readlink())
        elif stat.S_ISREG(found.st_mode):
            shutil.copyfile(path, there, follow_symlinks=False)
            there.chmod(0o755 if found.st_mode & stat.S_IXUSR else 0o644)


def empty(folder: Path) -> None:
    """Remove all that is in a folder."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _walk(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """A folder and all in it, each folder before what is in it."""
    waiting = [folder]
    while waiting:
        path = waiting.pop()
        try:
            found = path.lstat()
            if stat.S_ISDIR(found.st_mode):
                waiting += path.iterdir()
        except OSError:  # too deep for a path
            continue
        yield path, found
