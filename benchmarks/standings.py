"""The tables' speed: everybody against everybody from both seats, against one bare pass over it."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from math import exp

from benchmarks.report import Budget, Part, Table, median, shown
from benchmarks.sizes import Size
from croupier_server.ratings import ladder_ratings, rate
from croupier_server.tournament.cross_table import cross_table
from croupier_server.tournament.model import Entrant, Field, History, Result
from croupier_server.tournament.seat_bias import seat_bias
from croupier_server.tournament.standings import standings
from croupier_server.tournament.tally import tallied
from croupier_server.tournament.tie_breaks import TIE_BREAKS

__all__ = ["measure"]

BOOTSTRAPS = 200

Work = Callable[[], object]


def tournament(players: int) -> tuple[Field, History]:
    """All pairs, two games each; strengths spread like a normal error, few ties."""
    draws = random.Random(1)
    strengths = {f"p{number}": draws.gauss(0, 1) for number in range(players)}
    names = list(strengths)
    pairs = [(one, other) for at, one in enumerate(names) for other in names[:at]]
    results: dict[str, Result] = {}
    for number, (one, other) in enumerate(pairs, 1):
        for seat, (a, b) in enumerate(((one, other), (other, one)), 1):
            result = played(f"1.{number}", seat, a, b, strengths[a] - strengths[b], draws.random())
            results[result.game] = result
    return Field(tuple(map(Entrant, names))), History((), results)


def played(block: str, game: int, a: str, b: str, edge: float, draw: float) -> Result:
    """A game of two, decided by a draw from 0 to 1."""
    ranking: tuple[tuple[str, ...], ...] = ((b,), (a,))
    if draw < 0.03:
        ranking = ((a, b),)
    elif draw < 0.03 + 0.97 / (1 + exp(-edge)):
        ranking = ((a,), (b,))
    counts = {a: 20, b: 18}
    return Result(f"{block}.{game}", block, 1, (a, b), "played", ranking, {}, counts, counts)


def bare(history: History) -> dict[str, int]:
    """The yardstick: wins counted, and nothing else."""
    wins: dict[str, int] = {}
    for result in history.results.values():
        for name in result.winners:
            wins[name] = wins.get(name, 0) + 1
    return wins


def works(field: Field, history: History) -> dict[str, Work]:
    """By name, what is worked out."""

    def tables() -> None:
        tallies = tallied(history.results.values())
        standings(field, history, list(TIE_BREAKS), tallies=tallies)
        cross_table(field, history, tallies=tallies)

    return {
        "bare pass": lambda: bare(history),
        "table and cross-table": tables,
        "seats": lambda: seat_bias(history),
        "ratings": lambda: rate(field, history, bootstraps=0),
        "ratings with intervals": lambda: rate(field, history, bootstraps=BOOTSTRAPS),
        "ladder": lambda: ladder_ratings(field, history.results.values()),
    }


def measure(size: Size) -> Part:
    """Work everything out in turn, for several rounds; the best round's time, the median ratio."""
    players = {3: 200, 2: 60}[size.perft_depth] if size.rules_rounds > 1 else 12
    rounds = min(size.rules_rounds, 3)
    field, history = tournament(players)
    doing = works(field, history)
    doing["ratings with intervals"]()  # so that nobody pays for the imports
    doing["ladder"]()
    took: dict[str, list[float]] = {name: [] for name in doing}
    for _ in range(rounds):
        for name, work in doing.items():
            took[name].append(seconds(work))
    ratios = {
        name: median(own / its for own, its in zip(times, took["bare pass"], strict=True))
        for name, times in took.items()
    }
    games = len(history.results)
    return Part(
        "standings",
        f"{players} players, {games:,} games of two, all tie-breaks, {BOOTSTRAPS} bootstraps; one "
        f"process's CPU time, best of {rounds}, and the median ratio to one pass that counts wins.",
        Table(
            ("", "seconds", "to bare pass"),
            [(name, f"{min(times):.3f}", shown(ratios[name])) for name, times in took.items()],
        ),
        {
            **{f"{name} s": min(times) for name, times in took.items()},
            **{f"{name} to bare pass": ratio for name, ratio in ratios.items()},
        },
        [
            Budget("table and cross-table, seconds", min(took["table and cross-table"]), 1, False),
            Budget(
                "ratings with intervals, seconds", min(took["ratings with intervals"]), 5, False
            ),
        ],
    )


def seconds(work: Work) -> float:
    """How much of the processor's time a piece of work takes."""
    started = time.process_time()
    work()
    return max(time.process_time() - started, 1e-9)
