"""Tournaments from the command line, as an instructor runs them: real processes."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from croupier_server.commands import sheets
from croupier_server.commands.places import Place
from croupier_server.commands.status import to_json
from croupier_server.commands.view import View
from support.needs import require

PATIENCE_S = 40

GAMES = 6
"""The column of a table that has the games."""

HOUSE = """
[lobby]
house = [{house}]
min_players = {players}
max_players = {players}
[tournament]
name = "{name}"
format = "round-robin"
games_at_once = 1
seed = 3
[game]
board = "8x8,fish=1-5"
"""

Done = subprocess.CompletedProcess[str]


def croupier(*args: str, cwd: Path) -> Done:
    return subprocess.run(
        [sys.executable, "-m", "croupier_server", *args],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=PATIENCE_S,
        cwd=cwd,
        env=environment(),
        check=False,
    )


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("CROUPIER_")}


def done(*args: str, cwd: Path) -> str:
    """The output of a command that must succeed."""
    found = croupier(*args, cwd=cwd)
    assert found.returncode == 0, found.stdout + found.stderr
    assert "Traceback" not in found.stderr
    return found.stdout


def refused(*args: str, cwd: Path) -> str:
    """The one line of a command that must be refused."""
    found = croupier(*args, cwd=cwd)
    assert (found.returncode, found.stdout) == (2, ""), found.stdout + found.stderr
    assert len(found.stderr.splitlines()) == 1
    return found.stderr


@contextmanager
def started(
    *args: str, cwd: Path, module: str = "croupier_server"
) -> Generator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", module, *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        cwd=cwd,
        env=environment(),
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(PATIENCE_S)
        if process.stdout is not None:
            process.stdout.close()


def together(*commands: Sequence[str], cwd: Path) -> list[tuple[int, str]]:
    """The exit codes and outputs of commands that run at the same time."""
    with ExitStack() as stack:
        running = [stack.enter_context(started(*command, cwd=cwd)) for command in commands]
        told = [process.communicate(timeout=PATIENCE_S)[0] for process in running]
        return [(process.returncode, text) for process, text in zip(running, told, strict=True)]


def wait_for(process: subprocess.Popen[str], text: str) -> str:
    assert process.stdout is not None
    told = ""
    for line in process.stdout:
        told += line
        if text in line:
            return line.strip()
    raise AssertionError(f"the program ended without saying {text!r}: {told}")


def tournament(folder: Path, players: int, name: str = "slow") -> Path:
    """A file for a tournament of house players, which all play alike."""
    house = ", ".join(f'"p{at}=greedy"' for at in range(players))
    file = folder / f"{name}.toml"
    file.write_text(HOUSE.format(house=house, players=players, name=name), encoding="utf-8")
    return file


def status(cwd: Path, name: str = "slow") -> dict[str, Any]:
    """What `croupier status --json` would tell, without the time that a process takes to start."""
    place = Place.given(str(cwd / "croupier-data"), None)
    row = place.tournament(name)
    view = place.read(lambda connection: View.of(connection, row))
    return {**to_json(view), "server": place.server()}


def table(cwd: Path, name: str = "slow") -> list[Sequence[Any]]:
    """The rows of `croupier standings --csv`, likewise."""
    place = Place.given(str(cwd / "croupier-data"), None)
    row = place.tournament(name)
    return list(sheets.standings(place.read(lambda connection: View.of(connection, row))))


def until(asked: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not asked():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def csv_rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


@pytest.mark.timeout(120)
def test_course_tournament_from_roster_to_csv(tmp_path: Path) -> None:
    lines = done("token", "Ada", "Ben", "=1+1", cwd=tmp_path).splitlines()
    tokens = dict(line.split("\t") for line in lines)
    done("new", "friday.toml", "--format", "round-robin", cwd=tmp_path)
    file = tmp_path / "friday.toml"
    text = file.read_text(encoding="utf-8").replace('# roster = "', 'roster = "')
    text = text.replace('house = ["greedy", "minimax-1=minimax:1"]', 'house = ["greedy"]')
    text = text.replace("min_players = 2", "min_players = 4").replace(
        "max_players = 64", "max_players = 4"
    )
    file.write_text(text, encoding="utf-8")
    told = done("plan", "friday.toml", cwd=tmp_path)
    assert "4 players" in told
    assert "3 rounds, 12 games" in told
    with started("run", "friday.toml", "--port", "0", cwd=tmp_path) as server:
        url = wait_for(server, "listening on").split()[-1]
        with ExitStack() as players:
            for name, token in tokens.items():
                join = ("join", url, "greedy", f"--name={name}", f"--token={token}")
                players.enter_context(started(*join, cwd=tmp_path, module="croupier_client"))
            told = server.communicate(timeout=PATIENCE_S)[0]
    assert (server.returncode, "Standings" in told) == (0, True), told
    rows = csv_rows(done("standings", "--csv", cwd=tmp_path))
    assert {row["name"] for row in rows} == {"Ada", "Ben", "'=1+1", "greedy"}
    assert {row["games"] for row in rows} == {"6"}
    assert "friday.zip: 6 tables, 12 records, finished" in done("export", cwd=tmp_path)
    assert "12 of 12 records hold" in done("verify", "friday.zip", cwd=tmp_path)
    with zipfile.ZipFile(tmp_path / "friday.zip") as archive:
        results = csv_rows(archive.read("results.csv").decode())
        assert len(results) == 24
        assert {row["name"] for row in results} == {"Ada", "Ben", "'=1+1", "greedy"}
    assert "friday is over" in refused("pause", cwd=tmp_path)


@pytest.mark.timeout(120)
def test_orders_to_a_running_server(tmp_path: Path) -> None:
    tournament(tmp_path, 30)
    with started("run", "slow.toml", "--port", "0", cwd=tmp_path) as server:
        wait_for(server, "game ")
        assert done("pause", cwd=tmp_path) == "slow: done\n"
        found = status(tmp_path)
        assert (found["status"], found["server"]) == ("paused", server.pid)
        until(lambda: status(tmp_path)["games"]["running"] == 0)
        done("export", "--out", "now.zip", cwd=tmp_path)
        with zipfile.ZipFile(tmp_path / "now.zip") as archive:
            game = csv_rows(archive.read("results.csv").decode())[0]["game"]
        obeyed = together(
            ["withdraw", "p3", "slow"],
            ["disqualify", "p4", "--reason", "cheats"],
            ["void", game, "--reason", "wrong board"],
            cwd=tmp_path,
        )
        assert obeyed == [(0, "slow: done\n")] * 3
        [replayed, gone, unknown, second] = together(
            ["replay", game, "slow", "--reason", "x"],
            ["withdraw", "p3"],
            ["void", "99.9", "--reason", "x"],
            ["run", "slow.toml", "--port", "0"],
            cwd=tmp_path,
        )
        assert replayed == (0, "slow: done; it is played again\n")
        assert gone == (2, "croupier: slow: refused: p3 is out already: withdrawn\n")
        assert unknown == (2, "croupier: slow: refused: no game 99.9\n")
        assert (second[0], f"another croupier server (process {server.pid})" in second[1]) == (
            2,
            True,
        )
        assert done("resume", cwd=tmp_path) == "slow: done\n"
        before = status(tmp_path)["games"]["finished"]
        until(lambda: status(tmp_path)["games"]["finished"] > before)
        assert done("stop", cwd=tmp_path) == "slow: done\n"
        told = server.communicate(timeout=PATIENCE_S)[0]
    assert server.returncode == 0, told
    assert "stopped by the operator; the same command goes on" in told
    found = status(tmp_path)
    assert (found["status"], found["server"]) == ("running", None)
    out = {one["name"]: one["reason"] for one in found["players"] if not one["in"]}
    assert {name: why["verdict"] for name, why in out.items()} == {
        "p3": "withdrawn",
        "p4": "disqualified",
    }
    assert out["p4"]["detail"] == "cheats"
    assert len(found["orders"]) == 9
    assert all(order["outcome"] for order in found["orders"])


@pytest.mark.timeout(120)
def test_orders_wait_for_a_server_where_there_is_none(tmp_path: Path) -> None:
    require("posix", os.name == "posix", "a signal that a program can answer to")
    tournament(tmp_path, 30)
    with started("run", "slow.toml", "--port", "0", cwd=tmp_path) as server:
        wait_for(server, "game 1.1.1")
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=PATIENCE_S)
    assert server.returncode == 128 + signal.SIGTERM
    given: Sequence[Sequence[str]] = (
        ("withdraw", "p3"),
        ("disqualify", "p4", "--reason", "cheats"),
        ("void", "1.1.1", "--reason", "x"),
        ("pause",),
    )
    for code, told in together(*given, cwd=tmp_path):  # each waits for an answer for a while
        assert code == 0, told
        assert "no server plays it now; the order is carried out when it goes on" in told
    with started("withdraw", "p5", cwd=tmp_path) as impatient:
        until(lambda: len(status(tmp_path)["orders"]) == 5)
        impatient.send_signal(signal.SIGINT)
        assert "Traceback" not in impatient.communicate(timeout=PATIENCE_S)[0]
        assert impatient.returncode == 130
    with started("run", "slow.toml", "--port", "0", cwd=tmp_path) as server:
        until(lambda: all(order["outcome"] for order in status(tmp_path)["orders"]))
        server.send_signal(signal.SIGINT)
        told = server.communicate(timeout=PATIENCE_S)[0]
    assert server.returncode == 128 + signal.SIGINT
    assert "Traceback" not in told
    found = status(tmp_path)
    assert found["status"] == "paused"
    assert {one["name"] for one in found["players"] if not one["in"]} == {"p3", "p4", "p5"}


@pytest.mark.timeout(120)
def test_interrupted_run_goes_on_and_a_game_is_replayed_after_the_end(tmp_path: Path) -> None:
    require("posix", os.name == "posix", "a signal that a program can answer to")
    tournament(tmp_path, 4)
    run = ("run", "slow.toml", "--port", "0")
    with started(*run, cwd=tmp_path) as server:
        wait_for(server, "game 1.1.1")
        server.kill()
        server.wait(PATIENCE_S)
    assert "Standings" in done(*run, cwd=tmp_path)
    first = table(tmp_path)
    assert [row[GAMES] for row in first] == ["games", 6, 6, 6, 6]
    assert "tournament slow is over" in refused(*run, cwd=tmp_path)
    told = done("replay", "1.1.1", "--reason", "network", cwd=tmp_path)
    assert told == "slow: done; it is played again: croupier run FILE\n"
    assert status(tmp_path)["games"]["open"] == 1
    assert "game 1.1.1:" in done(*run, cwd=tmp_path)
    assert table(tmp_path) == first  # the same board and the same players: the same result
    done("void", "1.1.1", "--reason", "after all", cwd=tmp_path)
    assert sorted(row[GAMES] for row in table(tmp_path)[1:]) == [5, 5, 6, 6]


@pytest.mark.timeout(120)
def test_several_tournaments_are_told_apart_by_name(tmp_path: Path) -> None:
    tournament(tmp_path, 3, "one")
    tournament(tmp_path, 2, "two")
    told = done("run", "one.toml", "two.toml", "--port", "0", cwd=tmp_path)
    assert told.count("Standings") == 2
    assert "which tournament? Give its name; there are two, one" in refused(
        "standings", cwd=tmp_path
    )
    assert len(table(tmp_path, "two")) == 3
    told = done("status", "--json", cwd=tmp_path)
    assert [one["name"] for one in json.loads(told)] == ["one", "two"]
    assert "is that of one.toml too" in refused("run", "one.toml", "one.toml", cwd=tmp_path)


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["run", "none.toml"], "none.toml: No such file"),
        (["run", "bad.toml"], "bad.toml: no setting tournament.fromat; there are name, format"),
        (["export", "--out", "x.zip"], "no croupier.db here"),
        (["void", "1.1"], "--reason"),
        (["new", "bad.toml"], "bad.toml: it is there already"),
    ],
)
def test_mistake_gives_one_clear_line_and_changes_nothing(
    command: list[str], told: str, tmp_path: Path
) -> None:
    (tmp_path / "bad.toml").write_text('[tournament]\nfromat = "swiss"\n', encoding="utf-8")
    assert told in refused(*command, cwd=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["bad.toml"]


def test_bar_and_table_on_a_narrow_terminal(tmp_path: Path) -> None:
    require("posix", os.name == "posix", "a terminal that a program can be given")
    tournament(tmp_path, 3)
    told = _on_terminal(40, "run", "slow.toml", "--port", "0", cwd=tmp_path)
    assert "round 3" in told
    assert "Standings" in told
    assert "game 1.1.1:" not in told  # the bar tells it
    shown = _on_terminal(40, "standings", cwd=tmp_path)
    assert "place" in shown
    assert "points" in shown


def _on_terminal(width: int, *args: str, cwd: Path) -> str:
    """What a command shows on a terminal of that width."""
    import pty

    ours, its = pty.openpty()
    with os.fdopen(ours, "rb", buffering=0) as screen:
        process = subprocess.Popen(
            [sys.executable, "-m", "croupier_server", *args],
            stdin=its,
            stdout=its,
            stderr=its,
            cwd=cwd,
            env={**environment(), "COLUMNS": str(width), "TERM": "xterm"},
        )
        os.close(its)
        shown = b""
        try:
            while piece := screen.read(65_536):
                shown += piece
        except OSError:  # Linux' way to say that nobody writes there any more
            pass
    assert process.wait(PATIENCE_S) == 0, shown.decode()
    return shown.decode()
