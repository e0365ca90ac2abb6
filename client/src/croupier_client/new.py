"""Writing a first player: the files of `starter`, into a folder of their own."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Final

from croupier_client.errors import ClientError

__all__ = ["FILES", "CannotWrite", "write_starter"]

FILES: Final = ("my_player.py", "README.md")
"""What is written."""


class CannotWrite(ClientError, OSError):
    """A file that is there already, or a folder that can't be written to."""


def write_starter(folder: Path) -> list[Path]:
    """Write a small player that runs as it is, and give the files that were written.

    Raises:
        CannotWrite: one of them is there already (nothing was written then), or the system
            refuses.
    """
    wanted = [folder / name for name in FILES]
    for path in wanted:
        if path.exists():
            raise CannotWrite(f"{path} is there already, and is not overwritten")
    source = files("croupier_client.starter")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in wanted:
            text = source.joinpath(path.name).read_text(encoding="utf-8")
            with path.open("x", encoding="utf-8") as file:
                file.write(text)
    except OSError as problem:
        raise CannotWrite(f"can't write {folder}: {problem.strerror or problem}") from None
    return wanted
