"""Harmless flaws of what was handed in, mended: Windows' line ends where they keep it from running.

Also the digest of it all, by which equal submissions are known.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from croupier_server.grading.unpack import open_file

__all__ = ["digest_of", "mend"]

_MAKEFILES: Final = frozenset({"makefile", "gnumakefile"})
_SCRIPTS: Final = frozenset({".sh", ".bash", ".mk"})
_BOM: Final = b"\xef\xbb\xbf"
_LARGEST: Final = 1 << 20


def mend(root: Path) -> Sequence[str]:
    """Give scripts and makefiles line ends that their programs can read; tell what was mended."""
    return [f"line ends of {name} were mended" for name, path in _files(root) if _was_mended(path)]


def digest_of(root: Path) -> str:
    """A hash of all files, links, and modes in a folder, as hex digits."""
    whole = hashlib.sha256()
    for name, path in _files(root):
        if path.is_symlink():
            kind, content = "link", hashlib.sha256(os.fsencode(path.readlink()))
        else:
            kind = "program" if path.stat().st_mode & 0o100 else "file"
            with open_file(path) as file:
                content = hashlib.file_digest(file, "sha256")
        whole.update(f"{kind}\0{name}\0{content.hexdigest()}\n".encode())
    return whole.hexdigest()


def _was_mended(path: Path) -> bool:
    if path.is_symlink() or path.stat().st_size > _LARGEST:
        return False
    with open_file(path) as file:
        raw = file.read(_LARGEST)
    plain = raw.removeprefix(_BOM)
    is_script = plain.startswith(b"#!")
    if not is_script and path.suffix not in _SCRIPTS and path.name.lower() not in _MAKEFILES:
        return False
    mended = (plain if is_script else raw).replace(b"\r\n", b"\n")
    if b"\0" in raw or mended == raw:
        return False
    path.write_bytes(mended)
    return True


def _files(root: Path) -> Iterator[tuple[str, Path]]:
    """All files and links in a folder, by their paths in it, in order."""
    found = [
        Path(folder, name)
        for folder, folders, files in os.walk(root)
        for name in [*files, *(name for name in folders if Path(folder, name).is_symlink())]
    ]
    yield from sorted((path.relative_to(root).as_posix(), path) for path in found)
