"""The simplest player: the first legal tile, row by row; the lowest move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from croupier_common.actions import Action
from croupier_common.state import State
from croupier_common.strategies import Setup, Strategy, no_argument, nothing_to_choose

__all__ = ["FORM", "First", "make"]

FORM: Final = "first"


@dataclass(frozen=True, slots=True)
class First:
    """The strategy `first`."""

    def choose(self, state: State) -> Action:
        """The first legal action in canonical order."""
        for action in state.legal_actions:
            return action
        raise nothing_to_choose(state)


def make(setup: Setup) -> Strategy:
    """`first`."""
    no_argument(setup, FORM)
    return First()
