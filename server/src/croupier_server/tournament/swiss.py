"""The Swiss system: everybody plays every round, against others who have done as well so far.

A round begins when all results of the last one are in. Pairs play a block of two games, on one
board in both seats; tables of 3 and 4 play one of as many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from croupier_common.rng import Draws
from croupier_server.errors import UserError
from croupier_server.tournament.knockout import allocate
from croupier_server.tournament.matching import Candidate, pairs_of
from croupier_server.tournament.model import (
    Entrant,
    Field,
    Finished,
    Following,
    History,
    Issue,
    Pairing,
    Plan,
    Wait,
)
from croupier_server.tournament.points import total_parts
from croupier_server.tournament.seating import Seating, openings

__all__ = ["Swiss", "default_rounds"]

TIE_BREAKS: Final = ("points", "buchholz_cut1", "buchholz", "sonneborn_berger", "fish")


def default_rounds(entrants: int, table: int) -> int:
    """Enough for one to stand out: as many as halving takes, for pairs.

    A larger table tells more apart in a round, but less surely, so it has one round more than
    dividing by its size would take; never more than it takes to meet everybody.
    """
    if entrants < 2:
        return 0
    size = min(table, entrants)
    divisions, left = 0, 1
    while left < entrants:
        left *= size
        divisions += 1
    rounds = divisions if size == 2 else divisions + 1
    return min(rounds, -(-(entrants - 1) // (size - 1)))


@dataclass(frozen=True, slots=True)
class Swiss:
    """So many rounds; who comes late begins with nothing in the next one."""

    table: int = 2
    rounds: int | None = None
    max_games: int = 20_000
    seed: int = 0
    takes_late: bool = True
    is_endless: bool = False
    tie_breaks: Sequence[str] = TIE_BREAKS

    def plan(self, entrants: Sequence[Entrant]) -> Plan:
        """What there is to come.

        Raises:
            UserError: it takes more than `max_games`.
        """
        players = len(entrants)
        if players < 2:
            return Plan(0, 0, (), 0, 0, 0)
        rounds = self.rounds or default_rounds(players, self.table)
        sizes = [len(group) for group in self._tables(players) if len(group) > 1]
        games = rounds * sum(sizes)
        if games > self.max_games:
            raise UserError(
                f"{players:,} entrants make {sum(sizes):,} games a round, in {rounds} rounds "
                f"{games:,}, more than max_games = {self.max_games:,}; raise it, or set rounds"
            )
        return Plan(
            rounds=rounds,
            games=games,
            first=self._round(1, Field(tuple(entrants)), History()),
            byes=rounds if self.table == 2 and players % 2 else 0,
            at_once=len(sizes),
            chain=rounds * max(sizes),
            note=self._notes(players, rounds),
        )

    def following(self, field: Field, history: History) -> Following:
        """What follows."""
        # fewer results than pairings: one is open, without looking for it
        if len(history.results) < len(history.issued) or history.open:
            return Wait()
        played = max((pairing.round for pairing in history.issued), default=0)
        began = {n for p in history.issued if p.round == 1 for n in p.players} or field.active
        rounds = self.rounds or default_rounds(len(began), self.table)
        if played >= rounds or len(field.active) < 2:
            return Finished()
        return Issue(self._round(played + 1, field, history))

    def _round(self, number: int, field: Field, history: History) -> tuple[Pairing, ...]:
        from croupier_server.tournament.grouping import groups_of

        order = self._order(field, history)
        # two who are left at a table of four are a pair, and know who met whom
        pairs = self.table == 2 or len(order) == 2
        groups = pairs_of(order) if pairs else groups_of(order, self.table)
        seating = Seating(history.issued)
        pairings: list[Pairing] = []
        for table, group in enumerate(groups, 1):
            if len(group) == 1:
                pairings.append(Pairing(f"{number}.{table}.1", group, number, f"{number}.{table}"))
            else:
                pairings.extend(seating.block(group, number, table))
        return tuple(pairings)

    def _order(self, field: Field, history: History) -> list[Candidate]:
        """Who plays on, the highest score first; equals by lot, alike in all rounds."""
        scores = total_parts(history.results.values())
        met: dict[str, Counter[str]] = {name: Counter() for name in field.names}
        byes: Counter[str] = Counter()
        for players in openings(history.issued).values():
            if len(players) == 1:
                byes.update(players)
            for one, other in combinations(players, 2):
                met.setdefault(one, Counter())[other] += 1
                met.setdefault(other, Counter())[one] += 1
        lot = {name: Draws(self.seed, "swiss", name).bits() for name in field.active}
        order = [Candidate(n, scores.get(n, 0), byes[n], met[n]) for n in field.active]
        return sorted(order, key=lambda one: (-one.score, lot[one.name], one.name))

    def _tables(self, players: int) -> list[tuple[int, ...]]:
        return allocate(range(players), self.table)

    def _notes(self, players: int, rounds: int) -> tuple[str, ...]:
        if self.table == 2 and rounds > players - 1 + players % 2:
            return (f"{players} entrants have met after {players - 1} rounds, then meet again",)
        return ()
