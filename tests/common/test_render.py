"""States as text."""

from __future__ import annotations

import re
from textwrap import dedent

from hypothesis import given
from hypothesis import strategies as st

from croupier_common.board import Board
from croupier_common.events import Ended, Moved, Skipped, Sunk
from croupier_common.grid import Position
from croupier_common.outcome import Color, Outcome
from croupier_common.render import LETTERS, event_line, printable, render
from croupier_common.rules import Rules
from croupier_common.state import PlayerState, Stage, State


def state(board: list[list[int]], *players: PlayerState, turn: Color | None = Color.RED) -> State:
    return State(Board.from_json(board), players, turn, Stage.MOVEMENT, 2)


def lines(text: str) -> list[str]:
    return dedent(text).strip("\n").split("\n")


RED = PlayerState(Color.RED, 3, 1, (Position(0, 0),))
WHITE = PlayerState(Color.WHITE, 12, 4, (Position(1, 1),))


def test_board_is_drawn_with_coordinates_penguins_and_holes() -> None:
    shown = render(state([[3, 2], [1, 5], [4, 0]], RED, WHITE), unicode=False)
    assert shown.splitlines() == lines(r"""
            0   0   1   1
           ___     ___
        0 /R3 \___/ 2 \___
        1 \___/ 1 \___/W5 \
        2 / 4 \___/   \___/
          \___/

        > R red     3 fish  1 tile   [0,0]
          W white  12 fish  4 tiles  [1,1]
    """)


def test_board_of_one_tile() -> None:
    shown = render(state([[3]], RED, turn=None), unicode=False)
    assert shown.splitlines() == lines(r"""
            0
           ___
        0 /R3 \
          \___/

          R red    3 fish  1 tile   [0,0]
    """)


def test_board_of_holes_only_and_no_players() -> None:
    assert render(state([[0, 0]], turn=None)).splitlines() == ["    0       1", "", "0"]


def test_tile_that_stands_alone_is_closed_all_round() -> None:
    shown = render(state([[0, 0, 0], [0, 7, 0], [0, 0, 0]], turn=None), unicode=False)
    assert shown.splitlines()[1:] == [
        "",
        "0              ___",
        "1             / 7 \\",
        "2             \\___/",
    ]


def test_large_numbers_widen_every_tile() -> None:
    shown = render(state([[1, 20_000]], RED), unicode=False)
    assert shown.splitlines()[2] == r"0 /  R1  \      /20000 \\"[:-1]


def test_unicode_differs_in_the_slants_only() -> None:
    board = [[3, 2], [1, 5], [4, 0]]
    plain, fine = (render(state(board, RED, WHITE), unicode=flag) for flag in (False, True))
    assert fine != plain
    assert fine.replace("\u2571", "/").replace("\u2572", "\\") == plain


def test_color_differs_in_escapes_only() -> None:
    board = [[3, 2], [1, 5], [4, 0]]
    plain = render(state(board, RED, WHITE), names={Color.RED: "Pingu"})
    colored = render(state(board, RED, WHITE), color=True, names={Color.RED: "Pingu"})
    bare = re.sub(r"\x1b\[[0-9;]*m", "", colored)
    assert [line.rstrip() for line in bare.splitlines()] == plain.splitlines()
    for line in colored.splitlines():
        opened = re.findall(r"\x1b\[([0-9;]*)m", line)
        assert not opened or opened[-1] == "0"


def test_names_are_shown_and_made_harmless() -> None:
    names = {Color.RED: "Pingu", Color.WHITE: "a\x1b[2J\nb"}
    legend = render(state([[3, 2], [1, 5]], RED, WHITE), names=names).splitlines()[-2:]
    assert legend == [
        "> R red    Pingu     3 fish  1 tile   [0,0]",
        "  W white  a?[2J?b  12 fish  4 tiles  [1,1]",
    ]


def test_ejected_player_is_marked_and_its_penguins_are_small_letters() -> None:
    gone = PlayerState(Color.BLACK, penguins=(Position(0, 1),), ejected=True)
    shown = render(
        State(
            Board.from_json([[3, 2]]),
            (RED, gone),
            Color.RED,
            Stage.MOVEMENT,
            1,
            Rules(ejected="leave_blocking"),
        )
    )
    assert "b2" in shown
    assert shown.splitlines()[-1] == "  b black  ejected  [0,1]"


@given(st.lists(st.lists(st.integers(0, 12), min_size=1, max_size=7), min_size=1, max_size=9))
def test_every_tile_is_where_its_coordinates_say(rows: list[list[int]]) -> None:
    board = Board.from_json(rows)
    first = next(iter(board.tiles()), None)
    player = PlayerState(Color.RED, penguins=() if first is None else (first,))
    drawn = render(State(board, (player,), None, Stage.OVER, 1), unicode=False).splitlines()
    header = drawn[0]
    columns = [match.start() for match in re.finditer(r"\d+", header)]
    assert len(columns) == board.columns * min(2, board.rows)
    for row in range(board.rows):
        line = drawn[row + 2]
        assert line.split()[0] == str(row)
        for column in range(board.columns):
            at = columns[column * min(2, board.rows) + row % 2]
            cell = line[at - 2 : at + 3].ljust(5)
            fish = board[row, column]
            if fish:
                letter = LETTERS[Color.RED] if (row, column) == first else ""
                assert cell[0] == "/"
                assert cell[4] == "\\"
                assert cell[1:4].strip() == f"{letter}{fish}"
            else:
                assert not re.search(r"[0-9A-Z]", cell)


def test_event_line_says_what_happened() -> None:
    moved = Moved(Color.RED, Position(0, 1), Position(2, 1), 3)
    assert event_line(moved) == "red    [0,1] -> [2,1]  +3"
    assert event_line(Skipped(Color.WHITE)) == "white  can't move"
    assert event_line(Sunk((Position(0, 1), Position(3, 0)))) == "sunk: [0,1] [3,0]"
    assert event_line(Ended(Outcome((), (), {}, {}))) == ""


def test_printable_cuts_and_cleans() -> None:
    assert printable("caf\u00e9 \u2603") == "caf\u00e9 \u2603"
    assert printable("a\tb\u202ec") == "a?b?c"
    assert printable("x" * 100, 10) == "x" * 9 + "\u2026"
