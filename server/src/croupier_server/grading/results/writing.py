"""Writing a file of results whole, or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from croupier_server.errors import UserError

__all__ = ["write_atomic"]


def write_atomic(path: Path, text: str, *, lasts: bool = True) -> None:
    """Write a file in the place of any other: whoever reads it finds the old text or all of this.

    A link of that name is replaced, and not followed.

    Args:
        lasts: whether it is on the disk when this returns, so that it outlives the machine's end
            too; that may take some hundredths of a second.

    Raises:
        UserError: it can't be written; what was there is as it was.
    """
    new = path.with_name(f".{path.name[:60]}.{secrets.token_hex(6)}")
    try:
        try:
            # only in a file that is new: nobody can have put a link there
            with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:
                # half a character, as names of files can have, is none in UTF-8
                file.write(text.encode("utf-8", "replace"))
                file.flush()
                if lasts:
                    os.fsync(file.fileno())
            new.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                new.unlink(missing_ok=True)
            raise
        if lasts:
            _sync_folder(path.parent)
    except OSError as problem:
        raise UserError(f"{path}: {problem.strerror or problem}") from None


def _sync_folder(folder: Path) -> None:
    """Have the new name be on the disk too, where the system can do that."""
    with contextlib.suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
