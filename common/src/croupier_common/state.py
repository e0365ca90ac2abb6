"""The state of a game: an immutable value, and the transitions to the next one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from croupier_common.actions import Action, Move, Placement
from croupier_common.board import Board
from croupier_common.draft import Draft, Stage, next_to_place
from croupier_common.errors import IllegalAction, InvalidBoard, InvalidState
from croupier_common.events import Event
from croupier_common.grid import Position, tiles_of
from croupier_common.kernel import Kernel
from croupier_common.outcome import Color, Outcome
from croupier_common.rules import FISH, MAX_PLAYERS, MIN_PLAYERS, Rules, penguins_for
from croupier_common.verdict import Verdict

__all__ = ["LegalActions", "OutOfGame", "PlayerState", "Stage", "State"]


@dataclass(frozen=True, slots=True)
class PlayerState:
    """One player's part of a state.

    Attributes:
        fish: what it holds.
        tiles: how many tiles it holds.
        penguins: where its penguins stand, each in its slot; an ejected player has some only
            where the rules leave them standing.
    """

    color: Color
    fish: int = 0
    tiles: int = 0
    penguins: tuple[Position, ...] = ()
    ejected: bool = False


@dataclass(frozen=True, slots=True)
class OutOfGame:
    """Fish that nobody can get any more, by cause."""

    ejected: int = 0
    islands: int = 0
    lifted: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.ejected + self.islands + self.lifted


@dataclass(frozen=True, slots=True)
class State:
    """A state of a game. Transitions give new states; a state never changes.

    Attributes:
        board: the tiles that are there, under penguins too.
        players: all who began, in turn order, the ejected ones too.
        turn: who acts; None when the game is over.
        penguins_each: how many penguins each player places.
        out: fish out of the game.

    The constructor takes parts on trust; :mod:`croupier_common.notation` checks what comes from
    outside. After every transition the game is over, or `turn` has a legal action.

    A state that a transition made knows itself as integers first; its board, players, rules and
    fish out of the game are made from these when they are first asked for.
    """

    board: Board
    players: tuple[PlayerState, ...]
    turn: Color | None
    stage: Stage
    penguins_each: int
    rules: Rules = FISH
    out: OutOfGame = field(default=OutOfGame())
    _draft: Draft | None = field(default=None, init=False, repr=False, compare=False)
    """This state in integers, made when first needed."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """A field that is not there yet."""
            make = _MADE_LATER.get(name)
            if make is None:
                raise AttributeError(f"a State has no {name!r}")
            value = make(self._draft)
            object.__setattr__(self, name, value)
            return value

    @classmethod
    def begin(
        cls,
        board: Board,
        colors: Sequence[Color],
        rules: Rules = FISH,
        *,
        absent: Sequence[Color] = (),
    ) -> State:
        """The state before the first placement.

        Args:
            colors: the players' colours in turn order.
            absent: those of them that were ejected before placement starts. The number of
                penguins follows from the others; a single one has won unplayed.

        Raises:
            InvalidBoard: the board has too little room for the penguins, with the arithmetic.
            InvalidState: no player, too many, or one colour twice.
        """
        if not 1 <= len(colors) <= MAX_PLAYERS or len(set(colors)) != len(colors):
            raise InvalidState(f"1 to {MAX_PLAYERS} players of different colours, not {colors}")
        present = [color for color in colors if color not in absent]
        penguins = penguins_for(max(len(present), MIN_PLAYERS))
        players = tuple(PlayerState(color, ejected=color in absent) for color in colors)
        if len(present) < MIN_PLAYERS:
            return cls(board, players, None, Stage.OVER, penguins, rules)
        check_room(board, rules, len(present))
        return cls(board, players, present[0], Stage.PLACEMENT, penguins, rules)

    def player(self, color: Color) -> PlayerState:
        """A player's part of this state.

        Raises:
            KeyError: no player has that colour.
        """
        for player in self.players:
            if player.color is color:
                return player
        raise KeyError(color)

    @property
    def is_over(self) -> bool:
        """Whether the game has ended."""
        return self.stage is Stage.OVER

    @property
    def active(self) -> tuple[PlayerState, ...]:
        """The players that were not ejected, in turn order."""
        return tuple(player for player in self.players if not player.ejected)

    @property
    def present(self) -> int:
        """The set of tiles that are there."""
        return self.draft().present

    @property
    def free(self) -> int:
        """The set of tiles without a penguin."""
        return self.draft().kernel.free

    @property
    def legal_actions(self) -> LegalActions:
        """What `turn` can do: a lazy view to iterate, count or ask with ``in``."""
        return LegalActions(self.draft())

    @property
    def outcome(self) -> Outcome | None:
        """How the game ended; None while it goes on."""
        if not self.is_over:
            return None
        by_tiles = self.rules.tie_break == "tiles"
        merits: dict[tuple[int, int], list[Color]] = {}
        for player in self.active:
            merit = (player.fish, player.tiles if by_tiles else 0)
            merits.setdefault(merit, []).append(player.color)
        return Outcome(
            ranking=tuple(tuple(merits[merit]) for merit in sorted(merits, reverse=True)),
            ejected=tuple(player.color for player in self.players if player.ejected),
            fish={player.color: player.fish for player in self.active},
            tiles={player.color: player.tiles for player in self.active},
        )

    @property
    def fish_in_play(self) -> int:
        """Fish on the board that nobody holds yet, under penguins too.

        Held fish, these and those out of the game add up to the fish at the start, always.
        """
        fish = sum(self.board.fish)
        if self.is_over and self.rules.lift == "never" and self.rules.last_tile == "owner":
            fish -= sum(
                self.board[position] for player in self.active for position in player.penguins
            )
        return fish

    def apply(self, action: Action) -> State:
        """The state after `turn` did something.

        Raises:
            IllegalAction: it can't; the message says why.
        """
        return self.step(action)[0]

    def step(self, action: Action) -> tuple[State, tuple[Event, ...]]:
        """The state after `turn` did something, and all that happened on the way.

        Raises:
            IllegalAction: it can't; the message says why.
        """
        before = self.draft()
        tiles = LegalActions(before).tiles_of(action)
        if tiles is None:
            raise IllegalAction(why_illegal(self, action))
        draft = before.copy()
        start, end = tiles
        if isinstance(action, Placement):
            draft.place(end)
        else:
            draft.move(start, end)
        return _after(draft)

    def eject(self, color: Color, verdict: Verdict) -> tuple[State, tuple[Event, ...]]:
        """The state after a player was ejected, and all that happened on the way.

        Raises:
            InvalidState: the game is over, or that player is no part of it any more.
        """
        seat = next((s for s, player in enumerate(self.players) if player.color is color), None)
        if self.is_over or seat is None or self.players[seat].ejected:
            raise InvalidState(f"{color} can't be ejected from {self.stage} with {self.players}")
        draft = self.draft().copy()
        draft.eject(seat, verdict)
        return _after(draft)

    def settle(self) -> tuple[State, tuple[Event, ...]]:
        """The state with everything done that needs no player: skips, lifting, islands, the end.

        States reached by play are settled; one that was loaded may not be.
        """
        if self.is_over:
            return self, ()
        draft = self.draft().copy()
        draft.settle()
        return _after(draft)

    def kernel(self) -> Kernel:
        """This state as a kernel of its own, for a search; ejected players have no penguins."""
        return self.draft().kernel.copy()

    def draft(self) -> Draft:
        """This state in integers; never to be changed, only copied."""
        draft = self._draft
        if draft is None:
            draft = Draft(self)
            object.__setattr__(self, "_draft", draft)
        return draft


_MADE_LATER: Final[Mapping[str, Callable[[Draft], object]]] = {
    "board": Draft.make_board,
    "players": lambda draft: draft.make_players(PlayerState),
    "rules": lambda draft: draft.rules,
    "out": lambda draft: draft.out,
}
"""By name of the field, what makes it from integers."""


def _after(draft: Draft) -> tuple[State, tuple[Event, ...]]:
    """The state that a draft has become, and what happened on the way."""
    state = object.__new__(State)
    put = object.__setattr__
    put(state, "_draft", draft)
    put(state, "turn", None if draft.seat < 0 else draft.colors[draft.seat])
    put(state, "stage", draft.stage)
    put(state, "penguins_each", draft.penguins_each)
    return state, tuple(draft.events)


class LegalActions:
    """The legal actions of whose turn it is, in canonical order, made only when asked for.

    Canonical order is by from-row, from-column, to-row, to-column. Empty when the game is over.
    """

    __slots__ = ("_draft",)

    def __init__(self, draft: Draft) -> None:
        self._draft = draft

    def _own(self) -> list[int]:
        draft = self._draft
        return draft.kernel.penguins[draft.seat] if draft.seat >= 0 else []

    def __iter__(self) -> Iterator[Action]:
        draft = self._draft
        grid, free = draft.kernel.grid, draft.kernel.free
        if draft.stage is Stage.PLACEMENT:
            for tile in tiles_of(draft.placeable()):
                yield Placement(grid.position(tile))
            return
        for start in sorted(self._own()):
            for tile in tiles_of(grid.reach(start, free)):
                yield Move(grid.position(start), grid.position(tile))

    def __len__(self) -> int:
        draft = self._draft
        if draft.stage is Stage.PLACEMENT:
            return draft.placeable().bit_count()
        grid, free = draft.kernel.grid, draft.kernel.free
        return sum(grid.reach(start, free).bit_count() for start in self._own())

    def __bool__(self) -> bool:
        draft = self._draft
        if draft.stage is Stage.PLACEMENT:
            return bool(draft.placeable())
        return draft.seat >= 0 and draft.kernel.can_move(draft.seat)

    def __contains__(self, action: object) -> bool:
        return isinstance(action, Move | Placement) and self.tiles_of(action) is not None

    def tiles_of(self, action: Action) -> tuple[int, int] | None:
        """The tiles from which and to which an action goes if it is legal; None if it isn't.

        A placement goes to a tile, and comes from it.
        """
        draft = self._draft
        tile_at = draft.kernel.grid.tile_at
        if isinstance(action, Move):
            start, end = tile_at(action.start), tile_at(action.end)
            if start is None or end is None or draft.stage is not Stage.MOVEMENT:
                return None
            if start not in self._own():
                return None
            reach = draft.kernel.grid.reach(start, draft.kernel.free)
            return (start, end) if reach >> end & 1 else None
        at = tile_at(action.at)
        if at is None or draft.stage is not Stage.PLACEMENT:
            return None
        return (at, at) if draft.placeable() >> at & 1 else None

    def __repr__(self) -> str:
        return f"<LegalActions {', '.join(map(str, self))}>"


_KINDS: Final = {Stage.PLACEMENT: Placement, Stage.MOVEMENT: Move}


def why_illegal(state: State, action: Action) -> str:
    """Why an action is not legal, in one line that names the offending part."""
    return f"{action!s:.100} is not legal for {state.turn}: {_reason(state, action)}"


def _reason(state: State, action: Action) -> str:
    if state.is_over:
        return "the game is over"
    if type(action) is not _KINDS[state.stage]:
        return f"this is {state.stage}, and it is a {type(action).__name__.lower()}"
    board = state.board
    end = action.end if isinstance(action, Move) else action.at
    if end not in board.grid:
        return f"{end!s:.60} is outside the board of {board.rows} rows and {board.columns} columns"
    if isinstance(action, Move):
        if action.start not in state.player(state.turn or Color.RED).penguins:
            return f"no {state.turn} penguin stands on {action.start!s:.60}"
        if action.start == end:
            return "a move goes at least one step"
    if not board[end]:
        return f"{end} is a hole"
    for player in state.players:
        if end in player.penguins:
            return f"a {player.color} penguin stands on {end}"
    if isinstance(action, Placement):
        return f"{end} has {board[end]} fish, and penguins are placed on tiles with one"
    grid = board.grid
    for ray in grid.rays[grid.tile(action.start)]:
        if grid.tile(end) in ray:
            return f"something stands or a tile is missing between {action.start} and {end}"
    return f"{end} is not in a straight line from {action.start}"


def check_room(board: Board, rules: Rules, players: int) -> None:
    """Check that a board has room for so many players' penguins.

    Raises:
        InvalidBoard: it has not, with the arithmetic.
    """
    penguins = penguins_for(players)
    need = players * penguins
    if rules.placement == "one_fish":
        room, kind = board.ones().bit_count(), "tiles with one fish"
    else:
        room, kind = len(board), "tiles"
    if room < need:
        raise InvalidBoard(
            f"{players} players with {penguins} penguins each need {need} {kind}, "
            f"and the board has {room}"
        )


def placing(state: State) -> Color | None:
    """Whose turn it is to place by the numbers of penguins on the board; None if all are placed."""
    counts = [None if player.ejected else len(player.penguins) for player in state.players]
    seat = next_to_place(counts, state.penguins_each, state.rules.placement_order)
    return None if seat is None else state.players[seat].color
