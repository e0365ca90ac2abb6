"""Removing what strangers have made: however deep it is, and never through a link of theirs.

`shutil.rmtree` calls itself for each folder within a folder, which a program can have thousands of.
Here each folder's own folders are moved up beside it first. Every step is within an open folder, so
that nobody who moves folders about meanwhile can have another one emptied.
"""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Final

__all__ = ["remove", "remove_entry", "take"]

_IS_SAFE: Final = shutil.rmtree.avoids_symlink_attacks
"""Whether the system can do things within an open folder; Windows can't."""


def remove(path: Path) -> None:
    """Remove a file or a folder with all in it, as far as that can be; links are not followed.

    Args:
        path: in a folder that nobody else can move.
    """
    if not _IS_SAFE:
        shutil.rmtree(path, ignore_errors=True)
        return
    with suppress(OSError):
        parent = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            remove_entry(path.name, parent)
        finally:
            os.close(parent)


def remove_entry(name: str, parent: int) -> None:
    """Remove what has a name in an open folder, as far as that can be."""
    with suppress(OSError):
        if stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            _remove_folder(name, parent)
        else:
            os.unlink(name, dir_fd=parent)


def take(opened: int) -> None:
    """Make an open folder ours, and close it to everybody else."""
    with suppress(OSError):
        if os.fstat(opened).st_uid != os.geteuid():
            os.fchown(opened, os.geteuid(), os.getegid())
        os.fchmod(opened, 0o700)


def _taken(name: str, parent: int) -> int:
    """A folder within an open one, opened and ours.

    Raises:
        OSError: it is a link or no folder, or can't be opened.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    try:
        opened = os.open(name, flags, dir_fd=parent)
    except PermissionError:  # its owner, who is not root, may have lost the right
        os.chmod(name, 0o700, dir_fd=parent)
        opened = os.open(name, flags, dir_fd=parent)
    take(opened)
    return opened


def _remove_folder(name: str, parent: int) -> None:
    top = _taken(name, parent)
    try:
        waiting = _emptied(top, top)
        while waiting:
            inner = waiting.pop()
            with suppress(OSError):
                waiting += _moved_up(inner, top)
                os.rmdir(inner, dir_fd=top)
    finally:
        os.close(top)
    os.rmdir(name, dir_fd=parent)


def _moved_up(name: str, top: int) -> list[str]:
    """Empty a folder in `top`; its own folders are there then, by these names."""
    opened = _taken(name, top)
    try:
        return _emptied(opened, top)
    finally:
        os.close(opened)


def _emptied(opened: int, top: int) -> list[str]:
    """Remove the files of a folder, and move its folders to `top`; gives their names there."""
    moved: list[str] = []
    for name, is_folder in _entries(opened):
        with suppress(OSError):
            if not is_folder:
                os.unlink(name, dir_fd=opened)
            elif opened == top:
                moved.append(name)
            else:
                new = f"{len(moved)}-{token_hex(8)}"
                os.rename(name, new, src_dir_fd=opened, dst_dir_fd=top)
                moved.append(new)
    return moved


def _entries(opened: int) -> list[tuple[str, bool]]:
    with os.scandir(opened) as entries:
        return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
