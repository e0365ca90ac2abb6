"""Who plays which game: the server's calls taken to the players in their lanes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from croupier_client.lanes import Lane
from croupier_client.loader import Target
from croupier_client.player import Ejection, Player, View
from croupier_client.reports import report_exception
from croupier_client.turns import Answer, Answered, Caller, Failed, Warn, error_message
from croupier_common.board import Board
from croupier_common.errors import FishError
from croupier_common.events import Event, event_from_json
from croupier_common.messages import (
    Ejection as EjectionMessage,
)
from croupier_common.messages import (
    Events,
    GameEnd,
    GameStart,
    GameStartParams,
    MoveRequest,
    PlaceRequest,
    ServerCall,
    ServerNotification,
    TournamentEnd,
    TournamentStart,
    TurnParams,
)
from croupier_common.notation import state_from_json
from croupier_common.outcome import Color, Outcome
from croupier_common.rules import FISH, Rules
from croupier_common.state import State

__all__ = ["Team", "read_outcome"]


@dataclass(frozen=True, slots=True)
class _Table:
    """What is known of a game that goes on."""

    lane: Lane
    rules: Rules = FISH
    names: Mapping[Color, str] = field(default_factory=dict[Color, str])


class Team:
    """The players of one connection: as many as games go on at once, one as a rule.

    Args:
        target: the kind of player.
        warn: takes what their author should know.
        max_games: how many games go on at once, at most.
    """

    def __init__(self, target: Target, warn: Warn, max_games: int = 1) -> None:
        self._target = target
        self._max_games = max_games
        self._caller = Caller(target.name, warn)
        self._lanes: list[Lane] = []
        self._tables: dict[str, _Table] = {}
        self._names: list[str] | None = None

    async def open(self) -> None:
        """Make the first player.

        Raises:
            LoadError: its constructor failed.
        """
        await self._new_lane().open()

    def close(self) -> None:
        """No more calls."""
        for lane in self._lanes:
            lane.close()

    # -- calls

    async def answer(self, call: ServerCall, deadline: float) -> Answer:
        """The players' answer to a call.

        Args:
            deadline: when it has to be there, by ``time.monotonic()``.
        """
        match call:
            case TournamentStart():
                return await self._tournament_start(call.params.players, call.params.budget_ms)
            case GameStart():
                return await self._game_start(call.params, deadline)
            case PlaceRequest() | MoveRequest():
                return await self._turn(call.method, call.params, deadline)
            case TournamentEnd():
                won, winners = call.params.won, call.params.winners
                return await self._all(
                    "tournament_end",
                    lambda player: player.tournament_end(won, winners),
                    call.params.budget_ms,
                )

    async def _tournament_start(self, names: list[str], budget_ms: int) -> Answer:
        self._names = names
        return await self._all(
            "tournament_start", lambda player: player.tournament_start(names), budget_ms
        )

    async def _game_start(self, params: GameStartParams, deadline: float) -> Answer:
        try:
            rules = Rules.from_json(params.rules)
        except FishError as problem:
            return self._not_understood("game_start", problem)
        names = {Color(seat["color"]): seat["name"] for seat in params.players}
        table = _Table(self._lane_for(params.game), rules, names)
        self._tables[params.game] = table

        def start(player: Player) -> Answer:
            view = View(
                you=Color(params.you),
                state=State.begin(Board.from_json(params.board), list(names), rules),
                game=params.game,
                names=names,
                budget_ms=params.budget_ms,
                deadline=deadline,
            )
            return self._caller.hook(
                "game_start", lambda: player.game_start(view), params.budget_ms, view
            )

        return await table.lane.call(self._understanding("game_start", start))

    async def _turn(self, method: str, params: TurnParams, deadline: float) -> Answer:
        table = self._table(params.game)

        def turn(player: Player) -> Answer:
            view = View(
                you=Color(params.you),
                state=state_from_json(params.state, table.rules),
                game=params.game,
                names=table.names,
                events=_read_events(params.events),
                budget_ms=params.budget_ms,
                deadline=deadline,
            )
            return self._caller.turn(player, method, view)

        return await table.lane.call(self._understanding(method, turn))

    async def _all(
        self, name: str, hook: Callable[[Player], None], budget_ms: int | None = None
    ) -> Answer:
        answers = await asyncio.gather(
            *(lane.call(self._hook(name, hook, budget_ms)) for lane in self._lanes)
        )
        return next((bad for bad in answers if not isinstance(bad, Answered)), Answered(True))

    # -- notifications

    async def notify(self, message: ServerNotification) -> None:
        """Tell the players of a notification."""
        match message:
            case Events():
                game, events = message.params.game, _read_events(message.params.events)
                if game in self._tables:
                    await self._tell(
                        self._tables[game].lane,
                        "events",
                        lambda player: player.events(game, events),
                    )
            case GameEnd():
                lane, outcome = (
                    self._leave(message.params.game),
                    read_outcome(message.params.outcome),
                )
                if outcome is not None:
                    await self._tell(lane, "game_end", lambda player: player.game_end(outcome))
            case EjectionMessage():
                ejection = Ejection(**message.params.model_dump())
                lane = (
                    next(iter(self._lanes), None)
                    if ejection.game is None
                    else self._leave(ejection.game)
                )
                self._retire(lane)
                await self._tell(lane, "ejected", lambda player: player.ejected(ejection))

    async def _tell(self, lane: Lane | None, name: str, hook: Callable[[Player], None]) -> None:
        if lane is not None:
            await lane.call(self._hook(name, hook))

    # -- lanes

    def _table(self, game: str) -> _Table:
        if game not in self._tables:
            self._tables[game] = _Table(self._lane_for(game))
        return self._tables[game]

    def _lane_for(self, game: str) -> Lane:
        """The lane in which a game is played, or a free one, or a new one."""
        lane = next((lane for lane in self._lanes if lane.game == game), None)
        lane = lane or next((lane for lane in self._lanes if lane.game is None), None)
        if lane is None and len(self._lanes) >= self._max_games:
            # More games than agreed on: the oldest has ended, and we were not told.
            lane = self._leave(next(iter(self._tables)))
        lane = lane or self._new_lane()
        lane.game = game
        return lane

    def _leave(self, game: str) -> Lane | None:
        """Free a game's lane, before anything is awaited: the next game may be at the door."""
        table = self._tables.pop(game, None)
        if table is None:
            return None
        table.lane.game = None
        return table.lane

    def _retire(self, lane: Lane | None) -> None:
        """Give up a lane whose player thinks on, perhaps for ever, though its game is over."""
        if lane is not None and lane.busy and lane in self._lanes:
            self._lanes.remove(lane)
            lane.close()

    def _new_lane(self) -> Lane:
        lane = Lane(f"{self._target.name} {len(self._lanes) + 1}", self._make)
        self._lanes.append(lane)
        return lane

    def _make(self) -> Player:
        player = self._target.make()
        if self._names is not None:  # it comes late
            names = self._names
            self._caller.hook("tournament_start", lambda: player.tournament_start(names))
        return player

    # -- calling

    def _hook(
        self, name: str, hook: Callable[[Player], None], budget_ms: int | None = None
    ) -> Callable[[Player], Answer]:
        return lambda player: self._caller.hook(name, lambda: hook(player), budget_ms)

    def _understanding(
        self, method: str, function: Callable[[Player], Answer]
    ) -> Callable[[Player], Answer]:
        """The same function, with an answer too where the server says what this kit can't read."""

        def call(player: Player) -> Answer:
            try:
                return function(player)
            except FishError as problem:
                return self._not_understood(method, problem)

        return call

    def _not_understood(self, method: str, problem: FishError) -> Answer:
        self._caller.warn(report_exception(f"reading {method}", problem, None))
        return Failed(f"not understood: {error_message(problem)}")


def _read_events(entries: Iterable[Mapping[str, Any]]) -> tuple[Event, ...]:
    """The events that this version knows."""
    found: list[Event] = []
    for entry in entries:
        try:
            event = event_from_json(entry["event"])
        except (KeyError, ValueError, TypeError):
            continue
        if event is not None:
            found.append(event)
    return tuple(found)


def read_outcome(value: Mapping[str, Any] | None) -> Outcome | None:
    """The outcome that a message has; None if there is none, or this version can't read it."""
    if value is None:
        return None
    try:
        return Outcome.from_json(value)
    except (KeyError, ValueError, TypeError, AttributeError):
        return None
