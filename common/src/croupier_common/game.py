"""The sans-I/O driver of one game: the next request; an answer or a fault in, events out.

The croupier, a local game and the verification of a record all drive games through this::

    game = Game("1.1", board, [Color.RED, Color.WHITE], rules)
    game.begin()
    while (request := game.request) is not None:
        game.reply(ask_somebody(request))
    print(game.outcome)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from croupier_common.actions import (
    Action,
    Move,
    Placement,
    move_from_json,
    placement_from_json,
)
from croupier_common.board import Board
from croupier_common.errors import IllegalAction, InvalidState, NotAnAction
from croupier_common.events import Ejected, Ended, Event, Moved, Placed
from croupier_common.jsontypes import as_json
from croupier_common.outcome import Color, Outcome
from croupier_common.rules import FISH, Rules
from croupier_common.state import Stage, State
from croupier_common.verdict import Fault, Phase, Verdict

__all__ = ["Game", "NumberedEvent", "Request"]

_ACTIONS: Final = (Placed, Moved)


class NumberedEvent(NamedTuple):  # each ply makes one, and a dataclass takes three times as long
    """An event and its number in the game; the record's header has number 0."""

    seq: int
    event: Event


class Request(NamedTuple):  # for the same reason
    """Who is asked for what.

    Attributes:
        seq: the number that the event of the answer will have.
        method: ``place`` or ``move``.
        events: all that happened since that player's last turn, ejections too.
    """

    game: str
    seq: int
    method: str
    color: Color
    state: State
    events: tuple[NumberedEvent, ...]

    @property
    def id(self) -> str:
        """The request's id on the wire, the same whenever and from wherever it is asked."""
        return f"{self.game}:{self.seq}"

    @property
    def phase(self) -> Phase:
        """The phase that a verdict on the answer has."""
        return self.state.stage.phase


class Game:
    """One game from its start to its outcome. Not begun, running (a request is open), or over.

    Attributes:
        id: the game's id, round.table in a tournament.
        state: the state now; None before :meth:`begin`.
        events: all events so far, from number 1.
        faults: the fault of each ejected player, with the offender's detail.
    """

    def __init__(
        self, game_id: str, board: Board, colors: Sequence[Color], rules: Rules = FISH
    ) -> None:
        self.id = game_id
        self.board = board
        self.colors = tuple(colors)
        self.rules = rules
        self.state: State | None = None
        self.events: list[NumberedEvent] = []
        self.faults: dict[Color, Fault] = {}
        self._seen: dict[Color, int] = dict.fromkeys(self.colors, 0)
        self._request: Request | None = None

    @classmethod
    def resume(cls, game_id: str, state: State) -> Game:
        """A game that goes on from a state; skips that are due happen at once, as events."""
        game = cls(game_id, state.board, [player.color for player in state.players], state.rules)
        settled, events = state.settle()
        game._enter(settled, events)
        return game

    @property
    def request(self) -> Request | None:
        """The open request; None before the game has begun and when it is over."""
        return self._request

    @property
    def outcome(self) -> Outcome | None:
        """How the game ended; None while it goes on."""
        return None if self.state is None else self.state.outcome

    def begin(self, faults: Mapping[Color, Fault] | None = None) -> tuple[NumberedEvent, ...]:
        """Start placement, without those who failed before it.

        Raises:
            InvalidState: the game has begun before.
            InvalidBoard: the board has too little room.
        """
        if self.state is not None:
            raise InvalidState(f"game {self.id} has begun before")
        absent = [color for color in self.colors if faults and color in faults]
        state = State.begin(self.board, self.colors, self.rules, absent=absent)
        if faults:
            self.faults.update(faults)
        return self._enter(
            state,
            [Ejected(color, self.faults[color].verdict, Phase.GAME_START) for color in absent],
        )

    def reply(self, result: object) -> tuple[NumberedEvent, ...]:
        """Take the result that the asked player sent: it is judged, and happens or ejects it.

        Raises:
            InvalidState: no request is open.
        """
        request = self._open()
        try:
            action: Action = (
                placement_from_json(result) if request.method == "place" else move_from_json(result)
            )
            return self.act(action)
        except NotAnAction as problem:
            verdict, detail = Verdict.MALFORMED, str(problem)
        except IllegalAction as problem:
            verdict, detail = Verdict.ILLEGAL_ACTION, str(problem)
        return self.fault(
            request.color, Fault(verdict, request.phase, detail, sent=as_json(result, 400))
        )

    def act(self, action: Action) -> tuple[NumberedEvent, ...]:
        """Let the asked player do something.

        Raises:
            IllegalAction: it can't; nothing changed.
            InvalidState: no request is open.
        """
        return self._enter(*self._open().state.step(action))

    def fault(self, color: Color, fault: Fault) -> tuple[NumberedEvent, ...]:
        """Eject a player; its first fault counts, a second one changes nothing.

        A player that is not asked goes at once too, and the open request is then another one with
        another id: what is to be judged at that player's next turn is kept by the caller till then.

        Raises:
            InvalidState: the game has not begun, or has no such player.
        """
        state = self.state
        if state is None:
            raise InvalidState(f"game {self.id} has not begun")
        if color not in self.colors:
            raise InvalidState(f"game {self.id} has no {color} player")
        if state.is_over or state.player(color).ejected:
            return ()
        self.faults[color] = fault
        return self._enter(*state.eject(color, fault.verdict))

    def _open(self) -> Request:
        if self._request is None:
            raise InvalidState(f"no request is open in game {self.id}")
        return self._request

    def _enter(self, state: State, events: Sequence[Event]) -> tuple[NumberedEvent, ...]:
        self.state = state
        if state.is_over and (outcome := state.outcome) is not None:
            events = [*events, Ended(outcome)]
        first = len(self.events) + 1
        numbered = tuple([NumberedEvent(at, event) for at, event in enumerate(events, first)])
        self.events.extend(numbered)
        for event in events:
            if isinstance(event, _ACTIONS):
                self._seen[event.color] = first  # its own action is news to the others only
            elif isinstance(event, Ejected) and event.color not in self.faults:
                self.faults[event.color] = Fault(
                    event.verdict, event.phase, "no tile was left to place a penguin on"
                )
        self._request = None if state.turn is None else self._ask(state, state.turn)
        return numbered

    def _ask(self, state: State, color: Color) -> Request:
        events = self.events
        method = "place" if state.stage is Stage.PLACEMENT else "move"
        since = tuple(events[self._seen[color] :])
        return Request(self.id, len(events) + 1, method, color, state, since)


def action_of(event: Event) -> Action | None:
    """The action that an event tells of, if it tells of one."""
    if isinstance(event, Placed):
        return Placement(event.at)
    if isinstance(event, Moved):
        return Move(event.start, event.end)
    return None
