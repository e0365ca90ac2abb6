"""A turn's request on its way to a player: made as text at once, since every turn needs one.

It says exactly what :class:`~croupier_common.messages.PlaceRequest` and
:class:`~croupier_common.messages.MoveRequest` say, byte for byte as they dump it, in a fraction of
the time: no model is built, and of the state only that is written anew which has changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import cast

from pydantic_core import to_json

from croupier_common.board import Board
from croupier_common.game import NumberedEvent, Request
from croupier_common.grid import tiles_of
from croupier_common.messages import (
    EventEntry,
    LastAnswer,
    MoveRequest,
    PlaceRequest,
    StateEntry,
    TurnParams,
)
from croupier_common.notation import state_to_json
from croupier_common.state import PlayerState, State

__all__ = ["StateWriter", "TurnCall", "event_entries"]


class StateWriter:
    """Writes the states of one game, one after the other."""

    __slots__ = ("_board", "_mask", "_player_texts", "_players", "_rows")

    def __init__(self) -> None:
        self._board: Board | None = None
        self._mask = 0
        self._rows: list[str] = []
        self._players: list[PlayerState | None] = []
        self._player_texts: list[str] = []

    def text(self, state: State) -> str:
        """A state as JSON text, without rules and fish out of the game."""
        if self._board is None:
            self._begin(state)
        if state.board is not self._board:
            self._write_rows(state.board)
        for seat, player in enumerate(state.players):
            if player is not self._players[seat]:
                self._players[seat] = player
                self._player_texts[seat] = _player_text(player)
        return (
            f'{{"board":[{",".join(self._rows)}],"players":[{",".join(self._player_texts)}],'
            f'"turn":"{state.turn}","stage":"{state.stage}",'
            f'"penguins_each":{state.penguins_each}}}'
        )

    def _begin(self, state: State) -> None:
        self._rows = [""] * state.board.rows
        self._players = [None] * len(state.players)
        self._player_texts = [""] * len(state.players)
        self._board, self._mask = state.board, state.board.mask
        for row in range(state.board.rows):
            self._write_row(state.board, row)

    def _write_rows(self, board: Board) -> None:
        """Write the rows that have other tiles than before; in a game, tiles only ever go."""
        for tile in tiles_of(self._mask ^ board.mask):
            self._write_row(board, tile // board.columns)
        self._board, self._mask = board, board.mask

    def _write_row(self, board: Board, row: int) -> None:
        at = row * board.columns
        self._rows[row] = f"[{','.join(map(str, board.fish[at : at + board.columns]))}]"


def _player_text(player: PlayerState) -> str:
    penguins = ",".join([f"[{row},{column}]" for row, column in player.penguins])
    ejected = ',"ejected":true' if player.ejected else ""
    return (
        f'{{"color":"{player.color}","fish":{player.fish},"tiles":{player.tiles},'
        f'"penguins":[{penguins}]{ejected}}}'
    )


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
        actions = [action.to_json() for action in request.state.legal_actions]
        return TurnParams.model_construct(
            game=request.game,
            you=request.color.value,
            state=cast("StateEntry", state_to_json(request.state, whole=False)),
            events=event_entries(request.events),
            budget_ms=self.budget_ms,
            bank_ms=self.bank_ms,
            last=self.last,
            legal_actions=actions if self.legal_actions else None,
        )

    def model(self) -> PlaceRequest | MoveRequest:
        """The message as a model."""
        kind = PlaceRequest if self.request.method == "place" else MoveRequest
        return kind.model_construct(id=self.id, params=self.params)

    def text(self) -> str:
        """The message as it is sent."""
        request = self.request
        game = encode_basestring(request.game)
        events = to_json(event_entries(request.events)).decode()
        bank = last = actions = ""
        if self.bank_ms is not None:
            bank = f',"bank_ms":{self.bank_ms}'
        if self.last is not None:
            last = f',"last":{to_json(self.last).decode()}'
        if self.legal_actions:
            legal = [action.to_json() for action in request.state.legal_actions]
            actions = f',"legal_actions":{to_json(legal).decode()}'
        return (
            f'{{"jsonrpc":"2.0","id":{game[:-1]}:{request.seq}","method":"{request.method}",'
            f'"params":{{"game":{game},"you":"{request.color}",'
            f'"state":{self.writer.text(request.state)},"events":{events},'
            f'"budget_ms":{self.budget_ms}{bank}{last}{actions}}}}}'
        )


def event_entries(events: Sequence[NumberedEvent]) -> list[EventEntry]:
    """Events as the messages have them."""
    return [{"seq": numbered.seq, "event": numbered.event.to_json()} for numbered in events]
