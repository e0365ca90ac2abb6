"""What a player is: a class with `place` and `move`, and what it gets to see.

::

    from croupier_client import Move, Placement, Player, View

    class Hungry(Player):
        def place(self, view: View) -> Placement:
            return max(view.placements, key=lambda placement: view.board[placement.at])

        def move(self, view: View) -> Move:
            return max(view.moves, key=lambda move: view.board[move.end])
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from croupier_common.actions import Action, Move, Placement
from croupier_common.board import Board
from croupier_common.events import Event
from croupier_common.outcome import Color, Outcome
from croupier_common.rules import Rules
from croupier_common.state import LegalActions, PlayerState, State

__all__ = ["ActionLike", "Ejection", "Player", "View"]

ActionLike = Action | Sequence[int] | Sequence[Sequence[int]]
"""What `place` and `move` may return: an action, or its numbers in tuples or lists."""


@dataclass(frozen=True, slots=True)
class View:
    """What a player sees when it is asked; it never changes.

    Attributes:
        you: your colour.
        state: the whole state, an immutable value: ``view.state.apply(action)`` is the next one.
        game: the game's id.
        names: the players' names by colour, where they are known.
        events: all that happened since your last turn, other players' ejections too.
        budget_ms: how long you may take.
        deadline: when that is over, by ``time.monotonic()``.
    """

    you: Color
    state: State
    game: str = "local"
    names: Mapping[Color, str] = field(default_factory=dict[Color, str], compare=False)
    events: tuple[Event, ...] = ()
    budget_ms: int = 10_000
    deadline: float = field(default=math.inf, repr=False, compare=False)

    @property
    def board(self) -> Board:
        """The tiles: ``view.board[row, column]`` is the fish there, 0 for a hole and outside."""
        return self.state.board

    @property
    def rules(self) -> Rules:
        """The options of this game."""
        return self.state.rules

    @property
    def me(self) -> PlayerState:
        """Your own part of the state: fish, tiles, and where your penguins stand."""
        return self.state.player(self.you)

    @property
    def opponents(self) -> tuple[PlayerState, ...]:
        """The others that are still in the game, in turn order from the one after you."""
        seats = self.state.players
        mine = next(seat for seat, player in enumerate(seats) if player.color is self.you)
        return tuple(player for player in seats[mine + 1 :] + seats[:mine] if not player.ejected)

    @property
    def legal_actions(self) -> LegalActions:
        """What can be done now: iterate it, count it, or ask with ``in``."""
        return self.state.legal_actions

    @property
    def placements(self) -> tuple[Placement, ...]:
        """The legal placements; ``placement.at`` is a position."""
        return tuple(act for act in self.legal_actions if isinstance(act, Placement))

    @property
    def moves(self) -> tuple[Move, ...]:
        """The legal moves; ``move.start`` and ``move.end`` are positions."""
        return tuple(act for act in self.legal_actions if isinstance(act, Move))

    def time_left_ms(self) -> int:
        """What is left of your time, 0 when it is over; keep some for the way back."""
        if math.isinf(self.deadline):
            return self.budget_ms
        return max(0, int((self.deadline - time.monotonic()) * 1000))


@dataclass(frozen=True, slots=True)
class Ejection:
    """That you are out, and why.

    Attributes:
        game: the game that it happened in; None between games.
        verdict: what is held against you, in one word: ``illegal_action``, ``timeout``...
        phase: when it happened.
        detail: what exactly was wrong.
        fix: what to do about it.
        link: where the documents say more.
        sent: what you had sent, if anything.
        plays_on: true where this costs you the one game only; you are asked in your next.
    """

    game: str | None
    verdict: str
    phase: str
    detail: str
    fix: str
    link: str
    sent: str | None = None
    plays_on: bool | None = None


class Player(ABC):
    """A player. Write `place` and `move`; the other methods are there to be overridden.

    An object plays one game at a time, so it can keep what it likes in itself between its turns;
    `game_start` is the place to begin afresh. All its methods are called from one thread. To play
    several games at once, more objects are made.

    What a method raises is shown to you with the state that caused it, and sent to the server as
    an error, which puts you out of the game.
    """

    @abstractmethod
    def place(self, view: View) -> ActionLike:
        """Where to put a penguin: one of ``view.placements``, or ``(row, column)``."""

    @abstractmethod
    def move(self, view: View) -> ActionLike:
        """What move to make: one of ``view.moves``, or ``(row, column), (row, column)``."""

    def tournament_start(self, names: Sequence[str]) -> None:  # noqa: B027 - a hook
        """The tournament begins, with these players."""

    def game_start(self, view: View) -> None:  # noqa: B027 - a hook
        """A game begins. There is more time than for a turn: load what you need here."""

    def events(self, game: str, events: Sequence[Event]) -> None:  # noqa: B027 - a hook
        """Something happened in your game; only called if you join with ``--events``."""

    def game_end(self, outcome: Outcome) -> None:  # noqa: B027 - a hook
        """Your game is over; ``outcome.place(colour)`` is a player's place."""

    def ejected(self, ejection: Ejection) -> None:  # noqa: B027 - a hook
        """You are out, and why."""

    def tournament_end(self, won: bool, winners: Sequence[str]) -> None:  # noqa: B027 - a hook
        """The tournament is over."""
