"""The round robin among submissions: pairs on boards, both seats, and who came where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from croupier_common.verdict import Verdict
from croupier_server.grading.evidence import Placing
from croupier_server.grading.matches_player import ProgramPlayer
from croupier_server.grading.matches_table import Boards, play_game
from croupier_server.settings import Clocks
from croupier_server.tournament.ledger import unplayed
from croupier_server.tournament.model import Entrant, Field, History, Pairing, Result
from croupier_server.tournament.round_robin import RoundRobin
from croupier_server.tournament.standings import standings

__all__ = ["PairPlayed", "pairs", "placings", "play_pair"]

_MANY: Final = 10_000_000
"""More games than anybody will wait for; how many there are is the rubric's business."""


@dataclass(frozen=True, slots=True)
class PairPlayed:
    """The games of a pair on one board."""

    results: tuple[Result, ...]


def pairs(names: Sequence[str], blocks: int) -> Sequence[Sequence[Pairing]]:
    """The blocks that are to be played, each as its games; none for fewer than two.

    Args:
        blocks: how many each pair plays.
    """
    plan = RoundRobin(2, _MANY).plan([Entrant(name) for name in names])
    found: dict[str, list[Pairing]] = {}
    for cycle in range(blocks):
        for pairing in plan.first:
            block = f"{cycle + 1}.{pairing.block}"
            game = Pairing(f"{cycle + 1}.{pairing.game}", pairing.players, cycle + 1, block)
            found.setdefault(block, []).append(game)
    return list(found.values())


async def play_pair(
    games: Sequence[Pairing],
    players: Mapping[str, ProgramPlayer],
    boards: Boards,
    clocks: Clocks,
    records: Path,
) -> PairPlayed:
    """Play a block of two submissions; who fails in a game loses it, and plays the next.

    Args:
        players: by name, those that could be built; their programs are ended then.
    """
    cycle, names = games[0].round, sorted(games[0].players)
    seed = boards.seed_of("robin", cycle, *names)
    results = [await _game(pairing, players, boards, seed, clocks, records) for pairing in games]
    winners = _winners(results)
    for player in players.values():
        await player.farewell(winners)
    return PairPlayed(tuple(results))


async def _game(
    pairing: Pairing,
    players: Mapping[str, ProgramPlayer],
    boards: Boards,
    seed: int,
    clocks: Clocks,
    records: Path,
) -> Result:
    failed: dict[str, Verdict] = {}
    for name in pairing.players:  # one after the other: only one of them computes at a time
        if name not in players:
            failed[name] = Verdict.NO_START
        elif (fault := await players[name].ready(pairing.players)) is not None:
            failed[name] = fault.verdict
    if failed:
        return unplayed(pairing, failed, "forfeit")
    seats = {name: players[name].seat for name in pairing.players}
    record = records / f"{pairing.game}.jsonl"
    over = await play_game(pairing, seats, boards, seed, clocks, record)
    for name in over.report.faults:
        await players[name].end()
    return over.result


def _winners(results: Sequence[Result]) -> Sequence[str]:
    """Who has won most of the games."""
    wins = [name for result in results for name in result.winners]
    most = max(map(wins.count, wins), default=0)
    return [name for name in dict.fromkeys(wins) if wins.count(name) == most]


def placings(names: Sequence[str], results: Sequence[Result]) -> Mapping[str, Placing]:
    """Where each came, by the round robin's own tie-breaks."""
    form = RoundRobin(2)
    field = Field(tuple(Entrant(name) for name in names))
    history = History(
        tuple(Pairing(r.game, r.players, r.round, r.block) for r in results),
        {result.game: result for result in results},
    )
    table = standings(field, history, form.tie_breaks)
    return {
        row.name: Placing(
            place=row.place,
            of=len(names),
            score=0.0 if row.score is None else float(row.score.mean),
            games=row.games,
        )
        for row in table.rows
    }
