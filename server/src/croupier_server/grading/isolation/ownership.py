"""Whose the files of a submission are. Links are never followed, nor what is not a plain file read.

To be used only while no process of the submission runs.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from croupier_server.grading.isolation import disk, removal

__all__ = ["bring_back", "copy", "empty", "give", "take_back"]

_CHUNK = 1 << 20
_LONGEST = 3_000
"""Bytes of a path; the system takes somewhat more, and copies have longer ones."""


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


def copy(source: Path, target: Path) -> None:
    """Copy a folder that is ours, its links as links, and its holes as holes.

    Raises:
        OSError: that can't be.
    """
    shutil.copytree(source, target, symlinks=True, copy_function=_copy_file)


def bring_back(source: Path, target: Path, user: int, most: int) -> None:
    """Put copies of all that a user has in one folder into another, in place of what is there.

    What is somebody else's is left out: a name can be given to any file. Each folder is taken from
    the user before it is read, as others may have been let into it.

    Args:
        most: bytes on the disk. Who has more, or too deep folders, was ended for it; the rest is
            left out, as are paths that are too long for a copy.
    """
    empty(target)
    parent = os.open(source.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _Bringing(user, most).folder(source.name, parent, target)
    finally:
        os.close(parent)


class _Bringing:
    """Brings back what is a user's, as long as there is room."""

    def __init__(self, user: int, room: int) -> None:
        self._user = user
        self._room = room

    def folder(self, name: str, parent: int, target: Path, depth: int = 0) -> None:
        """Bring back a folder, of an open one, as `target`."""
        with self._own(name, parent, stat.S_IFDIR) as opened:
            if opened is None:
                return
            if depth:
                target.mkdir()
            removal.take(opened)
            for inner, found in _entries(opened):
                self._room -= disk.size_of(found)
                there = target / inner
                if self._room >= 0 and len(os.fsencode(there)) < _LONGEST and depth < disk.DEEPEST:
                    self._entry(inner, found, opened, there, depth + 1)

    def _entry(
        self, name: str, found: os.stat_result, folder: int, target: Path, depth: int
    ) -> None:
        if stat.S_ISDIR(found.st_mode):
            self.folder(name, folder, target, depth)
        elif stat.S_ISLNK(found.st_mode) and found.st_uid == self._user:
            with suppress(OSError):  # none any more, or to what can't be
                target.symlink_to(os.readlink(name, dir_fd=folder))
        elif stat.S_ISREG(found.st_mode):
            with self._own(name, folder, stat.S_IFREG) as opened:
                if opened is not None:
                    _copy_to(opened, target, 0o755 if found.st_mode & stat.S_IXUSR else 0o644)

    @contextmanager
    def _own(self, name: str, folder: int, kind: int) -> Generator[int | None]:
        """A file or folder, opened, if it is the user's, and of the kind that it was taken for."""
        opened, flags = -1, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        with suppress(OSError):  # a link by now
            opened = os.open(name, flags, dir_fd=folder)
        if opened < 0:
            yield None
            return
        try:
            found = os.fstat(opened)
            is_own = found.st_uid == self._user
            yield opened if is_own and stat.S_IFMT(found.st_mode) == kind else None
        finally:
            os.close(opened)


def _entries(opened: int) -> Sequence[tuple[str, os.stat_result]]:
    """What is in an open folder, by name."""
    found: list[tuple[str, os.stat_result]] = []
    with os.scandir(opened) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):  # moved away
                found.append((entry.name, entry.stat(follow_symlinks=False)))
    return found


def empty(folder: Path) -> None:
    """Remove all that is in a folder."""
    for path in folder.iterdir():
        removal.remove(path)


def _copy_file(source: str, target: str) -> None:
    opened = os.open(source, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        _copy_to(opened, Path(target), stat.S_IMODE(os.fstat(opened).st_mode))
    finally:
        os.close(opened)


def _copy_to(source: int, target: Path, mode: int) -> None:
    """Copy an opened file; what is a hole in it takes no room in the copy either."""
    written = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        for begin, end in _data(source):
            os.lseek(source, begin, os.SEEK_SET)
            os.lseek(written, begin, os.SEEK_SET)
            left = end - begin
            while left > 0 and (chunk := os.read(source, min(left, _CHUNK))):
                left -= len(chunk)
                _write(written, chunk)
        os.ftruncate(written, os.fstat(source).st_size)
        os.fchmod(written, mode)
    finally:
        os.close(written)


def _write(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]


def _data(file: int) -> Iterator[tuple[int, int]]:
    """Where in a file there is no hole."""
    end = 0
    while True:
        try:
            begin = os.lseek(file, end, os.SEEK_DATA)
            end = os.lseek(file, begin, os.SEEK_HOLE)
        except OSError as problem:
            if problem.errno != errno.ENXIO:  # there is no more
                raise
            return
        yield begin, end


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
