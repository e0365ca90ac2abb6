"""How far a ladder has come: what it must know of a long history, read once.

Only what is new in a history is read. What was read is compared with what it was: the history may
be any other, and the answer is the same as if all had been read from the beginning.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice

from croupier_server.tournament.model import Field, History, Pairing
from croupier_server.tournament.seating import Seating

__all__ = ["LadderMemory", "LadderState", "Roster"]


@dataclass(frozen=True, slots=True)
class Roster:
    """Who takes part, as a ladder asks for it.

    Attributes:
        active: the names of those who still do.
        others: those of them who are not of the house, in order.
        house: those who are, in order.
        anchors: ratings that are known, by name.
    """

    active: frozenset[str]
    others: tuple[str, ...]
    house: tuple[str, ...]
    anchors: Mapping[str, float]

    @classmethod
    def of(cls, field: Field) -> Roster:
        """The same, sorted out."""
        house = {entrant.name for entrant in field.entrants if entrant.is_house}
        return cls(
            frozenset(field.active),
            tuple(name for name in field.active if name not in house),
            tuple(name for name in field.active if name in house),
            {e.name: e.anchor for e in field.entrants if e.anchor is not None},
        )


@dataclass(slots=True)
class LadderState:
    """What a ladder has come to.

    Attributes:
        games: how many were issued.
        rounds: the last round.
        played: by name, the number of the last game issued to it, from 1.
        last: by name, whom it was paired with last.
        unfinished: by block, its first game and how many were issued, fewer than all.
        seating: who sat where.
        open: games without a result, by their ids.
        busy: by name, in how many of these it is; nobody is in it with none.
        running: by block, how many of its games are open, likewise.
    """

    games: int = 0
    rounds: int = 0
    played: dict[str, int] = field(default_factory=dict[str, int])
    last: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    unfinished: dict[str, tuple[Pairing, int]] = field(
        default_factory=dict[str, tuple[Pairing, int]]
    )
    seating: Seating = field(default_factory=Seating)
    open: dict[str, Pairing] = field(default_factory=dict[str, Pairing])
    busy: Counter[str] = field(default_factory=Counter[str])
    running: Counter[str] = field(default_factory=Counter[str])

    def issued(self, pairing: Pairing) -> None:
        """One more game was issued; whether it is open is not said by that."""
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

    def opened(self, pairing: Pairing) -> None:
        """It has no result."""
        self.open[pairing.game] = pairing
        self.busy.update(pairing.players)
        self.running[pairing.block] += 1

    def ended(self, game: str) -> None:
        """It has one; nothing changes if the game was not open."""
        pairing = self.open.pop(game, None)
        if pairing is not None:
            _take(self.busy, pairing.players)
            _take(self.running, (pairing.block,))

    def none_open(self) -> None:
        """Forget which games are open."""
        for what in (self.open, self.busy, self.running):
            what.clear()


class LadderMemory:
    """Reads fields and histories, quickly if they go on from where the last ones were."""

    def __init__(self) -> None:
        self._field = Field(())
        self._roster = Roster.of(self._field)
        self._state = LadderState()
        self._issued: tuple[Pairing, ...] = ()
        self._ended: list[str] = []

    def roster(self, field: Field) -> Roster:
        """Who takes part."""
        if field != self._field:
            self._field, self._roster = field, Roster.of(field)
        return self._roster

    def at(self, history: History) -> LadderState:
        """Where it has come to; not to be changed, and good until the next is asked for."""
        new = self._read_issued(history)
        self._read_ended(history, new)
        return self._state

    def _read_issued(self, history: History) -> Iterable[Pairing]:
        """Read what was issued since the last time, and give that."""
        known = len(self._issued)
        if history.issued[:known] != self._issued:
            self._state, self._ended, known = LadderState(), [], 0
        self._issued = history.issued
        for pairing in islice(history.issued, known, None):
            self._state.issued(pairing)
        return islice(history.issued, known, None)

    def _read_ended(self, history: History, new: Iterable[Pairing]) -> None:
        """See which games are open: by what is new if the results begin with the known ones."""
        state, ended = self._state, list(history.results)
        known = len(self._ended)
        newly = ended[known:]
        del ended[known:]  # a slice of the rest would be one more copy
        if ended == self._ended:
            for game in newly:
                state.ended(game)
        else:
            state.none_open()
            new = history.issued
        for pairing in new:
            if pairing.game not in history.results:
                state.opened(pairing)
        ended += newly
        self._ended = ended


def _take(counts: Counter[str], keys: Iterable[str]) -> None:
    """Count each of these once less; who is left with none is not counted at all."""
    for key in keys:
        counts[key] -= 1
        if not counts[key]:
            del counts[key]
