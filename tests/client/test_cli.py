"""``penguin``: what it says, and its exit codes."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from croupier_client import cli
from croupier_client.cli import main
from support.needs import require


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delenv("PENGUIN_TOKEN", raising=False)


def penguin(*arguments: str) -> int:
    """Run the command here, and give its exit code."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_new_writes_a_player_that_plays(tmp_path: Path) -> None:
    """As a user would, in processes of their own."""
    command = [sys.executable, "-m", "croupier_client"]
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}

    new = subprocess.run(
        [*command, "new", "pingu"], capture_output=True, text=True, check=True, env=environment
    )
    folder = tmp_path / "pingu"
    play = subprocess.run(
        [*command, "play", "my_player.py", "--against", "greedy,random", "--seed", "3"],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        check=False,
        env=environment,
    )

    assert "Try it:  penguin play" in new.stdout
    assert sorted(path.name for path in folder.glob("*.*")) == ["README.md", "my_player.py"]
    assert (play.returncode, play.stderr) == (0, "")
    assert "MyPlayer" in play.stdout
    assert "ejected" not in play.stdout


def test_new_readme_has_commands_that_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    penguin("new", "pingu")
    monkeypatch.chdir(tmp_path / "pingu")
    readme = Path("README.md").read_text(encoding="utf-8")
    commands = [line.split()[1:] for line in readme.splitlines() if "penguin play my" in line]
    assert len(commands) == 2
    for command in commands:
        if "--games" in command:
            command[command.index("--games") + 1] = "2"
        assert penguin(*command) == 0
    join = next(line.split()[1:] for line in readme.splitlines() if "penguin join" in line)
    join[1] = "ws://127.0.0.1:1"
    assert penguin(*join, "--retry", "0") == 2
    assert "no connection to ws://127.0.0.1:1" in capsys.readouterr().err


def test_new_overwrites_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pingu").mkdir()
    mine = tmp_path / "pingu" / "my_player.py"
    mine.write_text("precious")

    assert penguin("new", "pingu") == 2

    told = capsys.readouterr().err
    assert told.startswith("penguin: ")
    assert told.endswith("is there already, and is not overwritten\n")
    assert mine.read_text() == "precious"
    assert not (tmp_path / "pingu" / "README.md").exists()


def test_new_in_place_of_a_file_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pingu").write_text("")
    assert penguin("new", "pingu") == 2
    assert capsys.readouterr().err.startswith("penguin: can't write pingu: ")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nwe"], "No such command 'nwe'"),
        (["play"], "Missing argument 'TARGET'"),
        (["play", "gredy"], "no module 'gredy'"),
        (["play", "greedy", "--against", "first,first,first,first"], "5 players; a game has 2"),
        (["play", "greedy", "--against", ""], "'' is no player"),
        (["play", "greedy", "--board", "2x2"], "2 players with 4 penguins each need 8 tiles"),
        (["play", "greedy", "--board", "big"], "board 'big': it is 'classic' or like '5x5'"),
        (["play", "greedy", "--board", "99x99"], "board.rows is 99"),
        (["play", "greedy", "--board", "no.json"], "can't read no.json: No such file"),
        (["play", "greedy", "--board", "bad.json"], "bad.json is not JSON"),
        (["play", "greedy", "--board", "odd.json"], "the board has -1 at [0,0]"),
        (["play", "greedy", "--rules", "chess"], "'chess' is not one of 'fish', 'classic'"),
        (["play", "greedy", "--seed", "-1"], "-1 is not in the range"),
        (["play", "greedy", "--games", "0"], "0 is not in the range"),
        (["play", "greedy", "--sed", "1"], "No such option '--sed'"),
        (["play", "greedy", "--show", "--quiet"], "--show and --quiet exclude each other"),
        (["join", "ws://127.0.0.1:1", "greedy"], "Missing option '--name'"),
        (["join", "http://127.0.0.1:1", "greedy", "--name", "a"], "bad URL 'http://127.0.0.1:1'"),
        (["join", "ws://127.0.0.1:1", "gredy", "--name", "a"], "no module 'gredy'"),
        (["join", "ws://127.0.0.1:1", "greedy", "--name", "a" * 33], "name: String should have"),
        (["join", "ws://127.0.0.1:1", "greedy", "--name", ""], "name: String should have at lea"),
        (["join", "ws://127.0.0.1:1", "greedy", "--name", "a\nb"], "can't be printed"),
        (["join", "ws://127.0.0.1:1", "greedy", "--name", "a", "--age", "x"], "--age"),
        (["join", "ws://127.0.0.1:1", "greedy", "--name", "a", "--max-games", "0"], "--max-games"),
        (["join", "ws://127.0.0.1:1", "greedy", "--name", "a", "--retry", "-1"], "--retry"),
        (["join", "ws://127.0.0.1:1", "greedy", "--name", "a", "--retry", "0"], "no connection"),
        (["join", "ws://127.0.0.1:1", "greedy", "--name", "a", "--retry", "nan"], "'nan'"),
        (["join", "ws://..:1", "greedy", "--name", "a"], "bad URL 'ws://..:1'"),
        (["bridge", "ws://127.0.0.1:1", "--name", "a"], "Missing argument 'COMMAND...'"),
        (["bridge", "ws://127.0.0.1:1", "--name", "a", "p", "--depth", "3"], "option '--depth'"),
        (["bridge", "http://127.0.0.1:1", "--name", "a", "--", "p"], "bad URL"),
        (["bridge", "ws://127.0.0.1:1", "--name", "a\nb", "--", "p"], "can't be printed"),
        (["bridge", "ws://127.0.0.1:1", "--name", "a", "--", "./none"], "can't start ./none"),
        (["bridge", "ws://127.0.0.1:1", "--name", "a", "--log", "no/log", "--", "p"], "no/log"),
    ],
)
def test_mistake_is_one_line_and_exit_code_2(
    arguments: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.json").write_text("[[1,")
    (tmp_path / "odd.json").write_text("[[-1]]")

    assert penguin(*arguments) == 2

    captured = capsys.readouterr()
    assert captured.out == ""
    assert told in captured.err
    assert captured.err.count("\n") == 1


def test_play_shows_moves_and_board(capsys: pytest.CaptureFixture[str]) -> None:
    assert penguin("play", "greedy", "--against", "first", "--seed", "4") == 0
    shown = capsys.readouterr().out
    assert shown.startswith("game 4 (--seed 4), board 5x5: greedy (red), first (white)\n")
    assert "___" in shown
    assert "1. greedy" in shown
    assert "\x1b" not in shown


def test_play_quietly_shows_the_result_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert penguin("play", "greedy", "-q", "-a", "first,random", "--rules", "classic") == 0
    assert capsys.readouterr().out.count("\n") == 1


def test_play_takes_a_board_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "b.json").write_text("[[1, 2, 3], [0, 4, 2], [1, 1, 1], [2, 2]]")
    assert penguin("play", "greedy", "--board", "b.json") == 0
    assert "board 4x3" in capsys.readouterr().out
    (tmp_path / "b.json").write_text('{"rows": 3, "columns": 8, "holes": 2}')
    assert penguin("play", "greedy", "--board", "b.json") == 0
    assert "board 3x8" in capsys.readouterr().out


def test_play_of_a_player_that_is_ejected_has_exit_code_3(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert penguin("play", "rogue:crash", "--seed", "1", "--games", "2") == 3
    assert "error_reply (placement): ZeroDivisionError" in capsys.readouterr().out
    assert penguin("play", "greedy", "-a", "rogue:crash", "--seed", "1") == 0


def test_play_interrupted_has_exit_code_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_arguments: object, **_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("croupier_client.local.Match.play", interrupt)
    assert penguin("play", "greedy") == 130
    assert capsys.readouterr().err.strip() == "interrupted"


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert penguin("--version") == 0
    assert capsys.readouterr().out.startswith("penguin, version ")
    for command in ("new", "play", "join"):
        assert penguin(command, "--help") == 0
        assert command in capsys.readouterr().out
    assert penguin() == 2
    assert "Commands:" in capsys.readouterr().err


def test_help_imports_neither_game_nor_network() -> None:
    code = (
        "import sys; from croupier_client.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'croupier_common', 'pydantic', 'websockets', 'asyncio', 'rich'}\n"
        "sys.exit(' '.join(sorted(heavy & set(sys.modules))) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_output_that_nobody_reads_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object, **_options: object) -> None:
        raise BrokenPipeError

    class Out(io.StringIO):
        def fileno(self) -> int:
            raise OSError

    monkeypatch.setattr(sys, "stdout", Out())
    monkeypatch.setattr(cli.penguin, "main", fail)
    assert penguin("play", "greedy") == 1


def test_join_interrupted_ends_without_a_traceback(tmp_path: Path) -> None:
    require("posix", os.name == "posix", "needs SIGINT")
    arguments = ["join", "ws://127.0.0.1:1", "greedy", "--name", "Pingu"]
    process = subprocess.Popen(
        [sys.executable, "-m", "croupier_client", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stderr is not None
        assert "trying for 30 s more" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        assert process.stderr.read().strip() == "interrupted"


@pytest.mark.parametrize("options", [[], ["--port", "0"]])
def test_check_of_a_program_that_is_none_is_one_clear_line(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert penguin("check", *options, "--", "./there-is-none") == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == "penguin: can't start ./there-is-none: no such file\n"
