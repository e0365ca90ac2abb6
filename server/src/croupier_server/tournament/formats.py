"""The formats by name, and what can be chosen about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Final

from croupier_common.rules import MAX_PLAYERS, MIN_PLAYERS
from croupier_server.errors import UserError
from croupier_server.tournament.model import Format

__all__ = ["FORMATS", "MAX_ROUNDS", "FormatOptions", "make_format"]

MAX_ROUNDS: Final = 100
"""More rounds than this are taken for a slip of the keyboard."""


@dataclass(frozen=True, slots=True)
class FormatOptions:
    """What can be chosen about a format.

    Attributes:
        table: how many play in a game; the knock-out, which deals games of 4, ignores it.
        rounds: of the Swiss; None for as many as the number of entrants asks for.
        max_games: a tournament of more games is refused before it begins.
        blocks_per_entrant: of the round robin; None for all groups that there are.
        seed: decides what is drawn by lot.
        at_once: of the ladder, how many pairings it keeps open.
    """

    table: int = 2
    rounds: int | None = None
    max_games: int = 20_000
    blocks_per_entrant: int | None = None
    seed: int = 0
    at_once: int = 8


def _knockout(_: FormatOptions) -> Format:
    from croupier_server.tournament.knockout import Knockout

    return Knockout()


def _round_robin(options: FormatOptions) -> Format:
    from croupier_server.tournament.round_robin import RoundRobin

    return RoundRobin(options.table, options.max_games, options.blocks_per_entrant, options.seed)


def _swiss(options: FormatOptions) -> Format:
    from croupier_server.tournament.swiss import Swiss

    return Swiss(options.table, options.rounds, options.max_games, options.seed)


def _ladder(options: FormatOptions) -> Format:
    from croupier_server.ratings.running import RunningRatings
    from croupier_server.tournament.ladder import Ladder

    return Ladder(options.table, options.at_once, RunningRatings())


_FACTORIES: Final[Mapping[str, Callable[[FormatOptions], Format]]] = {
    "knockout": _knockout,
    "round-robin": _round_robin,
    "swiss": _swiss,
    "ladder": _ladder,
}

FORMATS: Final = tuple(_FACTORIES)

# options that only one format has; the others say so instead of ignoring them
_ONLY: Final = {"rounds": "swiss", "blocks_per_entrant": "round-robin"}
_LIMITS: Final = {
    "table": (MIN_PLAYERS, MAX_PLAYERS),
    "rounds": (1, MAX_ROUNDS),
    "max_games": (1, None),
    "at_once": (1, None),
    "blocks_per_entrant": (1, None),
}


def make_format(name: str, options: FormatOptions) -> Format:
    """The format of that name.

    Raises:
        UserError: there is none, or it can't be had with these options.
    """
    if name not in _FACTORIES:
        raise UserError(f"format {name!r:.60}: must be one of {', '.join(FORMATS)}")
    for option in fields(options):
        _check(name, option.name, getattr(options, option.name))
    return _FACTORIES[name](options)


def _check(name: str, option: str, value: int | None) -> None:
    if value is None:
        return
    only = _ONLY.get(option, name)
    if only != name:
        raise UserError(f"format {name}: {option} is for {only} only; leave it out")
    least, most = _LIMITS.get(option, (None, None))
    if (least is not None and value < least) or (most is not None and value > most):
        allowed = f"from {least} to {most}" if most is not None else f"at least {least}"
        raise UserError(f"format {name}: {option} = {value:,} must be {allowed}")
