"""A tournament's export, as an archive to download."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from croupier_server.commands.archive import FileNames
from croupier_server.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from croupier_server.commands.places import Place
    from croupier_server.storage.catalogue import TournamentRow

__all__ = ["archive_of", "discard"]

PATIENCE_S: Final = 300.0


async def archive_of(place: Place, row: TournamentRow, *, bom: bool) -> Path:
    """The archive, in a folder of its own that :func:`discard` takes away.

    `croupier export` makes it, in a process of its own: ratings take long to work out, and would
    keep the games waiting.

    Raises:
        UserError: it can't be made.
    """
    out = Path(tempfile.mkdtemp(prefix="croupier-export-")) / FileNames().name(row.name, ".zip")
    try:
        await _export(place, row.name, out, bom=bom)
    except BaseException:
        discard(out)
        raise
    return out


def discard(archive: Path) -> None:
    """Take an archive away, once it was sent."""
    shutil.rmtree(archive.parent, ignore_errors=True)


async def _export(place: Place, name: str, out: Path, *, bom: bool) -> None:
    options = ["--out", str(out), *(["--bom"] if bom else [])]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "croupier_server", "export", *options, "--", name),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env=_environment(place.where),
    )
    try:
        async with asyncio.timeout(PATIENCE_S):
            _, told = await process.communicate()
    except TimeoutError:
        raise UserError("The export takes too long here; use `croupier export`.") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise UserError(told.decode("utf-8", "replace").strip() or "The export failed.")


def _environment(where: Path | str) -> Mapping[str, str]:
    """The environment of the command: where all is kept, and not in its arguments, which show."""
    known = {
        name: value
        for name, value in os.environ.items()
        if not name.upper().startswith("CROUPIER_STORAGE")
    }
    name = "CROUPIER_STORAGE__URL" if isinstance(where, str) else "CROUPIER_STORAGE__DATA"
    return {**known, name: str(where)}
