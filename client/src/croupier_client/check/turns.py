"""Steps: single turns in positions that are met late or seldom."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from croupier_client.check.checker import Checker
from croupier_client.check.results import Skipped
from croupier_client.check.table import board, reach, seated
from croupier_common.actions import Move
from croupier_common.board import Board
from croupier_common.draft import Stage
from croupier_common.events import Moved, Placed
from croupier_common.events import Skipped as SkippedEvent
from croupier_common.game import Game, Request
from croupier_common.outcome import Color
from croupier_common.state import State
from croupier_common.strategies import make
from croupier_common.verdict import Fault, Phase, Verdict

__all__ = ["STEPS"]

_SEEDS: Final = 300


def _ice(text: str, players: int = 2) -> Callable[[int], Board]:
    return lambda seed: board(text, players, seed=seed)


async def _from(check: Checker, game: Game, you: Color = Color.RED) -> None:
    """Have it go on from a position to the end of the game."""
    visit = await check.visit()
    async with seated(visit, game, you) as table:
        await table.play()


async def last_free_tile(check: Checker) -> None:
    """It places where a single tile is left."""

    def is_it(request: Request) -> bool:
        return request.method == "place" and len(request.state.legal_actions) == 1

    game = reach(check.game_id(), _ice("2x4,fish=1-5"), is_it, you=Color.WHITE)
    await _from(check, game, Color.WHITE)


async def only_move(check: Checker) -> None:
    """It finds the only legal move, late in a game."""

    def is_it(request: Request) -> bool:
        return request.method == "move" and len(request.state.legal_actions) == 1

    await _from(check, reach(check.game_id(), _ice("5x4,fish=1-5"), is_it))


async def stuck_penguins(check: Checker) -> None:
    """It moves though some of its penguins can't."""
    game = reach(check.game_id(), _ice("5x4,fish=1-5"), lambda request: _stuck(request.state) == 3)
    await _from(check, game)


async def others_skipped(check: Checker) -> None:
    """It goes on when another player was passed over."""

    def is_it(request: Request) -> bool:
        return any(isinstance(told.event, SkippedEvent) for told in request.events)

    game = reach(check.game_id(), _ice("5x4,fish=1-5", 3), is_it, you=Color.WHITE, players=3)
    await _from(check, game, Color.WHITE)


async def skipped_itself(check: Checker) -> None:
    """It was passed over itself, and has a move again when another player is put out."""
    game = _freed(check.game_id(), Color.RED)
    await _from(check, game)


async def other_ejected(check: Checker) -> None:
    """It goes on when another player is put out, whose tiles are free again."""
    visit = await check.visit()
    game = Game(check.game_id(), board("5x5,fish=1-5", 3), list(Color)[:3])
    async with seated(visit, game, Color.RED) as table:
        await table.until(lambda request: request.state.stage is Stage.MOVEMENT)
        await table.eject(Color.WHITE)
        await table.play()


async def other_ejected_while_placing(check: Checker) -> None:
    """It goes on when another player is put out before all penguins are placed."""
    visit = await check.visit()
    game = Game(check.game_id(), board("5x5,fish=1-5", 3), list(Color)[:3])
    async with seated(visit, game, Color.BROWN) as table:
        await table.play(4)
        await table.eject(Color.RED)
        await table.play()


async def other_absent(check: Checker) -> None:
    """It plays a game in which another player failed before its start."""
    visit = await check.visit()
    game = Game(check.game_id(), board("5x5,fish=1-5", 3), list(Color)[:3])
    game.begin({Color.RED: Fault(Verdict.NO_START, Phase.GAME_START, "no answer")})
    async with seated(visit, game, Color.BROWN) as table:
        await table.tell_events(game.events)
        await table.play()


async def position_jumps(check: Checker) -> None:
    """It plays from the state that it is sent, even if that does not follow from the last one."""
    visit = await check.visit()
    ice = board("5x5,fish=1-5")
    game = Game(check.game_id(), ice, [Color.RED, Color.WHITE])
    async with seated(visit, game, Color.RED) as table:
        await table.turn()
        table.game = reach(
            game.id, lambda _: ice, lambda request: request.method == "move" and request.seq > 12
        )
        await table.turn()
        await table.play()


async def same_position(check: Checker) -> None:
    """In the same position it does the same, so that a game can be played again."""
    visit = await check.visit()
    answers: list[object] = []
    for _ in range(3):
        game = reach(
            check.game_id(), _ice("5x5,fish=1-5"), lambda request: request.method == "move"
        )
        async with seated(visit, game, Color.RED) as table:
            answers.append(await table.turn())
    if any(answer != answers[0] for answer in answers):
        check.warn(
            "asked the same thing in three games, it did not do the same",
            "That is allowed. But a game that it lost can be played again, to see why, only if its "
            "random numbers have a seed that it notes, and it does not go by the clock.",
        )


def _stuck(state: State) -> int:
    """How many penguins of whose turn it is can't move, in movement."""
    if state.stage is not Stage.MOVEMENT or state.turn is None:
        return 0
    moving = {action.start for action in state.legal_actions if isinstance(action, Move)}
    return len(state.player(state.turn).penguins) - len(moving)


def _freed(game_id: str, you: Color) -> Game:
    """A game in which a player was passed over, and after an ejection is asked again.

    Raises:
        Skipped: none was found.
    """
    for seed in range(_SEEDS):
        game = Game(game_id, board("5x3,fish=1-5", 3, seed=seed), list(Color)[:3])
        game.begin()
        anybody = make("random", seed=seed)
        while (request := game.request) is not None:
            others = [player.color for player in request.state.active if player.color is not you]
            if request.color is not you and _was_skipped(game, you):
                for out in others:
                    if _asks(request.state.eject(out, Verdict.TIMEOUT)[0], you):
                        game.fault(out, Fault(Verdict.TIMEOUT, Phase.MOVEMENT, "no answer"))
                        return _until(game, you)
            game.act(anybody.choose(request.state))
    raise Skipped("no such position was found")


def _until(game: Game, you: Color) -> Game:
    """The game, in which all have done what they can do first until it is somebody's turn."""
    while (request := game.request) is not None and request.color is not you:
        game.act(next(iter(request.state.legal_actions)))
    return game


def _was_skipped(game: Game, you: Color) -> bool:
    """Whether a player was passed over after its last turn."""
    for told in reversed(game.events):
        if isinstance(told.event, Placed | Moved | SkippedEvent) and told.event.color is you:
            return isinstance(told.event, SkippedEvent)
    return False


def _asks(state: State, you: Color) -> bool:
    """Whether it will be somebody's turn, if all do what they can do first."""
    while not state.is_over and state.turn is not you:
        state = state.apply(next(iter(state.legal_actions)))
    return not state.is_over


STEPS: Final = (
    last_free_tile,
    only_move,
    stuck_penguins,
    others_skipped,
    skipped_itself,
    other_ejected,
    other_ejected_while_placing,
    other_absent,
    position_jumps,
    same_position,
)
