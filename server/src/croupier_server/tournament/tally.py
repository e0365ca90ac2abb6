"""What all results come to for each player: whole numbers, so that no order of results matters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from croupier_common.verdict import Verdict
from croupier_server.tournament.model import Result
from croupier_server.tournament.points import PARTS, parts

__all__ = ["Tallies", "Tally", "Versus", "tallied"]


@dataclass(slots=True)
class Versus:
    """What a player did against another.

    Attributes:
        halves: 2 for each game in which it came before the other, 1 for each as its equal.
        parts: the same in parts of a point of the whole table, so that a larger table's pairs
            weigh less.
        games: those that they both played.
    """

    halves: int = 0
    parts: int = 0
    games: int = 0


@dataclass(slots=True)
class Tally:
    """What a player did.

    Attributes:
        parts: its points, in parts.
        games: those that count, byes apart.
        wins: won alone.
        ties: shared first places.
        forfeits: games for which too few were there, whether it was or not, counted or not.
        went_on: the last round that it won, or that was void; 0 for none.
        blocks: what it scored in each block in games that were played, and how many these are.
        tables: its opponents in each game that counts.
        verdicts: round, game and why it has no place there.
    """

    parts: int = 0
    games: int = 0
    wins: int = 0
    ties: int = 0
    fish: int = 0
    tiles: int = 0
    byes: int = 0
    forfeits: int = 0
    ejections: int = 0
    went_on: int = 0
    blocks: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    tables: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    versus: defaultdict[str, Versus] = field(default_factory=lambda: defaultdict(Versus))
    verdicts: list[tuple[int, str, Verdict]] = field(default_factory=list[tuple[int, str, Verdict]])


Tallies = defaultdict[str, Tally]


def tallied(
    results: Iterable[Result], *, count_forfeits: bool = True, onto: Tallies | None = None
) -> Tallies:
    """What the results come to, by name.

    Args:
        count_forfeits: whether a game for which too few were there counts like one that was lost
            and won; else it gives nobody anything.
        onto: what other results came to, to which these are added in place.
    """
    tallies: Tallies = defaultdict(Tally) if onto is None else onto
    for result in results:
        _went_on(tallies, result)
        if result.kind == "void":
            continue
        _verdicts(tallies, result)
        if result.kind == "bye":
            _bye(tallies, result)
        elif result.kind == "played" or count_forfeits:
            _game(tallies, result)
    return tallies


def _went_on(tallies: Tallies, result: Result) -> None:
    # nobody is knocked out by a game that is void
    for name in result.players if result.kind == "void" else result.winners:
        tally = tallies[name]
        tally.went_on = max(tally.went_on, result.round)


def _verdicts(tallies: Tallies, result: Result) -> None:
    for name, verdict in result.verdicts.items():
        tally = tallies[name]
        tally.verdicts.append((result.round, result.game, verdict))
        tally.ejections += verdict.is_fault
    if result.kind == "forfeit":
        for name in result.players:
            tallies[name].forfeits += 1


def _bye(tallies: Tallies, result: Result) -> None:
    for name, earned in parts(result).items():
        tallies[name].parts += earned
        tallies[name].byes += 1


def _game(tallies: Tallies, result: Result) -> None:
    earned = parts(result)
    winners = result.winners
    is_alone = len(winners) == 1
    is_played = result.kind == "played"
    for name, own in earned.items():
        tally = tallies[name]
        tally.parts += own
        tally.games += 1
        if name in winners:
            tally.wins += is_alone
            tally.ties += not is_alone
        if is_played:
            tally.fish += result.fish.get(name, 0)
            tally.tiles += result.tiles.get(name, 0)
            block = tally.blocks.setdefault(result.block, [0, 0])
            block[0] += own
            block[1] += 1
    _meetings(tallies, result)


def _meetings(tallies: Tallies, result: Result) -> None:
    players = result.players
    if len(players) < 2:
        return
    places = {name: at for at, equals in enumerate(result.ranking) for name in equals}
    last = len(result.ranking)
    half = PARTS // (2 * (len(players) - 1))
    for at, name in enumerate(players):
        tally, own = tallies[name], places.get(name, last)
        opponents = players[:at] + players[at + 1 :]
        tally.tables.append(opponents)
        for other in opponents:
            its = places.get(other, last)
            # two who both failed are no equals: neither gets anything from the other
            halves = 2 if own < its else 1 if own == its < last else 0
            versus = tally.versus[other]
            versus.games += 1
            versus.halves += halves
            versus.parts += halves * half
