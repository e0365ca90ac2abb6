"""The commands as a user runs them: real processes, their output and exit codes."""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

from croupier_server.serving import address_to_join
from croupier_server.settings import load_settings
from support.needs import require

PATIENCE_S = 40
SLOW_BOARD = "14x12,fish=1-5"
"""A board on which the demo's searching players take their time."""


def run(
    program: str, *args: str, cwd: Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", program, *args],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=PATIENCE_S,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        check=False,
    )


def croupier(*args: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return run("croupier_server", *args, cwd=cwd)


def penguin(*args: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return run("croupier_client", *args, cwd=cwd)


@contextmanager
def started(*command: str, cwd: Path | None = None) -> Generator[subprocess.Popen[str]]:
    """A program in a process group of its own, which is gone afterwards."""
    process = subprocess.Popen(
        [sys.executable, "-m", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        cwd=cwd,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(PATIENCE_S)
        if process.stdout is not None:
            process.stdout.close()


def wait_for(process: subprocess.Popen[str], text: str) -> str:
    """The first line of output that has a text in it."""
    assert process.stdout is not None
    for line in process.stdout:
        if text in line:
            return line.strip()
    raise AssertionError(f"the program ended without saying {text!r}")


def verified(folder: Path) -> Sequence[str]:
    """The lines of `croupier verify`, which must be content."""
    done = croupier("verify", str(folder))
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


@pytest.mark.timeout(120)
def test_demo_twice_with_one_seed_gives_the_same_games(tmp_path: Path) -> None:
    for at_once in ("1", "8"):
        done = croupier(
            "demo", "--seed", "5", "--games-at-once", at_once, "--records", "games", cwd=tmp_path
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "Standings" in done.stdout
        assert "eve: illegal_action in movement" in done.stdout
        assert "all verified" in done.stdout
    same = croupier("verify", "--same", "games/1", "games/2", cwd=tmp_path)
    assert (same.returncode, same.stdout.split(":")[0]) == (0, "the same")


@pytest.mark.timeout(120)
def test_demo_keeps_to_itself_and_tells_how_to_have_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("STORAGE__URL", "postgresql://127.0.0.1:1/live"), ("LOBBY__ROSTER", "no")):
        monkeypatch.setenv(f"CROUPIER_{name}", value)
    monkeypatch.setenv("CROUPIER_RUN", "python3 run.py")
    done = croupier("demo", "--players", "3", "--board", "4x4,fish=2", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["demo-records"]
    again = done.stdout.splitlines()[-1].partition("moves: python3 run.py croupier ")[2].split()
    assert croupier(*again, cwd=tmp_path).returncode == 0
    same = croupier("verify", "--same", "demo-records/1", "demo-records/2", cwd=tmp_path)
    assert same.returncode == 0, same.stdout


def test_demo_that_is_wrong_leaves_nothing(tmp_path: Path) -> None:
    assert croupier("demo", "--board", "1x1", cwd=tmp_path).returncode == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.timeout(120)
def test_demo_in_a_terminal_writes_nothing_into_its_living_line(tmp_path: Path) -> None:
    require("posix", os.name == "posix", "pseudo-terminals")
    told = _in_terminal("demo", "--players", "2", "--board", "3x4", cwd=tmp_path)
    assert "waiting for the players" in told
    line = next(line for line in told.replace("\r", "\n").split("\n") if "Standings" in line)
    assert line.removeprefix("\x1b[2K") == "Standings"


def _in_terminal(*args: str, cwd: Path) -> str:
    """What a command writes to a terminal of its own."""
    import pty

    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "croupier_server", *args]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=cwd) as process:
        os.close(theirs)
        told = b""
        try:
            while some := os.read(ours, 65_536):
                told += some
        except OSError:  # how Linux says that nobody has the other end any more
            pass
        finally:
            os.close(ours)
        assert process.wait(PATIENCE_S) == 0
    return told.decode()


@pytest.mark.timeout(120)
def test_demo_with_another_seed_gives_other_games(tmp_path: Path) -> None:
    for seed in ("1", "2"):
        assert croupier("demo", "--players", "2", "--seed", seed, cwd=tmp_path).returncode == 0
    same = croupier("verify", "--same", "demo-records/1", "demo-records/2", cwd=tmp_path)
    assert (same.returncode, "different" in same.stdout) == (1, True)


@pytest.mark.timeout(120)
def test_demo_plays_the_classic_game(tmp_path: Path) -> None:
    done = croupier("demo", "--players", "3", "--rules", "classic", "--seed", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    shown = croupier("show", "demo-records/1/1.1.jsonl", cwd=tmp_path)
    assert shown.returncode == 0
    assert "the end: " in shown.stdout


@pytest.mark.timeout(120)
@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_signal_in_mid_tournament_leaves_whole_records_and_no_process(
    signum: signal.Signals, tmp_path: Path
) -> None:
    require("posix", os.name == "posix", "signals are sent to process groups")
    command = ("demo", "--board", SLOW_BOARD, "--move-time", "20", "--records", str(tmp_path))
    with started("croupier_server", *command) as process:
        wait_for(process, "round 1")
        _first_events(tmp_path / "1")
        process.send_signal(signum)
        assert process.wait(PATIENCE_S) == 128 + signum
        with pytest.raises(ProcessLookupError):
            os.killpg(process.pid, 0)
    told = verified(tmp_path / "1")
    assert sum("interrupted" in line for line in told) == 2
    assert not (tmp_path / "1" / "tournament.json").exists()


def _first_events(folder: Path) -> None:
    """Wait until both games of the first round have been played for some events."""
    import time

    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        with closing(sqlite3.connect(folder / "croupier.db")) as database:
            games = database.execute("SELECT count(*) FROM journal GROUP BY game_id").fetchall()
        if len(games) == 2 and min(games) > (3,):
            return
        time.sleep(0.02)
    raise AssertionError(f"no games under way in {folder}")


@pytest.mark.timeout(120)
def test_tournament_from_the_command_line(tmp_path: Path) -> None:
    config = tmp_path / "croupier.toml"
    config.write_text(
        '[lobby]\nmin_players = 3\nmax_players = 3\n[tournament]\nname = "friday"\nseed = 4\n'
        '[records]\nfolder = "games"\n[game.board]\nrows = 6\ncolumns = 4\nfish = [1, 3]\n',
        encoding="utf-8",
    )
    assert penguin("new", "mine", cwd=tmp_path).returncode == 0
    with started(
        "croupier_server", "serve", "--config", str(config), "--port", "0", cwd=tmp_path
    ) as server:
        url = wait_for(server, "listening on").split()[-1]
        join = ("croupier_client", "join", url)
        with (
            started(*join, "my_player.py", "--name", "me", cwd=tmp_path / "mine") as me,
            started(*join, "greedy", "--name", "greedy", cwd=tmp_path) as greedy,
            started(*join, "rogue:vanish", "--name", "rogue", cwd=tmp_path),
        ):
            assert me.wait(PATIENCE_S) == 0
            assert greedy.wait(PATIENCE_S) == 0
        assert server.stdout is not None
        told = server.stdout.read()
        assert server.wait(PATIENCE_S) == 0
    assert "rogue: disconnected" in told
    assert "won by" in verified(tmp_path / "games")[0]


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["serve", "--port", "99999"], "server.port"),
        (["serve", "--board", "2x2"], "need 8 tiles, and the board has 4"),
        (["serve", "--board", "five"], "'5x5'"),
        (["serve", "--rules", "chess"], "fish, classic"),
        (["serve", "--config", "none.toml"], "none.toml: No such file"),
        (["serve", "--bogus"], "--bogus"),
        (["serve", "--host", ""], "server.host"),
        (["serve", "--wait", "nan"], "'--wait': 'nan'"),
        (["serve", "--move-time", "inf"], "'--move-time': 'inf'"),
        (["serve", "--data", "a-file"], "a-file: a file, and no directory"),
        (["demo", "--move-time", "nan"], "'--move-time': 'nan'"),
        (["token", "Ada", "Ben", "Ada"], "'Ada' is there twice"),
        (["operator-token", "--data", "a-file"], "a-file/operator.token: "),
        (["check", "ws://here:99999"], "'ws://here:99999'"),
        (["load", "ws://..:1"], "'ws://..:1'"),
        (["serve", "--min-players", "9", "--max-players", "3"], "more than max_players"),
        (["serve", "--host", "203.0.113.1", "--port", "0"], "can't listen on 203.0.113.1"),
        (["demo", "--players", "1"], "--players"),
        (["demo", "--records", "a-file"], "a-file"),
        (["verify", "none.jsonl"], "none.jsonl"),
        (["verify", "--same", "a-file"], "two files or two folders"),
        (["verify", "."], "no records"),
        (["show", "none.jsonl"], "none.jsonl"),
        (["dance"], "dance"),
    ],
)
def test_mistake_gives_one_clear_line_and_exit_code_2(
    command: list[str], told: str, tmp_path: Path
) -> None:
    (tmp_path / "a-file").write_text("x", encoding="utf-8")
    done = croupier(*command, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def test_mistakes_in_a_settings_file_name_file_and_setting(tmp_path: Path) -> None:
    for text, told in (
        ("[lobby]\nminimum = 3\n", "no setting lobby.minimum; there are min_players"),
        ("[lobbi]\n", "no setting lobbi; there are server, lobby"),
        ("[clocks]\nmove_ms = 0\n", "clocks.move_ms"),
        ("[clocks]\nmove_ms = 'soon'\n", "clocks.move_ms"),
        ("[game.rules]\nlift = 'always'\n", "rules.lift is 'always'; it can be 'never'"),
        ("[game.board]\nrows = 99\n", "board.rows is 99"),
        ("[game.board]\nrows = 5\nhole = 3\n", "no field 'hole' in board"),
        ("not toml", "not TOML"),
    ):
        (tmp_path / "c.toml").write_text(text, encoding="utf-8")
        done = croupier("serve", "--config", "c.toml", cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr.startswith("croupier: c.toml: ")
        assert told in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_port_in_use_says_so(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = croupier("serve", "--port", port, cwd=tmp_path)
    assert done.returncode == 2
    assert f"can't listen on 127.0.0.1 port {port}" in done.stderr
    assert "in use" in done.stderr


@pytest.mark.timeout(120)
def test_demo_started_without_output_plays_all_the_same(tmp_path: Path) -> None:
    require("posix", os.name == "posix", "a shell closes the stream")
    command = f'"{sys.executable}" -m croupier_server demo --players 2 --board 3x4 >&- 2>&- <&-'
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0
    assert (tmp_path / "demo-records" / "1" / "1.1.jsonl").exists()


@pytest.mark.parametrize(
    ("host", "told"), [("::1", "ws://[::1]:80"), ("::", "ws://[::]:80"), ("here", "ws://here:80")]
)
def test_address_that_is_told_is_the_one_to_join(host: str, told: str) -> None:
    settings = load_settings(None, {"server": {"host": host}}, reads_environment=False)
    assert address_to_join(settings, 80) == told


@pytest.mark.timeout(120)
def test_record_with_one_changed_digit_is_refused_with_its_line_named(tmp_path: Path) -> None:
    assert croupier("demo", "--players", "2", "--seed", "1", cwd=tmp_path).returncode == 0
    file = tmp_path / "demo-records" / "1" / "1.1.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if '"kind":"move"' in line)
    changed = lines[at].replace('"from":[', '"from":[1', 1)
    file.write_text("".join([*lines[:at], changed, *lines[at + 1 :]]), encoding="utf-8")
    done = croupier("verify", str(file))
    assert done.returncode == 1
    assert f"DAMAGED, line {at + 1}:" in done.stdout
    shown = croupier("show", str(file))
    assert shown.returncode == 1
    assert f"line {at + 1}:" in shown.stderr


def test_output_cut_short_by_its_reader_is_no_error(tmp_path: Path) -> None:
    require("posix", os.name == "posix", "a closed pipe raises a signal only there")
    assert croupier("demo", "--players", "2", "--seed", "1", cwd=tmp_path).returncode == 0
    file = tmp_path / "demo-records" / "1" / "1.1.jsonl"
    with started("croupier_server", "show", str(file)) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(PATIENCE_S) in {0, 141}


@pytest.mark.timeout(120)
def test_zoo_against_a_server_of_ones_own(tmp_path: Path) -> None:
    serve = ("croupier_server", "serve", "--port", "0", "--wait", "1.5", "--move-time", "0.5")
    with started(*serve, "--data", "", "--records", str(tmp_path)) as server:
        url = wait_for(server, "listening on").split()[-1]
        only = [f"--only={name}" for name in ("illegal-huge", "nan", "two-replies", "hangs-up")]
        done = croupier("check", url, "--honest", "2", *only)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 of 6 ended as they should" in done.stdout


@pytest.mark.timeout(120)
def test_demo_is_shown_in_the_browser_until_it_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require("posix", os.name == "posix", "signals are sent to processes")
    monkeypatch.setenv("BROWSER", "true")  # which does nothing
    command = ("demo", "--web", "--players", "2", "--board", "3x4")
    with started("croupier_server", *command, cwd=tmp_path) as process:
        url = wait_for(process, "watch it on").split()[-1]
        wait_for(process, "step through any game on the pages")
        game = url.partition("/live")[0] + "/g/1.1"
        with urlopen(game, timeout=PATIENCE_S) as page:
            assert "The game is over" in page.read().decode()
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0
    assert len(verified(tmp_path / "demo-records" / "1")) >= 1
