"""What strangers have handed in, brought into a folder of ours: a zip or a folder, never followed.

All that is written goes through a :class:`~croupier_server.grading.filling.Filling`, which counts
what arrives, whatever headers say. When it is finished, :func:`check_links` sees to it that no link
leads out, not even through another one.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from croupier_common.render import printable
from croupier_server.errors import BadSubmission
from croupier_server.grading.filling import Filling, bad_entry
from croupier_server.grading.limits import MIB

__all__ = ["check_links", "copy_file", "copy_folder", "open_file", "unpack_zip"]

_CHUNK: Final = 1 << 16
_LONGEST_LINK: Final = 4_096
_LARGEST_DIRECTORY: Final = 4 * MIB
_TOO_MANY: Final = "the zip has too many files and folders"

_DAMAGE: Final = (
    BadZipFile,
    zlib.error,
    EOFError,
    struct.error,
    ValueError,  # wrong offsets, and names that are not UTF-8
    OverflowError,
    NotImplementedError,
    RuntimeError,
    LookupError,
)
"""What reading a damaged zip raises."""


def open_file(path: Path) -> io.FileIO:
    """A file for reading, if it is a file and no link to one.

    Raises:
        OSError: it is not, or can't be read.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    file = io.FileIO(os.open(path, flags | getattr(os, "O_BINARY", 0)), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "not a file", str(path))
    return file


def copy_file(source: Path, filling: Filling, name: str = "") -> None:
    """Copy one file.

    Args:
        name: its path within what is filled; its own name if not given.

    Raises:
        BadSubmission: it is too large, or has a name that can't be.
        OSError: it can't be read.
    """
    parts = filling.parts(name or source.name)
    with open_file(source) as file:
        runs = bool(os.fstat(file.fileno()).st_mode & 0o111)
        filling.file(parts, _chunks(file.read), runs=runs)


def copy_folder(
    source: Path, filling: Filling, *, skips: Callable[[Path], bool] = lambda _: False
) -> None:
    """Copy a folder.

    Args:
        skips: whether a folder in it is to be left out.

    Raises:
        BadSubmission: something in it may not be there.
        OSError: something can't be read.
    """
    waiting: list[tuple[Path, str]] = [(source, "")]
    while waiting:
        folder, above = waiting.pop()
        for name in sorted(os.listdir(folder)):  # noqa: PTH208 - names alone, in order
            path, inner = folder / name, f"{above}{name}"
            if not (parts := filling.parts(inner)):
                continue
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode):
                filling.link(parts, os.readlink(path))  # noqa: PTH115 - as text
            elif stat.S_ISDIR(mode):
                if not skips(path):
                    filling.folder(parts)
                    waiting.append((path, f"{inner}/"))
            elif stat.S_ISREG(mode):
                copy_file(path, filling, inner)
            else:
                raise bad_entry(inner, "neither a file nor a folder nor a link")


def unpack_zip(source: Path, filling: Filling) -> None:
    """Unpack a zip.

    Raises:
        BadSubmission: it is damaged, or something in it may not be there.
        OSError: it can't be read.
    """
    try:
        with open_file(source) as raw, _Bounded(raw) as file, ZipFile(file) as archive:
            entries = archive.infolist()
            if len(entries) > filling.bounds.entries:
                raise BadSubmission(_TOO_MANY)
            for entry in entries:
                _unpack(archive, entry, filling)
    except _DAMAGE as problem:
        raise _damaged(source, problem) from None
    except OSError as problem:
        if problem.errno != errno.EINVAL:  # which is an offset that can't be
            raise
        raise _damaged(source, problem) from None


def _damaged(source: Path, problem: Exception) -> BadSubmission:
    told = printable(" ".join(str(problem).split()), 100) or type(problem).__name__
    return bad_entry(source.name, f"a damaged zip, or none: {told}")


class _Bounded(io.BufferedReader):
    """A zip's bytes; zipfile asks for the whole directory at once, however large that is."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > _LARGEST_DIRECTORY:
            raise BadSubmission(_TOO_MANY)
        return super().read(size)


def _unpack(archive: ZipFile, entry: ZipInfo, filling: Filling) -> None:
    name = entry.orig_filename  # `filename` is without what is behind a zero byte
    if entry.flag_bits & 0x1:
        raise bad_entry(name, "it is encrypted; make the zip without a password")
    mode = entry.external_attr >> 16
    kind = stat.S_IFMT(mode)
    parts = filling.parts(name)
    if not parts:
        return
    if entry.compress_type not in {ZIP_STORED, ZIP_DEFLATED}:
        raise bad_entry(
            name, "packed in a way that is rare; make the zip with its usual compression"
        )
    if kind not in {0, stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK}:
        raise bad_entry(name, "neither a file nor a folder nor a link")
    if name.endswith("/") or kind == stat.S_IFDIR:
        filling.folder(parts)
        return
    with archive.open(entry) as data:
        if kind == stat.S_IFLNK:
            filling.link(parts, data.read(_LONGEST_LINK).decode())
        else:
            chunks = _chunks(data.read)
            filling.file(parts, chunks, runs=bool(mode & 0o111), packed=entry.compress_size)


def check_links(root: Path) -> None:
    """See to it that no link in a folder leads out of it, not even through others.

    Raises:
        BadSubmission: one does.
    """
    real = Path(os.path.realpath(root))
    for folder, folders, files in os.walk(root):
        for name in [*folders, *files]:
            path = Path(folder, name)
            if path.is_symlink() and not _leads_into(path, real):
                where = path.relative_to(root).as_posix()
                to = printable(os.readlink(path), 100)  # noqa: PTH115 - as text
                raise bad_entry(where, f"a link that leaves the folder, to {to}")


def _leads_into(link: Path, real: Path) -> bool:
    """Whether a link leads into a folder.

    Raises:
        BadSubmission: it leads through more links than can be followed.
    """
    try:
        return Path(os.path.realpath(link)).is_relative_to(real)
    except RecursionError:  # each link takes a call of its own
        raise bad_entry(link.name, "a link that leads through too many others") from None


def _chunks(read: Callable[[int], bytes]) -> Iterator[bytes]:
    while data := read(_CHUNK):
        yield data
