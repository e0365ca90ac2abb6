"""Players that are programs on this machine: JSON lines over their standard input and output.

The messages are those of the WebSocket, each on a line. In place of a join the program is asked
``hello``, within the time to join, in which it has to start up as well. See ``docs/stdio.md``.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import structlog

from croupier_common.programs import PATIENCE, Patience
from croupier_server.errors import ProgramFailed, Refused, UserError
from croupier_server.gateway.program import Program
from croupier_server.gateway.stdio_seat import StdioSeat
from croupier_server.heartbeat import Heartbeat
from croupier_server.operations.tally import Tally
from croupier_server.seats import Admit, Seat
from croupier_server.settings import Settings

__all__ = ["Program", "StdioGateway", "StdioSeat"]

log = structlog.get_logger(__name__)


class StdioGateway:
    """Starts programs, has them join, and ends them.

    Args:
        admit: takes a seat with what its player says of itself, and gives its name and age as
            they count; or raises :class:`~croupier_server.errors.Refused`.
        leave: told when a program that was admitted has ended, or has hung up.
        logs: a folder for what they write on standard error, a file for each whose
            :attr:`Program.log` names no other; if None, that is not kept.
        tally: counts replies that are dropped.
    """

    def __init__(
        self,
        settings: Settings,
        admit: Admit,
        leave: Callable[[Seat], object],
        *,
        logs: Path | None = None,
        patience: Patience = PATIENCE,
        tally: Tally | None = None,
    ) -> None:
        self._tally = tally or Tally()
        self._settings = settings
        self._heartbeat = Heartbeat()
        self._admit = admit
        self._leave = leave
        self._logs = logs
        self._patience = patience
        self._seats: list[StdioSeat] = []

    @property
    def connected(self) -> int:
        """How many of them run, and have not hung up."""
        return sum(seat.is_here for seat in self._seats)

    async def start(self, programs: Sequence[Program]) -> Sequence[ProgramFailed]:
        """Start programs side by side, and have them join in their order.

        Returns:
            those that did not answer as they should, and are not there.

        Raises:
            UserError: one can't be started, or may not join. :meth:`stop` is to be called then too.
        """
        self._heartbeat.start()
        slots = asyncio.Semaphore(max(4, 2 * (os.cpu_count() or 1)))

        async def start(program: Program) -> StdioSeat | ProgramFailed | UserError:
            async with slots:
                try:
                    seat = await StdioSeat.start(
                        program, self._settings, self._heartbeat.meter, self._patience
                    )
                except (ProgramFailed, UserError) as problem:
                    return problem
            seat.tally = self._tally
            self._seats.append(seat)
            return seat

        async with asyncio.TaskGroup() as group:
            starting = [
                group.create_task(start(program), name=f"start {program.name}")
                for program in self._with_logs(programs)
            ]
        failed: list[ProgramFailed] = []
        for task in starting:
            match task.result():
                case StdioSeat() as seat:
                    self._join(seat)
                case ProgramFailed() as problem:
                    log.warning("program did not join", player=problem.name, reason=str(problem))
                    failed.append(problem)
                case UserError() as problem:
                    raise problem
        return failed

    async def stop(self) -> None:
        """End all programs; may be called twice, or before the start."""
        async with asyncio.TaskGroup() as group:
            for seat in self._seats:
                group.create_task(seat.end(), name=f"end {seat.name}")
        self._heartbeat.stop()

    def _join(self, seat: StdioSeat) -> None:
        assert seat.joins is not None
        program = seat.program
        params = seat.joins.model_copy(update={"age": seat.age, "token": program.token})
        try:
            admission = self._admit(params, seat)
        except Refused as refused:
            raise UserError(f"player {seat.name!r} can't join: {refused}") from None
        seat.name = admission.name
        seat.age = admission.age if program.age is None else program.age
        seat.when_gone(lambda: self._leave(seat))

    def _with_logs(self, programs: Sequence[Program]) -> Sequence[Program]:
        if self._logs is None:
            return programs
        names = [re.sub(r"[^\w-]", "_", program.name) for program in programs]
        return [
            program
            if program.log is not None
            else replace(program, log=self._logs / f"{name}{_number(names, at)}.log")
            for at, (program, name) in enumerate(zip(programs, names, strict=True))
        ]


def _number(names: Sequence[str], at: int) -> str:
    """What tells a file's name from an equal one before it."""
    before = [name.casefold() for name in names[:at]].count(names[at].casefold())
    return f"-{before + 1}" if before else ""
