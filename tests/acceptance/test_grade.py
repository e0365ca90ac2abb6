"""`croupier grade` from the command line: real processes, cut off, killed, and asked again."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.needs import require
from support.submitted import PLACE, games, hand_in, rubric_text

PATIENCE_S = 120

KIT = """
from croupier_client import Player

class Pingu(Player):
    def place(self, view):
        return next(iter(view.legal_actions))

    move = place
"""

CHECK = """
[[line]]
id = "check"
title = "It joins"
kind = "conformance"
steps = ["connects", "join", "game-start"]
points = 10
"""

SLOW = """
import time
from pathlib import Path
_answer = Player.answer
def slow(self, call):
    if Path(MARK).exists():
        time.sleep(0.1)
    _answer(self, call)
Player.answer = slow
"""

DEEP = """
import os
for _ in range(3_000):
    os.mkdir("d")
    os.chdir("d")
"""

Done = subprocess.CompletedProcess[str]


def grade(*args: object, cwd: Path) -> Done:
    return subprocess.run(
        command(*args),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=PATIENCE_S,
        cwd=cwd,
        env=environment(cwd),
        check=False,
    )


def environment(folder: Path) -> dict[str, str]:
    """Our own variables, with a place for temporary files that can be looked at."""
    scratch = folder / "scratch"
    scratch.mkdir(exist_ok=True)
    return {**os.environ, "TMPDIR": str(scratch)}


def command(*args: object) -> list[str]:
    isolation = [] if "--isolation" in args else ["--isolation", "same-user"]
    return [sys.executable, "-m", "croupier_server", "grade", *map(str, args), *isolation]


def graded(*args: object, cwd: Path) -> str:
    found = grade(*args, cwd=cwd)
    assert found.returncode == 0, found.stdout + found.stderr
    assert "Traceback" not in found.stderr
    return found.stdout


def refused(*args: object, cwd: Path) -> str:
    """The one line of what can't be done."""
    found = grade(*args, cwd=cwd)
    assert found.returncode == 2, found.stdout + found.stderr
    assert len(found.stderr.splitlines()) == 1, found.stderr
    return found.stderr


def points(out: Path) -> dict[str, float]:
    """The grades of the instructor's table."""
    with (out / "grades.csv").open(encoding="utf-8-sig", newline="") as file:
        return {row["submission"]: float(row["points"]) for row in csv.DictReader(file)}


def results(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def course(folder: Path, *lines: str) -> Path:
    """A rubric in a folder."""
    path = folder / "rubric.toml"
    path.write_text(rubric_text(*(lines or (games(4),))), encoding="utf-8")
    return path


def slow_down(place: Path) -> Path:
    """Have a scripted player take its time, so that it can be cut off; as long as a file exists."""
    player, mark = place / "player.py", place.parent.parent / "slow"
    mark.touch()
    text = player.read_text(encoding="utf-8")
    head, main = text.split('if __name__ == "__main__":')
    slow = SLOW.replace("MARK", repr(str(mark)))
    player.write_text(f'{head}{slow}\nif __name__ == "__main__":{main}', encoding="utf-8")
    return mark


@contextmanager
def started(*args: object, cwd: Path) -> Generator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        command(*args),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        cwd=cwd,
        env=environment(cwd),
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=PATIENCE_S)


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not path.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.02)


def evidence(out: Path) -> dict[str, str]:
    """The kept evidence of stages, by file."""
    stages = (out / ".grading").glob("*/*.json")
    return {
        str(path.relative_to(out)): path.read_text(encoding="utf-8")
        for path in stages
        if path.name != "evidence.json"
    }


def test_folder_of_submissions_gives_a_table_and_a_folder_for_each(tmp_path: Path) -> None:
    rubric = course(tmp_path, games(2), CHECK, PLACE)
    subs = tmp_path / "subs"
    hand_in(subs, "ada", player="Ada")
    hand_in(subs, "crash", "crash", "move", "0")
    hand_in(subs, "unbuilt", build="false")
    (subs / "pingu.py").write_text(KIT, encoding="utf-8")
    out = tmp_path / "out"
    told = graded("subs", "--rubric", rubric, "--out", "out", cwd=tmp_path)
    assert told.startswith("isolation: same-user")
    assert "not contained: " in told
    assert "4 graded; see out/index.html" in told
    found = points(out)
    assert list(found) == ["ada", "crash", "pingu", "unbuilt"]
    assert found["unbuilt"] == 0
    assert found["crash"] < found["ada"]
    assert found["pingu"] >= 30
    assert re.search(rf"^ada +{found['ada']:g} of 40$", told, re.MULTILINE)
    assert "unbuilt" in told
    assert "It did not build" in told
    for name, score in found.items():
        place = out / name
        assert results(place / "results.json")["score"] == score
        assert results(place / "classroom.json")["version"] == 1
        files = {path.name for path in place.iterdir()}
        assert {"report.html", "log.txt", "build.txt"} <= files
    assert "ZeroDivisionError" in (out / "crash/log.txt").read_text(encoding="utf-8")
    assert "$ false" in (out / "unbuilt/build.txt").read_text(encoding="utf-8")
    assert (out / "index.html").exists()
    assert len(results(out / "grades.json")) > 0
    verified = subprocess.run(
        [sys.executable, "-m", "croupier_server", "verify", *out.glob("*/records/*.jsonl")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert verified.returncode == 0, verified.stdout

    explained = graded("--explain", "--out", "out", "--only", "ada", cwd=tmp_path)
    assert "crash" not in explained
    assert "It plays to the end" in explained

    told = graded("subs", "--rubric", rubric, "--out", "out", "--only", "ada", cwd=tmp_path)
    assert "report: out/ada/report.html" in told
    assert points(out) == found


def test_two_runs_of_deterministic_players_give_the_same_grades(tmp_path: Path) -> None:
    course(tmp_path, games(4, "random"), PLACE)
    for name in ("ada", "bob"):
        hand_in(tmp_path / "subs", name)
    tables = [(graded("subs", "--out", out, cwd=tmp_path), points(tmp_path / out)) for out in "ab"]
    assert tables[0][1] == tables[1][1]
    one, two = (scores(tmp_path / out) for out in "ab")
    assert one == two
    assert len(one) == 8


def scores(out: Path) -> dict[str, tuple[float, int]]:
    """By record, the score and the plies of each game against the house."""
    return {
        f"{path.parent.name} {game['game']}": (game["score"], game["plies"])
        for path in out.glob(".grading/*/match-random.json")
        for block in results(path)["value"]["blocks"]
        for game in block["games"]
    }


def test_run_that_was_killed_goes_on_with_the_stages_that_were_over(tmp_path: Path) -> None:
    require("posix", hasattr(signal, "SIGKILL"), "nothing is killed like this here")
    course(tmp_path, games(6), games(6, "random"))
    slow_down(hand_in(tmp_path / "subs", "ada"))
    mark = slow_down(hand_in(tmp_path / "subs", "bob"))
    out = tmp_path / "out"
    with started("subs", "--out", "out", cwd=tmp_path) as process:
        wait_for(out / "ada/records/random.1.1.jsonl", process)
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE_S)
    mark.unlink()
    kept = evidence(out)
    assert ".grading/ada/match-first.json" in kept
    assert "did not finish" in json.dumps(results(out / "ada/results.json"))
    assert results(out / "bob/results.json")["score"] == 0
    written = {p: p.stat().st_mtime_ns for p in out.glob("ada/records/first.*.jsonl")}
    graded("subs", "--out", "out", cwd=tmp_path)
    assert kept.items() <= evidence(out).items()
    assert written == {p: p.stat().st_mtime_ns for p in written}
    assert points(out) == {"ada": 30, "bob": 30}
    assert not list((tmp_path / "scratch").glob("croupier-grade-*"))
    graded("subs", "--out", "whole", cwd=tmp_path)
    assert points(tmp_path / "whole") == points(out)


def test_ctrl_c_ends_all_programs_and_says_how_to_go_on(tmp_path: Path) -> None:
    require("posix", hasattr(signal, "SIGKILL"), "Ctrl-C is another thing here")
    course(tmp_path, games(8))
    place = hand_in(tmp_path / "subs", "ada")
    mark = slow_down(place)
    player = place / "player.py"
    pids = tmp_path / "pids"
    text = player.read_text(encoding="utf-8")
    player.write_text(text.replace('note("PIDS", os.getpid())', note_in(pids)), encoding="utf-8")
    with started("subs", "--out", "out", cwd=tmp_path) as process:
        wait_for(tmp_path / "out/ada/records/first.1.1.jsonl", process)
        process.send_signal(signal.SIGINT)
        told, _ = process.communicate(timeout=PATIENCE_S)
    mark.unlink()
    assert process.returncode == 130
    assert "stopped by SIGINT; the same command goes on from here" in told
    assert "Traceback" not in told
    assert not list((tmp_path / "scratch").iterdir())
    assert not any(map(runs, map(int, pids.read_text(encoding="utf-8").split())))
    assert results(tmp_path / "out/ada/results.json")["score"] == 0
    graded("subs", "--out", "out", cwd=tmp_path)
    assert points(tmp_path / "out") == {"ada": 20}


def note_in(path: Path) -> str:
    return f"open({str(path)!r}, 'a').write(f'{{os.getpid()}}\\n')"


def runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_own_folder_prints_the_grade_with_its_reasons(tmp_path: Path) -> None:
    own = hand_in(tmp_path, "mine")
    course(own, games(2), PLACE)
    told = graded("--public", "shared.toml", "--rubric", "rubric.toml", cwd=own)
    assert "wrote shared.toml" in told
    assert "seed" not in (own / "shared.toml").read_text(encoding="utf-8")
    told = graded(".", "--rubric", "shared.toml", cwd=own)
    assert "It plays to the end" in told
    assert "2 of 2 games against first ended without a verdict" in told
    assert (own / "graded/mine/report.html").exists()
    again = graded(".", "--rubric", "shared.toml", cwd=own)
    assert again == told


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["subs", "--out", "rubric.toml/out"], "rubric.toml/out"),
        (["subs", "--rubric", "no.toml"], "no.toml"),
        (["nothing"], "nothing: there is no such file"),
        ([], "name the submissions"),
        (["--explain", "--out", "empty"], "nothing is graded there"),
        (["subs", "--only", "adb"], "no such submission; there is ada"),
        (["subs", "--isolation", "container"], "container command"),
        (["subs", "--container", "'x", "--isolation", "container"], "--container: no closing"),
    ],
)
def test_mistake_is_one_line(arguments: list[str], complaint: str, tmp_path: Path) -> None:
    course(tmp_path)
    hand_in(tmp_path / "subs", "ada")
    assert complaint in refused(*arguments, cwd=tmp_path)


def test_missing_rubric_is_one_line(tmp_path: Path) -> None:
    hand_in(tmp_path / "subs", "ada")
    assert "no rubric.toml in subs or beside it" in refused("subs", cwd=tmp_path)


def test_two_runs_into_one_folder_are_refused(tmp_path: Path) -> None:
    require("posix", os.name == "posix", "locks of files are POSIX's")
    course(tmp_path, games(8))
    slow_down(hand_in(tmp_path / "subs", "ada"))
    with started("subs", "--out", "out", cwd=tmp_path) as process:
        wait_for(tmp_path / "out/ada/results.json", process)
        assert "another croupier grade" in refused("subs", "--out", "out", cwd=tmp_path)


def test_more_workers_than_cores_are_capped_with_a_line(tmp_path: Path) -> None:
    course(tmp_path, games(2))
    hand_in(tmp_path / "subs", "ada")
    found = grade("subs", "--workers", "500", cwd=tmp_path)
    assert found.returncode == 0
    assert re.search(r"--workers 500: \d+ at a time", found.stderr)


def test_hostile_ones_are_graded_and_the_others_get_their_tables(tmp_path: Path) -> None:
    course(tmp_path, games(2))
    hand_in(tmp_path / "subs", "ada")
    digits = hand_in(tmp_path / "subs", "digits") / "player.toml"
    digits.write_text(f"name = {'1' * 5_000}", encoding="utf-8")
    deep = hand_in(tmp_path / "subs", "deep", build="python3 -I -S deep.py")
    (deep / "deep.py").write_text(DEEP, encoding="utf-8")
    told = graded("subs", cwd=tmp_path)
    assert points(tmp_path / "graded") == {"ada": 20.0, "deep": 0.0, "digits": 0.0}
    assert "It did not build" in told
    assert not list((tmp_path / "scratch").iterdir())


def test_modules_that_lie_where_it_is_run_are_not_taken_for_ours(tmp_path: Path) -> None:
    rubric = course(tmp_path, games(2), CHECK)
    hand_in(tmp_path / "subs", "ada")
    here = tmp_path / "exports"
    here.mkdir()
    for name in ("click", "croupier_client", "json", "multiprocessing", "random", "structlog"):
        text = f"from pathlib import Path\nPath(__file__).with_suffix('.ran').touch()\n{name} = 1\n"
        (here / f"{name}.py").write_text(text, encoding="utf-8")
    like_a_script = "import sys; del sys.path[0]; from croupier_server.cli import main; main()"
    found = subprocess.run(
        [
            *(sys.executable, "-c", like_a_script, "grade", str(tmp_path / "subs")),
            *("--rubric", str(rubric), "--isolation", "same-user"),
        ],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=PATIENCE_S,
        cwd=here,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    assert points(here / "graded") == {"ada": 30.0}
    assert not list(here.glob("*.ran"))


# -- Gradescope


def autograder(folder: Path, *lines: str) -> Path:
    """The folders of that system, with a submission in them."""
    root = folder / "autograder"
    (root / "source").mkdir(parents=True)
    course(root / "source", *lines)
    hand_in(root, "submission", player="Ada")
    return root


def test_gradescope_writes_its_results(tmp_path: Path) -> None:
    root = autograder(tmp_path)
    graded("--gradescope", "--root", root, cwd=tmp_path)
    found = results(root / "results/results.json")
    assert found["score"] == 20
    assert {test["status"] for test in found["tests"]} == {"passed"}
    assert not (tmp_path / "graded").exists()


def test_gradescope_that_is_killed_leaves_a_valid_failing_file(tmp_path: Path) -> None:
    require("posix", hasattr(signal, "SIGKILL"), "nothing is killed like this here")
    root = autograder(tmp_path, games(20))
    slow_down(root / "submission")
    out = tmp_path / "out"
    with started("--gradescope", "--root", root, "--out", out, cwd=tmp_path) as process:
        wait_for(out / "submission/records/first.1.1.jsonl", process)
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE_S)
    found = results(root / "results/results.json")
    assert found["score"] == 0
    assert "did not finish" in json.dumps(found)


def test_gradescope_without_a_player_says_what_to_hand_in(tmp_path: Path) -> None:
    root = autograder(tmp_path)
    for path in (root / "submission").iterdir():
        path.unlink()
    for name in ("Player.java", "Util.java"):
        (root / "submission" / name).write_text("class X {}", encoding="utf-8")
    graded("--gradescope", "--root", root, cwd=tmp_path)
    told = json.dumps(results(root / "results/results.json"))
    assert "no player in it: a player.toml" in told
    assert "not your fault" not in told


def test_gradescope_without_a_rubric_says_whose_fault_that_is(tmp_path: Path) -> None:
    root = autograder(tmp_path)
    (root / "source/rubric.toml").unlink()
    assert "rubric.toml" in refused("--gradescope", "--root", root, cwd=tmp_path)
    found = results(root / "results/results.json")
    assert found["score"] == 0
    assert "not your fault" in json.dumps(found)
