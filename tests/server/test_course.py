"""The course's programs: its own cases where they are at hand, and some of ours."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from croupier_common import FISH, Board, Color, Game, PlayerState, Stage, State
from croupier_common.rules import penguins_for
from croupier_common.strategies import make
from croupier_server.course.harnesses import HARNESSES, xref, xstate
from support.course import CourseCase, course_parameters, read_cases, require_course_folder

DATA = Path(__file__).parent / "data"


def check(program: str, case: CourseCase) -> None:
    given = json.dumps(case.given)
    answer = HARNESSES[program](case.given)
    assert answer == case.wanted, case.checks
    assert json.dumps(answer, sort_keys=True) == json.dumps(case.wanted, sort_keys=True)  # 0, false
    assert json.dumps(case.given) == given  # nothing in it was changed


def own_parameters() -> list[Any]:
    return [
        pytest.param(program, case, id=case.name)
        for program in HARNESSES
        for case in read_cases(DATA / f"course_{program}.jsonl")
    ]


@pytest.mark.parametrize(("program", "case"), own_parameters())
def test_harness_gives_what_our_case_says(program: str, case: CourseCase) -> None:
    check(program, case)


@pytest.mark.parametrize("case", course_parameters("xboard"))
def test_xboard_gives_what_the_course_says(case: CourseCase) -> None:
    require_course_folder()
    check("xboard", case)


@pytest.mark.parametrize("case", course_parameters("xstate"))
def test_xstate_gives_what_the_course_says(case: CourseCase) -> None:
    require_course_folder()
    check("xstate", case)


@pytest.mark.parametrize("case", course_parameters("xtree"))
def test_xtree_gives_what_the_course_says(case: CourseCase) -> None:
    require_course_folder()
    check("xtree", case)


@pytest.mark.parametrize("case", course_parameters("xstrategy"))
def test_xstrategy_gives_what_the_course_says(case: CourseCase) -> None:
    require_course_folder()
    check("xstrategy", case)


@pytest.mark.parametrize("case", course_parameters("xref"))
def test_xref_gives_what_the_course_says(case: CourseCase) -> None:
    require_course_folder()
    check("xref", case)


def test_course_cases_are_all_there() -> None:
    folder = require_course_folder()
    counts = {program: len(read_cases(folder / f"{program}.jsonl")) for program in HARNESSES}
    assert counts == {"xboard": 97, "xstate": 75, "xtree": 77, "xstrategy": 187, "xref": 120}


def test_xstate_passes_over_fields_that_the_course_does_not_have() -> None:
    player = {"color": "red", "score": 0, "places": [[0, 0]], "age": 3}
    assert xstate({"players": [player], "board": [[1], [2]], "note": None}) == {
        "players": [{"color": "red", "score": 1, "places": [[1, 0]]}],
        "board": [[0], [2]],
    }


def played(rows: int, columns: int, fish: int, depths: list[int]) -> list[int]:
    """The winners' seats of the same game on the driver that real games run on."""
    board = Board(rows, columns, (fish,) * (rows * columns))
    colors = list(Color)[: len(depths)]
    state = State(  # not by State.begin, which refuses a board that is too small
        board=board,
        players=tuple(PlayerState(color) for color in colors),
        turn=colors[0],
        stage=Stage.PLACEMENT,
        penguins_each=penguins_for(len(depths)),
        rules=FISH,
    )
    game = Game.resume("1.1", state)
    while (request := game.request) is not None:
        strategy = make(f"minimax:{depths[colors.index(request.color)]}")
        game.act(strategy.choose(request.state))
    assert game.outcome is not None
    return [colors.index(color) for color in game.outcome.winners]


def test_xref_agrees_with_the_driver_of_real_games() -> None:
    rng = random.Random(11)
    too_small = 0
    for _ in range(60):
        depths = [rng.choice([1, 1, 2, 3]) for _ in range(rng.choice([2, 3, 4]))]
        rows, columns, fish = rng.randrange(1, 6), rng.randrange(1, 5), rng.randrange(1, 6)
        too_small += rows * columns < len(depths) * penguins_for(len(depths))
        entrants = [[f"{seat}", depth] for seat, depth in enumerate(depths)]
        match = {"row": rows, "column": columns, "fish": fish, "players": entrants}
        assert xref(match) == [str(seat) for seat in sorted(played(rows, columns, fish, depths))]
    assert 10 < too_small < 50
