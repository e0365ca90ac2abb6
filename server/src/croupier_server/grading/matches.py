"""A match of a submission against house players: block after block, until what is needed is met."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from croupier_common.verdict import Fault
from croupier_server.gateway.house_entry import HouseEntry
from croupier_server.gateway.house_seat import HousePool, HouseSeat
from croupier_server.grading.evidence import BlockPlayed, GamePlayed, Match
from croupier_server.grading.matches_names import house_names
from croupier_server.grading.matches_player import ProgramPlayer
from croupier_server.grading.matches_table import Boards, GameOver, play_game
from croupier_server.seats import Seat
from croupier_server.settings import Clocks
from croupier_server.tournament.model import Pairing
from croupier_server.tournament.points import PARTS, parts
from croupier_server.tournament.seating import rotated

if TYPE_CHECKING:
    from croupier_server.grading.rubric import MatchNeed

__all__ = ["HouseMatch", "game_label"]


def game_label(level: str) -> str:
    """What the games against a level are called: fit for a file's name anywhere."""
    return re.sub(r"[^\w]+", "_", level)


@dataclass(slots=True)
class HouseMatch:
    """A match against house players of one level; to be played once.

    Args:
        records: the folder of the submission's results; records go below it.
        told: told how many blocks have been played.
    """

    need: MatchNeed
    player: ProgramPlayer
    boards: Boards
    clocks: Clocks
    pool: HousePool
    records: Path
    told: Callable[[int], object] = lambda _: None
    _games_s: float = field(default=0.0, init=False)

    async def play(self) -> Match:
        """Play it; the player's program is ended then."""
        began = time.monotonic()
        match = Match(self.need.level)
        fault = await self.player.ready(self._names())
        if fault is not None:
            problem = self.player.why_not_started(fault)
            return replace(match, problem=problem, took_s=time.monotonic() - began)
        while not (match.blocks and self.need.is_met(match)):
            block = await self._block(len(match.blocks) + 1)
            match = replace(match, blocks=(*match.blocks, block))
            self.told(len(match.blocks))
            await self.player.refresh()
        await self.player.farewell(self._winners(match))
        return replace(
            match,
            cut=self._cut(match),
            took_s=time.monotonic() - began,
            games_s=self._games_s,
        )

    def _names(self) -> tuple[str, ...]:
        house = house_names(self.need.level, self.boards.players - 1)
        return (self.player.name, *house)

    def _winners(self, match: Match) -> tuple[str, ...]:
        mean = sum(match.scores) / len(match.scores)
        return (self.player.name,) if mean > 0.5 else self._names()[1:]

    def _cut(self, match: Match) -> str:
        mishaps = sum(game.mishap is not None for game in match.games)
        if mishaps < self.need.max_mishaps:
            return ""
        return f"{mishaps} game{'s' if mishaps > 1 else ''} ended with a verdict"

    async def _block(self, number: int) -> BlockPlayed:
        """Play the games on one board, in all rotations of the seats."""
        seed = self.boards.seed_of(self.need.level, number)
        games = [
            await self._game(f"{game_label(self.need.level)}.{number}", turn, seed)
            for turn in range(self.boards.players)
        ]
        return BlockPlayed(number, seed, tuple(games))

    async def _game(self, block: str, turn: int, seed: int) -> GamePlayed:
        names = rotated(self._names(), turn)
        pairing = Pairing(f"{block}.{turn + 1}", names, 1, block)
        fault = await self.player.ready(self._names())
        if fault is not None:
            return self._not_played(pairing, fault)
        over = await play_game(
            pairing,
            self._seats(),
            self.boards,
            seed,
            self.clocks,
            self.records / _record(pairing),
        )
        self._games_s += over.took_s
        return await self._played(pairing, over)

    def _seats(self) -> dict[str, Seat]:
        seats: dict[str, Seat] = {self.player.name: self.player.seat}
        for name in self._names()[1:]:
            entry = HouseEntry(name, self.need.level)
            seats[name] = HouseSeat(entry, self.boards.seed, self.pool)
        return seats

    async def _played(self, pairing: Pairing, over: GameOver) -> GamePlayed:
        name = self.player.name
        thinks = over.thinks_ms[name]
        self.player.thought(thinks)
        fault, mishap = over.report.faults.get(name), None
        if fault is not None:
            await self.player.end()
            mishap = self.player.mishap(fault)
        return GamePlayed(
            game=pairing.game,
            seat=pairing.players.index(name),
            players=pairing.players,
            score=parts(over.result)[name] / PARTS,
            plies=over.report.plies,
            fish=over.result.fish,
            record=_record(pairing),
            thinks_ms=thinks,
            mishap=mishap,
        )

    def _not_played(self, pairing: Pairing, fault: Fault) -> GamePlayed:
        """A game that is lost since the program could not be started again."""
        name = self.player.name
        return GamePlayed(
            game=pairing.game,
            seat=pairing.players.index(name),
            players=pairing.players,
            score=0.0,
            plies=0,
            mishap=self.player.mishap(fault),
        )


def _record(pairing: Pairing) -> str:
    return f"records/{pairing.game}.jsonl"
