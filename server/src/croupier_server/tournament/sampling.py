"""A balanced sample of groups: each entrant in as many as it should be, opponents spread evenly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb

from croupier_common.rng import Draws
from croupier_server.tournament.schedule import Group, circle

__all__ = ["sample"]


@dataclass(slots=True)
class _Tally:
    """How often each has been grouped, and with whom."""

    blocks: Counter[str] = field(default_factory=Counter[str])
    met: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    used: set[frozenset[str]] = field(default_factory=set[frozenset[str]])

    def add(self, group: Iterable[str]) -> None:
        members = frozenset(group)
        self.used.add(members)
        self.blocks.update(members)
        for one in members:
            for other in members - {one}:
                self.met[one, other] += 1

    def meetings(self, name: str, group: Iterable[str]) -> int:
        return sum(self.met[name, other] for other in group)


def sample(
    names: Sequence[str], size: int, per_entrant: int, groups: Iterable[Group], seed: int
) -> list[Group]:
    """Groups to add, so that each of `names` is in `per_entrant` in all; a few in one more.

    No group comes twice. Where fewer groups than that contain an entrant, it is in all of them.

    Args:
        groups: those that there are; who is in them already needs so many fewer.
        seed: decides who meets whom, where it could be one or another.
    """
    tally = _Tally()
    for group in groups:
        tally.add(group)
    target = min(per_entrant, comb(len(names) - 1, size - 1))
    order = list(names)
    Draws(seed, "round robin").shuffle(order)
    added: list[Group] = []
    if size == 2 and not tally.used:  # rounds in which all play are as even as can be
        added = circle(order)[: target * (len(order) // 2)]
        for group in added:
            tally.add(group)
    for level in range(target):
        # all reach a level before anybody goes on to the next, so that nobody gets ahead
        waiting = {name: None for name in order if tally.blocks[name] <= level}
        while waiting:
            group = _group_of(next(iter(waiting)), waiting, order, tally, size)
            tally.add(group)
            added.append(group)
            for name in group:
                waiting.pop(name, None)
    return added


def _group_of(
    name: str, waiting: Iterable[str], order: Sequence[str], tally: _Tally, size: int
) -> Group:
    """A new group for this one, of those who played least and met least."""
    group: Group = (name,)
    for _ in range(size - 1):
        group = (*group, _partner(group, waiting, tally) or _ahead(group, order, tally))
    return _unused(group, order, tally) if frozenset(group) in tally.used else group


def _partner(group: Group, candidates: Iterable[str], tally: _Tally) -> str | None:
    """Who has met the group least; of equals, the first."""
    best, fewest = None, -1
    for other in candidates:
        if other in group:
            continue
        meetings = tally.meetings(other, group)
        if meetings == 0:
            return other
        if best is None or meetings < fewest:
            best, fewest = other, meetings
    return best


def _ahead(group: Group, order: Sequence[str], tally: _Tally) -> str:
    """One of those who are ahead already, where too few are waiting."""
    others = [other for other in order if other not in group]
    least = min(tally.blocks[other] for other in others)
    partner = _partner(group, (it for it in others if tally.blocks[it] == least), tally)
    return partner or others[0]


def _unused(group: Group, order: Sequence[str], tally: _Tally) -> Group:
    """Another group for its first member; rare, so all may be looked through.

    There is one: who has all its groups has as many as it should.
    """
    name = group[0]
    others = [other for other in order if other != name]
    others.sort(key=lambda other: (tally.blocks[other], tally.met[name, other]))
    for most in sorted({tally.blocks[other] for other in others}):
        near = [other for other in others if tally.blocks[other] <= most]
        for rest in combinations(near, len(group) - 1):
            if frozenset((name, *rest)) not in tally.used:
                return (name, *rest)
    raise AssertionError("unreachable: a group is free, or the target would be lower")
