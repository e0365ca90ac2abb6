"""Programs whose clock is set while they run, as an operator or NTP does it; the machine's isn't.

    with SetClock(tmp_path) as clock:
        program = subprocess.Popen(argv, env={**os.environ, **clock.environment})
        clock.jump(-3600)

The time of day jumps, the monotonic clock goes on. The library that does it, libfaketime 0.9.10,
breaks `time.sleep` in Python ("Invalid argument"), and nothing else of Python that waits: asyncio,
locks, events and queues are as ever.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

from support.needs import require

_FOLDERS: Final = ("/usr/lib/*/faketime", "/usr/lib/faketime", "/usr/local/lib/faketime")
_SHARED: Final = Path("/dev/shm")
_LEFT: Final = re.compile(r"(?:faketime_shm_|sem\.faketime_sem_)(\d+)")


def find_library() -> Path | None:
    """Give the path of libfaketime, or None."""
    found = [
        path
        for folder in _FOLDERS
        for path in Path("/").glob(f"{folder.removeprefix('/')}/libfaketime.so.1")
    ]
    return found[0] if found else None


def require_faketime() -> Path:
    """Give the path of libfaketime, or skip the test."""
    library = find_library()
    require("faketime", library, "libfaketime.so.1 is not installed (apt-get install faketime)")
    assert library is not None
    return library


class SetClock:
    """A time of day for as many programs as are given its environment.

    Args:
        folder: an empty one of its own; the programs read a file there.
        offset_s: how far it is ahead of the real time at first.

    Attributes:
        offset_s: how far it is ahead now.
    """

    def __init__(self, folder: Path, offset_s: float = 0.0) -> None:
        self._library = require_faketime()
        self._file = folder / "offset"
        self.offset_s = offset_s
        self.jump(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        remove_stale()

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables that a program has to be given besides its own."""
        return {
            "LD_PRELOAD": str(self._library),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",  # else a jump is seen up to 10 s later
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }

    def jump(self, seconds: float) -> None:
        """Set the clock ahead, or back with less than 0; programs see it when they next look."""
        self.offset_s += seconds
        fresh = self._file.with_suffix(".new")
        fresh.write_text(f"{self.offset_s:+.3f}\n", encoding="ascii")
        fresh.replace(self._file)  # half a file would be another time


def remove_stale() -> None:
    """Remove the shared memory that the library leaves where a program was killed."""
    for path in _SHARED.glob("*faketime_*"):
        found = _LEFT.fullmatch(path.name)
        if found and not _is_there(int(found[1])):
            path.unlink(missing_ok=True)


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
