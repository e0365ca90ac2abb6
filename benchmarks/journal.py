"""What it costs a turn to be durable: lines of records, appended by tasks that wait for each."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sqlalchemy.engine import make_url

from benchmarks.report import Budget, Part, Table, quantile, shown
from benchmarks.sizes import SIZES, Size
from croupier_server.storage import catalogue
from croupier_server.storage.database import Database
from croupier_server.tournament.model import Pairing, Result

__all__ = ["measure"]

VARIABLE: Final = "CROUPIER_POSTGRESQL"
WAITING: Final = (1, 8, 50)
LINE: Final = "x" * 399 + "\n"
"""As long as the line of a move, its two hashes included."""

PLAYERS: Final[tuple[str, ...]] = ("ada", "ben", "cy", "dot")
CPU_LIMIT_US: Final = 60.0
"""What being durable may cost a turn of the server's time."""


@dataclass(frozen=True, slots=True)
class Found:
    """How appending went, with so many tasks that wait."""

    per_second: float
    latency_us: float
    latency_99_us: float
    cpu_us: float


def measure(size: Size) -> Part:
    """Append to each database that there is, then fill its catalogue."""
    return asyncio.run(_measure(size))


async def _measure(size: Size) -> Part:
    rows: list[tuple[str, ...]] = []
    figures: dict[str, float] = {}
    budgets: list[Budget] = []
    for name, where in _places():
        async with _place(where) as place, await Database.open(place) as database:
            for waiting in WAITING:
                found = await _append(database, waiting, size.turns)
                title = f"{name}, {waiting} waiting"
                rows.append((title, *map(shown, _cells(found))))
                figures[f"{title} per s"] = found.per_second
                figures[f"{title} cpu us"] = found.cpu_us
            most = f"{name}, {WAITING[-1]} waiting cpu us"
            budgets.append(Budget(most, figures[most], CPU_LIMIT_US, at_least=False))
            bulk = await _fill(database, 4 * size.turns)
            figures.update((f"{name}, {what} us", each) for what, each in bulk.items())
            rows += [(f"{name}, {what}", shown(1e6 / us), "", "", "") for what, us in bulk.items()]
    return Part(
        "journal",
        f"{size.turns:,} lines of {len(LINE)} bytes, each durable before its task goes on; then "
        f"{4 * size.turns:,} pairings of {len(PLAYERS)} and their results, at once.",
        Table(("", "per s", "median us", "p99 us", "CPU us"), rows),
        figures,
        budgets,
    )


def _cells(found: Found) -> tuple[float, ...]:
    return (found.per_second, found.latency_us, found.latency_99_us, found.cpu_us)


def _places() -> Iterator[tuple[str, str | None]]:
    yield "SQLite", None
    if url := os.environ.get(VARIABLE):
        yield "PostgreSQL", url


@asynccontextmanager
async def _place(server: str | None) -> AsyncGenerator[Path | str]:
    """A new database, gone afterwards."""
    if server is None:
        with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".journal-") as folder:
            yield Path(folder)
        return
    import asyncpg

    name = f"croupier_{uuid.uuid4().hex}"
    connection = await asyncpg.connect(server)
    try:
        await connection.execute(f"CREATE DATABASE {name}")
        yield make_url(server).set(database=name).render_as_string(hide_password=False)
        await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
    finally:
        await connection.close()


async def _append(database: Database, waiting: int, lines: int) -> Found:
    games = await _begin(database, waiting)
    taken: list[float] = []

    async def play(game: int) -> None:
        for seq in range(1, lines // waiting + 1):
            started = time.perf_counter()
            await database.append(game, [(seq, LINE)])
            taken.append(time.perf_counter() - started)

    cpu, started = time.process_time(), time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for game in games:
            group.create_task(play(game))
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    return Found(
        len(taken) / seconds,
        quantile(taken, 0.5) * 1e6,
        quantile(taken, 0.99) * 1e6,
        cpu / len(taken) * 1e6,
    )


async def _begin(database: Database, count: int) -> list[int]:
    cup = await database.run(
        lambda c: catalogue.create_tournament(c, uuid.uuid4().hex, "swiss", 1, {})
    )
    pairings = [Pairing(f"1.{at}", PLAYERS, 1, f"1.{at}") for at in range(count)]
    rows = await database.run(lambda c: catalogue.issue(c, cup.id, pairings))
    games = await database.run(
        lambda c: [catalogue.begin_game(c, row.id, 1, row.game, 1, LINE) for row in rows]
    )
    return [game.id for game in games]


async def _fill(database: Database, count: int) -> dict[str, float]:
    """How many microseconds each of so many pairings and results takes."""
    cup = await database.run(
        lambda c: catalogue.create_tournament(c, uuid.uuid4().hex, "swiss", 1, {})
    )
    pairings = [Pairing(f"1.{at}", PLAYERS, 1, f"1.{at}") for at in range(count)]
    started = time.perf_counter()
    rows = await database.run(lambda c: catalogue.issue(c, cup.id, pairings))
    issued = time.perf_counter()
    scores: dict[str, int] = dict.fromkeys(PLAYERS, 20)
    played = [
        (
            row.id,
            Result(
                *(row.game, row.block, 1, PLAYERS, "played"),
                ranking=(PLAYERS[:1], PLAYERS[1:]),
                fish=scores,
                tiles=scores,
            ),
        )
        for row in rows
    ]
    begun = time.perf_counter()
    await database.run(lambda c: catalogue.add_results(c, played))
    added = time.perf_counter()
    found = await database.run(lambda c: catalogue.results(c, cup.id))
    read = time.perf_counter()
    assert len(found) == count
    times = {
        "issuing a pairing": issued - started,
        "adding a result": added - begun,
        "reading a result": read - added,
    }
    return {what: seconds / count * 1e6 for what, seconds in times.items()}


def main() -> int:
    """Measure it alone."""
    print("\n".join(measure(SIZES["quick" if "--quick" in sys.argv else "full"]).lines()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
