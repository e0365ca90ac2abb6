"""What a program has written: in its folders, and where every user of the machine may write."""

# ruff: noqa: PTH114 - no
# pathlib, without which a warden starts quicker

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# they are looked at and cleaned; nothing of ours is put there
PUBLIC_PLACES = ("/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run/lock", "/var/lock")  # noqa: S108
DEEPEST = 100
"""Folders within each other: who makes more means to hurt whoever walks through them."""

_BLOCK = 4_096


def used(folders: list[str], user: int | None, limit: int) -> int:
    """How many bytes are in folders, and where all may write by a user; a part if over the limit.

    A link counts for itself. Folders too deep count as more than the limit.
    """
    total = 0
    for size in _sizes(folders, user):
        total += size
        if total > limit:
            break
    return total


def size_of(found: os.stat_result) -> int:
    """How many bytes it takes on the disk: a block at least, or empty files were free."""
    return max(found.st_blocks * 512, _BLOCK)


def _sizes(folders: list[str], user: int | None) -> Iterator[int]:
    waiting = [(folder, 0) for folder in folders]
    if user is not None:
        for path, found in owned_in_public(user):
            yield size_of(found)
            if stat.S_ISDIR(found.st_mode):
                waiting.append((path, 0))
    while waiting:
        folder, depth = waiting.pop()
        if depth > DEEPEST:
            yield 1 << 62
        for entry in _entries(folder):
            try:
                found = entry.stat(follow_symlinks=False)
            except OSError:
                continue  # it is gone
            yield size_of(found)
            if stat.S_ISDIR(found.st_mode):
                waiting.append((entry.path, depth + 1))


def owned_in_public(user: int) -> Iterator[tuple[str, os.stat_result]]:
    """What a user has where every user may write; not what is within a folder of that user."""
    waiting = [place for place in PUBLIC_PLACES if not os.path.islink(place)]
    while waiting:
        for entry in _entries(waiting.pop()):
            try:
                found = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if found.st_uid == user:
                yield entry.path, found
            elif stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_IWOTH:
                waiting.append(entry.path)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
