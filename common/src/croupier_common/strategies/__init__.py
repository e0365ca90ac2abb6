"""Strategies: pure functions from a state to an action, each one found by its name.

A strategy is made from a spec, ``NAME`` or ``NAME:ARGUMENT``::

    strategy = make("minimax:3")
    action = strategy.choose(state)

Every module in this folder, but for those with an underscore before their name, is the strategy
of that name, and nothing else needs to know of it. It is imported when it is asked for. It has
``FORM``, what its specs look like, and ``make(setup)``, which gives a :class:`Strategy`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Protocol, cast

from croupier_common.actions import Action
from croupier_common.errors import InvalidState, InvalidStrategy
from croupier_common.state import State

__all__ = ["Setup", "Strategy", "forms", "make", "names", "no_argument", "nothing_to_choose"]


class Strategy(Protocol):
    """Something that chooses. It keeps nothing: the same state gives the same action, always."""

    def choose(self, state: State) -> Action:
        """A legal action for whose turn it is.

        Raises:
            InvalidState: the game is over.
        """
        ...


@dataclass(frozen=True, slots=True)
class Setup:
    """What a strategy is made from.

    Attributes:
        argument: what follows the colon in the spec; None where there is none.
        seed: for what is drawn.
        labels: what else decides the draws: the game's id, the seat...
    """

    argument: str | None = None
    seed: int = 0
    labels: tuple[str | int, ...] = ()


class _Module(Protocol):
    FORM: str

    def make(self, setup: Setup, /) -> Strategy: ...


def names() -> list[str]:
    """The names of all strategies, sorted."""
    found = (module.name for module in iter_modules(__path__))
    return sorted(name for name in found if not name.startswith("_"))


def forms() -> list[str]:
    """What specs there are, one text for each strategy, sorted by name."""
    return [_module(name).FORM for name in names()]


def make(spec: str, *, seed: int = 0, labels: Iterable[str | int] = ()) -> Strategy:
    """The strategy that a spec names.

    Args:
        seed: decides, with `labels` (purpose, game id, seat...), what a strategy draws.

    Raises:
        InvalidStrategy: there is none of that name, or it does not take that argument.
    """
    name, colon, argument = spec.partition(":")
    if name not in names():
        raise InvalidStrategy(f"no strategy {spec!r:.60}; there are {'; '.join(forms())}")
    return _module(name).make(Setup(argument if colon else None, seed, tuple(labels)))


def no_argument(setup: Setup, form: str) -> None:
    """Check that a spec is just a name.

    Raises:
        InvalidStrategy: it has an argument.
    """
    if setup.argument is not None:
        raise InvalidStrategy(f"argument {setup.argument!r:.40} is one too many; allowed is {form}")


def nothing_to_choose(state: State) -> InvalidState:
    """The error of a strategy that is asked when the game is over."""
    return InvalidState(f"nothing to choose: it is the turn of {state.turn}, and {state.stage}")


def _module(name: str) -> _Module:
    return cast("_Module", import_module(f"{__name__}.{name}"))
