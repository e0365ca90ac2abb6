"""How boards are built: always the same ones, with what was asked for, or refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from croupier_common.board import Board
from croupier_common.board_spec import CLASSIC_BAG, CLASSIC_BOARD, MAX_SIDE, BoardSpec
from croupier_common.errors import InvalidBoard
from croupier_common.grid import Position
from croupier_common.rules import CLASSIC, FISH, Rules

GOLDEN_FILE = Path(__file__).parent / "data" / "boards.json"
GOLDEN: list[dict[str, Any]] = json.loads(GOLDEN_FILE.read_text(encoding="utf-8"))["boards"]

seeds = st.integers(-(2**70), 2**70)
sides = st.integers(1, 9)


def golden_board(golden: dict[str, Any]) -> list[list[int]]:
    spec = BoardSpec.from_json(golden["spec"])
    rules = Rules.from_json(golden.get("rules", "fish"))
    labels = golden.get("labels", [])
    board = spec.build(golden["seed"], *labels, rules=rules, players=golden.get("players", 0))
    return board.to_json()


# -- the same board, always


@pytest.mark.parametrize("golden", GOLDEN, ids=[golden["name"] for golden in GOLDEN])
def test_build_gives_the_golden_board(golden: dict[str, Any]) -> None:
    assert golden_board(golden) == golden["board"]
    assert golden_board(golden) == golden["board"]  # the second game of a process too


PRINT_BOARDS = """
import json, sys
from croupier_common.board_spec import BoardSpec
from croupier_common.rules import Rules
for golden in json.load(open(sys.argv[1], encoding="utf-8"))["boards"]:
    board = BoardSpec.from_json(golden["spec"]).build(
        golden["seed"], *golden.get("labels", []),
        rules=Rules.from_json(golden.get("rules", "fish")), players=golden.get("players", 0),
    )
    print(json.dumps(board.to_json()))
"""


@pytest.mark.parametrize("hash_seed", ["0", "4242"])
def test_build_does_not_hang_on_the_hash_seed(hash_seed: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PRINT_BOARDS, str(GOLDEN_FILE)],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        check=True,
        text=True,
    )
    boards = [json.loads(line) for line in done.stdout.splitlines()]
    assert boards == [golden["board"] for golden in GOLDEN]


def test_build_differs_by_seed_and_by_label() -> None:
    spec = BoardSpec(rows=6, columns=6, holes=5, fish=(1, 5))
    boards = [spec.build(seed) for seed in range(20)]
    boards += [spec.build(1, "1.1"), spec.build(1, "1.2"), spec.build(1, 2, "1")]
    assert len({board.fish for board in boards}) == len(boards)


def test_build_of_equal_specs_is_equal_however_they_were_written() -> None:
    one = BoardSpec(fish={1: 3, 5: 1, 2: 2})
    other = BoardSpec(fish={5: 1, 2: 2, 1: 3})
    assert one == other
    assert one.build(9) == other.build(9)
    one = BoardSpec(rows=15, columns=4, bag={1: 30, 2: 20, 3: 10})
    other = BoardSpec(rows=15, columns=4, bag={3: 10, 2: 20, 1: 30})
    assert one == other == CLASSIC_BOARD
    assert one.build(9) == other.build(9)


def test_build_of_a_given_board_is_that_board() -> None:
    board = Board.from_json([[1, 2], [0, 3]])
    assert BoardSpec(tiles=board).build(1) == BoardSpec(tiles=board).build(2) == board


# -- what was asked for


@pytest.mark.parametrize("seed", range(5))
def test_build_classic_has_the_bag_on_sixty_tiles(seed: int) -> None:
    board = CLASSIC_BOARD.build(seed)
    assert (board.rows, board.columns, len(board)) == (15, 4, 60)
    assert Counter(board.fish) == CLASSIC_BAG == {1: 30, 2: 20, 3: 10}


def test_build_by_default_is_the_course_board() -> None:
    assert BoardSpec().build(3).to_json() == [[2] * 5] * 5


def test_build_has_holes_where_they_were_given() -> None:
    spec = BoardSpec(rows=2, columns=2, holes=(Position(1, 0), Position(0, 0), Position(1, 0)))
    assert spec.build(1).to_json() == [[0, 2], [0, 2]]


def test_build_draws_fish_from_a_range_and_by_weight() -> None:
    ranged = BoardSpec(rows=20, columns=20, fish=(2, 4)).build(1)
    assert set(ranged.fish) == {2, 3, 4}
    counts = Counter(BoardSpec(rows=20, columns=20, fish={1: 3, 2: 0, 7: 1}).build(1).fish)
    assert set(counts) == {1, 7}
    assert 250 < counts[1] < 350


@given(
    rows=sides,
    columns=sides,
    share=st.sampled_from([0.0, 0.2, 0.5, 1.0]),
    ones=st.integers(0, 81),
    symmetry=st.sampled_from(["none", "point", "mirror"]),
    seed=seeds,
)
def test_build_guarantees_holes_ones_and_symmetry(
    rows: int, columns: int, share: float, ones: int, symmetry: str, seed: int
) -> None:
    holes = int(rows * columns * share)
    refusal = refusal_of(rows, columns, holes, ones, symmetry)
    wanted: dict[str, Any] = {"holes": holes, "one_fish": ones, "symmetry": symmetry}
    if refusal is not None:
        with pytest.raises(InvalidBoard, match=refusal):
            BoardSpec(rows, columns, fish=(2, 3), **wanted)
        return
    board = BoardSpec(rows, columns, fish=(2, 3), **wanted).build(seed)
    assert len(board) == rows * columns - holes
    assert ones <= board.ones().bit_count() <= ones + (symmetry != "none")
    check_symmetry(board, symmetry)


def refusal_of(rows: int, columns: int, holes: int, ones: int, symmetry: str) -> str | None:
    if symmetry != "none" and (symmetry == "point") == bool(rows % 2):
        return "needs an (even|odd) number of rows"
    if symmetry == "point" and holes % 2:
        return "tiles in pairs only"
    return "board.one_fish is" if ones > rows * columns - holes else None


def check_symmetry(board: Board, symmetry: str) -> None:
    """The image of each tile has as many fish, and the image of its neighbours are its own."""
    grid = board.grid

    def image(tile: int) -> int:
        row, column = grid.position(tile)
        column = board.columns - 1 - column if symmetry == "point" else column
        return tile if symmetry == "none" else grid.tile((board.rows - 1 - row, column))

    for tile in range(grid.size):
        assert board.fish[image(tile)] == board.fish[tile]
        for other in range(grid.size):
            near = grid.near[tile] >> other & 1
            assert grid.near[image(tile)] >> image(other) & 1 == near


@given(
    rows=sides,
    columns=sides,
    holes=st.integers(0, 8),
    cuts=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    symmetry=st.sampled_from(["none", "point", "mirror"]),
    seed=seeds,
)
def test_build_deals_exactly_the_bag(
    rows: int, columns: int, holes: int, cuts: tuple[float, float], symmetry: str, seed: int
) -> None:
    tiles = rows * columns - holes
    low, high = (int(cut * max(tiles, 0)) for cut in sorted(cuts))
    bag = {1: low, 2: high - low, 3: tiles - high}
    single = {"none": rows * columns, "point": 0, "mirror": columns}[symmetry]
    odd = sum(count % 2 for count in bag.values())
    if tiles < 0 or refusal_of(rows, columns, holes, 0, symmetry) or odd > single:
        with pytest.raises(InvalidBoard):
            BoardSpec(rows, columns, holes=holes, bag=bag, symmetry=symmetry)
        return
    board = BoardSpec(rows, columns, holes=holes, bag=bag, symmetry=symmetry).build(seed)
    assert Counter(fish for fish in board.fish if fish) == Counter(bag)
    check_symmetry(board, symmetry)


@pytest.mark.parametrize("seed", range(20))
def test_build_keeps_single_tiles_for_what_the_bag_has_an_odd_number_of(seed: int) -> None:
    # Only the middle row has single tiles, and three drawn holes could take them all.
    board = BoardSpec(3, 3, holes=3, bag={1: 3, 2: 3}, symmetry="mirror").build(seed)
    assert Counter(board.fish) == {0: 3, 1: 3, 2: 3}
    check_symmetry(board, "mirror")


# -- room


@pytest.mark.parametrize("players", [2, 3, 4])
def test_build_for_one_fish_rules_guarantees_the_tiles_to_place_on(players: int) -> None:
    spec = BoardSpec(rows=4, columns=4, holes=3, fish=(3, 5))
    spec.check_room(CLASSIC, players)
    for seed in range(20):
        ones = spec.build(seed, rules=CLASSIC, players=players).ones().bit_count()
        assert ones == {2: 8, 3: 9, 4: 9}[players]
        assert spec.build(seed, rules=FISH, players=players).ones() == 0


def test_build_for_one_fish_rules_keeps_a_larger_minimum() -> None:
    spec = BoardSpec(rows=5, columns=5, fish=3, one_fish=12)
    assert spec.build(1, rules=CLASSIC, players=4).ones().bit_count() == 12


@pytest.mark.parametrize(
    ("tiles", "players", "message"),
    [
        (8, 2, None),
        (7, 2, "2 players with 4 penguins each need 8 tiles, and the board has 7"),
        (9, 3, None),
        (8, 3, "3 players with 3 penguins each need 9 tiles, and the board has 8"),
        (9, 4, None),
        (8, 4, "3 players with 3 penguins each need 9 tiles, and the board has 8"),
        (7, 4, "2 players with 4 penguins each need 8 tiles, and the board has 7"),
    ],
)
def test_check_room_must_do_for_every_number_of_players(
    tiles: int, players: int, message: str | None
) -> None:
    spec = BoardSpec(rows=4, columns=5, holes=20 - tiles)
    if message is None:
        spec.check_room(FISH, players)
        return
    with pytest.raises(InvalidBoard) as caught:
        spec.check_room(FISH, players)
    assert str(caught.value) == message


def test_check_room_counts_one_fish_tiles_where_penguins_are_placed_on_these() -> None:
    CLASSIC_BOARD.check_room(CLASSIC, 4)
    few = BoardSpec(rows=5, columns=4, bag={1: 8, 2: 12})
    few.check_room(CLASSIC, 2)
    few.check_room(FISH, 4)
    with pytest.raises(InvalidBoard, match=r"need 9 tiles with one fish, and the board has 8$"):
        few.check_room(CLASSIC, 3)
    given_board = BoardSpec(tiles=Board.from_json([[2] * 9]))
    given_board.check_room(FISH, 4)
    with pytest.raises(InvalidBoard, match=r"need 8 tiles with one fish, and the board has 0$"):
        given_board.check_room(CLASSIC, 2)


# -- JSON, TOML and the command line


@pytest.mark.parametrize(
    "spec",
    [
        BoardSpec(),
        BoardSpec(rows=1, columns=40, holes=3, fish=(1, 5), one_fish=2),
        BoardSpec(rows=4, columns=3, fish={1: 2, 3: 1}, symmetry="point"),
        BoardSpec(rows=3, columns=3, holes=(Position(0, 1), Position(2, 1)), symmetry="mirror"),
        BoardSpec(tiles=Board.from_json([[1, 0], [3]])),
        CLASSIC_BOARD,
    ],
    ids=range(6),
)
def test_spec_to_json_and_back_is_equal_and_builds_the_same(spec: BoardSpec) -> None:
    back = BoardSpec.from_json(json.loads(json.dumps(spec.to_json())))
    assert back == spec
    assert back.build(5, "game") == spec.build(5, "game")


def test_spec_from_json_knows_the_classic_board_and_bag_by_name() -> None:
    assert BoardSpec.from_json("classic") == CLASSIC_BOARD
    assert BoardSpec.from_json({"rows": 15, "columns": 4, "bag": "classic"}) == CLASSIC_BOARD


REFUSED: list[tuple[Any, str]] = [
    (None, "board is a table or 'classic', not None"),
    ("5x5", "board is a table or 'classic', not '5x5'"),
    ([[1]], "board is a table or 'classic', not [[1]]"),
    ({"row": 5}, "no field 'row' in board; there are rows, columns, holes, "),
    ({"rows": 0}, "board.rows is 0; it must be a whole number from 1 to 40"),
    ({"rows": MAX_SIDE + 1}, "board.rows is 41; it must be a whole number from 1 to 40"),
    ({"columns": -1}, "board.columns is -1; it must be a whole number from 1 to 40"),
    ({"columns": True}, "board.columns is True; it must be a whole number"),
    ({"columns": 5.0}, "board.columns is 5.0; it must be a whole number"),
    ({"columns": "5"}, "board.columns is '5'; it must be a whole number"),
    ({"rows": 10**5000}, "board.rows is a int too large to show; it must be a whole number"),
    ({"holes": 26}, "board.holes is 26; it must be a whole number from 0 to 25"),
    ({"holes": -1}, "board.holes is -1; it must be a whole number from 0 to 25"),
    ({"holes": True}, "board.holes is True; it is a number or an array of positions"),
    ({"holes": [1]}, "board.holes is [1]; it is a number or an array of positions"),
    ({"holes": [[0, 0], [0]]}, "board.holes is [[0, 0], [0]]; it is a number or an array"),
    ({"holes": [[5, 0]]}, "board.holes has [5,0], outside the board of 5 rows and 5 columns"),
    ({"holes": [[0, -1]]}, "board.holes has [0,-1], outside the board of 5 rows and 5 columns"),
    ({"holes": [[0, 10**5000]]}, "board.holes has [0,a int too large to show], outside"),
    ({"fish": 0}, "board.fish is 0; it must be a whole number from 1 to 1000000"),
    ({"fish": "2"}, "board.fish is '2'; it is a number, a range [least, most], or weights"),
    ({"fish": [2, 1]}, "board.fish is 1; it must be a whole number from 2 to"),
    ({"fish": [1, 1_001]}, "board.fish is 1001; it must be a whole number from 1 to 1000"),
    ({"fish": [1, 2, 3]}, "board.fish is [1, 2, 3]; it is a number, a range"),
    ({"fish": {}}, "board.fish has no number with a weight above 0"),
    ({"fish": {"1": 0}}, "board.fish has no number with a weight above 0"),
    ({"fish": {"1": -1}}, "board.weight of 1 fish is -1; it must be a whole number from 0"),
    ({"fish": {"one": 1}}, "board.fish has 'one'; its keys are numbers of fish"),
    ({"fish": {"01": 1, "1": 2}}, "board.fish has '01'; its keys are numbers of fish"),
    ({"fish": {"0": 1}}, "board.fish has '0'; its keys are numbers of fish"),
    ({"bag": "boxed"}, "board.bag is 'boxed'; it is 'classic' or a table like"),
    ({"bag": {"1": 24}}, "board.bag has 24 tiles, and the board has 5 x 5 - 0 holes = 25"),
    ({"bag": {"1": 25}, "holes": 1}, "board.bag of 1 fish is 25; it must be a whole number from"),
    ({"bag": {"1": 25.0}}, "board.bag of 1 fish is 25.0; it must be a whole number"),
    ({"bag": "classic"}, "board.bag of 1 fish is 30; it must be a whole number from 0 to 25"),
    ({"bag": {"1": 25}, "fish": 2}, "board.bag and board.fish exclude each other"),
    ({"bag": {"1": 5, "2": 20}, "one_fish": 6}, "board.one_fish is 6, and board.bag has 5 tiles"),
    (
        {"one_fish": 26},
        "board.one_fish is 26; it must be a whole number from 0 to 25 (there are 25",
    ),
    ({"one_fish": 23, "holes": 3}, "board.one_fish is 23; it must be a whole number from 0 to 22"),
    ({"one_fish": -1}, "board.one_fish is -1; it must be a whole number from 0 to 25"),
    ({"symmetry": "both"}, "board.symmetry is 'both'; it can be none, point, mirror"),
    ({"symmetry": 1}, "board.symmetry is '1'; it can be none, point, mirror"),
    ({"symmetry": "point"}, "board.symmetry = 'point' needs an even number of rows, since odd"),
    (
        {"symmetry": "mirror", "rows": 4},
        "board.symmetry = 'mirror' needs an odd number of rows, since odd rows are shifted by half",
    ),
    (
        {"symmetry": "point", "rows": 4, "holes": 3},
        "board.holes is 3, and a board with point symmetry of 4 rows has its tiles in pairs only",
    ),
    (
        {"symmetry": "point", "rows": 4, "holes": [[0, 0]]},
        "board.holes has only one of [0,0] and [3,4], which point symmetry makes alike",
    ),
    (
        {"symmetry": "point", "rows": 2, "columns": 2, "bag": {"1": 1, "2": 3}},
        "board.bag has an odd number of tiles with [1, 2] fish, and point symmetry leaves 0 tiles",
    ),
    ({"tiles": [[1]], "rows": 1}, "board.tiles is the whole board; give nothing beside it"),
    ({"tiles": [[1, -1]]}, "the board has -1 at [0,1]"),
    ({"tiles": [[1]] * 41}, "board.tiles is 41 x 1; at most 40 x 40 are allowed"),
    ({"tiles": [[1] * 41]}, "board.tiles is 1 x 41; at most 40 x 40 are allowed"),
]


@pytest.mark.parametrize(("value", "message"), REFUSED, ids=range(len(REFUSED)))
def test_spec_from_json_refuses_with_one_line(value: Any, message: str) -> None:
    with pytest.raises(InvalidBoard) as caught:
        BoardSpec.from_json(value)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("classic", CLASSIC_BOARD),
        ("5x5", BoardSpec()),
        ("6x4,holes=4", BoardSpec(6, 4, holes=4)),
        ("6x4,fish=1-5,one_fish=8", BoardSpec(6, 4, fish=(1, 5), one_fish=8)),
        ("6x4,symmetry=point,fish=3", BoardSpec(6, 4, fish=3, symmetry="point")),
    ],
)
def test_spec_from_text(text: str, spec: BoardSpec) -> None:
    assert BoardSpec.from_text(text) == spec


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "5",
            "5x",
            "x5",
            "5x5x5",
            "-1x5",
            "5.0x5",
            "\N{SUPERSCRIPT TWO}x5",
            "5x5,",
            "5x5,holes",
            "5x5,holes=",
        ),
        *("5x5,holes=x", "5x5,rows=3", "5x5,tiles=1", "5x5,fish=-1", "5x5,holes=1-", "Classic"),
        *("holes=3", "5 x 5", "9999999999x1", "5x5,holes=1,holes=2"),
    ],
)
def test_spec_from_text_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(InvalidBoard, match=r"it is 'classic' or like '5x5' or '6x5,holes=4,fish="):
        BoardSpec.from_text(text)


@pytest.mark.parametrize("text", ["41x5", "5x0", "5x5,holes=26", "5x5,fish=3-2", "5x5,fish=1-2-3"])
def test_spec_from_text_of_a_board_that_can_not_be_is_refused(text: str) -> None:
    with pytest.raises(InvalidBoard, match=r"^board\.\w+ is "):
        BoardSpec.from_text(text)
