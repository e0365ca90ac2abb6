"""How far a ladder has come: what it must know of a long history, read once.

Games that have a result and only such games before them are read for good; what comes after is
read anew each time, which is never much. What is read is compared with what it was: the history
may be any other, and the answer is the same as if all had been read from the beginning.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from operator import is_
from typing import Final

from croupier_server.tournament.model import Field, History, Pairing, Result
from croupier_server.tournament.points import PARTS, parts
from croupier_server.tournament.seating import Seating

__all__ = ["START", "LadderMemory", "LadderState"]

START: Final = 1500.0
"""The rating of who has not played."""
_STEP: Final = 32.0
_SCALE: Final = 400.0


@dataclass(slots=True)
class LadderState:
    """What a ladder has come to.

    Attributes:
        games: how many were issued.
        rounds: the last round.
        open: games without a result.
        played: by name, the number of the last game issued to it.
        last: by name, whom it was paired with last.
        unfinished: by block, its first game and how many were issued, fewer than all.
        ratings: logistic (Elo) estimates, updated game by game in the order of issue.
        seating: who sat where.
    """

    games: int = 0
    rounds: int = 0
    open: list[Pairing] = field(default_factory=list[Pairing])
    played: dict[str, int] = field(default_factory=dict[str, int])
    last: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    unfinished: dict[str, tuple[Pairing, int]] = field(
        default_factory=dict[str, tuple[Pairing, int]]
    )
    ratings: dict[str, float] = field(default_factory=dict[str, float])
    seating: Seating = field(default_factory=Seating)

    def read(
        self, issued: Iterable[Pairing], results: Mapping[str, Result], anchors: Mapping[str, float]
    ) -> None:
        """Go on by these games."""
        for pairing in issued:
            self._note(pairing)
            result = results.get(pairing.game)
            if result is None:
                self.open.append(pairing)
            else:
                self._rate(result, anchors)

    def copy(self) -> LadderState:
        """A state to go on from, apart from this one."""
        return LadderState(
            self.games,
            self.rounds,
            self.open.copy(),
            self.played.copy(),
            self.last.copy(),
            self.unfinished.copy(),
            self.ratings.copy(),
            self.seating.copy(),
        )

    def _note(self, pairing: Pairing) -> None:
        self.games += 1
        self.rounds = max(self.rounds, pairing.round)
        for name in pairing.players:
            self.played[name] = self.games
            self.last[name] = tuple(other for other in pairing.players if other != name)
        first, count = self.unfinished.pop(pairing.block, (pairing, 0))
        if count == 0:
            self.seating.note(pairing.players)
        if count + 1 < len(first.players):
            self.unfinished[pairing.block] = (first, count + 1)

    def _rate(self, result: Result, anchors: Mapping[str, float]) -> None:
        """Move each by what its share of the opponents was above what was to be expected."""
        if result.kind != "played":
            return
        ratings = {n: anchors.get(n, self.ratings.get(n, START)) for n in result.players}
        for name, earned in parts(result).items():
            others = [ratings[other] for other in result.players if other != name]
            chances = [1 / (1 + 10 ** ((other - ratings[name]) / _SCALE)) for other in others]
            share = earned / PARTS - sum(chances) / len(chances)
            self.ratings[name] = ratings[name] + (0 if name in anchors else _STEP * share)


class LadderMemory:
    """Reads histories, quickly if one goes on from where the last one was settled."""

    def __init__(self) -> None:
        self._forget({})

    def _forget(self, anchors: Mapping[str, float]) -> None:
        self._anchors = anchors
        self._state = LadderState()
        self._issued: tuple[Pairing, ...] = ()
        self._games: list[str] = []
        self._results: list[Result] = []

    def at(self, field: Field, history: History) -> LadderState:
        """Where it has come to; the caller's own, to go on from."""
        anchors = {e.name: e.anchor for e in field.entrants if e.anchor is not None}
        if not self._still_holds(anchors, history):
            self._forget(anchors)
        self._settle(history)
        state = self._state.copy()
        state.read(history.issued[len(self._issued) :], history.results, anchors)
        return state

    def _still_holds(self, anchors: Mapping[str, float], history: History) -> bool:
        """Whether all that was read is in this history as it was."""
        if anchors != self._anchors or history.issued[: len(self._issued)] != self._issued:
            return False
        return all(map(is_, map(history.results.get, self._games), self._results))

    def _settle(self, history: History) -> None:
        """Read for good what has a result, up to the first game that has none."""
        read = len(self._issued)
        for pairing in islice(history.issued, read, None):
            result = history.results.get(pairing.game)
            if result is None:
                break
            self._games.append(pairing.game)
            self._results.append(result)
        settled = history.issued[read : len(self._results)]
        self._state.read(settled, history.results, self._anchors)
        self._issued = history.issued[: len(self._results)]
