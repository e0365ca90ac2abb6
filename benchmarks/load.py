"""The load: players who know all their answers beforehand, one connection each.

The same program answers the bare loop and the whole croupier, so that its own cost is the same
too. It is told every answer by ``TABLE:SEQ``, which is a request's id without the round. A
turn's overhead is what passes between the sending of an answer and the arrival of the same game's
next request, whoever gets it: all that is not a player's thinking.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from benchmarks.processes import be_patient, own_job, tell, told
from benchmarks.report import quantile
from croupier_server.app import run

HEAD = '{"jsonrpc":"2.0","id":"'
"""How a request begins, ours and the bare loop's."""


class Load:
    """All players, and what they saw."""

    def __init__(self, answers: dict[str, str]) -> None:
        self.answers = answers
        self.answered_at: dict[str, float] = {}
        self.overheads: list[float] = []
        self.by_table: dict[str, list[float]] = defaultdict(list)
        self.request_bytes = 0
        self.reply_bytes = 0
        self.cpu_before = 0.0

    async def play(self, port: int, name: str) -> None:
        """Join, and answer until the connection is closed."""
        uri = f"ws://127.0.0.1:{port}"
        async with connect(uri, compression=None, ping_interval=None) as connection:
            params = {"protocol": 1, "name": name}
            join = {"jsonrpc": "2.0", "id": "j", "method": "join", "params": params}
            await connection.send(json.dumps(join))
            await connection.recv()
            try:
                await self._answer(connection)
            except ConnectionClosed:
                return

    async def _answer(self, connection: ClientConnection) -> None:
        start = len(HEAD)
        while True:
            raw = await connection.recv(decode=True)
            now = time.perf_counter()
            if not raw.startswith(HEAD):
                continue  # a notification
            request_id = raw[start : raw.index('"', start)]
            game, _, seq = request_id.partition(":")
            if seq == "0":  # game_start: a beginning, and no turn
                self.answered_at.pop(game, None)
                await connection.send(f'{HEAD}{request_id}","result":true}}')
                continue
            before = self.answered_at.get(game)
            if before is None:
                self.cpu_before = self.cpu_before or time.process_time()
            else:
                self.overheads.append(now - before)
                self.by_table[game.partition(".")[2]].append(now - before)
            answer = self.answers[request_id.partition(".")[2]]
            reply = f'{HEAD}{request_id}","result":{answer}}}'
            self.request_bytes += len(raw)
            self.reply_bytes += len(reply)
            self.answered_at[game] = time.perf_counter()
            await connection.send(reply)

    def report(self) -> dict[str, Any]:
        """What was seen, for the parent."""
        turns = len(self.overheads) + len(self.answered_at)
        return {
            "turns": turns,
            "cpu_us": (time.process_time() - self.cpu_before) * 1e6 / turns,
            "request_bytes": round(self.request_bytes / turns),
            "reply_bytes": round(self.reply_bytes / turns),
            "p50_ms": quantile(self.overheads, 0.5) * 1e3,
            "p99_ms": quantile(self.overheads, 0.99) * 1e3,
        }


async def main(job: dict[str, Any], answers: dict[str, str], port: int) -> None:
    """Play with so many players until the server closes all connections."""
    load = Load(answers)
    async with asyncio.TaskGroup() as group:
        for number in range(job["players"]):
            name = f"player {number}"
            group.create_task(load.play(port, name), name=name)
    tell(load.report())


if __name__ == "__main__":
    own = own_job()
    be_patient()
    book = json.loads(Path(own["answers"]).read_text(encoding="utf-8"))
    run(main(own, book, told()["port"]))
