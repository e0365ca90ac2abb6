"""The table: who stands where, by tie-breaks in a stated order, from results in any order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from croupier_common.verdict import Verdict
from croupier_server.tournament.blocks import id_order
from croupier_server.tournament.interval import Score, mean_score
from croupier_server.tournament.model import Field, History
from croupier_server.tournament.points import PARTS
from croupier_server.tournament.tally import Tallies, Tally, tallied
from croupier_server.tournament.tie_breaks import chosen, refined

__all__ = ["Fall", "Row", "Table", "standings"]


@dataclass(frozen=True, slots=True)
class Row:
    """Where somebody stands.

    Attributes:
        place: from 1; equals share the better place.
        games: those that count, byes apart: wins, ties and losses together.
        wins: won alone.
        ties: shared first places.
        losses: all others, failed ones too.
        score: the mean of the games that were played; None without one.
        byes: points without a game.
        forfeits: games for which too few were there, whether this player was or not.
        ejections: games in which it failed.
        tie_breaks: the values that it is ranked by, in the table's order; None where one says
            nothing.
    """

    place: int
    name: str
    points: Fraction
    games: int
    wins: int
    ties: int
    losses: int
    fish: int
    tiles: int
    byes: int
    forfeits: int
    ejections: int
    score: Score | None
    tie_breaks: tuple[Fraction | None, ...]

    def to_json(self) -> dict[str, Any]:
        """The row as JSON; fractions as the nearest number."""
        score = self.score
        return {
            "place": self.place,
            "name": self.name,
            "points": float(self.points),
            "games": self.games,
            "wins": self.wins,
            "ties": self.ties,
            "losses": self.losses,
            "fish": self.fish,
            "tiles": self.tiles,
            "byes": self.byes,
            "forfeits": self.forfeits,
            "ejections": self.ejections,
            "score": None
            if score is None
            else {"mean": float(score.mean), "low": score.low, "high": score.high},
            "tie_breaks": [None if value is None else float(value) for value in self.tie_breaks],
        }


@dataclass(frozen=True, slots=True)
class Fall:
    """Why somebody is out, as far as results say: the game, and the verdict on it there."""

    game: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Table:
    """Who stands where.

    Attributes:
        by: the names of the tie-breaks, first to last.
        rows: who still takes part, the best first; equals in the field's order.
        out: who no longer does, behind all others and ranked in the same way.
        falls: by name, why those who are out have no place in their games, in the order of these.
    """

    by: tuple[str, ...]
    rows: tuple[Row, ...]
    out: tuple[Row, ...] = ()
    falls: Mapping[str, tuple[Fall, ...]] = field(default_factory=dict[str, tuple[Fall, ...]])

    def reason(self, name: str) -> Verdict | None:
        """Why somebody is out: the last fault, or else the last verdict; None if none is known.

        What comes after a fault is only that the player was not there any more.
        """
        falls = [fall.verdict for fall in self.falls.get(name, ())]
        faults = [verdict for verdict in falls if verdict.is_fault]
        if faults:
            return faults[-1]
        return falls[-1] if falls else None

    def to_json(self) -> dict[str, Any]:
        """The table as JSON."""
        return {
            "by": list(self.by),
            "rows": [row.to_json() for row in self.rows],
            "out": [{**row.to_json(), "reason": self.reason(row.name)} for row in self.out],
        }


def standings(
    field: Field,
    history: History,
    tie_breaks: Sequence[str],
    *,
    count_forfeits: bool = True,
    tallies: Tallies | None = None,
) -> Table:
    """The table after the results that there are.

    Args:
        tie_breaks: names of :data:`..tie_breaks.TIE_BREAKS`, the first first.
        count_forfeits: whether a game for which too few were there counts like one that was
            played; how far one came in a knock-out stays as it is.
        tallies: what the results come to, if that is known already.

    Raises:
        UserError: there is no tie-break of a name.
    """
    chosen(tie_breaks)  # refused even where nobody is there to be ranked
    if tallies is None:
        tallies = tallied(history.results.values(), count_forfeits=count_forfeits)
    rows = _ranked(field.active, tie_breaks, tallies, 1)
    fallen = [name for name in field.names if name in field.out]
    return Table(
        tuple(tie_breaks),
        rows,
        _ranked(fallen, tie_breaks, tallies, len(rows) + 1),
        {name: _falls(tallies[name]) for name in fallen},
    )


def _ranked(
    names: Sequence[str], tie_breaks: Sequence[str], tallies: Tallies, first: int
) -> tuple[Row, ...]:
    groups = [list(names)] if names else []
    values: dict[str, list[Fraction | None]] = {name: [] for name in names}
    for tie_break in chosen(tie_breaks):
        after: list[list[str]] = []
        for group in groups:
            apart, found = refined(group, tie_break, tallies)
            after.extend(apart)
            for name in group:
                values[name].append(found[name])
        groups = after
    rows: list[Row] = []
    for group in groups:
        place = first + len(rows)
        rows.extend(_row(place, name, tallies[name], values[name]) for name in group)
    return tuple(rows)


def _row(place: int, name: str, tally: Tally, values: Sequence[Fraction | None]) -> Row:
    return Row(
        place=place,
        name=name,
        points=Fraction(tally.parts, PARTS),
        games=tally.games,
        wins=tally.wins,
        ties=tally.ties,
        losses=tally.games - tally.wins - tally.ties,
        fish=tally.fish,
        tiles=tally.tiles,
        byes=tally.byes,
        forfeits=tally.forfeits,
        ejections=tally.ejections,
        score=mean_score((earned, games) for earned, games in tally.blocks.values()),
        tie_breaks=tuple(values),
    )


def _falls(tally: Tally) -> tuple[Fall, ...]:
    ordered = sorted(tally.verdicts, key=lambda fall: (fall[0], id_order(fall[1])))
    return tuple(Fall(game, verdict) for _, game, verdict in ordered)
