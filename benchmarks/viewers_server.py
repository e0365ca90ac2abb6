"""The croupier of the viewers benchmark: tables at full speed, a paced game, and the pages."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

from benchmarks.book import board
from benchmarks.processes import own_job, raise_open_files, tell, told
from benchmarks.whole import Hall
from croupier_common.board_spec import CLASSIC_BOARD
from croupier_common.game import Game
from croupier_common.outcome import Color
from croupier_common.record import Header, RecordWriter, Seat
from croupier_common.rules import PRESETS
from croupier_common.strategies import make
from croupier_server.app import run
from croupier_server.gateway.websocket import WebSocketGateway
from croupier_server.options import configure_logs
from croupier_server.settings import load_settings
from croupier_server.storage import catalogue
from croupier_server.storage.database import Database
from croupier_server.storage.ledger import DatabaseLedger
from croupier_server.tournament.model import Pairing
from croupier_server.web.server import WebServer

PACE_S = 0.2
"""How often a move is written in the game that is watched."""

WATCHED = "0.1"


class Paced:
    """A game of two random players that is written move by move, each with its time."""

    def __init__(self, database: Database, rules: str) -> None:
        self._database = database
        self._rules = PRESETS[rules]
        self._written: list[str] = []
        self._writer = RecordWriter(self._written.append)
        self._row = 0

    async def begin(self, tournament: int) -> None:
        """Put it beside the others, with nothing but its header."""
        seats = (Seat("a", Color.RED), Seat("b", Color.WHITE))
        header = Header(WATCHED, board(1), self._rules, seats, 1, CLASSIC_BOARD)
        self._writer.header(header, {})
        pairing = Pairing(WATCHED, ("a", "b"), 1, WATCHED)
        line = self._written.pop()
        row = await self._database.run(
            lambda c: catalogue.begin_game(
                c, catalogue.issue(c, tournament, [pairing])[0].id, 1, WATCHED, 1, line
            )
        )
        self._row = row.id

    async def play(self) -> None:
        """Go on until cancelled; its players begin anew on the board where they are through."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            game = Game(WATCHED, board(1), list(Color)[:2], self._rules)
            player = make("random", seed=1)
            game.begin()
            while (request := game.request) is not None:
                await asyncio.sleep(max(0.0, due - loop.time()))
                due += PACE_S
                for numbered in game.act(player.choose(request.state)):
                    self._writer.event(numbered.event, {"written_us": time.monotonic_ns() // 1000})
                first = self._writer.seq - len(self._written)
                lines = list(enumerate(self._written, first))
                self._written.clear()
                await self._database.append(self._row, lines)


async def main(job: dict[str, Any]) -> None:
    """Serve, and report."""
    raise_open_files()
    settings = load_settings(
        None,
        {
            "server": {"port": 0},
            "limits": {"max_unjoined": 0},
            "storage": {"data": job["data"]},
            "web": {
                "port": 0,
                "max_connections": 10_000,
                "max_viewers": 10_000,
                "max_viewers_per_address": 0,  # all come from one
            },
        },
    )
    async with await Database.open(Path(job["data"])) as database:
        ledger = await DatabaseLedger.create(database, "benchmark", "knockout", 0, {})
        hall = Hall(job["tables"], job["rules"], ledger, settings.clocks)
        gateway = WebSocketGateway(settings, hall.admit, hall.leave)
        web = WebServer(settings, database)
        paced = Paced(database, job["rules"])
        await paced.begin(ledger.tournament)
        await gateway.start()
        await web.start()
        try:
            tell({"port": gateway.port, "web": web.port})
            await hall.full.wait()
            await asyncio.to_thread(told)  # all viewers are there
            pacing = asyncio.create_task(paced.play(), name="paced game")
            try:
                wall, cpu = time.perf_counter(), time.process_time()
                turns = await hall.play(job["rounds"])
                wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            finally:
                pacing.cancel()
                await asyncio.wait([pacing])
            tell({"turns_per_s": turns / wall, "cpu_us": cpu * 1e6 / turns, "wall_s": wall})
        finally:
            await web.stop()
            await gateway.stop()


if __name__ == "__main__":
    configure_logs(verbose=False)
    run(main(own_job()))
