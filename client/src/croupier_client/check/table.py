"""A game at which the checked player has a seat; the other seats are taken by strategies."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from croupier_client.check.results import Failed
from croupier_client.check.visit import Visit, notification
from croupier_common.board import Board
from croupier_common.board_spec import BoardSpec
from croupier_common.game import Game, NumberedEvent, Request
from croupier_common.notation import state_to_json
from croupier_common.outcome import Color
from croupier_common.rules import FISH, Rules
from croupier_common.strategies import Strategy, make
from croupier_common.verdict import Fault, Phase, Verdict

__all__ = ["Table", "board", "events_json", "reach", "seated"]

OTHERS: Final = ("first", "random")
_SEEDS: Final = 400


class Table:
    """One game, from its start to its end.

    Args:
        you: the player's colour.
    """

    def __init__(self, visit: Visit, game: Game, you: Color) -> None:
        self.visit = visit
        self.game = game
        self.you = you
        self.others: dict[Color, Strategy] = {
            color: make(OTHERS[seat % 2], seed=seat, labels=(game.id,))
            for seat, color in enumerate(game.colors)
        }
        self._last_ms: int | None = None

    # -- messages

    def start_params(self) -> dict[str, Any]:
        """The params of its game_start."""
        budget = self.visit.budget_ms
        return {
            "game": self.game.id,
            "you": self.you.value,
            "players": [
                {"color": color.value, "name": self._name(color)} for color in self.game.colors
            ],
            "rules": self.game.rules.to_json(),
            "board": self.game.board.to_json(),
            "budgets_ms": {"place": budget, "move": budget},
        }

    def turn_params(self, request: Request | None = None) -> dict[str, Any]:
        """The params of the open request."""
        request = request or self.request
        params: dict[str, Any] = {
            "game": request.game,
            "you": request.color.value,
            "state": state_to_json(request.state, whole=False),
            "events": events_json(request.events),
        }
        if self._last_ms is not None:
            params["last"] = {"think_ms": self._last_ms, "rtt_ms": 0, "verdict": "ok"}
        if self.visit.params.legal_actions:
            params["legal_actions"] = [act.to_json() for act in request.state.legal_actions]
        return params

    def end_params(self) -> dict[str, Any]:
        """The params of its game_end; without an outcome if the game is not over."""
        params: dict[str, Any] = {"game": self.game.id, "events": []}
        if self.game.outcome is not None:
            params["outcome"] = self.game.outcome.to_json()
        return params

    def _name(self, color: Color) -> str:
        if color is self.you:
            return self.visit.params.name
        return f"{OTHERS[self.game.colors.index(color) % 2].title()} ({color})"

    # -- playing

    @property
    def request(self) -> Request:
        """The open request."""
        request = self.game.request
        if request is None:
            raise RuntimeError(f"game {self.game.id} is over")
        return request

    async def start(self) -> None:
        """Say that it begins."""
        await self.visit.ask_true(f"{self.game.id}:0", "game_start", self.start_params())

    async def turn(self, change: Callable[[dict[str, Any]], None] | None = None) -> Any:
        """Ask the player for its turn, judge that, and give what it answered.

        Args:
            change: changes the message before it is sent.

        Raises:
            Failed: it is not legal, or there is none.
        """
        request = self.request
        message = self.visit.request(request.id, request.method, self.turn_params(request))
        if change is not None:
            change(message)
        await self.visit.send(message)
        result = await self.visit.answer(request.id)
        self.judge(request, result)
        return result

    def judge(self, request: Request, result: object) -> None:
        """Let it happen.

        Raises:
            Failed: it is not legal.
        """
        self._last_ms = self.visit.last_ms(request.method)
        self.game.reply(result)
        fault = self.game.faults.get(self.you)
        if fault is not None:
            raise Failed(fault.detail, verdict=fault.verdict)

    async def act(self) -> None:
        """Take one turn, whoever's it is."""
        request, before = self.request, len(self.game.events)
        if request.color is self.you:
            await self.turn()
        else:
            self.game.act(self.others[request.color].choose(request.state))
        await self.tell_events(self.game.events[before:])

    async def tell_events(self, events: Sequence[NumberedEvent]) -> None:
        """Tell what just happened, if the player asked for that."""
        if self.visit.params.events and events:
            await self.visit.tell("events", {"game": self.game.id, "events": events_json(events)})

    async def play(self, turns: int = 1_000) -> None:
        """Play on to the end, or for so many turns."""
        while self.game.request is not None and turns > 0:
            await self.act()
            turns -= 1

    async def until(self, is_it: Callable[[Request], bool]) -> bool:
        """Play on to a request for the player; False if the game ends before there is one."""
        while (request := self.game.request) is not None:
            if request.color is self.you and is_it(request):
                return True
            await self.act()
        return False

    async def eject(self, color: Color) -> None:
        """Put another player out."""
        before = len(self.game.events)
        phase = self.request.phase if self.game.request else Phase.MOVEMENT
        self.game.fault(color, Fault(Verdict.TIMEOUT, phase, "no answer"))
        await self.tell_events(self.game.events[before:])

    async def end(self) -> None:
        """Say that it is over."""
        await self.visit.send(notification("game_end", self.end_params()))


def events_json(events: Sequence[NumberedEvent]) -> list[Mapping[str, Any]]:
    """Events as messages have them."""
    return [{"seq": told.seq, "event": told.event.to_json()} for told in events]


def board(text: str, players: int = 2, rules: Rules = FISH, seed: int = 1) -> Board:
    """A board as the command line names it: ``5x5,holes=3,fish=1-5``."""
    return BoardSpec.from_text(text).build(seed, rules=rules, players=players)


@asynccontextmanager
async def seated(visit: Visit, game: Game, you: Color) -> AsyncGenerator[Table]:
    """A game that has begun, here or before; its end is told, whatever goes wrong."""
    table = Table(visit, game, you)
    await table.start()
    if game.state is None:
        await table.tell_events(game.begin())
    try:
        yield table
    except Failed as problem:
        visit.log.freeze()
        if not problem.breaks:
            await table.end()
        raise
    await table.end()


def reach(
    game_id: str,
    make_board: Callable[[int], Board],
    is_it: Callable[[Request], bool],
    *,
    you: Color = Color.RED,
    players: int = 2,
    rules: Rules = FISH,
) -> Game:
    """A game, played at random so far, whose open request is for a player and is what is wanted.

    Raises:
        RuntimeError: there is none among many.
    """
    for seed in range(_SEEDS):
        game = Game(game_id, make_board(seed), list(Color)[:players], rules)
        game.begin()
        anybody = make("random", seed=seed)
        while (request := game.request) is not None:
            if request.color is you and is_it(request):
                return game
            game.act(anybody.choose(request.state))
    raise RuntimeError(f"no such position for {game_id}")
