"""The server of the pages benchmark: games end at a steady pace, pages are shown beside that."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from contextlib import suppress
from multiprocessing import active_children
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from benchmarks.big_cup import BigCup
from benchmarks.book import COLORS, board
from benchmarks.heartbeat import Heartbeat
from benchmarks.processes import own_job, tell, told
from croupier_common.board_spec import CLASSIC_BOARD
from croupier_common.game import Game
from croupier_common.record import Header, RecordWriter, Seat
from croupier_common.rules import PRESETS
from croupier_common.strategies import make
from croupier_server.app import run, set_aside
from croupier_server.options import configure_logs
from croupier_server.settings import load_settings
from croupier_server.storage import catalogue
from croupier_server.storage.database import Database
from croupier_server.tournament.model import Pairing, Result
from croupier_server.web.server import WebServer

SHOWN = "1.1"
"""The game that is in a tournament of its own, to be looked at."""


def record() -> list[str]:
    """A game of two random players on the 60 tiles of the boxed game."""
    lines: list[str] = []
    writer, rules = RecordWriter(lines.append), PRESETS["fish"]
    seats = tuple(Seat(name, color) for name, color in zip("ab", COLORS, strict=True))
    writer.header(Header(SHOWN, board(1), rules, seats, 1, CLASSIC_BOARD), {})
    game = Game(SHOWN, board(1), COLORS, rules)
    player = make("random", seed=1)
    happened = game.begin()
    while True:
        for numbered in happened:
            writer.event(numbered.event, {"think_ms": 123})
        if game.request is None:
            return lines
        happened = game.act(player.choose(game.request.state))


def show(connection: Connection) -> None:
    """Put that game into the database."""
    first, *rest = record()
    row = catalogue.create_tournament(connection, "game", "round-robin", 1, {})
    for name in "ab":
        catalogue.add_entrant(connection, row.id, name, "remote")
    [paired] = catalogue.issue(connection, row.id, [Pairing(SHOWN, ("a", "b"), 1, SHOWN)])
    game = catalogue.begin_game(connection, paired.id, 1, SHOWN, 1, first)
    catalogue.finish_game(
        connection,
        game.id,
        list(enumerate(rest, 1)),
        chain="",
        plies=len(rest),
        result=Result(SHOWN, SHOWN, 1, ("a", "b"), ranking=(("a",), ("b",))),
    )


async def go_on(database: Database, cup: BigCup, pace_s: float) -> None:
    """End a game every so often, until cancelled or all are over."""
    loop = asyncio.get_running_loop()
    due = loop.time()
    while cup.waiting:
        await database.run(cup.play_one)
        due += pace_s
        await asyncio.sleep(max(0.0, due - loop.time()))


def children_s() -> float:
    """How much of the processor's time the processes of this one have used; 0 if nobody knows."""
    if sys.platform != "linux":
        return 0.0
    stats = [Path(f"/proc/{one.pid}/stat").read_text("ascii") for one in active_children()]
    ticks = [int(number) for stat in stats for number in stat.rpartition(")")[2].split()[11:13]]
    return sum(ticks) / os.sysconf("SC_CLK_TCK")


async def phase(database: Database, cup: BigCup, pace_s: float) -> dict[str, float]:
    """How the loop fared while games ended, until the parent says that it is enough."""
    heart = Heartbeat()
    ending = asyncio.create_task(go_on(database, cup, pace_s), name="games that end")
    cpu, apart = time.process_time(), children_s()
    async with heart.beating():
        await asyncio.to_thread(told)
    cpu, apart = time.process_time() - cpu, children_s() - apart
    ending.cancel()
    with suppress(asyncio.CancelledError):
        await ending
    return {**heart.figures(), "cpu_s": cpu, "apart_s": apart}


async def main(job: dict[str, Any]) -> None:
    """Serve, and report."""
    data = Path(job["data"])
    settings = load_settings(
        None, {"server": {"port": 0}, "storage": {"data": data}, "web": {"port": 0}}
    )
    async with await Database.open(data) as database:
        cup = BigCup(job["players"], job["rounds"], "swiss")
        await database.run(show)
        await database.run(cup.build)  # the newest, as the one that is played
        web = WebServer(settings, database)
        await web.start()
        try:
            tell({"port": web.port, "games": cup.games})
            await asyncio.to_thread(told)  # the first page was there
            set_aside()
            for _ in ("without requests", "with requests"):
                tell(await phase(database, cup, job["pace_s"]))
        finally:
            await web.stop()


if __name__ == "__main__":
    configure_logs(verbose=False)
    run(main(own_job()))
