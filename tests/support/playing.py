"""Tournaments played out without games: a rule says who wins, and all the results are made up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import groupby

from croupier_common.rng import Draws
from croupier_server.tournament.model import (
    Entrant,
    Field,
    Finished,
    Format,
    History,
    Issue,
    Pairing,
    Result,
    Wait,
)

Ranking = tuple[tuple[str, ...], ...]
Decide = Callable[[Pairing], Ranking]

SIZES = (*range(1, 14), 17, 100)


def field_of(players: int) -> Field:
    return Field(tuple(Entrant(f"p{number}") for number in range(players)))


def all_tie(pairing: Pairing) -> Ranking:
    return (pairing.players,)


def nobody_stays(_: Pairing) -> Ranking:
    return ()


def first_named_wins(pairing: Pairing) -> Ranking:
    """The lower number is the stronger player."""
    return tuple((name,) for name in sorted(pairing.players, key=lambda name: (len(name), name)))


def by_lot(seed: int) -> Decide:
    """Any order, with ties."""

    def decide(pairing: Pairing) -> Ranking:
        draws = Draws(seed, pairing.game)
        luck = {name: draws.below(3) for name in pairing.players}
        ranked = sorted(pairing.players, key=luck.__getitem__)
        return tuple(tuple(group) for _, group in groupby(ranked, key=luck.__getitem__))

    return decide


def result_of(pairing: Pairing, ranking: Ranking) -> Result:
    return Result(
        pairing.game,
        pairing.block,
        pairing.round,
        pairing.players,
        kind="bye" if pairing.is_bye else "played",
        ranking=(pairing.players,) if pairing.is_bye else ranking,
    )


def with_results(
    history: History, decide: Decide, games: Iterable[Pairing] | None = None
) -> History:
    """The history with the results of these games, or of all that are open."""
    chosen = history.open if games is None else games
    new = {pairing.game: result_of(pairing, decide(pairing)) for pairing in chosen}
    return replace(history, results={**history.results, **new})


def issued(how: Format, field: Field, history: History) -> tuple[Pairing, ...]:
    """The pairings that follow; there must be some, with ids of their own."""
    following = how.following(field, history)
    assert isinstance(following, Issue), following
    games = [pairing.game for pairing in (*history.issued, *following.pairings)]
    assert len(set(games)) == len(games)
    return following.pairings


def with_next(how: Format, field: Field, history: History) -> History:
    return replace(history, issued=(*history.issued, *issued(how, field, history)))


def play_out(
    how: Format,
    field: Field,
    decide: Decide,
    change: Callable[[Field, History], Field] = lambda field, _: field,
    history: History | None = None,
) -> History:
    """The whole tournament; `change` is asked before each batch who takes part now."""
    history = history or History()
    for _ in range(1_000):
        field = change(field, history)
        following = how.following(field, history)
        if isinstance(following, Finished):
            assert not history.open
            return history
        assert isinstance(following, Issue), "it waits, but nothing is open"
        history = with_next(how, field, history)
        assert isinstance(how.following(field, history), Wait | Issue | Finished)
        history = with_results(history, decide)
    raise AssertionError("it does not end")


def without(field: Field, *names: str) -> Field:
    return replace(field, out=field.out | set(names))


def joined(field: Field, *entrants: Entrant) -> Field:
    return replace(field, entrants=(*field.entrants, *entrants))


def rounds_of(history: History) -> list[list[Pairing]]:
    last = max((pairing.round for pairing in history.issued), default=0)
    return [[p for p in history.issued if p.round == number] for number in range(1, last + 1)]


def blocks_of(pairings: Iterable[Pairing]) -> dict[str, list[Pairing]]:
    blocks: dict[str, list[Pairing]] = {}
    for pairing in pairings:
        blocks.setdefault(pairing.block, []).append(pairing)
    return blocks


def is_seat_complete(games: Sequence[Pairing]) -> bool:
    """Whether these are all the rotations of one turn order, one game each, by brute force."""
    first = games[0].players
    rotations = sorted(first[at:] + first[:at] for at in range(len(first)))
    return sorted(game.players for game in games) == rotations


def shuffled(history: History, seed: int) -> History:
    """The same results, in another order of the mapping."""
    games = list(history.results)
    Draws(seed, "shuffle").shuffle(games)
    return replace(history, results={game: history.results[game] for game in games})
