"""The croupier of the crowd benchmark: tables that play, players that only wait, and bad ones."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from benchmarks.book import COLORS
from benchmarks.processes import own_job, raise_open_files, resident_kib, tell
from benchmarks.whole import Hall, settings
from croupier_common.messages import JoinParams
from croupier_server.app import run
from croupier_server.croupier import Croupier
from croupier_server.gateway.websocket import WebSocketGateway
from croupier_server.options import configure_logs
from croupier_server.seats import Admission, Seat
from croupier_server.tournament.ledger import NoLedger


class CrowdHall(Hall):
    """A hall in which some only stand about, and some tables break up."""

    def __init__(self, job: dict[str, Any]) -> None:
        configured = settings()
        super().__init__(job["tables"], job["rules"], NoLedger(), configured.clocks)
        self.waiting = asyncio.Event()
        self._idle_left = job["idle"]
        self._by_number: dict[int, Seat] = {}
        if not self._idle_left:
            self.waiting.set()

    def admit(self, params: JoinParams, seat: Seat) -> Admission:
        """Seat whoever comes to play where its number says, so that the bad sit at the first."""
        kind, _, number = params.name.partition(" ")
        if kind == "player":
            self._by_number[int(number)] = seat
            if len(self._by_number) == len(COLORS) * len(self.boards):
                self.seats[:] = [self._by_number[at] for at in sorted(self._by_number)]
                self.full.set()
        else:
            self._idle_left -= 1
            if not self._idle_left:
                self.waiting.set()
        return Admission(params.name, None)

    async def _play(self, number: int, rounds: int) -> int:
        plies = 0
        for played in range(1, rounds + 1):
            report = await Croupier(self.table(number, played), self.clocks, NoLedger()).play()
            plies += report.plies
            if report.faults:  # who is left has nobody to play with
                break
        return plies


async def main(job: dict[str, Any]) -> None:
    """Serve, and report."""
    raise_open_files()
    hall = CrowdHall(job)
    gateway = WebSocketGateway(settings(), hall.admit, hall.leave)
    await gateway.start()
    try:
        tell({"port": gateway.port})
        await hall.full.wait()
        alone = resident_kib()
        await hall.waiting.wait()
        crowded = resident_kib()
        wall, cpu = time.perf_counter(), time.process_time()
        turns = await hall.play(job["rounds"])
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    finally:
        await gateway.stop()
    tell(
        {
            "turns_per_s": turns / wall,
            "cpu_us": cpu * 1e6 / turns,
            "idle_kib": (crowded - alone) / job["idle"] if job["idle"] else 0,
        }
    )


if __name__ == "__main__":
    configure_logs(verbose=False)
    run(main(own_job()))
