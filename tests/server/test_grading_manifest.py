"""What a submission says of itself: a player.toml that may be wrong, or a player that is found."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from croupier_server.errors import BadSubmission
from croupier_server.grading.manifest import Manifest, has_player, read_manifest

KIT = ("python3", "-s", "-P", "-m", "croupier_client", "stdio")
PLAYER = "from croupier_client import Player\nclass Mine(Player):\n    pass\n"


def manifest(folder: Path, files: Mapping[str, str | bytes]) -> Manifest:
    for name, content in files.items():
        path = folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_manifest(folder)


def problem(folder: Path, files: Mapping[str, str | bytes]) -> str:
    with pytest.raises(BadSubmission) as refused:
        manifest(folder, files)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_player_toml_is_read(tmp_path: Path) -> None:
    told = (
        'name = "Pingu"\ncommand = "java -cp \'my classes\' Player"\ntransport = "websocket"\n'
        'build = ["make clean", ["javac", "My Player.java"]]\n'
    )
    assert manifest(tmp_path, {"player.toml": told}) == Manifest(
        name="Pingu",
        command=("java", "-cp", "my classes", "Player"),
        transport="websocket",
        build=(("make", "clean"), ("javac", "My Player.java")),
    )


def test_least_player_toml_from_windows_is_read(tmp_path: Path) -> None:
    told = b'\xef\xbb\xbfname = "Pingu"\r\ncommand = ["./player"]\r\n'
    assert manifest(tmp_path, {"player.toml": told}) == Manifest("Pingu", ("./player",))


GOOD = 'name = "Pingu"\ncommand = "./player"\n'

WRONG = {
    'name = "Pingu"': "command is text, or a list of texts",
    'command = "x"': 'a name is wanted, as name = "Pingu"',
    'name = 7\ncommand = "x"': 'a name is wanted, as name = "Pingu", not 7',
    'name = " x"\ncommand = "x"': "a name has 1 to 32 printable characters",
    f'name = "{"x" * 33}"\ncommand = "x"': "a name has 1 to 32 printable characters",
    'name = "x"\ncommand = ""': "names no program",
    'name = "x"\ncommand = []': "names no program",
    'name = "x"\ncommand = "a \'b"': "No closing quotation",
    'name = "x"\ncommand = ["a", 1]': 'as "java Player" or ["java", "Player"], not',
    'name = "x"\ncommand = "a\\u0000b"': "names no program",
    f'{GOOD}transport = "tcp"': 'transport is "stdio" or "websocket", not \'tcp\'',
    f"{GOOD}transport = true": 'transport is "stdio" or "websocket", not True',
    f"{GOOD}transport = []": 'transport is "stdio" or "websocket", not []',
    f"{GOOD}build = 1": "build is a command, or a list of commands, not 1",
    f"{GOOD}build = [1]": "build is text, or a list of texts",
    f"{GOOD}compile = 1": "no key 'compile'; there are name, command, transport, build",
    'name = "x"\ncommand = "a {url}"': 'command has {url}, which needs transport = "websocket"',
    "name = Pingu": "it is no TOML",
    f"{GOOD}x = {'[' * 8_000}": "it is no TOML",
    f"{GOOD}# {'x' * 70_000}": "it has more than 8192 bytes",
    f"name = {'1' * 5_000}": "it is no TOML: Exceeds the limit (4300 digits)",
    f"{GOOD}build = 0x{'f' * 6_000}": "build is a command, or a list of commands",
}


@pytest.mark.parametrize("told", WRONG, ids=range(len(WRONG)))
def test_wrong_player_toml_is_told_with_what_is_allowed(told: str, tmp_path: Path) -> None:
    found = problem(tmp_path, {"player.toml": told})
    assert found.startswith("player.toml: ")
    assert WRONG[told] in found


def test_player_toml_in_another_encoding_is_told(tmp_path: Path) -> None:
    assert "not UTF-8" in problem(tmp_path, {"player.toml": GOOD.encode("utf-16")})


def test_player_toml_with_a_hidden_ending_is_told(tmp_path: Path) -> None:
    found = problem(tmp_path, {"player.toml.txt": GOOD})
    assert found == "player.toml.txt: its name should be player.toml"


@pytest.mark.parametrize(
    "code",
    [
        PLAYER,
        "import croupier_client\nclass Mine(croupier_client.Player): pass",
        "import croupier_client as kit\nclass Mine(kit.Player): pass",
        "from croupier_client.player import Player as P\nclass Mine(object, P): pass",
        "from croupier_client import *\nclass Mine(Player): pass",
        "try:\n    from croupier_client import Player\nfinally: pass\nclass Mine(Player): pass",
    ],
    ids=range(6),
)
def test_player_of_the_kit_is_found(code: str, tmp_path: Path) -> None:
    found = manifest(tmp_path, {"mine.py": code, "helper.py": "x = '\\d'"})
    assert found == Manifest("Mine", (*KIT, "mine.py"), is_kit=True)


def test_code_is_never_run(tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    manifest(tmp_path, {"mine.py": f"open({str(trap)!r}, 'w')\n{PLAYER}"})
    assert not trap.exists()
    assert "mine" not in sys.modules


def test_player_that_others_are_made_of_does_not_play(tmp_path: Path) -> None:
    code = f"{PLAYER}class Better(Mine): pass\n"
    assert manifest(tmp_path, {"-x.py": code}).command == (*KIT, "./-x.py:Better")


def test_several_players_are_told(tmp_path: Path) -> None:
    other = "from croupier_client import Player\nclass Other(Player): pass"
    found = problem(tmp_path, {"a.py": PLAYER, "b.py": other})
    assert (
        found
        == "several players: Mine in a.py, Other in b.py; say which one plays in a player.toml"
    )


ELIFS = "elif 0: pass\n" * 5_000
BROKEN = {
    "syntax": ("from croupier_client import Player\nclass Mine(Player)\n", "line 2: expected ':'"),
    "zero-byte": (f"{PLAYER}\0", "null bytes"),
    "deep": (f"{PLAYER}x = {'-' * 90_000}1\n", "a.py: it is no Python"),
    "brackets": (f"{PLAYER}x = {'(' * 5_000}\n", "a.py: it is no Python"),
    "elif": (f"{PLAYER}if 0: pass\n{ELIFS}", "a.py: it is no Python"),
    "deep-base": (f"{PLAYER}class Y(a{'.b' * 800}): pass", "a.py: it is no Python"),
    "large": (f"{PLAYER}#{'x' * (1 << 18)}", "a.py: more than 262144 bytes"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_broken_player_is_taken_for_one_and_told(kind: str, tmp_path: Path) -> None:
    code, told = BROKEN[kind]
    found = problem(tmp_path, {"a.py": code})
    assert found.startswith("a.py: ")
    assert told in found
    assert has_player(tmp_path)


def test_code_that_is_a_player_in_appearance_only_is_none(tmp_path: Path) -> None:
    code = "# croupier_client\nclass Player: pass\nclass Mine(Player): pass"
    found = problem(tmp_path, {"a.py": code, "b.txt": ""})
    assert found == (
        "no player in it: a player.toml, or a Python file with a subclass of "
        "croupier_client.Player is wanted, and there is a.py, b.txt"
    )
    assert not has_player(tmp_path)
