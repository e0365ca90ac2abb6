"""A submission at the table: its program, started anew after each fault."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from croupier_common.messages import (
    TournamentEnd,
    TournamentEndParams,
    TournamentStart,
    TournamentStartParams,
)
from croupier_common.render import printable
from croupier_common.verdict import Fault, Phase
from croupier_server.clock import StallMeter
from croupier_server.croupier import ask_guarded, fault_of_ack
from croupier_server.errors import ProgramFailed, ServerFault
from croupier_server.gateway.program import Program
from croupier_server.gateway.stdio_seat import StdioSeat
from croupier_server.grading.evidence import Mishap
from croupier_server.grading.isolation.model import Cell, Exceeded, Report
from croupier_server.grading.limits import Limits
from croupier_server.settings import Settings

__all__ = ["Entry", "ProgramPlayer"]

_FAREWELL_MS: Final = 1_000
"""How long the answer to the end of a match may take; nothing depends on it any more."""

_AGED: Final = 0.5
"""The share of a limit that a program has used when it is started anew between two blocks."""

_FIXES: Final[dict[Exceeded, str]] = {
    "cpu": "Compute less in a turn: the limit is for a start of your program with all its games.",
    "wall": "Answer sooner: the limit is for a start of your program with all its games.",
    "memory": "Use less memory, and let go of what belongs to games that are over.",
    "processes": "Start fewer processes and threads, and wait for their end.",
    "disk": "Write less, or nothing at all.",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """A submission as it takes its seats.

    Attributes:
        name: at the table.
        argv: the program and its arguments.
        relayed: whether it speaks WebSocket.
        limits: for each start of it.
    """

    name: str
    argv: tuple[str, ...]
    relayed: bool
    limits: Limits


class ProgramPlayer:
    """The program of a submission, for the games of one match; to be ended by :meth:`end`.

    Args:
        cell: where it runs.
        logs: a folder for what it writes on standard error, a file for each start.
        match: what the match is called to it.
    """

    def __init__(
        self,
        entry: Entry,
        cell: Cell,
        settings: Settings,
        meter: StallMeter,
        *,
        logs: Path,
        match: str,
    ) -> None:
        self.name = entry.name
        self._entry = entry
        self._cell = cell
        self._settings = settings
        self._meter = meter
        self._logs = logs
        self._match = match
        self._seat: StdioSeat | None = None
        self._starts = 0
        self._began = 0.0
        self._thought_s = 0.0
        self._seen = 0
        self._report: Report | None = None

    @property
    def seat(self) -> StdioSeat:
        """Its seat; there is one after :meth:`ready` has found no fault."""
        assert self._seat is not None
        return self._seat

    async def ready(self, players: Sequence[str]) -> Fault | None:
        """Have it run, and accept the match; gives why it does not.

        Args:
            players: all names at the table.

        Raises:
            ServerFault: it could not even be tried, for a fault of ours.
        """
        if self._seat is not None:
            return None
        self._starts += 1
        self._began, self._thought_s = time.monotonic(), 0.0
        self._seen, self._report = len(self._cell.reports()), None
        try:
            seat = await StdioSeat.start(self._program(), self._settings, self._meter)
        except ProgramFailed as failed:
            if not self._look():  # it was none of the program's that ended
                raise ServerFault(f"no warden came up: {failed}") from failed
            return failed.fault
        self._seat = seat
        clocks = self._settings.clocks
        params = TournamentStartParams(
            tournament=self._match, players=list(players), budget_ms=clocks.ack_ms
        )
        call = TournamentStart(id=f"{self._match}:start", params=params)
        answer = await ask_guarded(seat, call, clocks.ack_ms, clocks)
        fault = fault_of_ack(answer, Phase.TOURNAMENT_START)
        if fault is not None:
            await self.end()
        return fault

    def thought(self, think_ms: Sequence[int]) -> None:
        """It has played a game, with these turns."""
        self._thought_s += sum(think_ms) / 1000

    async def refresh(self) -> None:
        """End it if it has used up much of its limits, so that none hits it for playing long.

        That is for between two blocks; the next game starts it anew.
        """
        limits = self._entry.limits
        aged_s = time.monotonic() - self._began
        if aged_s > _AGED * limits.wall_s or self._thought_s > _AGED * limits.cpu_s:
            await self.end()

    async def farewell(self, winners: Sequence[str]) -> None:
        """Tell it that the match is over, and end it."""
        if self._seat is None:
            return
        params = TournamentEndParams(
            tournament=self._match,
            won=self.name in winners,
            winners=list(winners),
            budget_ms=_FAREWELL_MS,
        )
        call = TournamentEnd(id=f"{self._match}:end", params=params)
        await self._seat.ask(call, _FAREWELL_MS)
        await self.end()

    async def end(self) -> None:
        """End the program; may be called twice."""
        seat, self._seat = self._seat, None
        if seat is not None:
            await seat.end()
            self._look()

    def mishap(self, fault: Fault) -> Mishap:
        """What a fault comes to, in words; once the program has been ended."""
        detail, fix, limit = fault.detail, fault.verdict.fix, None
        report = self._report
        if report is not None and report.exceeded is not None:
            limit, fix = report.exceeded, _FIXES[report.exceeded]
            detail = f"{report.detail} ({detail})"
        return Mishap(fault.verdict, fault.phase.value, detail, fix, limit)

    def why_not_started(self, fault: Fault) -> str:
        """Why it can't play at all, in one line, with its last words."""
        detail = self.mishap(fault).detail
        words = self._last_words()
        if words and words not in detail:
            detail += f"; the last line on its standard error: {words}"
        return f"it did not start: {detail}"

    def _last_words(self) -> str:
        path = self._log()
        with suppress(OSError), path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 4_096))
            lines = file.read().decode("utf-8", "replace").splitlines()
            return printable(next((x.strip() for x in reversed(lines) if x.strip()), ""), 200)
        return ""

    def _program(self) -> Program:
        command = self._cell.command(self._entry.argv, relayed=self._entry.relayed)
        return Program(name=self.name, command=command, log=self._log())

    def _log(self) -> Path:
        return self._logs / f"{self._starts:03}.log"

    def _look(self) -> bool:
        """See how the program that has ended did so; False if nobody knows."""
        reports = self._cell.reports()[self._seen :]
        self._report = reports[-1] if reports else None
        return bool(reports)
