"""Programs that play over their standard input and output, a tournament of them, and their end."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from croupier_common.programs import Patience
from croupier_common.verdict import Fault
from croupier_server.errors import ProgramFailed
from croupier_server.gateway.stdio import Program, StdioGateway
from croupier_server.lobby import Lobby
from croupier_server.settings import Settings
from croupier_server.tournament.ledger import Ledger, NoLedger
from croupier_server.tournament.manager import Manager
from croupier_server.tournament.progress import TournamentResult
from support.wire import quick_settings

PLAYER = Path(__file__).parent / "stdio_player.py"
QUICK = Patience(close_s=0.3, term_s=0.3)


def command(*switches: str) -> Sequence[str]:
    """The scripted player's, with its switches."""
    return [sys.executable, "-I", "-S", str(PLAYER), *switches]


def program(name: str, folder: Path, *switches: str) -> Program:
    """A scripted player that notes its processes and keeps a log in a folder."""
    return Program(
        name=name,
        command=command(*switches),
        env={"PIDS": str(folder / f"{name}.pids")},
        log=folder / f"{name}.log",
    )


def processes(folder: Path) -> list[int]:
    """The processes that were noted in a folder."""
    return [int(line) for file in folder.glob("*.pids") for line in file.read_text().split()]


def processes_left(folder: Path) -> list[int]:
    """Those of them that still run, a moment after they were killed."""
    noted = processes(folder)
    assert noted
    until = time.monotonic() + 2
    while (left := [pid for pid in noted if _runs(pid)]) and time.monotonic() < until:
        time.sleep(0.01)
    return left


def _runs(pid: int) -> bool:
    """Whether it runs, and is no mere entry that waits for its parent to look at it."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        if Path("/proc/self/stat").exists():
            return False
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        return True
    return stat.rpartition(")")[2].split()[0] not in {"Z", "X"}


@dataclass
class Outcome:
    """A tournament of programs that is over."""

    result: TournamentResult
    failed: Sequence[ProgramFailed]

    @property
    def fault(self) -> Fault:
        """The one fault that there was."""
        ((_, fault),) = self.result.faults.items()
        return fault


@asynccontextmanager
async def playing(
    programs: Sequence[Program],
    settings: Settings | None = None,
    ledger: Ledger | None = None,
) -> AsyncGenerator[tuple[Manager, Sequence[ProgramFailed]]]:
    """Programs that have joined, and a manager for their tournament; they are ended after it."""
    settings = settings or quick_settings()
    lobby = Lobby(settings.lobby)
    gateway = StdioGateway(settings, lobby.admit, lobby.leave, patience=QUICK)
    try:
        failed = await gateway.start(programs)
        yield Manager(settings, lobby.seats, 7, ledger or NoLedger()), failed
    finally:
        await gateway.stop()


async def play(programs: Sequence[Program], settings: Settings | None = None) -> Outcome:
    """Have programs play a tournament."""
    async with playing(programs, settings) as (manager, failed):
        return Outcome(await manager.run(), failed)
