"""A player that goes for the most fish: in placing under the penguin, in moving on the to-tile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from croupier_common.actions import Action, Placement
from croupier_common.state import State
from croupier_common.strategies import Setup, Strategy, no_argument, nothing_to_choose

__all__ = ["FORM", "Greedy", "make"]

FORM: Final = "greedy"


@dataclass(frozen=True, slots=True)
class Greedy:
    """The strategy `greedy`."""

    def choose(self, state: State) -> Action:
        """The action onto the tile with most fish; of equals, the first in canonical order."""

        def fish(action: Action) -> int:
            return state.board[action.at if isinstance(action, Placement) else action.end]

        best = max(state.legal_actions, key=fish, default=None)  # max keeps the first of equals
        if best is None:
            raise nothing_to_choose(state)
        return best


def make(setup: Setup) -> Strategy:
    """`greedy`."""
    no_argument(setup, FORM)
    return Greedy()
