"""All strategies: the registry, and what each of them owes."""

import subprocess
import sys
from pathlib import Path

import pytest

from croupier_common import CLASSIC, FISH, Board, BoardSpec, Color, Game, Move, Placement, Rules
from croupier_common import strategies as registry
from croupier_common.errors import InvalidState, InvalidStrategy
from croupier_common.grid import Position
from croupier_common.state import Stage, State
from croupier_common.strategies import make, names
from croupier_common.strategies.random import Random

SPECS = ["first", "greedy", "minimax:1", "minimax", "random"]


def board_for(rules: Rules) -> Board:
    return BoardSpec.from_text("5x5,fish=1-5" if rules == FISH else "classic").build(3)


def play(specs: list[str], rules: Rules, seed: int = 1) -> Game:
    """A game to its end; the driver refuses whatever is not legal."""
    colors = list(Color)[: len(specs)]
    game = Game("1.1", board_for(rules), colors, rules)
    seats = {
        color: make(spec, seed=seed, labels=("1.1", seat))
        for seat, (color, spec) in enumerate(zip(colors, specs, strict=True))
    }
    game.begin()
    while (request := game.request) is not None:
        before = request.state
        action = seats[request.color].choose(request.state)
        assert seats[request.color].choose(request.state) == action
        assert request.state == before
        game.act(action)
    return game


def test_names_are_the_modules() -> None:
    assert names() == ["first", "greedy", "minimax", "random"]


@pytest.mark.parametrize("rules", [FISH, CLASSIC], ids=["fish", "classic"])
@pytest.mark.parametrize("spec", SPECS)
def test_strategy_plays_legally_to_the_end_and_the_same_way_again(spec: str, rules: Rules) -> None:
    specs = [spec, "greedy", "random"]
    game = play(specs, rules)
    assert game.outcome is not None
    assert not game.outcome.ejected
    assert play(specs, rules).events == game.events


@pytest.mark.parametrize("spec", SPECS)
def test_strategy_after_the_end_says_that_there_is_nothing_to_choose(spec: str) -> None:
    state = play(["first", "first"], FISH).state
    assert state is not None
    with pytest.raises(InvalidState, match="nothing to choose"):
        make(spec).choose(state)


@pytest.mark.parametrize("spec", ["", "First", "first ", "best", "__init__", "random.choice", "\n"])
def test_make_of_an_unknown_name_says_what_there_is(spec: str) -> None:
    with pytest.raises(InvalidStrategy) as refused:
        make(spec)
    assert "; there are first; greedy; minimax or minimax:N, N from 1 to 20; random" in str(
        refused.value
    )
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["first", "greedy", "random"])
def test_make_with_an_argument_too_many_is_refused(name: str) -> None:
    with pytest.raises(InvalidStrategy, match=f"allowed is {name}$"):
        make(f"{name}:2")


def test_make_finds_a_new_file_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "last_tile.py").write_text(
        "from croupier_common.strategies import Setup\n"
        "FORM = 'last_tile'\n"
        "class Last:\n"
        "    def choose(self, state):\n"
        "        return list(state.legal_actions)[-1]\n"
        "def make(setup: Setup):\n"
        "    return Last()\n"
    )
    (tmp_path / "_helper.py").write_text("")
    monkeypatch.setattr(registry, "__path__", [*registry.__path__, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "croupier_common.strategies.last_tile", raising=False)
    assert names() == ["first", "greedy", "last_tile", "minimax", "random"]
    state = State.begin(board_for(FISH), list(Color)[:2])
    assert make("last_tile").choose(state) == Placement(Position(4, 4))
    with pytest.raises(InvalidStrategy, match="; last_tile; "):
        make("other")


def test_make_imports_only_what_is_asked_for() -> None:
    script = (
        "import sys; from croupier_common.strategies import make; make('first');"
        "print(*sorted(m for m in sys.modules if m.startswith('croupier_common.strategies.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, text=True
    )
    assert done.stdout.split() == ["croupier_common.strategies.first"]


def tiny(fish: tuple[int, ...], rows: int, columns: int) -> State:
    return State.begin(Board(rows, columns, fish), [Color.RED, Color.WHITE])


def test_first_takes_the_first_tile_and_the_lowest_move() -> None:
    state = tiny((0, 1, *(5,) * 10), 4, 3)
    first = make("first")
    assert first.choose(state) == Placement(Position(0, 1))
    while state.stage is Stage.PLACEMENT:
        state = state.apply(first.choose(state))
    assert first.choose(state) == Move(Position(1, 0), Position(3, 0)) == min(state.legal_actions)


def test_greedy_takes_the_most_fish_and_the_lowest_of_equals() -> None:
    fish = (1, 1, 1, 1, 5, 1, 1, 1, 5, 1, 1, 2, 2, 1, 1)
    state = tiny(fish, 5, 3)
    greedy = make("greedy")
    placed: list[object] = []
    while state.stage is Stage.PLACEMENT:
        placed.append(greedy.choose(state))
        state = state.apply(greedy.choose(state))
    assert placed[:5] == [
        Placement(Position(*at)) for at in ((1, 1), (2, 2), (3, 2), (4, 0), (0, 0))
    ]
    moves = list(state.legal_actions)
    most = max(state.board[move.end] for move in moves if isinstance(move, Move))
    assert greedy.choose(state) == next(
        move for move in moves if isinstance(move, Move) and state.board[move.end] == most
    )


def test_random_depends_on_seed_labels_and_colour_alone() -> None:
    state = State.begin(Board(10, 10, (1,) * 100), [Color.RED, Color.WHITE])
    choice = make("random", seed=4, labels=("1.1", 0)).choose(state)
    assert choice == make("random", seed=4, labels=["1.1", 0]).choose(state)
    others = {
        make("random", seed=seed, labels=labels).choose(state)
        for seed, labels in [(5, ("1.1", 0)), (4, ("1.2", 0)), (4, ("1.1", 1)), (4, ())]
    }
    white = State.begin(Board(10, 10, (1,) * 100), [Color.WHITE, Color.RED])
    others.add(make("random", seed=4, labels=("1.1", 0)).choose(white))
    assert len(others | {choice}) >= 4  # five draws among a hundred tiles


GOLDEN = [
    "[9,0] [5,3] [4,7] [7,6] [3,1] [0,2] [7,2] [8,9]",
    "[[4,7],[3,7]] [[8,9],[7,8]]",
]
"""Whoever changes these changes every recorded game of a house player."""


def test_random_is_the_same_on_every_machine() -> None:
    state = State.begin(Board(10, 10, (1,) * 100), [Color.RED, Color.WHITE])
    found: list[str] = []
    for _ in range(10):
        action = make("random", seed=2024, labels=("golden",)).choose(state)
        found.append(str(action))
        state = state.apply(action)
    assert " ".join(found) == " ".join(GOLDEN)


def test_random_draws_every_action_about_equally_often() -> None:
    state = State.begin(Board(3, 3, (1,) * 9), [Color.RED, Color.WHITE])
    counts = dict.fromkeys(state.legal_actions, 0)
    for seed in range(450):
        counts[Random(seed).choose(state)] += 1
    assert min(counts.values()) > 25
    assert max(counts.values()) < 75
