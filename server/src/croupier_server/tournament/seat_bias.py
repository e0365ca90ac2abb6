"""Whether it matters who moves first: the score of every seat, and a test.

In a seat-complete block everybody sits in every seat on one board, so that neither strength nor
board can favour one. If seats don't matter, turning the seats of a block (all on by one, or two)
changes nothing in distribution; so the seats of every block are turned at random, many times, and
the share of turned tables whose seats differ as much as the real ones' do is the p-value: Fisher's
randomisation test (The Design of Experiments, 1935), exact at any number of blocks. Over all games
the same is only as right as the dealing of seats was fair.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, Literal

from croupier_server.tournament.blocks import by_block, is_seat_complete
from croupier_server.tournament.interval import Score, mean_score
from croupier_server.tournament.model import History, Result
from croupier_server.tournament.points import parts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["SeatBias", "SeatScore", "seat_bias"]

Scope = Literal["complete blocks", "all games"]

TURNINGS: Final = 1_999
"""How often all seats are turned; the least p-value is 1 in 2,000."""

CLEAR: Final = 0.01
"""Below it a difference is called one."""

ORDINALS: Final = ("first", "second", "third", "fourth")


@dataclass(frozen=True, slots=True)
class SeatScore:
    """What a seat scored.

    Attributes:
        seat: the turn that it moves at, from 1.
        score: the mean score per game.
        wins: the share of games that it won; a shared first place is a share of a win.
    """

    seat: int
    score: Score
    wins: Fraction


@dataclass(frozen=True, slots=True)
class SeatBias:
    """What the seats of games of one size scored.

    Attributes:
        players: how many there are in each game.
        p_value: how often seats would differ as much by chance, if they didn't matter.
    """

    players: int
    scope: Scope
    games: int
    blocks: int
    seats: tuple[SeatScore, ...]
    p_value: float

    def __str__(self) -> str:
        best = max(self.seats, key=lambda seat: seat.score.mean)
        worst = min(self.seats, key=lambda seat: seat.score.mean)
        about = f"With {self.players} players, over {self.games} games in {self.scope}"
        chance = f"(p = {self.p_value:.2g})"
        if self.p_value >= CLEAR:
            return f"{about}, no seat is clearly better than another {chance}."
        return (
            f"{about}, seats matter: who moves {ORDINALS[best.seat - 1]} scores "
            f"{float(best.score.mean):.1%}, who moves {ORDINALS[worst.seat - 1]} "
            f"{float(worst.score.mean):.1%} {chance}."
        )

    def to_json(self) -> dict[str, Any]:
        """The report as JSON."""
        return {
            "players": self.players,
            "scope": self.scope,
            "games": self.games,
            "blocks": self.blocks,
            "seats": [
                {
                    "seat": seat.seat,
                    "score": float(seat.score.mean),
                    "low": seat.score.low,
                    "high": seat.score.high,
                    "wins": float(seat.wins),
                }
                for seat in self.seats
            ],
            "p_value": self.p_value,
            "summary": str(self),
        }


def seat_bias(history: History, *, seed: int = 0) -> tuple[SeatBias, ...]:
    """For each size of table, what seats score in seat-complete blocks, then in all games.

    Args:
        seed: decides the random turnings.
    """
    blocks = by_block(r for r in history.results.values() if r.kind == "played")
    complete = {block: games for block, games in blocks.items() if is_seat_complete(games)}
    found: list[SeatBias] = []
    for players in sorted({len(game.players) for games in blocks.values() for game in games}):
        for scope, chosen in _scopes(complete, blocks):
            tables = [
                [game for game in games if len(game.players) == players]
                for games in chosen.values()
            ]
            if players > 1 and any(tables):
                found.append(_report(players, scope, [games for games in tables if games], seed))
    return tuple(found)


def _scopes(
    complete: Mapping[str, list[Result]], blocks: Mapping[str, list[Result]]
) -> Iterable[tuple[Scope, Mapping[str, list[Result]]]]:
    yield "complete blocks", complete
    yield "all games", blocks


def _report(players: int, scope: Scope, blocks: Sequence[Sequence[Result]], seed: int) -> SeatBias:
    games = sum(map(len, blocks))
    scored = Counter(_by_seat(players, block) for block in blocks)
    sizes = Counter((_by_seat(players, block), len(block)) for block in blocks)
    wins = [Fraction(0)] * players
    for game in (game for block in blocks for game in block):
        for name in game.winners:
            wins[game.players.index(name)] += Fraction(1, len(game.winners))
    seats: list[SeatScore] = []
    for seat in range(players):
        score = mean_score(
            (earned[seat], size) for (earned, size), times in sizes.items() for _ in range(times)
        )
        assert score is not None
        seats.append(SeatScore(seat + 1, score, wins[seat] / games))
    return SeatBias(players, scope, games, len(blocks), tuple(seats), _p_value(scored, seed))


def _by_seat(players: int, block: Sequence[Result]) -> tuple[int, ...]:
    """What each seat scored in a block, in parts of a point."""
    scored = [0] * players
    for game in block:
        earned = parts(game)
        for seat, name in enumerate(game.players):
            scored[seat] += earned[name]
    return tuple(scored)


def _p_value(blocks: Mapping[tuple[int, ...], int], seed: int) -> float:
    """How often turned seats differ at least as much; blocks that scored the same are one kind."""
    import numpy as np

    draws = np.random.RandomState(seed % 2**32)  # its stream is the same for ever (NEP 19)
    kinds = sorted(blocks)
    seats = len(kinds[0])
    totals: NDArray[np.int64] = np.zeros((TURNINGS, seats), dtype=np.int64)
    for kind in kinds:
        turned = np.array([[kind[(at + by) % seats] for at in range(seats)] for by in range(seats)])
        totals += draws.multinomial(blocks[kind], [1 / seats] * seats, size=TURNINGS) @ turned
    real = np.array(kinds) * np.array([[blocks[kind]] for kind in kinds])
    as_much = _unevenness(totals) >= _unevenness(real.sum(axis=0, keepdims=True))
    return (1 + int(as_much.sum())) / (1 + TURNINGS)


def _unevenness(totals: NDArray[np.int64]) -> NDArray[np.int64]:
    """How far the seats of each row are apart, in whole numbers, so that equals are equal."""
    squares: NDArray[np.int64] = (totals * totals).sum(axis=1) * totals.shape[1]
    sums: NDArray[np.int64] = totals.sum(axis=1)
    return squares - sums * sums
