"""From a target to a player."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from croupier_client.errors import LoadError
from croupier_client.house import House, Rogue
from croupier_client.loader import load

PLAYER = """
from croupier_client import Player

class {name}(Player):
    {body}
    def place(self, view):
        return view.placements[0]

    def move(self, view):
        return view.moves[0]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty current folder; what is imported from it is forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def write(path: Path, name: str = "Mine", body: str = "", more: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(PLAYER.format(name=name, body=body) + more, encoding="utf-8")


def problem_with(target: str) -> str:
    with pytest.raises(LoadError) as told:
        load(target).make()
    text = str(told.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize(
    "target", ["first", "greedy", "random", "random:12", "minimax", "minimax:3"]
)
def test_house_player_is_found_by_name(target: str) -> None:
    found = load(target)
    assert found.name == target
    assert isinstance(found.make(), House)


def test_rogue_is_found_by_name() -> None:
    rogue = load("rogue:garbage:7").make()
    assert isinstance(rogue, Rogue)
    assert (rogue.kind, rogue.turn) == ("garbage", 7)
    default = load("rogue:illegal").make()
    assert isinstance(default, Rogue)
    assert default.turn == 3


@pytest.mark.parametrize("target", ["mine:Mine", "mine.py", "mine.py:Mine", "./mine.py", "mine"])
def test_player_of_ones_own_is_found(folder: Path, target: str) -> None:
    write(folder / "mine.py")
    found = load(target)
    assert found.name == "Mine"
    assert type(found.make()).__name__ == "Mine"


def test_player_in_a_package_is_found(folder: Path) -> None:
    write(folder / "team" / "players" / "best.py")
    assert load("team.players.best:Mine").name == "Mine"


def test_file_elsewhere_finds_its_own_modules(tmp_path: Path) -> None:
    write(tmp_path / "far" / "mine.py", more="\nimport helper_of_mine\n")
    (tmp_path / "far" / "helper_of_mine.py").write_text("")
    assert load("far/mine.py").name == "Mine"


def test_two_files_of_one_name_are_two_players(folder: Path) -> None:
    write(folder / "a" / "player.py", "A")
    write(folder / "b" / "player.py", "B")
    assert load("a/player.py").name == "A"
    assert load("b/player.py").name == "B"
    assert load("a/player.py").name == "A"


def test_own_module_named_like_a_house_player_is_taken_with_a_class(folder: Path) -> None:
    write(folder / "minimax.py")
    assert load("minimax:Mine").name == "Mine"
    assert load("minimax").name == "minimax"


def test_helpers_and_abstract_classes_in_a_file_are_no_choice(folder: Path) -> None:
    more = "\nfrom croupier_client.house import House\nclass Base(Player):\n    pass\n"
    write(folder / "mine.py", more=more)
    assert load("mine.py").name == "Mine"


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("", "'' is no player; it can be module:Class, path/to/file.py:Class, or one of the hou"),
        ("no such", "'no such' is no player"),
        ("gredy", "no module 'gredy' in "),
        ("gredy", "and no such house player (first, greedy, "),
        ("nothing.there:Mine", "no module 'nothing.there' in "),
        ("nothing.py", "no file nothing.py"),
        ("mine.py:Other", "no class 'Other' in "),
        ("mine.py:Other", "it has Mine"),
        ("mine.py:number", "number in "),
        ("mine.py:number", "is no subclass of croupier_client.Player"),
        ("greedy:3", "greedy"),
        ("minimax:0", "'0' is no depth of minimax"),
        ("minimax:Mine", "'Mine' is no depth of minimax"),
        ("random:-1", "'-1' is no seed: random:SEED has a whole number from 0"),
        ("rogue", "no module 'rogue'"),
        ("rogue:", "no rogue ''"),
        ("rogue:nice", "no rogue 'nice'; it is rogue:KIND or rogue:KIND:TURN with KIND one of il"),
        ("rogue:silent:x", "no rogue 'silent:x'"),
        ("rogue:silent:", "no rogue 'silent:'"),
        ("rogue:illegal:0", "no rogue 'illegal:0'"),
    ],
)
def test_target_that_is_wrong_is_told_in_one_line(folder: Path, target: str, told: str) -> None:
    write(folder / "mine.py", more="\nnumber = 3\n")
    assert told in problem_with(target)


def test_module_that_fails_names_its_line(folder: Path) -> None:
    (folder / "broken.py").write_text("x = 1\ny = x / 0\n")
    expected = "failed: ZeroDivisionError: division by zero (broken.py, line 2)"
    assert expected in problem_with("broken:Mine")
    assert expected in problem_with("broken.py")
    assert "broken" not in sys.modules


def test_module_that_is_no_python_names_its_line(folder: Path) -> None:
    (folder / "broken.py").write_text("x = 1\ny = (\n")
    assert "SyntaxError: '(' was never closed (broken.py, line 2)" in problem_with("broken.py")


def test_module_that_lacks_another_names_that_one(folder: Path) -> None:
    (folder / "broken.py").write_text("import numpyy\n")
    assert "ModuleNotFoundError: No module named 'numpyy'" in problem_with("broken:Mine")


def test_module_that_exits_is_told(folder: Path) -> None:
    (folder / "broken.py").write_text("raise SystemExit(0)\n")
    assert "SystemExit: 0" in problem_with("broken")


def test_constructor_that_fails_names_its_line(folder: Path) -> None:
    write(folder / "mine.py", body="def __init__(self): self.x = 1 / 0\n")
    assert problem_with("mine.py") == (
        "Mine() failed: ZeroDivisionError: division by zero (mine.py, line 5)"
    )


def test_constructor_with_parameters_is_told(folder: Path) -> None:
    write(folder / "mine.py", body="def __init__(self, depth): pass\n")
    assert "missing 1 required positional argument: 'depth'" in problem_with("mine.py")


def test_player_without_its_methods_is_told(folder: Path) -> None:
    (folder / "mine.py").write_text(
        "from croupier_client import Player\nclass Mine(Player):\n    pass\n"
    )
    assert problem_with("mine.py:Mine") == "Mine has no method move and no method place"
    assert "no subclass of croupier_client.Player" in problem_with("mine.py")


def test_file_with_several_players_asks_which(folder: Path) -> None:
    write(folder / "mine.py", more=PLAYER.format(name="Yours", body=""))
    assert problem_with("mine.py") == (
        "mine.py has several players; say which: mine.py:Class with one of Mine, Yours"
    )
