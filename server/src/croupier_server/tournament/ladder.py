"""The ladder: goes on until it is stopped, near ratings against each other.

Whoever has waited longest is paired first, with the free player whose rating is nearest and whom
it did not meet last. A pairing begins a block; its other seatings follow one by one, so that seats
are fair and nobody is asked for two games at once. House players sit in where too few are free.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import count, repeat
from typing import Final, TypeAlias

from croupier_server.tournament.ladder_estimate import START, LadderEstimate
from croupier_server.tournament.ladder_state import LadderMemory, LadderState, Roster
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
    ratings: Ratings = field(default_factory=LadderEstimate, compare=False)
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
        roster, state = self._memory.roster(field), self._memory.at(history)
        pairings = list(_next_seatings(state, roster.active))
        if len(state.open) + len(pairings) < self.at_once:
            draft = _Draft(self.table, roster, state, self.ratings(field, history), pairings)
            while draft.open < self.at_once and draft.pair():
                pass
        return Issue(tuple(pairings)) if pairings else Wait()


def _next_seatings(state: LadderState, active: frozenset[str]) -> Iterator[Pairing]:
    """The next seating of each block that is neither being played nor complete."""
    for block in [block for block in state.unfinished if block not in state.running]:
        first, games = state.unfinished[block]
        if active.issuperset(first.players):
            players = rotated(first.players, games)
            yield Pairing(f"{block}.{games + 1}", players, first.round, block)


class _Draft:
    """The pairings of one answer, as they are chosen.

    Args:
        pairings: those that are chosen already; others are added to them.
    """

    def __init__(
        self,
        table: int,
        roster: Roster,
        state: LadderState,
        ratings: Mapping[str, float],
        pairings: list[Pairing],
    ) -> None:
        self._table = table
        self._roster = roster
        self._state = state
        self._pairings = pairings
        self._blocks = 0
        self._seating = state.seating.copy()
        self._ratings = {**ratings, **roster.anchors}
        self._played = state.played.copy()
        self._last = state.last.copy()
        self._busy = state.busy.copy()
        for pairing in pairings:
            self._busy.update(pairing.players)

    @property
    def open(self) -> int:
        """How many games will be open."""
        return len(self._state.open) + len(self._pairings)

    def pair(self) -> bool:
        """Begin one more block, with players who are free if there are any."""
        group = self._group(free=True) or self._group(free=False)
        if group is None:
            return False
        self._blocks += 1
        number = self._state.rounds + 1
        block = f"{number}.{self._blocks}"
        players = self._seating.order(group)
        self._pairings.append(Pairing(f"{block}.1", players, number, block))
        self._busy.update(players)
        for name in players:
            self._last[name] = tuple(other for other in players if other != name)
            self._played[name] = self._state.games + len(self._pairings)
        return True

    def _group(self, *, free: bool) -> list[str] | None:
        """The one who has waited longest, and others near it; None if there is nobody."""
        others, house = (
            [name for name in pool if not (free and name in self._busy)]
            for pool in (self._roster.others, self._roster.house)
        )
        if not others:
            return None
        first = self._longest_waiting(others if free else self._least_busy(others))
        others.remove(first)
        group = [first]
        for pool in (others, house):
            number = self._table - len(group)
            if number and pool:
                near = self._near(first, pool, number) if free else pool
                group += self._nearest(first, near, number)
        return group if len(group) > 1 else None

    def _least_busy(self, pool: Sequence[str]) -> Sequence[str]:
        least = min(self._busy.get(name, 0) for name in pool)
        return [name for name in pool if self._busy.get(name, 0) == least]

    def _longest_waiting(self, pool: Sequence[str]) -> str:
        """Who has waited longest; of equals, the first."""
        waits = list(map(self._played.get, pool, repeat(0)))
        return pool[waits.index(min(waits))]

    def _near(self, first: str, pool: Sequence[str], number: int) -> Sequence[str]:
        """Of free players, those among whom are so many of the nearest, whomever it met last."""
        distances = self._distances(first, pool)
        limit = nsmallest(number + len(self._last.get(first, ())), distances)[-1]
        return [name for name, far in zip(pool, distances, strict=True) if far <= limit]

    def _nearest(self, first: str, pool: Sequence[str], number: int) -> Sequence[str]:
        """So many, the best first: not met last, least busy, nearest, who has waited longest."""
        keys = zip(
            map(self._last.get(first, ()).__contains__, pool),
            map(self._busy.get, pool, repeat(0)),
            self._distances(first, pool),
            map(self._played.get, pool, repeat(0)),
            count(),  # of equals, the first
            pool,
            strict=False,
        )
        return [key[-1] for key in nsmallest(number, keys)]

    def _distances(self, first: str, pool: Sequence[str]) -> Sequence[float]:
        own, rating = self._ratings.get(first, START), self._ratings.get
        return [abs(rating(name, START) - own) for name in pool]
