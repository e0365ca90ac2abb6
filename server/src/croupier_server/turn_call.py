"""A turn's request on its way to a player: made as text at once, since every turn needs one.

It says exactly what :class:`~croupier_common.messages.PlaceRequest` and
:class:`~croupier_common.messages.MoveRequest` say, byte for byte as they dump it, in a fraction of
the time: no model is built.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import Any, cast

from pydantic_core import to_json

from croupier_common.events import Moved
from croupier_common.game import NumberedEvent, Request
from croupier_common.messages import (
    EventEntry,
    LastAnswer,
    MoveRequest,
    PlaceRequest,
    StateEntry,
    TurnParams,
)
from croupier_common.notation import state_to_json
from croupier_common.state_text import StateWriter

__all__ = ["TurnCall", "event_entries"]


@dataclass(slots=True, eq=False)  # to freeze its six fields costs a tenth of its text
class TurnCall:
    """A request to place or to move.

    Attributes:
        request: what the game asks.
        bank_ms: the spare time left, where the clocks have any.
        last: how the player's last answer in this game was taken, if there was one.
        legal_actions: whether to list them.
        writer: has written the game's states so far, and writes this one.
    """

    request: Request
    budget_ms: int
    bank_ms: int | None
    last: LastAnswer | None
    legal_actions: bool
    writer: StateWriter

    @property
    def id(self) -> str:
        """The request's id."""
        return self.request.id

    @property
    def METHOD(self) -> str:  # noqa: N802 - as the other messages have it
        """The name of the method."""
        return self.request.method

    @property
    def params(self) -> TurnParams:
        """The params as a model, made on trust, for whoever does not send the text."""
        request = self.request
        return TurnParams.model_construct(
            game=request.game,
            you=request.color.value,
            state=cast("StateEntry", state_to_json(request.state, whole=False)),
            events=event_entries(request.events),
            budget_ms=self.budget_ms,
            bank_ms=self.bank_ms,
            last=self.last,
            legal_actions=self._legal_actions() if self.legal_actions else None,
        )

    def model(self) -> PlaceRequest | MoveRequest:
        """The message as a model."""
        kind = PlaceRequest if self.request.method == "place" else MoveRequest
        return kind.model_construct(id=self.id, params=self.params)

    def _legal_actions(self) -> list[Any]:
        return [action.to_json() for action in self.request.state.legal_actions]

    def text(self) -> str:
        """The message as it is sent."""
        request = self.request
        game = encode_basestring(request.game)
        bank = last = actions = ""
        if self.bank_ms is not None:
            bank = f',"bank_ms":{self.bank_ms}'
        if self.last is not None:
            last = f',"last":{to_json(self.last).decode()}'
        if self.legal_actions:
            actions = f',"legal_actions":{to_json(self._legal_actions()).decode()}'
        return "".join(
            [
                '{"jsonrpc":"2.0","id":',
                f'{game[:-1]}:{request.seq}","method":"{request.method}","params":{{"game":{game}',
                ',"you":"',
                request.color,
                '","state":',
                self.writer.text(request.state),
                ',"events":[',
                ",".join(map(_event_text, request.events)),
                '],"budget_ms":',
                str(self.budget_ms),
                bank,
                last,
                actions,
                "}}",
            ]
        )


def _event_text(numbered: NumberedEvent) -> str:
    """An event as the messages have it."""
    event = numbered.event
    if type(event) is Moved:  # nearly all are
        start, end = event.start, event.end
        text = (
            '{"kind":"move","color":"' + event.color + f'","from":[{start[0]},{start[1]}],'
            f'"to":[{end[0]},{end[1]}],"fish":{event.fish}}}'
        )
    else:
        text = to_json(event.to_json()).decode()
    return f'{{"seq":{numbered.seq},"event":{text}}}'


def event_entries(events: Sequence[NumberedEvent]) -> list[EventEntry]:
    """Events as the messages have them."""
    return [{"seq": numbered.seq, "event": numbered.event.to_json()} for numbered in events]
