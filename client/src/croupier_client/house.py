"""The house players: the strategies as players, and scripted bad ones to try a server with.

A bad player, ``rogue:KIND`` or ``rogue:KIND:TURN``, plays as `first` does until the TURN-th time
in a game that it is asked (3 if none is given), and from then on misbehaves; turn 0 is the game's
start.

========  ================================================
KIND      what it does
========  ================================================
illegal   answers with an action that is not legal
garbage   sends a text that is no JSON
silent    does not answer
crash     answers with an error, as for an exception
vanish    cuts the connection
========  ================================================
"""

from __future__ import annotations

from typing import Final, NoReturn

from croupier_client.errors import LoadError
from croupier_client.player import ActionLike, Player, View
from croupier_client.turns import Answered, Answering, Failed, Garbage, Silence, Vanish
from croupier_common.state import Stage
from croupier_common.strategies import Strategy, make

__all__ = ["ROGUES", "House", "Rogue", "make_rogue"]

ROGUES: Final = ("illegal", "garbage", "silent", "crash", "vanish")
"""The kinds of bad players."""

_TURN: Final = 3


class House(Player):
    """A strategy as a player.

    Args:
        spec: the strategy's, ``minimax:3``.
        seed: for its draws, which the game's id decides too.
    """

    def __init__(self, spec: str, seed: int = 0) -> None:
        self._spec = spec
        self._seed = seed
        self._strategy: Strategy = make(spec, seed=seed)

    def game_start(self, view: View) -> None:
        """Begin afresh, so that no game depends on the one before."""
        self._strategy = make(self._spec, seed=self._seed, labels=(view.game,))

    def place(self, view: View) -> ActionLike:
        """The strategy's choice."""
        return self._strategy.choose(view.state)

    def move(self, view: View) -> ActionLike:
        """The strategy's choice."""
        return self._strategy.choose(view.state)


class Rogue(Player):
    """A player that misbehaves in one way, from a turn on."""

    def __init__(self, kind: str, turn: int = _TURN) -> None:
        self.kind = kind
        self.turn = turn
        self._asked = 0
        self._strategy = make("first")

    def game_start(self, view: View) -> None:
        """Turn 0."""
        self._asked = 0
        if self.turn == 0:
            self._misbehave(view)

    def place(self, view: View) -> ActionLike:
        """The first legal tile, until its turn has come."""
        return self._act(view)

    def move(self, view: View) -> ActionLike:
        """The first legal move, until its turn has come."""
        return self._act(view)

    def _act(self, view: View) -> ActionLike:
        self._asked += 1
        if self._asked >= self.turn:
            self._misbehave(view)
        return self._strategy.choose(view.state)

    def _misbehave(self, view: View) -> NoReturn:
        match self.kind:
            case "garbage":
                raise Garbage('{"jsonrpc": "2.0", "id": ')
            case "silent":
                raise Silence
            case "vanish":
                raise Vanish
            case "crash":
                raise Answering(Failed("ZeroDivisionError: a rogue crashes, as it was told to"))
            case _:
                outside = [view.board.rows, view.board.columns]
                placing = view.state.stage is Stage.PLACEMENT
                raise Answering(Answered(outside if placing else [outside, outside]))


def make_rogue(argument: str) -> Rogue:
    """The rogue of ``KIND`` or ``KIND:TURN``.

    Raises:
        LoadError: there is no such rogue.
    """
    kind, colon, number = argument.partition(":")
    turn = int(number) if number.isascii() and number.isdecimal() and len(number) < 5 else -1
    if kind not in ROGUES or (colon and turn < (kind == "illegal")):
        raise LoadError(
            f"no rogue {argument!r:.40}; it is rogue:KIND or rogue:KIND:TURN with KIND one of "
            f"{', '.join(ROGUES)}, and TURN from 0 (the game's start; 'illegal' from 1)"
        )
    return Rogue(kind, turn if colon else _TURN)
