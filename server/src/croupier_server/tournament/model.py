"""The values of a tournament: who plays, what is paired, what came of it. No I/O, no clock.

A format is pure: from who takes part and all that has happened so far it gives what follows::

    match format.following(field, history):
        case Issue(pairings): ...   # these can be played now, in this order as far as it goes
        case Wait(): ...            # nothing, until another result is in or somebody comes or goes
        case Finished(): ...        # the tournament is over

What was issued stays issued: a format looks for what is missing by the ids, it never counts. So a
tournament goes on after a crash, or with another player, from its history alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from croupier_common.verdict import Verdict

__all__ = [
    "Entrant",
    "Field",
    "Finished",
    "Following",
    "Format",
    "History",
    "Issue",
    "Pairing",
    "Plan",
    "Result",
    "ResultKind",
    "Wait",
]


@dataclass(frozen=True, slots=True)
class Entrant:
    """Somebody who takes part.

    Attributes:
        name: unlike any other's in the tournament.
        anchor: a rating that is known and stays; of house players, as a rule.
        is_house: whether the server plays it, so that it can fill up a table.
    """

    name: str
    anchor: float | None = None
    is_house: bool = False


@dataclass(frozen=True, slots=True)
class Field:
    """Who takes part.

    Attributes:
        entrants: all who ever did, in the tournament's order (that of age, or of sign-up); who
            comes late stands at the end.
        out: the names of those who no longer do: ejected, withdrawn or disqualified.
    """

    entrants: tuple[Entrant, ...]
    out: frozenset[str] = frozenset()

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in order."""
        return tuple(entrant.name for entrant in self.entrants)

    @property
    def active(self) -> tuple[str, ...]:
        """The names of those who still take part, in order."""
        return tuple(entrant.name for entrant in self.entrants if entrant.name not in self.out)


@dataclass(frozen=True, slots=True)
class Pairing:
    """A game to be played.

    Attributes:
        game: its id, like no other's in the tournament: numbers with dots, the round's first.
        players: in turn order; one alone has a bye.
        round: its round, from 1.
        block: equal for the games that are played on one board, so that seats are fair together.
    """

    game: str
    players: tuple[str, ...]
    round: int
    block: str

    @property
    def is_bye(self) -> bool:
        """Whether it is won without a game."""
        return len(self.players) == 1


ResultKind = Literal["played", "forfeit", "bye", "void"]


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a pairing.

    Attributes:
        players: as they were paired, in turn order.
        kind: ``played``; ``forfeit``: too few were still there to play it; ``bye``; ``void``: it
            counts for nobody, for a fault of ours or by the operator's word.
        ranking: names first to last, as groups of equals, without those who failed.
        verdicts: why each of the others has no place; ``absent``, ``withdrawn`` and the like for
            who was not there to play.
        fish: by name, for those who have a place in a game that was played.
        tiles: likewise.
    """

    game: str
    block: str
    round: int
    players: tuple[str, ...]
    kind: ResultKind = "played"
    ranking: tuple[tuple[str, ...], ...] = ()
    verdicts: Mapping[str, Verdict] = field(default_factory=dict[str, Verdict])
    fish: Mapping[str, int] = field(default_factory=dict[str, int])
    tiles: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def winners(self) -> tuple[str, ...]:
        """Those who have the first place."""
        return self.ranking[0] if self.ranking else ()


@dataclass(frozen=True, slots=True)
class History:
    """All that has happened in a tournament.

    Attributes:
        issued: every pairing that a format ever gave, in that order.
        results: by the pairing's id; no order means anything.
    """

    issued: tuple[Pairing, ...] = ()
    results: Mapping[str, Result] = field(default_factory=dict[str, Result])

    @property
    def open(self) -> tuple[Pairing, ...]:
        """Pairings without a result."""
        return tuple(pairing for pairing in self.issued if pairing.game not in self.results)


@dataclass(frozen=True, slots=True)
class Issue:
    """Pairings that can be played now, none of them issued before."""

    pairings: tuple[Pairing, ...]


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing can be paired before another result is in."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The tournament is over."""


Following = Issue | Wait | Finished


@dataclass(frozen=True, slots=True)
class Plan:
    """What can be said of a tournament before it is played.

    Attributes:
        rounds: how many at most; None where it runs until it is stopped.
        games: how many at most; None likewise.
        first: the pairings that are issued first.
        byes: how many in all, at most.
        at_once: how many games can run at a time, when each player plays one.
        chain: how many games follow one after another at least, each waiting for the one before.
        note: what else there is to know, as lines.
    """

    rounds: int | None
    games: int | None
    first: tuple[Pairing, ...]
    byes: int
    at_once: int
    chain: int | None
    note: tuple[str, ...] = ()


class Format(Protocol):
    """A way to run a tournament; pure."""

    @property
    def takes_late(self) -> bool:
        """Whether somebody can join once it has begun."""
        ...

    @property
    def is_endless(self) -> bool:
        """Whether it runs until it is stopped, and may pair anew after every game."""
        ...

    @property
    def tie_breaks(self) -> Sequence[str]:
        """By what entrants are ranked, first to last: names of :mod:`..standings`."""
        ...

    def plan(self, entrants: Sequence[Entrant]) -> Plan:
        """What there is to come.

        Raises:
            UserError: it can't be played so; with the arithmetic.
        """
        ...

    def following(self, field: Field, history: History) -> Following:
        """What follows."""
        ...
