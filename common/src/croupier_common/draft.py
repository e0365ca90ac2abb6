"""A state in integers: the options of :class:`~croupier_common.rules.Rules`, applied in place.

A copy of a state's draft is changed once (a placement, a move, an ejection), settled, and becomes
the next state's. Settling finds who acts next, and on the way skips, lifts and sinks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING

from croupier_common.events import Credited, Ejected, Event, Lifted, Moved, Placed, Skipped, Sunk
from croupier_common.grid import tiles_of
from croupier_common.kernel import Kernel
from croupier_common.verdict import Phase, Verdict

if TYPE_CHECKING:
    from croupier_common.board import Board
    from croupier_common.outcome import Color
    from croupier_common.state import PlayerState, State

__all__ = ["Draft", "Stage", "next_to_place"]


class Stage(StrEnum):
    """How far a game is."""

    PLACEMENT = "placement"
    MOVEMENT = "movement"
    OVER = "over"

    @property
    def phase(self) -> Phase:
        """The phase that a verdict of this stage is filed under."""
        return Phase.PLACEMENT if self is Stage.PLACEMENT else Phase.MOVEMENT


def next_to_place(
    counts: Sequence[int | None], penguins_each: int, placement_order: str
) -> int | None:
    """The seat that places next; None when all have placed all.

    `counts` are the penguins on the board by seat, None for a seat that is out of the game.
    """
    waiting = [count for count in counts if count is not None and count < penguins_each]
    if not waiting:
        return None
    current = min(waiting)
    seats = range(len(counts))
    order = reversed(seats) if placement_order == "snake" and current % 2 else seats
    return next(seat for seat in order if counts[seat] == current)


class Draft:
    """A state taken apart into integers; seats are the players' numbers in turn order.

    ``seat`` is who acts (-1: nobody), ``present`` the set of tiles that are there. ``board`` and
    ``players`` are values from some plies ago: of that board only ``present`` is left, and of the
    players, those in the set of seats ``changed`` are no longer as they were. ``blockers`` has, by
    seat, where a player that was ejected since then has left its penguins. ``events`` are those of
    the change that made this draft.
    """

    __slots__ = (
        "blockers",
        "board",
        "changed",
        "colors",
        "ejected",
        "events",
        "kernel",
        "made_board",
        "made_players",
        "out",
        "penguins_each",
        "players",
        "present",
        "rules",
        "seat",
        "stage",
        "tiles",
    )

    def __init__(self, state: State) -> None:
        board, players = state.board, state.players
        standing = [[board.grid.tile(at) for at in player.penguins] for player in players]
        free = board.mask
        for tiles in standing:
            for tile in tiles:
                free &= ~(1 << tile)
        self.kernel = Kernel(
            board.grid,
            board.fish,
            free,
            [[] if p.ejected else own for p, own in zip(players, standing, strict=True)],
            [player.fish for player in players],
        )
        self.board = board
        self.made_board: Board | None = board
        self.players = players
        self.made_players: tuple[PlayerState, ...] | None = players
        self.present = board.mask
        self.blockers: dict[int, list[int]] = {}
        self.changed = 0
        self.colors: list[Color] = [player.color for player in players]
        self.tiles = [player.tiles for player in players]
        self.ejected = [player.ejected for player in players]
        self.penguins_each = state.penguins_each
        self.rules = state.rules
        self.stage = state.stage
        self.seat = -1 if state.turn is None else self.colors.index(state.turn)
        self.out = state.out
        self.events: list[Event] = []

    def copy(self) -> Draft:
        """A copy to be changed; what is never changed in place is shared."""
        draft = Draft.__new__(Draft)
        draft.kernel = self.kernel.copy()
        draft.board = self.made_board or self.board
        draft.made_board = draft.made_players = None
        draft.present = self.present
        if self.made_players is None:
            draft.players, draft.blockers, draft.changed = self.players, self.blockers, self.changed
        else:
            draft.players, draft.blockers, draft.changed = self.made_players, {}, 0
        draft.colors = self.colors
        draft.tiles = self.tiles[:]
        draft.ejected = self.ejected
        draft.penguins_each = self.penguins_each
        draft.rules = self.rules
        draft.stage = self.stage
        draft.seat = self.seat
        draft.out = self.out
        draft.events = []
        return draft

    # -- back to values, made once

    def make_board(self) -> Board:
        """The board as it is now."""
        board = self.made_board
        if board is None:
            gone = self.board.mask & ~self.present
            self.made_board = board = self.board.without(gone) if gone else self.board
        return board

    def make_players(self, make: Callable[..., PlayerState]) -> tuple[PlayerState, ...]:
        """The players' parts as they are now; `make` is their class."""
        players = self.made_players
        if players is None:
            position, kernel = self.kernel.grid.position, self.kernel
            fresh = list(self.players)
            for seat in tiles_of(self.changed):
                ejected = self.ejected[seat]
                standing = self.blockers.get(seat, ()) if ejected else kernel.penguins[seat]
                penguins = tuple(map(position, standing))
                fresh[seat] = make(
                    self.colors[seat], kernel.held[seat], self.tiles[seat], penguins, ejected
                )
            self.made_players = players = tuple(fresh)
        return players

    # -- the three changes

    def place(self, tile: int) -> None:
        """Whose turn it is places a penguin on a tile."""
        self.changed |= 1 << self.seat
        self.kernel.penguins[self.seat].append(tile)
        self.kernel.free ^= 1 << tile
        self.events.append(Placed(self.colors[self.seat], self.kernel.grid.position(tile)))
        self._settle(self.seat + 1)

    def move(self, start: int, end: int) -> None:
        """Whose turn it is moves a penguin."""
        seat, kernel = self.seat, self.kernel
        self.changed |= 1 << seat
        kernel.make(seat, kernel.penguins[seat].index(start), end)
        self.tiles[seat] += 1
        self.present &= ~(1 << start)
        grid = kernel.grid
        self.events.append(
            Moved(self.colors[seat], grid.position(start), grid.position(end), kernel.fish[start])
        )
        self._settle(seat + 1)

    def eject(self, seat: int, verdict: Verdict) -> None:
        """A player is out, whoever's turn it is."""
        self._eject(seat, verdict)
        self._settle(self.seat)  # whoever has no penguins is passed over

    def settle(self) -> None:
        """Find who acts, for a state that was loaded and not reached by play."""
        self._settle(self.seat)

    # -- what follows from a change

    def _settle(self, seat: int) -> None:
        seats = len(self.colors)
        seat %= seats
        if self.stage is Stage.PLACEMENT:
            placer = self._placer()
            if placer is not None:
                self.seat = placer
                return
            if all(self.ejected):
                self._end()
                return
            self.stage = Stage.MOVEMENT
            seat = 0
        self._clear()
        mover = self.kernel.next_seat(seat - 1)
        if mover is None:
            self._end()
            return
        while seat != mover:
            self._skip(seat)
            seat = (seat + 1) % seats
        self.seat = mover

    def _placer(self) -> int | None:
        """Who places next; whoever finds no tile for it is out."""
        while True:
            counts = [
                None if out else len(penguins)
                for out, penguins in zip(self.ejected, self.kernel.penguins, strict=True)
            ]
            seat = next_to_place(counts, self.penguins_each, self.rules.placement_order)
            if seat is None or self.placeable():
                return seat
            self._eject(seat, Verdict.NO_ROOM)

    def placeable(self) -> int:
        """The set of tiles on which a penguin may be placed."""
        free = self.kernel.free
        return free if self.rules.placement == "any" else free & self.board.ones()

    def _eject(self, seat: int, verdict: Verdict) -> None:
        kernel = self.kernel
        self.changed |= 1 << seat
        self.ejected = [out or at == seat for at, out in enumerate(self.ejected)]
        lost = kernel.held[seat]
        kernel.held[seat] = self.tiles[seat] = 0
        for tile in kernel.penguins[seat]:
            if self.rules.ejected == "penguins_off":
                kernel.free |= 1 << tile
            elif self.rules.ejected == "with_tiles":
                self.present &= ~(1 << tile)
                lost += kernel.fish[tile]
        self.out = replace(self.out, ejected=self.out.ejected + lost)
        if self.rules.ejected == "leave_blocking":
            self.blockers = {**self.blockers, seat: kernel.penguins[seat]}
        kernel.penguins[seat] = []
        self.events.append(Ejected(self.colors[seat], verdict, self.stage.phase))

    def _clear(self) -> None:
        """Lift stuck penguins and sink islands, as far as the rules say to do so after a ply."""
        kernel = self.kernel
        if self.rules.lift == "penguin":
            for seat, penguins in enumerate(kernel.penguins):
                self._lift(
                    seat, [tile for tile in penguins if not kernel.free & kernel.grid.near[tile]]
                )
        if self.rules.islands == "remove":
            standing = sum(1 << tile for own in kernel.penguins for tile in own)
            lost = kernel.free & ~kernel.grid.reachable_ice(standing, kernel.free)
            if lost:
                kernel.free &= ~lost
                self.present &= ~lost
                fish = sum(kernel.fish[tile] for tile in tiles_of(lost))
                self.out = replace(self.out, islands=self.out.islands + fish)
                self.events.append(Sunk(kernel.grid.positions(lost)))

    def _skip(self, seat: int) -> None:
        """Pass over a seat that can't move; one that is out of play is not even skipped."""
        if self.kernel.penguins[seat]:
            self.events.append(Skipped(self.colors[seat]))
            if self.rules.lift == "player_turn":
                self._lift(seat, list(self.kernel.penguins[seat]))

    def _lift(self, seat: int, tiles: list[int]) -> None:
        if not tiles:
            return
        self.changed |= 1 << seat
        kernel = self.kernel
        fish = sum(kernel.fish[tile] for tile in tiles)
        for tile in tiles:
            self.present &= ~(1 << tile)
            kernel.penguins[seat].remove(tile)
        if self.rules.last_tile == "owner":
            kernel.held[seat] += fish
            self.tiles[seat] += len(tiles)
        else:
            self.out = replace(self.out, lifted=self.out.lifted + fish)
            fish = 0
        at = tuple(kernel.grid.position(tile) for tile in tiles)
        self.events.append(Lifted(self.colors[seat], at, fish))

    def _end(self) -> None:
        kernel = self.kernel
        self.stage = Stage.OVER
        self.seat = -1
        for seat, penguins in enumerate(kernel.penguins):
            if self.rules.lift != "never":
                self._lift(seat, list(penguins))
            elif penguins and self.rules.last_tile == "owner":
                fish = sum(kernel.fish[tile] for tile in penguins)
                self.changed |= 1 << seat
                kernel.held[seat] += fish
                self.tiles[seat] += len(penguins)
                self.events.append(Credited(self.colors[seat], len(penguins), fish))
