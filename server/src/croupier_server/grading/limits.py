"""How much a program of a submission may use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["BUILD_LIMITS", "MIB", "PLAY_LIMITS", "Limits"]

MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one start of a program may use, with all that it starts itself.

    Attributes:
        cpu_s: seconds of processor time in all.
        wall_s: seconds from its start to its end.
        memory: bytes in memory at a time.
        processes: processes and threads at a time.
        open_files: open files of one process.
        file_bytes: the longest file it may write.
        disk_bytes: all that it may write to disk.
        output_bytes: how much of its standard error is kept; of its standard output while it is
            built.
    """

    cpu_s: float = 600.0
    wall_s: float = 1_800.0
    memory: int = 1_024 * MIB
    processes: int = 64
    open_files: int = 256
    file_bytes: int = 16 * MIB
    disk_bytes: int = 64 * MIB
    output_bytes: int = 1 * MIB


PLAY_LIMITS: Final = Limits()
BUILD_LIMITS: Final = Limits(
    cpu_s=120.0,
    wall_s=120.0,
    memory=2_048 * MIB,
    processes=128,
    open_files=1_024,
    file_bytes=256 * MIB,
    disk_bytes=512 * MIB,
)
