"""What a loaded state must be like: one that a game could reach. Play never needs these checks."""

from __future__ import annotations

from collections.abc import Sequence

from croupier_common.board import Board
from croupier_common.errors import InvalidState
from croupier_common.grid import Position
from croupier_common.rules import MAX_PLAYERS
from croupier_common.state import PlayerState, Stage, State, placing

__all__ = ["check_penguins", "check_state"]


def check_penguins(board: Board, penguins: Sequence[Sequence[tuple[int, int]]]) -> None:
    """Check that penguins stand on tiles of their own.

    Raises:
        InvalidState: one is outside, on a hole, or on a tile with another.
    """
    taken: set[Position] = set()
    for own in penguins:
        for spot in map(Position._make, own):
            if spot not in board.grid:
                raise InvalidState(
                    f"a penguin at {spot} is outside the board of {board.rows} rows "
                    f"and {board.columns} columns"
                )
            if not board[spot]:
                raise InvalidState(f"a penguin at {spot} stands on a hole")
            if spot in taken:
                raise InvalidState(f"two penguins stand on {spot}")
            taken.add(spot)


def check_state(state: State, *, any_turn: bool = False) -> None:
    """Check players, penguins, stage and turn.

    Whose turn it is may be without a move; `State.settle` finds who has one.

    Args:
        any_turn: whether the players may be told from whoever acts on, in place of turn order.

    Raises:
        InvalidState: no game could reach it, with the reason.
    """
    players = state.players
    if not 1 <= len(players) <= MAX_PLAYERS:
        raise InvalidState(f"{len(players)} players; a game has 1 to {MAX_PLAYERS}")
    colors = [player.color for player in players]
    if len(set(colors)) != len(colors):
        raise InvalidState(f"two players have one colour: {', '.join(colors)}")
    check_penguins(state.board, [player.penguins for player in players])
    for player in players:
        _check_player(player, state)
    if state.is_over:
        _check_end(state)
        return
    active = [player.color for player in state.active]
    if state.turn not in active:
        raise InvalidState(
            f"turn is {state.turn}; who is in the game are {', '.join(active) or 'nobody'}"
        )
    if state.stage is Stage.PLACEMENT:
        _check_placement(state, any_turn=any_turn)


def _check_player(player: PlayerState, state: State) -> None:
    count, each = len(player.penguins), state.penguins_each
    if count > each:
        raise InvalidState(f"{player.color} has {count} penguins; each player has {each}")
    if player.ejected:
        if player.fish or player.tiles:
            raise InvalidState(f"{player.color} is ejected and holds fish or tiles")
        if count and state.rules.ejected != "leave_blocking":
            raise InvalidState(
                f"{player.color} is ejected and has penguins on the board, with "
                f"rules.ejected = {state.rules.ejected!r}"
            )
    elif state.stage is Stage.MOVEMENT and state.rules.lift in {"never", "end"} and count != each:
        raise InvalidState(f"{player.color} has {count} penguins, not {each}, in movement")


def _check_placement(state: State, *, any_turn: bool) -> None:
    first = placing(state)
    if first is None:
        raise InvalidState("all penguins are placed, and the stage is placement")
    counts = [len(player.penguins) for player in state.active]
    order = state.rules.placement_order
    in_order = counts[::-1] if order == "snake" and min(counts) % 2 else counts
    is_sorted = any_turn or in_order == sorted(counts, reverse=True)  # who placed, then who did not
    if max(counts) - min(counts) > 1 or not is_sorted:
        raise InvalidState(f"numbers of penguins {counts} can't arise from placing in {order}")
    if not any_turn and first is not state.turn:
        raise InvalidState(f"it is {first}'s turn to place, not {state.turn}'s")
    for player in state.active:
        _check_placed(player, state)


def _check_placed(player: PlayerState, state: State) -> None:
    """Check what a player has while penguins are placed: nobody has got a tile yet."""
    if player.fish or player.tiles:
        raise InvalidState(f"{player.color} holds fish or tiles, and nobody has moved yet")
    if state.rules.placement == "one_fish":
        for spot in player.penguins:
            if state.board[spot] != 1:
                raise InvalidState(
                    f"a penguin at {spot} was placed on {state.board[spot]} fish, with "
                    "rules.placement = 'one_fish'"
                )


def _check_end(state: State) -> None:
    if state.turn is not None:
        raise InvalidState(f"the game is over and it is the turn of {state.turn}")
    mover = state.kernel().next_seat(-1)
    if mover is not None:
        raise InvalidState(f"the game is over, and {state.players[mover].color} can move")
    if len(state.active) == 1 and not state.active[0].penguins:
        return  # it may have won unplayed
    lift = state.rules.lift
    wanted = state.penguins_each if lift == "never" else 0
    for player in state.active:
        if len(player.penguins) != wanted:
            raise InvalidState(
                f"the game is over, and {player.color} has {len(player.penguins)} penguins on the "
                f"board, not {wanted}, with rules.lift = {lift!r}"
            )
