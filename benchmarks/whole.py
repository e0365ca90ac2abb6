"""The whole croupier as the server of a benchmark: gateway, session, croupier, judging, records.

Games are played table by table, several rounds of each, as the manager would have them played.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

from benchmarks.book import COLORS, board
from benchmarks.processes import own_job, tell
from croupier_common.board_spec import CLASSIC_BOARD
from croupier_common.messages import JoinParams
from croupier_common.rules import PRESETS
from croupier_server.app import run, set_aside
from croupier_server.croupier import Croupier, Table
from croupier_server.gateway.websocket import WebSocketGateway
from croupier_server.options import configure_logs
from croupier_server.seats import Admission, Seat
from croupier_server.settings import Clocks, Settings, load_settings
from croupier_server.storage.database import Database
from croupier_server.storage.ledger import DatabaseLedger
from croupier_server.tournament.ledger import Book, Ledger, NoLedger
from croupier_server.tournament.model import Pairing


class Hall:
    """So many tables, and who sits at them."""

    def __init__(self, tables: int, rules: str, ledger: Ledger, clocks: Clocks) -> None:
        self.full = asyncio.Event()
        self._rules = PRESETS[rules]
        self._ledger = ledger
        self.clocks = clocks
        self.seats: list[Seat] = []
        self.boards = [board(table) for table in range(1, tables + 1)]

    def admit(self, params: JoinParams, seat: Seat) -> Admission:
        """Seat whoever comes."""
        self.seats.append(seat)
        if len(self.seats) == len(COLORS) * len(self.boards):
            self.full.set()
        return Admission(params.name, None)

    def leave(self, seat: Seat) -> bool:  # noqa: ARG002 - the gateway's signature
        """A player is away; its game waits for it."""
        return False

    async def play(self, rounds: int) -> int:
        """Play all tables' rounds; gives the number of plies."""
        async with asyncio.TaskGroup() as group:
            playing = [
                group.create_task(self._play(table, rounds), name=f"table {table}")
                for table in range(1, len(self.boards) + 1)
            ]
        return sum(task.result() for task in playing)

    def table(self, number: int, played: int) -> Table:
        """A table for its next game."""
        seats = self.seats[len(COLORS) * (number - 1) : len(COLORS) * number]
        return Table(
            game=f"{played}.{number}",
            board=self.boards[number - 1],
            rules=self._rules,
            seats=dict(zip(COLORS, seats, strict=True)),
        )

    async def _play(self, number: int, rounds: int) -> int:
        plies = 0
        for played in range(1, rounds + 1):
            table = self.table(number, played)
            names = tuple(seat.name for seat in table.seats.values())
            pairing = Pairing(table.game, names, played, table.game)
            await self._ledger.issue([pairing])
            sink = await self._ledger.open(Book(pairing, 1, table, number, CLASSIC_BOARD, {}))
            report = await Croupier(table, self.clocks, sink).play()
            if report.faults:
                raise RuntimeError(f"game {table.game}: {report.faults}")
            plies += report.plies
        return plies


def settings() -> Settings:
    """The defaults, on any free port; players come all at once, and from one address."""
    return load_settings(None, {"server": {"port": 0}, "limits": {"max_unjoined": 0}})


async def main(job: dict[str, Any]) -> None:
    """Serve, and report."""
    configured = settings()
    if job["data"] is None:
        await serve(job, configured, NoLedger())
        return
    async with await Database.open(Path(job["data"]) if job["data"] else None) as database:
        ledger = await DatabaseLedger.create(database, "benchmark", "knockout", 0, {})
        await serve(job, configured, ledger)


async def serve(job: dict[str, Any], configured: Settings, ledger: Ledger) -> None:
    """Serve players, and report."""
    hall = Hall(job["tables"], job["rules"], ledger, configured.clocks)
    gateway = WebSocketGateway(configured, hall.admit, hall.leave)
    await gateway.start()
    try:
        set_aside()  # as the server does before anybody can connect
        tell({"port": gateway.port})
        await hall.full.wait()
        wall, cpu = time.perf_counter(), time.process_time()
        turns = await hall.play(job["rounds"])
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    finally:
        await gateway.stop()
    tell({"turns": turns, "turns_per_s": turns / wall, "cpu_us": cpu * 1e6 / turns})


if __name__ == "__main__":
    configure_logs(verbose=False)
    run(main(own_job()))
