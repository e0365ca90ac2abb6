"""Tie-breaks: by what players are ranked, each a name, a line about it and a function.

All values are exact. They follow the FIDE Handbook's C.07 where it knows them, with two changes
that tables of more than two make necessary: the points of several opponents count with their mean,
so that a game weighs the same at every table; and of opponents that were beaten, each counts with
its share of the game's point. For two players this is what chess players know.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from croupier_server.errors import UserError
from croupier_server.tournament.points import PARTS
from croupier_server.tournament.tally import Tallies, Tally

__all__ = ["TIE_BREAKS", "TieBreak", "chosen", "refined"]

Value = Fraction | None
"""Higher is better; None where it says nothing."""

SHARES: Final = 6
"""What the points of 1, 2 or 3 opponents are split into, so that their mean is whole."""


@dataclass(frozen=True, slots=True)
class TieBreak:
    """A way to tell equals apart.

    Attributes:
        about: a line on it.
        among: the values of some players that are still equal; all or none of them None.
    """

    about: str
    among: Callable[[Tallies, Sequence[str]], Mapping[str, Value]]


def chosen(names: Sequence[str]) -> list[TieBreak]:
    """The tie-breaks of these names.

    Raises:
        UserError: there is none of that name.
    """
    for name in names:
        if name not in TIE_BREAKS:
            raise UserError(f"no tie-break {name!r}; there are {', '.join(TIE_BREAKS)}")
    return [TIE_BREAKS[name] for name in names]


def refined(
    group: Sequence[str], tie_break: TieBreak, tallies: Tallies
) -> tuple[list[list[str]], Mapping[str, Value]]:
    """Equals told apart, the best first, and by what values; who stays equal, in order."""
    values = tie_break.among(tallies, group)
    apart: dict[Value, list[str]] = {}
    for name in group:
        apart.setdefault(values[name], []).append(name)
    if None in apart:
        return [list(group)], values
    ranked = sorted(((value, names) for value, names in apart.items() if value is not None))
    return [names for _, names in reversed(ranked)], values


def _each(value: Callable[[Tally], Fraction | int]) -> Callable[..., Mapping[str, Value]]:
    """A tie-break that looks at nobody else."""

    def among(tallies: Tallies, group: Sequence[str]) -> Mapping[str, Value]:
        return {name: Fraction(value(tallies[name])) for name in group}

    return among


def _mean(tally: Tally) -> Fraction:
    counted = tally.games + tally.byes
    return Fraction(tally.parts, PARTS * counted) if counted else Fraction(0)


def _head_to_head(tallies: Tallies, group: Sequence[str]) -> Mapping[str, Value]:
    members = set(group)
    found = {name: tallies[name].versus for name in group}
    met = {
        versus[other].games if other in versus else 0
        for name, versus in found.items()
        for other in members - {name}
    }
    # whoever met the others more often would have had more to win
    if len(met) != 1 or 0 in met:
        return dict.fromkeys(group)
    return {
        name: Fraction(sum(versus[other].parts for other in members - {name}), PARTS)
        for name, versus in found.items()
    }


def _opposition(tallies: Tallies, name: str) -> list[int]:
    """For each game the mean of its opponents' points, in parts of :data:`SHARES`.

    For a bye it is one's own points, as C.07 has it for rounds without a game.
    """
    own = tallies[name]
    games = [
        tallies[table[0]].parts * SHARES  # quickly, as most tables are of two
        if len(table) == 1
        else sum(tallies[other].parts for other in table) * SHARES // len(table)
        for table in own.tables
    ]
    return games + [own.parts * SHARES] * own.byes


def _buchholz(cut: int) -> Callable[[Tallies, Sequence[str]], Mapping[str, Value]]:
    def among(tallies: Tallies, group: Sequence[str]) -> Mapping[str, Value]:
        return {
            name: Fraction(sum(sorted(_opposition(tallies, name))[cut:]), PARTS * SHARES)
            for name in group
        }

    return among


def _sonneborn_berger(tallies: Tallies, group: Sequence[str]) -> Mapping[str, Value]:
    found: dict[str, Value] = {}
    for name in group:
        own = tallies[name]
        beaten = sum(versus.parts * tallies[other].parts for other, versus in own.versus.items())
        found[name] = Fraction(beaten + own.byes * PARTS * own.parts, PARTS * PARTS)
    return found


TIE_BREAKS: Final[Mapping[str, TieBreak]] = {
    "rounds": TieBreak(
        "how far one came: the last round that one won; void games knock nobody out",
        _each(lambda tally: tally.went_on),
    ),
    "points": TieBreak(
        "a point a game: the share of opponents beaten, ties half; a bye is a point",
        _each(lambda tally: Fraction(tally.parts, PARTS)),
    ),
    "mean_points": TieBreak(
        "points per game, for players with unequal numbers of games", _each(_mean)
    ),
    "wins": TieBreak("games won alone", _each(lambda tally: tally.wins)),
    "head_to_head": TieBreak(
        "points against those who are equal so far, if all of them met equally often",
        _head_to_head,
    ),
    "buchholz_cut1": TieBreak("buchholz without the game of the weakest opponents", _buchholz(1)),
    "buchholz": TieBreak(
        "the points of all opponents, at larger tables their mean; for a bye one's own",
        _buchholz(0),
    ),
    "sonneborn_berger": TieBreak(
        "the points of opponents that one beat, and half of those that one tied with",
        _sonneborn_berger,
    ),
    "fish": TieBreak("fish in all games", _each(lambda tally: tally.fish)),
    "tiles": TieBreak("tiles in all games", _each(lambda tally: tally.tiles)),
    "fewest_ejections": TieBreak(
        "games in which one failed, the fewer the better", _each(lambda tally: -tally.ejections)
    ),
}
"""All tie-breaks by name."""
