"""How much is measured: at full size, for a quick look, or only to show that it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

__all__ = ["SIZES", "Crowd", "Cup", "Feigned", "Size"]


@dataclass(frozen=True, slots=True)
class Cup:
    """A round robin that is played in one process and in a cluster.

    Attributes:
        blocks: in how many blocks of two games each player plays.
        seconds: how long it may take; more is a failure.
    """

    at_once: int
    players: int
    blocks: int
    seconds: float = 120.0


@dataclass(frozen=True, slots=True)
class Crowd:
    """Players of a gateway, of which most are idle, and how long they are looked at.

    Attributes:
        games: how many are played at once.
        think_ms: what players take for a turn, at least and at most.
        rest_s: how long nobody plays at all, then how long those games go on.
    """

    players: int
    games: int
    think_ms: tuple[int, int]
    rest_s: float
    play_s: float


@dataclass(frozen=True, slots=True)
class Feigned:
    """Tournaments whose games are not played, only decided after a drawn time.

    Attributes:
        blocks: in how many blocks of two games each player plays, about.
        game_s: how long a game takes, in the mean.
    """

    workers: int
    players: int
    blocks: int
    game_s: float


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured.

    Attributes:
        games: the numbers of games at once.
        turns: how many turns are played in each round, at least one game at each table.
        beside: how many games are played that nobody watches, beside the one that viewers do.
        cup_rounds: in how many rounds the tournaments are whose pages are looked at.
        pages: how many times.
        graded: how many submissions are graded together, each number in a run of its own.
        graded_blocks: how many blocks each of them plays.
        pair_seconds: how long one server and its load may take; more is a failure.
        cups: what one process and a cluster play.
        crowd: who is connected to a cluster.
        feigned: what many workers pretend to play.
    """

    perft_depth: int
    rules_rounds: int
    rules_seconds: float
    games: tuple[int, ...]
    turns_rounds: int
    turns: int
    pair_seconds: float
    starts: int
    crowd_tables: int
    idle: int
    beside: int
    viewers: int
    cup_players: int
    cup_rounds: tuple[int, ...]
    pages: int
    graded: tuple[int, ...]
    graded_blocks: int
    cups: tuple[Cup, ...]
    crowd: Crowd
    feigned: Feigned


SIZES: Final[Mapping[str, Size]] = {
    "full": Size(
        perft_depth=3,
        rules_rounds=9,
        rules_seconds=0.3,
        games=(1, 100),
        turns_rounds=5,
        turns=10_000,
        pair_seconds=120.0,
        starts=7,
        crowd_tables=100,
        idle=5_000,
        beside=50,
        viewers=1_000,
        cup_players=500,
        cup_rounds=(11, 40),
        pages=100,
        graded=(12, 24, 48),
        graded_blocks=20,
        cups=(Cup(1, 10, 9), Cup(8, 32, 8), Cup(30, 100, 6)),
        crowd=Crowd(10_000, 1_000, (1_000, 3_000), 20.0, 60.0),
        feigned=Feigned(100, 1_000, 10, 2.0),
    ),
    "quick": Size(
        perft_depth=2,
        rules_rounds=5,
        rules_seconds=0.05,
        games=(1, 30),
        turns_rounds=1,
        turns=1_500,
        pair_seconds=60.0,
        starts=2,
        crowd_tables=30,
        idle=500,
        beside=20,
        viewers=200,
        cup_players=500,
        cup_rounds=(11,),
        pages=20,
        graded=(6,),
        graded_blocks=20,
        cups=(Cup(1, 6, 5), Cup(8, 16, 8)),
        crowd=Crowd(500, 50, (500, 1_500), 5.0, 10.0),
        feigned=Feigned(20, 200, 3, 0.5),
    ),
    "tiny": Size(
        perft_depth=2,
        rules_rounds=1,
        rules_seconds=0.01,
        games=(2,),
        turns_rounds=1,
        turns=100,
        pair_seconds=30.0,
        starts=1,
        crowd_tables=10,
        idle=20,
        beside=2,
        viewers=20,
        cup_players=60,
        cup_rounds=(3,),
        pages=3,
        graded=(1,),
        graded_blocks=2,
        cups=(Cup(2, 4, 1),),
        crowd=Crowd(40, 4, (10, 50), 1.0, 3.0),
        feigned=Feigned(4, 20, 2, 0.05),
    ),
}
