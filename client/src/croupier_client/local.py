"""Games without a network, on the same driver as a croupier's.

::

    match = Match([load("my_player.py"), load("greedy")], seed=7)
    game = match.play()
    print(game.outcome)

Time is not limited here; a turn that takes most of a tournament's budget is reported.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from croupier_client.loader import Target
from croupier_client.player import Player, View
from croupier_client.turns import (
    Answer,
    Answered,
    Caller,
    Failed,
    Garbage,
    Silence,
    Vanish,
    Warn,
)
from croupier_common.board_spec import BoardSpec
from croupier_common.errors import InvalidState
from croupier_common.game import Game, NumberedEvent, Request
from croupier_common.outcome import Color
from croupier_common.rules import FISH, MAX_PLAYERS, MIN_PLAYERS, Rules
from croupier_common.state import State
from croupier_common.verdict import Fault, Phase, Verdict

__all__ = ["Entrant", "Match", "Watch"]

Watch = Callable[[Game, Sequence[NumberedEvent]], None]
"""Is told what just happened in a game."""

TURN_MS: Final = 10_000
START_MS: Final = 30_000


@dataclass(frozen=True, slots=True)
class Entrant:
    """Who plays: a name of its own, the player, and what calls it."""

    name: str
    player: Player
    caller: Caller


class Match:
    """Some players at one table, for any number of games.

    A game's seed decides its board and who begins, so a game can be played again by itself.

    Args:
        targets: 2 to 4 kinds of players; of each, one player is made and plays all games.
        spec: how boards are made.
        warn: takes what the players' authors should know.

    Raises:
        LoadError: a player's constructor failed.
        InvalidState: too few players, or too many.
        InvalidBoard: the boards have too little room.
    """

    def __init__(
        self,
        targets: Sequence[Target],
        *,
        spec: BoardSpec = BoardSpec(fish=(1, 5)),  # noqa: B008 - a frozen value
        rules: Rules = FISH,
        seed: int = 0,
        warn: Warn,
    ) -> None:
        if not MIN_PLAYERS <= len(targets) <= MAX_PLAYERS:
            raise InvalidState(f"{len(targets)} players; a game has {MIN_PLAYERS} to {MAX_PLAYERS}")
        spec.check_room(rules, len(targets))
        self.spec = spec
        self.rules = rules
        self.seed = seed
        self.entrants = tuple(
            Entrant(name, target.make(), Caller(name, warn))
            for name, target in zip(_names(targets), targets, strict=True)
        )
        names = [entrant.name for entrant in self.entrants]
        self._faults: dict[str, Fault] = {}
        for entrant in self.entrants:
            start = partial(entrant.player.tournament_start, names)
            answer = entrant.caller.hook("tournament_start", start)
            self._note(entrant, _fault(answer, Phase.TOURNAMENT_START))

    def seats(self, number: int = 0) -> dict[Color, Entrant]:
        """Who has which colour in a game, in turn order."""
        first = (self.seed + number) % len(self.entrants)
        order = self.entrants[first:] + self.entrants[:first]
        return dict(zip(Color, order, strict=False))

    def play(self, number: int = 0, watch: Watch | None = None) -> Game:
        """Play a game to its end: the one of the match's seed plus `number`."""
        seed = self.seed + number
        seats = self.seats(number)
        board = self.spec.build(seed, rules=self.rules, players=len(seats))
        game = Game(str(seed), board, list(seats), self.rules)
        watch = watch or _look_away
        watch(game, game.begin(self._start(game, seats)))
        while (request := game.request) is not None:
            watch(game, self._turn(game, request, seats))
        if game.outcome is not None:
            outcome = game.outcome
            for entrant in seats.values():
                entrant.caller.hook("game_end", partial(entrant.player.game_end, outcome))
        return game

    def end(self, winners: Sequence[str]) -> None:
        """Tell the players that it is over, and who won."""
        for entrant in self.entrants:
            end = partial(entrant.player.tournament_end, entrant.name in winners, winners)
            entrant.caller.hook("tournament_end", end)

    def _start(self, game: Game, seats: dict[Color, Entrant]) -> dict[Color, Fault]:
        state = State.begin(game.board, list(seats), self.rules)
        faults: dict[Color, Fault] = {}
        for color, entrant in seats.items():
            fault = self._faults.get(entrant.name)
            if fault is None:
                view = self._view(game.id, color, state, seats, START_MS)
                start = partial(entrant.player.game_start, view)
                answer = entrant.caller.hook("game_start", start, START_MS, view)
                fault = _fault(answer, Phase.GAME_START)
            if fault is not None:
                faults[color] = fault
        return faults

    def _turn(
        self, game: Game, request: Request, seats: dict[Color, Entrant]
    ) -> tuple[NumberedEvent, ...]:
        entrant = seats[request.color]
        view = self._view(game.id, request.color, request.state, seats, TURN_MS, request)
        answer = entrant.caller.turn(entrant.player, request.method, view)
        if isinstance(answer, Answered):
            return game.reply(answer.result)
        fault = _fault(answer, request.phase)
        if fault is None:
            raise TypeError(f"a turn was answered with {answer!r}")
        return game.fault(request.color, fault)

    def _view(
        self,
        game: str,
        color: Color,
        state: State,
        seats: dict[Color, Entrant],
        budget_ms: int,
        request: Request | None = None,
    ) -> View:
        return View(
            you=color,
            state=state,
            game=game,
            names={seat: entrant.name for seat, entrant in seats.items()},
            events=() if request is None else tuple(told.event for told in request.events),
            budget_ms=budget_ms,
            deadline=time.monotonic() + budget_ms / 1000,
        )

    def _note(self, entrant: Entrant, fault: Fault | None) -> None:
        if fault is not None:
            self._faults[entrant.name] = fault


def _look_away(_game: Game, _events: Sequence[NumberedEvent]) -> None:
    """Watch nothing."""


def _names(targets: Sequence[Target]) -> list[str]:
    """The targets' names, made to differ."""
    names: list[str] = []
    for target in targets:
        same = sum(name.partition("#")[0] == target.name for name in names)
        names.append(f"{target.name}#{same + 1}" if same else target.name)
    return names


def _fault(answer: Answer, phase: Phase) -> Fault | None:
    """What a croupier would hold against an answer, its contents aside."""
    match answer:
        case Answered():
            return None
        case Failed(message):
            return Fault(Verdict.ERROR_REPLY, phase, message)
        case Garbage():
            return Fault(Verdict.MALFORMED, phase, "the answer is not JSON", answer.text)
        case Vanish():
            return Fault(Verdict.DISCONNECTED, phase, "the connection was cut")
        case Silence():
            return Fault(Verdict.TIMEOUT, phase, "there was no answer")
        case _:
            raise TypeError(f"no player answers with {answer!r}")
