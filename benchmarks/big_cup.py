"""A tournament of many players in a database, as if most of it had been played."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import Connection, insert

from benchmarks.standings import played
from croupier_server.storage import catalogue, schema
from croupier_server.tournament.model import Pairing, Result

__all__ = ["NAME", "BigCup"]

NAME: Final = "cup"

PLIES: Final = 40

TOOK_MS: Final = 4_000

UNPLAYED: Final = 2
"""How many rounds are left, so that games go on ending however long somebody looks."""


@dataclass(slots=True)
class BigCup:
    """All meet in rounds, two games each time; the last rounds are not played yet.

    Attributes:
        players: how many there are, an even number.
        rounds: how many were paired, fewer than there are players.
        waiting: the games without a result, which :meth:`play_one` takes from the end.
    """

    players: int
    rounds: int
    format: str
    waiting: list[catalogue.PairingRow] = field(default_factory=list["catalogue.PairingRow"])
    _draws: random.Random = field(default_factory=lambda: random.Random(1))
    _strengths: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def games(self) -> int:
        """How many games there are, played or not."""
        return self.players * self.rounds

    def build(self, connection: Connection) -> None:
        """Put it into an empty database."""
        config = {"tournament": {"rounds": self.rounds}} if self.format == "swiss" else {}
        row = catalogue.create_tournament(connection, NAME, self.format, 1, config)
        self._strengths |= {f"player {at}": self._draws.gauss(0, 1) for at in range(self.players)}
        for name in self._strengths:
            catalogue.add_entrant(connection, row.id, name, "remote")
        catalogue.set_status(connection, row.id, "running")
        paired = catalogue.issue(connection, row.id, list(self._pairings()))
        self.waiting = [one for one in paired if one.round > self.rounds - UNPLAYED]
        over = paired[: -len(self.waiting)]
        connection.execute(insert(schema.games), [_game(one) for one in over])
        catalogue.add_results(connection, [(one.id, self._result(one)) for one in over])

    def play_one(self, connection: Connection) -> None:
        """End one more game, as a croupier does it."""
        pairing = self.waiting.pop()
        game = catalogue.begin_game(connection, pairing.id, 1, pairing.game, 1, "{}\n")
        catalogue.finish_game(
            connection, game.id, [], chain="", plies=PLIES, result=self._result(pairing)
        )

    def _pairings(self) -> Iterator[Pairing]:
        for number, pairs in enumerate(_rounds(list(self._strengths), self.rounds), 1):
            for table, pair in enumerate(pairs, 1):
                block = f"{number}.{table}"
                for game, seats in enumerate((pair, pair[::-1]), 1):
                    yield Pairing(f"{block}.{game}", seats, number, block)

    def _result(self, pairing: catalogue.PairingRow) -> Result:
        a, b = pairing.players
        _, _, game = pairing.game.rpartition(".")
        edge = self._strengths[a] - self._strengths[b]
        return played(pairing.block, int(game), a, b, edge, self._draws.random())


def _rounds(names: Sequence[str], rounds: int) -> Iterator[list[tuple[str, str]]]:
    """Pairs by the circle method: one stays, the others go round."""
    first, *others = names
    half = len(names) // 2
    for _ in range(rounds):
        seated = [first, *others]
        yield list(zip(seated[:half], reversed(seated[half:]), strict=True))
        others = [others[-1], *others[:-1]]


def _game(pairing: catalogue.PairingRow) -> dict[str, object]:
    ended = pairing.number * TOOK_MS
    return {
        "pairing_id": pairing.id,
        "attempt": 1,
        "name": pairing.game,
        "status": "finished",
        "seed": 1,
        "plies": PLIES,
        "started_ms": ended - TOOK_MS,
        "ended_ms": ended,
        "epoch": 0,
    }
