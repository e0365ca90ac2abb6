"""An export's files, put into a zip archive or a folder: whole, or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol

from croupier_server.errors import UserError

__all__ = ["FileNames", "Target", "records_in", "written"]

DATE: Final = (1980, 1, 1, 0, 0, 0)
"""The date of all files in an archive, so that the same content gives the same bytes."""

LONGEST: Final = 120
"""How long a file's name gets, before its ending."""

_RESERVED: Final = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{at}" for port in ("com", "lpt") for at in range(10))}
)
"""What Windows takes for a device."""


class Target(Protocol):
    """Takes files, each with its path in the archive."""

    def add(self, path: str, text: str) -> None:
        """Write a file."""
        ...


class FileNames:
    """Gives each thing a file's name that no other has, on systems that know no case too."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def name(self, wanted: str, ending: str) -> str:
        """A name like this one, of letters, digits, `_`, `.` and `-`."""
        plain = "".join(c if c.isascii() and (c.isalnum() or c in "_.-") else "_" for c in wanted)
        base = plain[:LONGEST].strip(".") or "_"
        if base.partition(".")[0].lower() in _RESERVED:
            base = f"_{base}"
        name, number = base, 1
        while name.lower() in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name.lower())
        return name + ending


@contextmanager
def written(out: Path) -> Generator[Target]:
    """Where files can be put that are at `out` in the end, if all goes well.

    A name that ends with ``.zip`` makes an archive, in the place of one that there may be; any
    other a folder, which must be new or empty.

    Raises:
        UserError: it can't be written.
    """
    is_zip = out.suffix.lower() == ".zip"
    try:
        _check(out, is_zip=is_zip)
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(
            prefix=f".{out.name[:40]}-", dir=out.parent, ignore_cleanup_errors=True
        ) as scratch:
            new = Path(scratch) / "export"
            if is_zip:
                with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
                    yield _Zip(archive)
                new.chmod(0o666 & ~_umask())
                new.replace(out)
            else:
                new.mkdir()
                yield _Folder(new)
                if out.exists():
                    out.rmdir()  # it is empty
                new.rename(out)
    except OSError as problem:
        raise UserError(f"{out}: {problem.strerror or problem}") from None


def _check(out: Path, *, is_zip: bool) -> None:
    if is_zip and out.is_dir():
        raise UserError(f"{out}: a folder has that name; give the archive another")
    if not is_zip and out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out}: it exists and is no empty folder; give another name, or NAME.zip")


class _Zip:
    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive

    def add(self, path: str, text: str) -> None:
        """See :class:`Target`."""
        info = zipfile.ZipInfo(path, DATE)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.create_system = 3  # Unix, wherever it is made
        info.external_attr = 0o100644 << 16
        self._archive.writestr(info, text.encode("utf-8"))


class _Folder:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, path: str, text: str) -> None:
        """See :class:`Target`."""
        file = self._folder / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="")


def _umask() -> int:
    """What the system takes away from new files' modes; it can be read by setting it only."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def records_in(archive: Path, folder: Path) -> Mapping[str, Path]:
    """The records of an archive by their names in it, sorted, put into a folder.

    Raises:
        UserError: it can't be read, or there are none in it.
    """
    files: dict[str, Path] = {}
    try:
        with zipfile.ZipFile(archive) as found:
            for number, info in enumerate(found.infolist()):
                if info.filename.endswith(".jsonl"):
                    # by number: names in archives can be equal, or lead out of the folder
                    file = folder / f"{number}.jsonl"
                    with found.open(info) as source, file.open("wb") as target:
                        shutil.copyfileobj(source, target)
                    name = info.filename
                    files[name if name not in files else f"{name} ({number})"] = file
    except (OSError, zipfile.BadZipFile, zlib.error, RuntimeError) as problem:
        raise UserError(f"{archive}: no whole archive: {problem}") from None
    if not files:
        raise UserError(f"{archive}: no records (*.jsonl) in this archive")
    return dict(sorted(files.items()))
