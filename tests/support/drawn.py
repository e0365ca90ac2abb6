"""What hypothesis draws games from: boards, options, players."""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st

from croupier_common.board import Board
from croupier_common.draft import Stage
from croupier_common.outcome import Color
from croupier_common.rules import Rules, penguins_for
from croupier_common.state import PlayerState, State

FISH_NUMBERS: tuple[int, ...] = (1, 1, 1, 2, 3, 5, 0)
"""What a spot of a drawn board has, as likely as it is often here; 0 is a hole."""

OPTIONS: dict[str, tuple[str, ...]] = {
    "placement": ("any", "one_fish"),
    "lift": ("never", "penguin", "player_turn", "end"),
    "last_tile": ("nobody", "owner"),
    "tie_break": ("none", "tiles"),
    "islands": ("keep", "remove"),
    "ejected": ("penguins_off", "with_tiles", "leave_blocking"),
    "placement_order": ("rounds", "snake"),
}
"""The options that matter once the order of turns is known, with all their values."""

SHAPES = ((12, 4), (15, 4), (20, 2), (30, 1), (1, 30), (3, 20), (4, 12), (21, 3))
"""Boards with lines of more than eight tiles, and the classic one."""


def _sides(most: int) -> st.SearchStrategy[int]:
    """From 1 to so many, the upper half twice as likely."""
    return st.sampled_from([*range(1, most + 1), *range(most // 2 + 1, most + 1)])


@st.composite
def small_boards(draw: st.DrawFn, max_rows: int = 7, max_columns: int = 6) -> list[list[int]]:
    """Boards as JSON, ragged and with holes, a single row and a single column among them."""
    rows, columns = draw(_sides(max_rows)), draw(_sides(max_columns))
    size = rows * (columns + 1)
    drawn = draw(st.binary(min_size=size, max_size=size))  # much quicker than number by number
    board: list[list[int]] = []
    for row in range(rows):
        cut, *spots = drawn[row * (columns + 1) : (row + 1) * (columns + 1)]
        board.append([FISH_NUMBERS[spot % len(FISH_NUMBERS)] for spot in spots])
        del board[row][columns - max(cut % 8 - 5, 0) :]
    return board if any(board) else [[1]]


@st.composite
def large_boards(draw: st.DrawFn) -> list[list[int]]:
    """Boards as JSON, long enough that lines are walked and not looked up."""
    rows, columns = draw(st.sampled_from(SHAPES))
    random = Random(draw(st.integers(0, 2**32)))
    return [[random.choice(FISH_NUMBERS) for _ in range(columns)] for _ in range(rows)]


@st.composite
def options(draw: st.DrawFn) -> dict[str, str]:
    """Rules as options by name, without the pairs that are refused."""
    drawn = {name: draw(st.sampled_from(values)) for name, values in OPTIONS.items()}
    if drawn["ejected"] == "penguins_off" and drawn["lift"] in {"penguin", "player_turn"}:
        drawn["lift"] = "end"
    return drawn


def player_colors() -> st.SearchStrategy[list[Color]]:
    """Two to four players' colours in the order of turns."""
    return st.lists(st.sampled_from(list(Color)), min_size=2, max_size=4, unique=True)


def unchecked(board: Board, colors: list[Color], rules: Rules) -> State:
    """A state before the first placement of a board that may have too little room."""
    return State(
        board=board,
        players=tuple(PlayerState(color) for color in colors),
        turn=colors[0],
        stage=Stage.PLACEMENT,
        penguins_each=penguins_for(len(colors)),
        rules=rules,
    )


def random_game(seed: int, board: Board, players: int, rules: Rules) -> list[State]:
    """All states of a game that is played at random, the first before the first placement."""
    random = Random(seed)
    states = [State.begin(board, list(Color)[:players], rules)]
    while not states[-1].is_over:
        states.append(states[-1].apply(random.choice(list(states[-1].legal_actions))))
    return states
