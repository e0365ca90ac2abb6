"""The ladder: goes on until it is stopped, near ratings against each other.

Whoever has waited longest is paired first, with the free player whose rating is nearest and whom
it did not meet last. A pairing begins a block; its other seatings follow one by one, so that seats
are fair and nobody is asked for two games at once. House players sit in where too few are free.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from croupier_server.tournament.ladder_state import START, LadderMemory, LadderState
from croupier_server.tournament.model import (
    Entrant,
    Field,
    Following,
    History,
    Issue,
    Pairing,
    Plan,
    Wait,
)
from croupier_server.tournament.seating import rotated

__all__ = ["Ladder", "Ratings"]

TIE_BREAKS: Final = ("mean_points", "wins", "fish")

Ratings: TypeAlias = Callable[[Field, History], Mapping[str, float]]
"""Ratings of those who have played; Elo points."""


@dataclass(frozen=True, slots=True)
class Ladder:
    """Keeps at least `at_once` pairings open, as far as there are players.

    Args:
        ratings: by which players are near; by default, an estimate from all results so far.
    """

    table: int = 2
    at_once: int = 8
    ratings: Ratings | None = None
    takes_late: bool = True
    is_endless: bool = True
    tie_breaks: Sequence[str] = TIE_BREAKS
    _memory: LadderMemory = field(default_factory=LadderMemory, compare=False, repr=False)

    def plan(self, entrants: Sequence[Entrant]) -> Plan:
        """What there is to come: it has no end."""
        first = self.following(Field(tuple(entrants)), History())
        pairings = first.pairings if isinstance(first, Issue) else ()
        size = min(self.table, max(len(entrants), 1))
        return Plan(
            rounds=None,
            games=None,
            first=pairings,
            byes=0,
            at_once=len(entrants) // size if size > 1 else 0,
            chain=None,
            note=("runs until it is stopped",),
        )

    def following(self, field: Field, history: History) -> Following:
        """What follows; never the end."""
        state = self._memory.at(field, history)
        draft = _Draft(self, field, state, self._rated(field, history, state))
        draft.go_on()
        while draft.open < self.at_once and draft.pair():
            pass
        return Issue(tuple(draft.pairings)) if draft.pairings else Wait()

    def _rated(self, field: Field, history: History, state: LadderState) -> Mapping[str, float]:
        rated = dict(state.ratings if self.ratings is None else self.ratings(field, history))
        for entrant in field.entrants:
            if entrant.anchor is not None:
                rated[entrant.name] = entrant.anchor
        return rated


class _Draft:
    """The pairings of one answer, as they are chosen."""

    def __init__(
        self, ladder: Ladder, field: Field, state: LadderState, ratings: Mapping[str, float]
    ) -> None:
        self.pairings: list[Pairing] = []
        self.open = len(state.open)
        self._ladder = ladder
        self._active = frozenset(field.active)
        self._state = state
        self._ratings = ratings
        self._round = state.rounds + 1
        self._tables = 0
        self._busy = Counter(name for pairing in state.open for name in pairing.players)
        self._last = {name: set(state.last.get(name, ())) for name in self._active}
        self._waited = {
            name: (state.played.get(name, -1), at) for at, name in enumerate(field.active)
        }
        house = {entrant.name for entrant in field.entrants if entrant.is_house}
        self._house = [name for name in field.active if name in house]
        self._others = [name for name in field.active if name not in house]

    def go_on(self) -> None:
        """Issue the next seating of each block that is neither being played nor complete."""
        waiting = {pairing.block for pairing in self._state.open}
        for block, (first, games) in self._state.unfinished.items():
            if block in waiting or not self._active.issuperset(first.players):
                continue
            players = rotated(first.players, games)
            self._add(Pairing(f"{block}.{games + 1}", players, first.round, block))

    def pair(self) -> bool:
        """Begin one more block, with players who are free if there are any."""
        group = self._group(free=True) or self._group(free=False)
        if group is None:
            return False
        self._tables += 1
        block = f"{self._round}.{self._tables}"
        players = self._state.seating.order(group)
        self._add(Pairing(f"{block}.1", players, self._round, block))
        for name in players:
            self._last[name] = set(players) - {name}
            self._waited[name] = (self._state.games + len(self.pairings), self._waited[name][1])
        return True

    def _add(self, pairing: Pairing) -> None:
        self.pairings.append(pairing)
        self._busy.update(pairing.players)
        self.open += 1

    def _group(self, *, free: bool) -> list[str] | None:
        """The one who has waited longest, and others near it; None if there is nobody."""
        others = [name for name in self._others if not (free and self._busy[name])]
        house = [name for name in self._house if not (free and self._busy[name])]
        if not others:
            return None
        first = min(others, key=lambda name: (self._busy[name], self._waited[name]))
        group = [first]
        for pool in (others, house):
            near = sorted((name for name in pool if name != first), key=self._nearness(first))
            group += near[: self._ladder.table - len(group)]
        return group if len(group) > 1 else None

    def _nearness(self, first: str) -> Callable[[str], tuple[bool, int, float, tuple[int, int]]]:
        own = self._ratings.get(first, START)

        def key(name: str) -> tuple[bool, int, float, tuple[int, int]]:
            distance = abs(self._ratings.get(name, START) - own)
            return (name in self._last[first], self._busy[name], distance, self._waited[name])

        return key
