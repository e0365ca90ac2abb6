"""One game between submissions and house players."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from croupier_common.board import Board
from croupier_common.board_spec import BoardSpec
from croupier_common.outcome import Color
from croupier_common.rng import Draws
from croupier_common.rules import Rules
from croupier_server.croupier import Croupier, GameReport, Table
from croupier_server.grading.matches_record import GameRecord
from croupier_server.seats import Seat
from croupier_server.settings import Clocks
from croupier_server.tournament.ledger import result_of
from croupier_server.tournament.model import Pairing, Result

__all__ = ["Boards", "GameOver", "play_game"]


@dataclass(frozen=True, slots=True)
class Boards:
    """Which game is played on which boards: the same for every submission.

    Attributes:
        seed: decides all boards.
    """

    rules: Rules
    spec: BoardSpec
    players: int
    seed: int

    def seed_of(self, *labels: str | int) -> int:
        """The seed of a block's board."""
        return Draws(self.seed, "grading", *labels).bits() >> 1

    def build(self, seed: int) -> Board:
        """The board of a block's seed."""
        return self.spec.build(seed, rules=self.rules, players=self.players)


@dataclass(frozen=True, slots=True)
class GameOver:
    """How a game went.

    Attributes:
        result: as a tournament counts it.
        thinks_ms: by name, how long each turn was thought about.
        took_s: how long it took.
    """

    report: GameReport
    result: Result
    thinks_ms: Mapping[str, tuple[int, ...]]
    took_s: float


async def play_game(
    pairing: Pairing,
    seats: Mapping[str, Seat],
    boards: Boards,
    seed: int,
    clocks: Clocks,
    record: Path,
) -> GameOver:
    """Play a game to its end, and write its record.

    Args:
        seats: by name; who fails is dismissed.
        seed: of the board.

    Raises:
        ServerFault: it could not be played, for a fault of ours.
    """
    at_table = {color: seats[name] for color, name in zip(Color, pairing.players, strict=False)}
    table = Table(pairing.game, boards.build(seed), boards.rules, at_table)
    sink = GameRecord(table, seed, boards.spec)
    began = time.monotonic()
    report = await Croupier(table, clocks, sink).play()
    took_s = time.monotonic() - began
    sink.save(record)
    thinks = {seat.name: tuple(sink.thinks_ms[color]) for color, seat in at_table.items()}
    return GameOver(report, result_of(pairing, report, {}), thinks, took_s)
