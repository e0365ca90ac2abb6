"""The course's knock-out: the top finishers of every game go on, ties included, in order of age.

It ends when too few are left for a game, with the one final of four or fewer, or when two rounds
in a row have the same winners, so that players who tie for ever don't play for ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from croupier_common.rules import MAX_PLAYERS, MIN_PLAYERS
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

__all__ = ["Knockout", "allocate", "winners"]

TIE_BREAKS: Final = ("rounds",)

Name = TypeVar("Name")


def allocate(players: Sequence[Name], table: int = MAX_PLAYERS) -> list[tuple[Name, ...]]:
    """Players dealt to games of `table`, in order; the last games are smaller where it must be.

    When those left over can't form a game, the last game is taken back and made one smaller; of
    fours: 5 = 3+2, 6 = 4+2, 7 = 4+3, 9 = 4+3+2.
    """
    games: list[tuple[Name, ...]] = []
    at = 0
    while at < len(players):
        size = min(table, len(players) - at)
        if len(players) - at - size == 1 and size > MIN_PLAYERS:
            size -= 1
        games.append(tuple(players[at : at + size]))
        at += size
    return games


@dataclass(frozen=True, slots=True)
class Knockout:
    """The course's knock-out. Who comes late is not let in."""

    takes_late: bool = False
    is_endless: bool = False
    tie_breaks: Sequence[str] = TIE_BREAKS

    def winners(self, field: Field, history: History) -> tuple[str, ...]:
        """Who has won."""
        return winners(field, history)

    def plan(self, entrants: Sequence[Entrant]) -> Plan:
        """What there is to come; the rounds at most are those when hardly anybody loses."""
        names = [entrant.name for entrant in entrants]
        first = _round(1, names)
        slowest = _slowest(len(names))
        quickest = _quickest(len(names))
        note = (
            f"with one winner a game: {_count(len(quickest), 'round')}, "
            f"{_count(sum(quickest), 'game')}; equals go on together, and make it more"
        )
        return Plan(
            rounds=len(slowest),
            games=sum(slowest),
            first=first,
            byes=0,
            at_once=len(first),
            chain=len(quickest),
            note=(note,) if first else (),
        )

    def following(self, field: Field, history: History) -> Following:
        """What follows."""
        if not field.active:
            return Finished()
        number = _last_round(history)
        if number == 0:
            return _issue(1, field.active)
        playing = _pairings(history, number)
        if any(pairing.game not in history.results for pairing in playing):
            return Wait()
        left = winners(field, history)
        played = sum(len(pairing.players) for pairing in playing)
        was_final = played <= MAX_PLAYERS
        # who played this round won the last one: if all of them are left, it changed nothing
        same = number > 1 and len(left) == played
        return Finished() if was_final or same else _issue(number + 1, left)


def winners(field: Field, history: History) -> tuple[str, ...]:
    """Those who won their games of the last round and are still in; at the end, who won it all.

    A lone entrant wins unplayed. Nobody may be left. Of a void game, nobody is knocked out.
    """
    number = _last_round(history)
    if number == 0:
        return field.active if len(field.active) == 1 else ()
    won: set[str] = set()
    for pairing in _pairings(history, number):
        result = history.results.get(pairing.game)
        if result is not None:
            won.update(pairing.players if result.kind == "void" else result.winners)
    return tuple(name for name in field.active if name in won)


def _last_round(history: History) -> int:
    return max((pairing.round for pairing in history.issued), default=0)


def _pairings(history: History, number: int) -> list[Pairing]:
    return [pairing for pairing in history.issued if pairing.round == number]


def _issue(number: int, players: Sequence[str]) -> Issue | Finished:
    pairings = _round(number, players)
    return Issue(pairings) if pairings else Finished()


def _round(number: int, players: Sequence[str]) -> tuple[Pairing, ...]:
    if len(players) < MIN_PLAYERS:
        return ()
    return tuple(
        Pairing(game := f"{number}.{table}", group, number, game)
        for table, group in enumerate(allocate(players), 1)
    )


def _games(players: int) -> int:
    return len(allocate(range(players)))


def _slowest(players: int) -> list[int]:
    """The games of each round if all tie in the first, and one alone loses in each other."""
    if players < MIN_PLAYERS:
        return []
    if players <= MAX_PLAYERS:
        return [1]
    return [_games(players), *(_games(left) for left in range(players, MAX_PLAYERS - 1, -1))]


def _quickest(players: int) -> list[int]:
    """The games of each round if each game has one winner."""
    games: list[int] = []
    while players >= MIN_PLAYERS:
        players = _games(players)
        games.append(players)
    return games


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("s" if number != 1 else "")
