"""Submissions that mean harm, graded beside a good one: its grade stays, theirs have reasons."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Generator, Mapping
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import pytest

from support.hostile_cells import level

RUBRIC = """
title = "Hostile"
seed = 3
max_mishaps = 1
[game]
board = "4x4,fish=1-3"
[clocks]
join_ms = 3000
start_ms = 1500
place_ms = 700
move_ms = 700
ack_ms = 1000
[limits]
memory = "128 MiB"
processes = 20
disk = "8 MiB"
cpu = "8 s"
wall = "15 s"
[build]
wall = "2 s"
memory = "128 MiB"
[[line]]
id = "builds"
title = "It builds"
kind = "builds"
points = 10
[[line]]
id = "games"
title = "It plays to the end"
kind = "games"
against = "first"
count = 2
points = 20
"""

PLAYER = """
import json, os, signal, subprocess, sys, time

TOKEN, WHEN = {token!r}, {when!r}
signal.alarm(20)  # should nobody else end it


def harm():
    {harm}


if WHEN == "start":
    harm()
for line in sys.stdin:
    call = json.loads(line)
    if "id" not in call:
        continue
    if call["method"] == WHEN:
        harm()
    actions = call["params"].get("legal_actions")
    result = actions[0] if actions else True
    if call["method"] == "hello":
        result = {{"legal_actions": True}}
    print(json.dumps({{"jsonrpc": "2.0", "id": call["id"], "result": result}}), flush=True)
if WHEN == "exit":
    harm()
"""

FORK = "[os.fork() or (signal.alarm(20), time.sleep(20)) for _ in range(60)]"
DETACH = "os.fork() or (os.setsid(), os.fork() and os._exit(0), signal.alarm(20), time.sleep(20))"
FORGE = """for path in ("results.json", "../results.json", "../../results.json", {out!r}):
        try:
            open(path, "w").write('{{"score": 100}}')
        except OSError:
            pass"""
PEEK = """found = []
    for path in ({rubric!r}, {sibling!r}, "/proc/1/environ"):
        try:
            found.append(open(path).read(200))
        except OSError:
            pass
    print(TOKEN, "read", found, dict(os.environ), file=sys.stderr, flush=True)"""
CALL = """import socket
    try:
        socket.create_connection(("127.0.0.1", {port}), 1).close()
    except OSError as problem:
        print(TOKEN, problem, file=sys.stderr, flush=True)"""

HARMS: Mapping[str, tuple[str, str]] = {
    "forks": ("move", FORK),
    "hogs-memory": ("move", "kept = [os.urandom(1 << 20) for _ in range(300)]; time.sleep(20)"),
    "loops-at-start": ("start", "while True: pass"),
    "loops-in-move": ("move", "while True: pass"),
    "minds-no-sigterm": ("start", "signal.signal(signal.SIGTERM, signal.SIG_IGN)"),
    "hangs-at-exit": ("exit", "signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(20)"),
    "daemon": ("start", DETACH),
    "fills-the-disk": (
        "move",
        "open('/tmp/' + TOKEN, 'wb').write(bytes(64 << 20)); time.sleep(20)",
    ),
    "floods-stdout": ("move", "[os.write(1, bytes(1 << 20)) for _ in range(1024)]"),
    "floods-stderr": ("move", "[os.write(2, b'x' * (1 << 20)) for _ in range(1024)]"),
    "forges-a-verdict": ("move", """print('{"verdict": "won", "score": 100}', flush=True)"""),
    "kills-its-parent": ("move", "os.kill(os.getppid(), 9); time.sleep(5)"),
}

FAILS = {
    "loops-at-start": "no answer within 3000 ms|more than 8 s",
    "loops-in-move": "timeout",
    "hogs-memory": "128 MiB of memory",
    "forges-a-verdict": "malformed",
    "floods-stdout": "malformed|oversize|flood",
    "fills-the-disk": "disconnected|8 MiB|timeout",
    "loops-in-build": "it ran for longer than 2 s",
    "slip": r"\.\./",
    "bomb": "unpacks|times|MiB|ratio",
    "link": "link",
}
"""By what is in their reports and tables; whatever is not named here plays on, or fails as well."""


def hand_in(folder: Path, name: str, when: str, harm: str, token: str, build: str = "") -> None:
    place = folder / name
    place.mkdir(parents=True)
    code = PLAYER.format(token=token, when=when, harm=harm)
    (place / "player.py").write_text(code, encoding="utf-8")
    told = f'name = "{name}"\ncommand = "python3 -I -S player.py {token}"\n{build}'
    (place / "player.toml").write_text(told, encoding="utf-8")


def hand_in_zips(folder: Path) -> None:
    """Zips that are not to be unpacked."""
    with zipfile.ZipFile(folder / "slip.zip", "w") as archive:
        archive.writestr("../slipped", "x")
    with zipfile.ZipFile(folder / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("big", bytes(300 << 20))
    with zipfile.ZipFile(folder / "link.zip", "w") as archive:
        link = zipfile.ZipInfo("etc")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc")


@pytest.fixture
def scratch() -> Generator[Path]:
    """A place for temporary files that other users can reach, unlike those of tests."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


def graded(
    folder: Path, submissions: Path, isolation: str, scratch: Path
) -> dict[str, Mapping[str, str]]:
    """The table of a grading, by name."""
    out = folder / f"out-{submissions.name}"
    rubric = folder / "rubric.toml"
    rubric.write_text(RUBRIC, encoding="utf-8")
    rubric.chmod(0o600)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "croupier_server", "grade", str(submissions)),
            *("--rubric", str(rubric), "--out", str(out), "--isolation", isolation),
        ],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "TMPDIR": str(scratch), "CROUPIER_SECRET": "of the operator"},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(scratch.iterdir()) == []
    with (out / "grades.csv").open(encoding="utf-8-sig", newline="") as file:
        return {row["submission"]: row for row in csv.DictReader(file)}


def running(token: str) -> list[str]:
    """The programs of the submissions that run: each has the token in its command."""
    found: list[str] = []
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            words = (process / "cmdline").read_bytes()
            if token.encode() in words:
                found.append(f"{process.name}: {words!r}")
    return found


@pytest.mark.timeout(300)
@pytest.mark.parametrize("isolation", ["bubblewrap", pytest.param("users", marks=pytest.mark.full)])
def test_hostile_submissions_change_no_other_grade_and_leave_nothing(
    isolation: str, tmp_path: Path, scratch: Path, subtests: pytest.Subtests
) -> None:
    level(isolation)
    token = f"token-{uuid4().hex}"
    good, among = tmp_path / "good", tmp_path / "among"
    for folder in (good, among):
        hand_in(folder, "good", "never", "pass", token)
    for name, (when, harm) in HARMS.items():
        hand_in(among, name, when, harm, token)
    out = str(tmp_path / "out-among" / "forges" / "results.json")
    hand_in(among, "forges", "move", FORGE.format(out=out), token)
    secrets = {"rubric": str(tmp_path / "rubric.toml"), "sibling": str(among / "good/player.py")}
    hand_in(among, "peeks", "start", PEEK.format(**secrets), token)
    hand_in(among, "calls-home", "start", CALL.format(port=9), token)
    hand_in(
        among, "loops-in-build", "never", "pass", token, "build = \"python3 -c 'while True: pass'\""
    )
    hand_in_zips(among)

    alone = graded(tmp_path, good, isolation, scratch)["good"]
    table = graded(tmp_path, among, isolation, scratch)

    points = {name: float(row["points"]) for name, row in table.items()}
    assert table["good"] == alone
    assert points["good"] == 30
    assert not (tmp_path / "slipped").exists()
    assert running(token) == []
    assert list(Path("/tmp").glob(f"*{token}*")) == []
    for name, words in FAILS.items():
        with subtests.test(name):
            report = (tmp_path / "out-among" / name / "report.html").read_text(encoding="utf-8")
            assert re.search(words, table[name]["problem"] + report), table[name]
            assert points[name] < 30
    with subtests.test("forged results"):
        kept = json.loads(Path(out).read_text(encoding="utf-8"))
        assert kept["score"] == points["forges"]
        assert kept["tests"]
    with subtests.test("what was read"):
        log = (tmp_path / "out-among" / "peeks" / "log.txt").read_text(encoding="utf-8")
        assert f"{token} read []" in log
        assert "of the operator" not in log
