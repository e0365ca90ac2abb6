"""Turns per second of the whole croupier over loopback WebSocket, against a bare loop."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.book import answers
from benchmarks.processes import Failed, pinned_core, run_pair
from benchmarks.report import Budget, Part, Table, median, shown
from benchmarks.sizes import Size

__all__ = ["measure"]

RULES = "fish"
REPLY = "[[12,3],[10,2]]"
"""What the bare loop is answered: a move."""

CONTESTANTS = ("bare loop", "croupier", "croupier, in memory", "croupier, journal")
PLAIN, MEMORY, JOURNAL = CONTESTANTS[1:]


@dataclass(frozen=True, slots=True)
class Run:
    """What one contestant did in one round. Times of the processors are per turn."""

    turns_per_s: float
    server_us: float
    load_us: float
    p50_ms: float
    p99_ms: float
    request_bytes: int
    reply_bytes: int

    @property
    def both_us(self) -> float:
        """What a turn takes of the core by both ends together."""
        return self.server_us + self.load_us


Round = Mapping[str, Run]
"""By contestant."""


@dataclass(frozen=True, slots=True)
class Arena:
    """So many games at once, and where their answers and records are.

    Attributes:
        seqs: how many different requests there are to each table, on average.
    """

    games: int
    turns: int
    seconds: float
    folder: Path
    seqs: int

    @classmethod
    def open(cls, games: int, size: Size, folder: Path) -> Arena:
        """Play the games beforehand, and write down what is answered."""
        book = answers(games, RULES)
        seqs = round(len(book) / games)
        bare = {f"{table}:{seq}": REPLY for table in range(1, games + 1) for seq in range(seqs + 1)}
        folder.mkdir()
        (folder / "whole.json").write_text(json.dumps(book), encoding="utf-8")
        (folder / "bare.json").write_text(json.dumps(bare), encoding="utf-8")
        return cls(games, size.turns, size.pair_seconds, folder, seqs)

    async def play(self, number: int) -> Round:
        """Let all have their turn; the bare loop last, for it sends as much as the croupier did."""
        plain = await self._whole(None)
        memory = await self._whole("")
        journal = await self._whole(str(self.folder / f"data-{number}"))
        bare = await self._bare(plain.request_bytes)
        return dict(zip(CONTESTANTS, (bare, plain, memory, journal), strict=True))

    async def _whole(self, data: str | None) -> Run:
        """A run that keeps nothing, or what it keeps in a folder, or in memory if that is ''."""
        job = {
            "tables": self.games,
            "rounds": max(1, round(self.turns / (self.games * self.seqs))),
            "rules": RULES,
            "data": data,
        }
        return await self._run("benchmarks.whole", job, "whole.json", 2 * self.games)

    async def _bare(self, request_bytes: int) -> Run:
        job = {
            "connections": self.games,
            "turns": max(1, round(self.turns / self.games)),
            "seqs": self.seqs,
            "request_bytes": request_bytes,
        }
        return await self._run("benchmarks.bare", job, "bare.json", self.games)

    async def _run(self, server: str, job: Mapping[str, object], book: str, players: int) -> Run:
        load_job = {"answers": str(self.folder / book), "players": players}
        served, loaded = await run_pair(server, job, load_job, self.seconds)
        if served["turns"] != loaded["turns"]:
            raise Failed(f"{server} made {served['turns']} turns and its load {loaded['turns']}")
        return Run(
            served["turns_per_s"],
            served["cpu_us"],
            loaded["cpu_us"],
            loaded["p50_ms"],
            loaded["p99_ms"],
            loaded["request_bytes"],
            loaded["reply_bytes"],
        )


def measure(size: Size) -> Part:
    """Play all rounds, the contestants in turn; figures are medians over the rounds."""
    with tempfile.TemporaryDirectory(prefix="croupier-bench-") as folder:
        found = asyncio.run(play(size, Path(folder)))
    rows: list[tuple[str, ...]] = []
    figures: dict[str, float] = {}
    budgets: list[Budget] = []
    for games, rounds in found.items():
        where = f"{games} at once" if games > 1 else "1 at a time"
        for name in CONTESTANTS:
            own = summary(rounds, name)
            figures |= {f"{games} {name} {key}": figure for key, figure in own.items()}
            rows.append((f"{where}, {name}", *map(shown, own.values())))
        budgets += budgets_of(games, where, figures)
    return Part("turns", about(size, found), Table(("", *COLUMNS), rows), figures, budgets)


async def play(size: Size, folder: Path) -> dict[int, list[Round]]:
    """By number of games at once, what the rounds gave."""
    arenas = [Arena.open(games, size, folder / str(games)) for games in size.games]
    found: dict[int, list[Round]] = {games: [] for games in size.games}
    for number in range(size.turns_rounds):
        for arena in arenas:
            found[arena.games].append(await arena.play(number))
    return found


COLUMNS = (
    "turns/s",
    "to bare",
    "by CPU",
    "server us",
    "load us",
    "p50 ms",
    "p99 ms",
    "p99 to bare",
)


def summary(rounds: list[Round], name: str) -> dict[str, float]:
    """One contestant's figures, by column."""
    own = [played[name] for played in rounds]
    bare = [played["bare loop"] for played in rounds]
    both = list(zip(own, bare, strict=True))
    figures = (
        median(run.turns_per_s for run in own),
        median(run.turns_per_s / its.turns_per_s for run, its in both),
        median(its.both_us / run.both_us for run, its in both),
        median(run.server_us for run in own),
        median(run.load_us for run in own),
        median(run.p50_ms for run in own),
        median(run.p99_ms for run in own),
        median(run.p99_ms / its.p99_ms for run, its in both),
    )
    return dict(zip(COLUMNS, figures, strict=True))


def budgets_of(games: int, where: str, figures: Mapping[str, float]) -> list[Budget]:
    """What the croupier should reach with so many games at once."""
    plain, memory, journal = (figures[f"{games} {name} to bare"] for name in CONTESTANTS[1:])
    found = [
        Budget(f"{where}: turns/s to the bare loop's (next goal 0.7)", plain, 0.5),
        Budget(f"{where}: the same with the journal (next goal 0.6)", journal, 0.35),
        Budget(f"{where}: with the journal, to that in memory (aim 0.8)", journal / memory, 0.65),
    ]
    if games > 1:
        p99 = figures[f"{games} croupier p99 to bare"]
        found.append(Budget(f"{where}: p99 overhead to the bare loop's", p99, 2, at_least=False))
    return found


def about(size: Size, found: Mapping[int, list[Round]]) -> str:
    """What was measured, and how."""
    run = next(iter(found.values()))[0]["croupier"]
    core = pinned_core()
    pinned = "not pinned, which this platform can't" if core is None else f"both on core {core}"
    return (
        "Games of two players on the boxed game's board, over loopback WebSocket; server and load "
        f"are processes, {pinned}, the load as a batch process where there are such. A request "
        f"has {run.request_bytes} bytes and a reply {run.reply_bytes}, the bare loop's as many. "
        "The load knows its answers beforehand and is the same program for all. The journal is a "
        "table of an SQLite database, written durably and by groups before the next request; in "
        "memory it is the same without waiting. p50 and p99 are of what passes between an "
        "answer and its game's next request; server and load are the CPU time of a turn; 'by CPU' "
        "compares what both ends take together: turns/s if nothing else ran on the core. "
        f"{size.turns_rounds} rounds of about {size.turns:,} turns, the contestants in turn; "
        "medians."
    )
