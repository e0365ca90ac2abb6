"""Who plays whom in pairs: near in score, and nobody twice while that can be.

It is the matching of least cost of a graph (Edmonds' blossom algorithm, from networkx), whose
edges cost the square of the difference in score. A whole field of hundreds takes too long, so it
is matched in stretches along the order of scores, with an edge to a few neighbours only. Where
that finds no matching without a rematch, the complete graph is asked, in which a rematch costs
more than anything else: it finds one if there is one, and else as few rematches as there must be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final, TypeAlias

__all__ = ["Candidate", "Pairs", "pairs_of"]

_STRETCH: Final = 80
"""So many are matched at once, at first; half of them would lose too many near opponents."""
_NEAR: Final = 10
"""Edges from each, down the order, at first."""
_WIDE: Final = 40
"""Edges from each in the second attempt, over the whole field."""

Pairs: TypeAlias = list[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Candidate:
    """Somebody to be paired.

    Attributes:
        score: the higher, the better; whole.
        byes: how many it has had.
        met: how often it has been paired with each other.
    """

    name: str
    score: int = 0
    byes: int = 0
    met: Mapping[str, int] = field(default_factory=dict[str, int])


def pairs_of(order: Sequence[Candidate]) -> Pairs:
    """Pairs, the best first; of an odd field, one has a bye and stands alone, at the end.

    The bye goes to one of those who have had fewest; of these, to the last in the order whose
    bye leaves the others a pairing without rematches.

    Args:
        order: all of them, the highest score first.
    """
    if len(order) < 2:
        return [(one.name,) for one in order]
    bye = _byes(order)[:1]
    playing = [one for one in order if one not in bye] if len(order) % 2 else list(order)
    lone = bye if len(order) % 2 else []
    for stretch, near in ((_STRETCH, _NEAR), (len(order), _WIDE)):
        pairs = _without_rematches(playing, stretch, near)
        if pairs is not None:
            return _named([*pairs, *((one,) for one in lone)], order)
    return _named(_with_fewest_rematches(order), order)


def _byes(order: Sequence[Candidate]) -> list[Candidate]:
    """Who can have the bye, who should have it first."""
    fewest = min(one.byes for one in order)
    return [one for one in reversed(order) if one.byes == fewest]


def _without_rematches(
    order: Sequence[Candidate], stretch: int, near: int
) -> list[tuple[Candidate, ...]] | None:
    """Pairs, matched stretch by stretch; a stretch that can't be takes the next one in."""
    pairs: list[tuple[Candidate, ...]] = []
    begin = 0
    for end in _ends(len(order), stretch):
        members = order[begin:end]
        matched = _matched(len(members), _near_edges(members, near))
        if len(matched) * 2 == len(members):
            pairs.extend((members[one], members[other]) for one, other in matched)
            begin = end
    return pairs if begin == len(order) else None


def _ends(players: int, stretch: int) -> list[int]:
    """Where stretches end; all are even, the last may be half as long again."""
    stretch -= stretch % 2
    ends = list(range(stretch, players - stretch // 2, stretch))
    return [*ends, players]


def _near_edges(members: Sequence[Candidate], near: int) -> Iterator[tuple[int, int, int]]:
    """For each the next so many down the order that it has not met, with the cost."""
    for at, one in enumerate(members):
        found = 0
        for to in range(at + 1, len(members)):
            other = members[to]
            if other.name not in one.met:
                yield at, to, (one.score - other.score) ** 2
                found += 1
                if found == near:
                    break


def _with_fewest_rematches(order: Sequence[Candidate]) -> list[tuple[Candidate, ...]]:
    """The best there is: of all the pairs and byes, by rematches, then bye, then scores."""
    spread = (order[0].score - order[-1].score) ** 2 + 1
    per_bye = spread * len(order)
    per_meeting = per_bye * (len(order) + 1)
    most = max((times for one in order for times in one.met.values()), default=0)
    per_rematch = per_meeting * (most * len(order) + 1)

    def cost(one: Candidate, other: Candidate) -> int:
        meetings = one.met.get(other.name, 0)
        rematch = per_rematch if meetings else 0
        return rematch + per_meeting * meetings + (one.score - other.score) ** 2

    edges = [(at, to, cost(order[at], order[to])) for at, to in combinations(range(len(order)), 2)]
    nobody = len(order)
    if len(order) % 2:
        rank = {one.name: at for at, one in enumerate(_byes(order))}
        edges += [
            (at, nobody, per_bye * rank[one.name])
            for at, one in enumerate(order)
            if one.name in rank
        ]
    matched = _matched(len(order) + len(order) % 2, edges)
    return [tuple(order[at] for at in pair if at != nobody) for pair in matched]


def _matched(
    players: int, edges: Iterator[tuple[int, int, int]] | Sequence[tuple[int, int, int]]
) -> list[tuple[int, int]]:
    """As many pairs as can be, of least cost in all."""
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(range(players))
    for one, other, cost in edges:
        graph.add_edge(one, other, weight=-cost)
    matched = nx.max_weight_matching(graph, maxcardinality=True)
    return sorted((min(pair), max(pair)) for pair in matched)


def _named(pairs: Sequence[tuple[Candidate, ...]], order: Sequence[Candidate]) -> Pairs:
    """The names, those who stand higher first; a bye at the end."""
    place = {one.name: at for at, one in enumerate(order)}
    return sorted(
        (tuple(sorted((one.name for one in pair), key=place.__getitem__)) for pair in pairs),
        key=lambda names: (len(names) == 1, place[names[0]]),
    )
