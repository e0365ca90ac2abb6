"""The round robin: every group of 2, 3 or 4 entrants plays a block, or a balanced sample of them.

What is missing is found by the groups that were issued; so whoever comes late gets the blocks
that contain it, and the rest stays as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb
from typing import Final

from croupier_server.errors import UserError
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
from croupier_server.tournament.sampling import sample
from croupier_server.tournament.schedule import Group, circle, in_rounds
from croupier_server.tournament.seating import Seating, openings

__all__ = ["RoundRobin"]

TIE_BREAKS: Final = ("points", "head_to_head", "wins", "fish")


@dataclass(slots=True)
class _Settled:
    """The last state of things in which nothing was missing, so that it is not searched again."""

    field: Field | None = None
    issued: tuple[Pairing, ...] = ()


@dataclass(frozen=True, slots=True)
class RoundRobin:
    """All groups of `table` entrants, or as many as give each `blocks_per_entrant` blocks."""

    table: int = 2
    max_games: int = 20_000
    blocks_per_entrant: int | None = None
    seed: int = 0
    takes_late: bool = True
    is_endless: bool = False
    tie_breaks: Sequence[str] = TIE_BREAKS
    _settled: _Settled = field(default_factory=_Settled, compare=False, repr=False)

    def plan(self, entrants: Sequence[Entrant]) -> Plan:
        """What there is to come.

        Raises:
            UserError: it takes more than `max_games`.
        """
        size = min(self.table, len(entrants))
        if size < 2:
            return Plan(0, 0, (), 0, 0, 0)
        self._check(len(entrants), size)
        names = [entrant.name for entrant in entrants]
        issued = _issue(in_rounds(self._missing(names, size, ())), ())
        per_entrant: dict[str, int] = dict.fromkeys(names, 0)
        for pairing in issued:
            for name in pairing.players:
                per_entrant[name] += 1
        return Plan(
            rounds=max(pairing.round for pairing in issued),
            games=len(issued),
            first=issued,
            byes=0,
            at_once=len(entrants) // size,
            chain=max(per_entrant.values()),
        )

    def following(self, field: Field, history: History) -> Following:
        """What follows: at once all that is missing."""
        settled = self._settled
        if settled.field != field or settled.issued != history.issued:
            pairings = self._newly(field, history.issued)
            if pairings:
                return Issue(pairings)
            settled.field, settled.issued = field, history.issued
        # fewer results than pairings: one is open, without looking for it
        if len(history.results) < len(history.issued) or history.open:
            return Wait()
        return Finished()

    def _newly(self, field: Field, issued: tuple[Pairing, ...]) -> tuple[Pairing, ...]:
        """What is missing; none of those who are out."""
        groups = [tuple(sorted(players)) for players in openings(issued).values()]
        # once fours are played, three who are left are no new group
        widest = max((len(group) for group in groups), default=0)
        size = min(self.table, max(len(field.active), widest))
        if not 2 <= size <= len(field.active):
            return ()
        missing = self._missing(field.active, size, groups)
        return _issue(in_rounds(missing), issued)

    def _missing(self, names: Sequence[str], size: int, groups: Sequence[Group]) -> list[Group]:
        if self.blocks_per_entrant is not None:
            return sample(names, size, self.blocks_per_entrant, groups, self.seed)
        if not groups and size == 2:
            return circle(names)
        have = set(groups)
        return [group for group in combinations(names, size) if tuple(sorted(group)) not in have]

    def _check(self, entrants: int, size: int) -> None:
        blocks = comb(entrants, size)
        per = self.blocks_per_entrant
        sampled = per is not None and per < comb(entrants - 1, size - 1)
        if sampled and per is not None:
            blocks = -(-entrants * per // size)
        if blocks * size <= self.max_games:
            return
        each = f", in {per:,} blocks each," if sampled else ""
        advice = "lower blocks_per_entrant" if sampled else "set blocks_per_entrant"
        raise UserError(
            f"{entrants:,} entrants in groups of {size}{each} make {blocks:,} blocks of {size} "
            f"games = {blocks * size:,}, more than max_games = {self.max_games:,}; raise it, or "
            f"{advice}"
        )


def _issue(rounds: Iterable[Sequence[Group]], issued: Sequence[Pairing]) -> tuple[Pairing, ...]:
    """The games of these rounds, numbered on from those that were issued."""
    seating = Seating(issued)
    after = max((pairing.round for pairing in issued), default=0)
    return tuple(
        pairing
        for number, groups in enumerate(rounds, after + 1)
        for table, group in enumerate(groups, 1)
        for pairing in seating.block(group, number, table)
    )
