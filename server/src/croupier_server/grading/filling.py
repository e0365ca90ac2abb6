"""A new folder, filled with what strangers have sent: every path is checked, every byte counted.

What may not be is a :class:`~croupier_server.errors.BadSubmission` that names the entry. Links are
made last, so that nothing is ever written through one.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from croupier_common.render import printable
from croupier_server.errors import BadSubmission
from croupier_server.grading.limits import MIB

__all__ = ["BOUNDS", "Bounds", "Filling", "Parts", "bad_entry", "is_litter"]

Parts = tuple[str, ...]

_LITTER: Final = frozenset(
    {"__macosx", ".ds_store", "thumbs.db", "desktop.ini", "icon\r", ".spotlight-v100", ".trashes"}
)
_TOOLS_OWN: Final = frozenset(
    {
        ".git",
        ".hg",
        ".svn",
        ".venv",
        "venv",
        ".idea",
        ".vscode",
        "__pycache__",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
    }
)
"""Folders of an author's tools: large, of no use here, and some have links to where they were."""

_DRIVE: Final = re.compile(r"[A-Za-z]:")


@dataclass(frozen=True, slots=True)
class Bounds:
    """How large a submission may be.

    Attributes:
        total: bytes in all.
        one: bytes of one file.
        entries: files, folders and links.
        links: of the entries; each is followed to its end, maybe through all the others.
        depth: folders within each other.
        path: bytes of a path.
        name: bytes of a part of one.
        ratio: how many times its packed size a file in a zip may have.
        ratio_from: bytes of a file from which that is looked at.
    """

    total: int = 256 * MIB
    one: int = 64 * MIB
    entries: int = 10_000
    links: int = 500
    depth: int = 32
    path: int = 400
    name: int = 200
    ratio: int = 200
    ratio_from: int = 8 * MIB


BOUNDS: Final = Bounds()


class Filling:
    """A new folder while it is being filled; :meth:`finish` is to be called at the end.

    Attributes:
        left_out: names of an author's tools' folders that were left out; litter isn't worth a word.
    """

    def __init__(self, root: Path, bounds: Bounds = BOUNDS) -> None:
        self.root = root
        self.bounds = bounds
        self.left_out: set[str] = set()
        self._size = 0
        self._seen: dict[str, tuple[str, str]] = {}  # by what it can't be told from: path, kind
        self._links: list[tuple[Parts, str]] = []
        root.mkdir(mode=0o755)
        root.chmod(0o755)

    def parts(self, name: str) -> Parts:
        """The parts of an entry's path; none if it is to be left out.

        Raises:
            BadSubmission: no entry may have that path.
        """
        if name.startswith("/"):
            raise bad_entry(name, "an absolute path")
        if "\\" in name:
            raise bad_entry(name, "a backslash in a path; make the zip with / between folders")
        if _DRIVE.match(name):
            raise bad_entry(name, "a path with a drive")
        parts = tuple(part for part in name.split("/") if part not in {"", "."})
        if ".." in parts:
            raise bad_entry(name, "a path with .. in it")
        if any(map(is_litter, parts)):
            self.left_out.update({part for part in parts if part.lower() in _TOOLS_OWN})
            return ()
        self._check_length(name, parts)
        return parts

    def folder(self, parts: Parts) -> None:
        """Make a folder, if it is not there."""
        self._register(parts, "folder")

    def file(
        self, parts: Parts, data: Iterable[bytes], *, runs: bool, packed: int | None = None
    ) -> None:
        """Write a file; scripts and programs may be run, whatever their mode was.

        Args:
            packed: its size in the zip.
        """
        self._register(parts, "file")
        path = self.root.joinpath(*parts)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
            head = b""
            for chunk in self._counted(parts, data, packed):
                head = head or chunk[:4]
                file.write(chunk)
        runs = runs or head.startswith((b"#!", b"\xef\xbb\xbf#", b"\x7fELF"))
        path.chmod(0o755 if runs else 0o644)

    def link(self, parts: Parts, target: str) -> None:
        """Have a link made at the end.

        Raises:
            BadSubmission: it leaves the folder, or there can be no such link.
        """
        self._register(parts, "link")
        name = "/".join(parts)
        if not target or "\0" in target or len(os.fsencode(target)) > self.bounds.path:
            raise bad_entry(name, "a link to what can't be")
        if len(self._links) >= self.bounds.links:
            raise bad_entry(name, f"more than {self.bounds.links} links")
        to = os.path.normpath("/".join([*parts[:-1], target]))
        if target.startswith("/") or _DRIVE.match(target) or Path(to).parts[:1] == ("..",):
            raise bad_entry(name, f"a link that leaves the folder, to {printable(target, 100)}")
        self._links.append((parts, target))

    def finish(self) -> None:
        """Make the links, now that nothing can be written through them."""
        for parts, target in self._links:
            self.root.joinpath(*parts).symlink_to(target)

    def _check_length(self, name: str, parts: Parts) -> None:
        bounds = self.bounds
        if not "".join(parts).isprintable():
            raise bad_entry(name, "a name with characters that can't be printed")
        if len(parts) > bounds.depth:
            raise bad_entry(name, f"more than {bounds.depth} folders within each other")
        if len(name.encode()) > bounds.path or any(len(p.encode()) > bounds.name for p in parts):
            raise bad_entry(name, f"too long a name: a path has at most {bounds.path} bytes")

    def _register(self, parts: Parts, kind: str) -> None:
        """Note an entry and the folders above it, which are made.

        Raises:
            BadSubmission: it is there already, or another that some systems take for it.
        """
        for depth in range(1, len(parts) + 1):
            path = "/".join(parts[:depth])
            wanted = kind if depth == len(parts) else "folder"
            key = unicodedata.normalize("NFC", path).casefold()
            before, was = self._seen.setdefault(key, (path, ""))
            if not was:
                self._seen[key] = path, wanted
                self._check_number(path)
                if wanted == "folder":
                    self._make(parts[:depth])
            elif before != path:
                raise bad_entry(path, f"it differs from {printable(before, 100)} by case only")
            elif wanted != "folder" or was != "folder":
                raise bad_entry(path, "it is there twice")

    def _make(self, parts: Parts) -> None:
        folder = self.root.joinpath(*parts)
        folder.mkdir(mode=0o755)
        folder.chmod(0o755)

    def _check_number(self, path: str) -> None:
        if len(self._seen) > self.bounds.entries:
            raise bad_entry(path, f"more than {self.bounds.entries:,} files and folders")

    def _counted(self, parts: Parts, data: Iterable[bytes], packed: int | None) -> Iterator[bytes]:
        """The same data, as long as it is not too much."""
        bounds, size, name = self.bounds, 0, "/".join(parts)
        for chunk in data:
            size += len(chunk)
            self._size += len(chunk)
            if size > bounds.one:
                raise bad_entry(name, f"a file of more than {bounds.one // MIB} MiB")
            if self._size > bounds.total:
                raise bad_entry(name, f"more than {bounds.total // MIB} MiB in all")
            if packed is not None and size > max(bounds.ratio_from, bounds.ratio * packed):
                raise bad_entry(name, f"a zip bomb: more than {bounds.ratio} times its packed size")
            yield chunk


def is_litter(name: str) -> bool:
    """Whether a file or folder of that name is left out: systems and tools put it there."""
    lower = name.lower()
    return lower in _LITTER or lower in _TOOLS_OWN or name.startswith("._")


def bad_entry(name: str, what: str) -> BadSubmission:
    """Why an entry may not be, in one line."""
    return BadSubmission(f"{printable(name, 160)}: {what}")
