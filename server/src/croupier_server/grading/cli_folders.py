"""The folders of a run: where copies of submissions are worked on, and who can look where."""

from __future__ import annotations

import stat
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from croupier_server.grading.isolation import removal
from croupier_server.grading.results.writing import write_atomic
from croupier_server.grading.store import Store

__all__ = ["readable_by_all", "work_folder"]

_PREFIX: Final = "croupier-grade-"
_NOTE: Final = "work"


@contextmanager
def work_folder(store: Store) -> Generator[Path]:
    """A folder for our copies of submissions, which is gone afterwards.

    It is outside of the results, since the users that programs run as have to pass through it; they
    can't list it. One that a killed run has left is removed first.
    """
    note = store.folder / _NOTE
    _remove_old(note)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    try:
        write_atomic(note, str(folder))
        folder.chmod(0o711)
        yield folder
    finally:
        removal.remove(folder)
    note.unlink(missing_ok=True)


def _remove_old(note: Path) -> None:
    with suppress(OSError):
        old = Path(note.read_text(encoding="utf-8"))
        if old.name.startswith(_PREFIX) and not old.is_symlink():
            removal.remove(old)
        note.unlink()


def readable_by_all(path: Path) -> bool:
    """Whether any user of the system can read a file or a folder, as far as its modes say."""
    path = path.resolve()
    try:
        mode = path.stat().st_mode
        wanted = stat.S_IROTH | stat.S_IXOTH if path.is_dir() else stat.S_IROTH
        above = (parent.stat().st_mode & stat.S_IXOTH for parent in path.parents)
        return mode & wanted == wanted and all(above)
    except OSError:
        return False
