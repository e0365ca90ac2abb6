"""``croupier serve --player``: programs as players, from the command line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from croupier_common.record import read_record, replay
from support.needs import require
from support.stdio import command, processes, processes_left


def serve(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "croupier_server", "serve", "--port", "0", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        cwd=folder,
    )


def player(name: str, *switches: str) -> str:
    return f"--player={name}={' '.join(map(_quoted, command(*switches)))}"


def _quoted(word: str) -> str:
    return f"'{word}'"


def config(folder: Path) -> str:
    """Settings with a program that notes its processes."""
    path = folder / "croupier.toml"
    words = ", ".join(f'"{word}"' for word in command("stubborn"))
    path.write_text(
        f'[lobby]\nmin_players = 2\nwait_ms = 60000\n[[lobby.programs]]\nname = "c"\nage = 7\n'
        f'command = [{words}]\nenv = {{ PIDS = "{folder / "c.pids"}" }}\n',
        encoding="utf-8",
    )
    return str(path)


def test_tournament_of_programs_and_of_one_that_is_bridged(tmp_path: Path) -> None:
    options = ["--max-players", "3", "--move-time", "1", "--records", "games"]
    with serve(tmp_path, player("a"), player("b", "garbage"), *options) as server:
        assert server.stdout is not None
        url = server.stdout.readline().split()[-1]
        bridge = subprocess.run(
            [
                *(sys.executable, "-m", "croupier_client", "bridge", url, "--name", "c", "--"),
                *command(),
            ],
            capture_output=True,
            timeout=40,
            check=False,
        )
        told, warned = server.communicate(timeout=40)
    assert (server.returncode, warned) == (0, "")
    assert bridge.returncode == 0, bridge.stderr
    assert "b: malformed in movement: " in told
    assert "print anything else to standard error" in told
    (game,) = (tmp_path / "games" / "1").glob("1.1.jsonl")
    with game.open("rb") as lines:
        record = read_record(lines)
    replay(record)
    assert [seat.name for seat in record.header.players] == ["a", "b", "c"]
    assert {path.name for path in (tmp_path / "games" / "1" / "logs").iterdir()} == {
        "a.log",
        "b.log",
    }


def test_program_that_does_not_answer_is_left_out_with_a_warning(tmp_path: Path) -> None:
    bad = player("bad", "exit", "start")
    with serve(tmp_path, player("a"), bad, player("b"), "--max-players", "2") as server:
        told, warned = server.communicate(timeout=40)
    assert server.returncode == 0
    assert "bad: disconnected: the program ended with exit status 7" in warned
    assert "bad" not in told


def test_program_that_is_not_there_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    with serve(tmp_path, "--player=a=./none") as server:
        out, warned = server.communicate(timeout=40)
    assert (server.returncode, out) == (2, "")
    assert warned == f"croupier: can't start ./none: no such file in {tmp_path}\n"


def test_stopped_server_ends_its_programs(tmp_path: Path) -> None:
    require("posix", os.name == "posix", "needs SIGTERM")
    with serve(tmp_path, "--config", config(tmp_path)) as server:
        assert server.stdout is not None
        assert "listening" in server.stdout.readline()
        assert processes(tmp_path)
        began = time.monotonic()
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=40)
    assert server.returncode == 128 + signal.SIGTERM
    assert time.monotonic() - began < 10
    assert processes_left(tmp_path) == []
