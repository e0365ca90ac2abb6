"""Results of games that nobody played, for what is worked out from results."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from hypothesis import strategies as st

from croupier_common.verdict import Verdict
from croupier_server.tournament.model import Entrant, Field, History, Pairing, Result, ResultKind

__all__ = ["field", "histories", "history", "played", "round_robin", "shuffled"]


def field(names: Sequence[str], out: Sequence[str] = (), **anchors: float) -> Field:
    """Who takes part."""
    return Field(tuple(Entrant(name, anchors.get(name)) for name in names), frozenset(out))


def played(
    game: str,
    *ranking: str,
    seats: str | None = None,
    failed: str = "",
    kind: ResultKind = "played",
    block: str | None = None,
) -> Result:
    """A result in which each letter is a player: ("1.1", "a", "bc") is won by a before b and c.

    ``seats`` are the players in turn order, if not as they are ranked; the last part of a game's
    id of three is left out for its block.
    """
    placed = tuple(tuple(group) for group in ranking)
    players = tuple(seats or "".join(ranking) + failed)
    verdict = Verdict.TIMEOUT if kind == "played" else Verdict.ABSENT
    return Result(
        game,
        block or ".".join(game.split(".")[:2]),
        int(game.split(".", maxsplit=1)[0]),
        players,
        kind,
        placed,
        dict.fromkeys(failed, verdict),
        {name: 10 + len(ranking) - at for at, group in enumerate(placed) for name in group},
        {name: 5 for group in placed for name in group},
    )


def history(*results: Result, waiting: Sequence[Pairing] = ()) -> History:
    """All that happened, and what is still waited for."""
    issued = tuple(Pairing(r.game, r.players, r.round, r.block) for r in results)
    return History((*issued, *waiting), {result.game: result for result in results})


def shuffled(before: History, seed: int) -> History:
    """The same history with its results in another order."""
    items = list(before.results.items())
    random.Random(seed).shuffle(items)
    return History(before.issued, dict(items))


def round_robin(strengths: Mapping[str, float], ties: float = 0.0, seed: int = 0) -> History:
    """Everybody against everybody, from both seats; log strengths, and the share of ties."""
    draws = random.Random(seed)
    results: list[Result] = []
    names = list(strengths)
    pairs = [(a, b) for at, a in enumerate(names) for b in names[at + 1 :]]
    for number, (one, other) in enumerate(pairs, 1):
        for game, (a, b) in enumerate(((one, other), (other, one)), 1):
            chance = 1 / (1 + 2.718281828 ** (strengths[b] - strengths[a]))
            ranking: tuple[tuple[str, ...], ...] = ((a,), (b,))
            if draws.random() < ties:
                ranking = ((a, b),)
            elif draws.random() > chance:
                ranking = ((b,), (a,))
            results.append(
                Result(
                    f"1.{number}.{game}",
                    f"1.{number}",
                    1,
                    (a, b),
                    "played",
                    ranking,
                    {},
                    {a: 20, b: 18},
                    {a: 9, b: 8},
                )
            )
    return history(*results)


@st.composite
def histories(draw: st.DrawFn, names: str = "abcdef", most: int = 20) -> History:
    """Any results of games of 1 to 4, of every kind."""
    results: list[Result] = []
    for number in range(draw(st.integers(0, most))):
        seats = draw(st.permutations(names))[: draw(st.integers(2, 4))]
        places = draw(st.lists(st.integers(0, 4), min_size=len(seats), max_size=len(seats)))
        ranking = ["".join(n for n, p in zip(seats, places, strict=True) if p == at)
                   for at in range(4)]  # fmt: skip
        failed = "".join(n for n, p in zip(seats, places, strict=True) if p == 4)
        kind: ResultKind = draw(st.sampled_from(["played", "played", "played", "forfeit", "void"]))
        game = f"{1 + number // 4}.{number // 2}.{number}"
        results.append(
            played(game, *filter(None, ranking), seats="".join(seats), failed=failed, kind=kind)
        )
    return history(*results)
