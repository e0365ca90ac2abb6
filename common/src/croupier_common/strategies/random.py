"""A player that draws among its legal actions, each as likely as the other."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Final

from croupier_common.actions import Action
from croupier_common.rng import Draws
from croupier_common.state import State
from croupier_common.strategies import Setup, Strategy, no_argument, nothing_to_choose

__all__ = ["FORM", "Random", "make"]

FORM: Final = "random"


@dataclass(frozen=True, slots=True)
class Random:
    """The strategy `random`: a draw is decided by the seed, the labels and the state alone."""

    seed: int = 0
    labels: tuple[str | int, ...] = ()

    def choose(self, state: State) -> Action:
        """One of the legal actions."""
        actions = state.legal_actions
        if state.turn is None or not actions:
            raise nothing_to_choose(state)
        # With each placement the own penguins are more, and with each move the tiles are fewer, so
        # no two turns of one player share a draw. Nothing is kept: after a reconnect, or in another
        # process, the same state gives the same action.
        draws = Draws(
            self.seed,
            "strategy random",
            *self.labels,
            state.turn.value,
            len(state.board),
            len(state.player(state.turn).penguins),
        )
        return next(islice(actions, draws.below(len(actions)), None))


def make(setup: Setup) -> Strategy:
    """`random`, with the setup's seed and labels."""
    no_argument(setup, FORM)
    return Random(setup.seed, setup.labels)
