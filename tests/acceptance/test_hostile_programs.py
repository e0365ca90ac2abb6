"""Hostile programs at every level of isolation: contained, detected, or stated as not contained.

``contained``: it does not get what it wants. ``detected``: it is ended, and the report says for
which limit. Else it is stated: it gets what it wants, and a sentence of the level's own says that
it can. In any case nothing of it runs afterwards, no file of it is left unless that is stated, and
a program next to it goes on as if nothing were.
"""

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from croupier_server.errors import UserError
from croupier_server.grading.isolation import removal
from croupier_server.grading.isolation.interpreter import find_for, ours
from croupier_server.grading.isolation.model import Isolation
from croupier_server.grading.isolation.users import Users
from support.hostile_cells import SMALL, Ground, level, run, started
from support.hostile_wishes import GETS, connects, harm, states
from support.needs import VARIABLE, require

ROOT = Path(__file__).resolve().parents[2]
LEVELS = ("bubblewrap", "users", "same-user")
BARE = ("bubblewrap", "users, watched", "same-user")
WATCHED = tuple(f"{name}, watched" for name in LEVELS)

LIMITS = {
    "fork_bomb": "processes",
    "memory": "memory",
    "many_hold_memory": "memory",
    "loop": "cpu",
    "many_loop": "cpu",
    "sleep": "wall",
}
"""What crosses a limit, at any level; by which limit it is ended."""

READS = "read all that you can read|read whatever every user"
WRITES = "write all that you can write|write where every user may"
NETWORK = "network connections"
LOOKS = "end the grader and other programs of yours, and look into them"

C = "contained"
WANTS: dict[str, tuple[str, str, str]] = {
    #                     bubblewrap, users,    same-user; a sentence where it is stated
    "read the sibling": (C, C, READS),
    "read the rubric": (C, C, READS),
    "read the rubric by a link": (C, C, READS),
    "read the machine's passwd": (C, READS, READS),
    "write to the sibling": (C, C, WRITES),
    "write the results": (C, C, WRITES),
    "leave files": (C, WRITES, WRITES),
    "connect": (C, NETWORK, NETWORK),
    "look into the grader": (C, C, LOOKS),
    "trace the grader": (C, C, LOOKS),
    "kill the parent": (C, C, LOOKS),
}
DEEP = """
import os, sys
os.chdir({"PUBLIC": "/tmp", ".": "."}.get(sys.argv[1]) or os.environ["TMPDIR"])
for _ in range(3_000):
    os.mkdir(sys.argv[2])
    os.chdir(sys.argv[2])
"""
"""Folders within each other: in its own folder, where it has its files, or where all have."""

FILLS: dict[str, tuple[str, str, str]] = {
    "TMPDIR": (C, "detected", "detected"),
    "/tmp": (C, "detected", WRITES),
    "/dev/shm": (C, "detected", WRITES),
}


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[Ground]:
    ground = Ground.made(tmp_path)
    yield ground
    left, running = ground.left(), ground.running()
    ground.clean()
    assert not running
    assert not left


@pytest.fixture
def isolation(request: pytest.FixtureRequest) -> Isolation:
    return level(request.param)


@pytest.mark.parametrize(
    ("isolation", "habit"),
    [
        *((name, habit) for name in LEVELS for habit in LIMITS),
        *((name, habit) for name in WATCHED for habit in ("fork_bomb", "many_hold_memory", "loop")),
    ],
    indirect=["isolation"],
)
def test_who_crosses_a_limit_is_ended_for_it(
    isolation: Isolation, ground: Ground, habit: str
) -> None:
    limits = replace(SMALL, wall_s=1.0) if habit == "sleep" else SMALL
    ran = harm(isolation, ground, habit, limits=limits)
    assert ran.report.exceeded == LIMITS[habit], ran
    assert ran.report.detail
    assert ran.status == 137
    assert ran.took_s < 8.0


@pytest.mark.parametrize(
    ("isolation", "place", "outcome"),
    [
        (name, place, outcomes[number])
        for number, name in enumerate(LEVELS)
        for place, outcomes in FILLS.items()
    ],
    indirect=["isolation"],
)
def test_the_disk_is_not_filled(
    isolation: Isolation, ground: Ground, place: str, outcome: str
) -> None:
    ran = harm(isolation, ground, "fill", place)
    match outcome:
        case "contained":
            assert "failed fill" in ran.said, ran
        case "detected":
            assert ran.report.exceeded == "disk", ran
        case _:
            assert "did fill" in ran.said, ran
            assert states(isolation, outcome)
            ground.clean()


@pytest.mark.parametrize("isolation", LEVELS, indirect=True)
def test_a_build_that_fills_its_folder_is_ended(isolation: Isolation, ground: Ground) -> None:
    ran = harm(isolation, ground, "fill", ".", writable=True)
    assert ran.report.exceeded == "disk", ran


@pytest.mark.parametrize("isolation", LEVELS + WATCHED, indirect=True)
def test_an_exit_status_is_no_limit_that_was_crossed(isolation: Isolation, ground: Ground) -> None:
    cell = isolation.cell(ground.own, SMALL, number=0)
    ran = run(cell, ["sh", "-c", "exit 152"])  # as after SIGXCPU
    cell.close()
    assert ran.status == 152
    assert ran.report.exceeded is None


@pytest.mark.parametrize("isolation", LEVELS, indirect=True)
@pytest.mark.parametrize("place", [".", "TMPDIR", "PUBLIC"])
def test_folders_without_end_are_removed(isolation: Isolation, ground: Ground, place: str) -> None:
    if isolation.name == "same-user" and place == "PUBLIC":
        pytest.skip("what it leaves there is stated")
    cell = isolation.cell(ground.own, SMALL, number=0, writable=place == ".")
    ran = run(cell, ["python3", "-I", "-S", "-c", DEEP, place, ground.token])
    assert cell.close() == 0, ran
    assert ran.report.exceeded == "disk" or isolation.name == "bubblewrap", ran
    removal.remove(ground.own)
    assert not ground.own.exists()


def test_what_a_killed_grading_has_left_is_nobody_elses(ground: Ground) -> None:
    users = level("users")
    assert isinstance(users, Users)
    killed = users.cell(ground.sibling, SMALL, number=0)
    left = Path(tempfile.gettempdir(), f"{ground.token}-left")
    left.touch()
    os.chown(left, users.ids.of(0), users.ids.of(0))
    cell = users.cell(ground.own, SMALL, number=0)
    ran = run(cell, ["cat", f"{killed.folder}/player.py"])
    cell.close()
    assert "the sibling" not in ran.said
    assert not left.exists()
    assert not Path(killed.folder).exists()


@pytest.mark.parametrize("isolation", LEVELS, indirect=True)
def test_a_file_is_no_longer_than_allowed(isolation: Isolation, ground: Ground) -> None:
    ran = harm(isolation, ground, "long_file")
    assert "failed write a long file" in ran.said


@pytest.mark.parametrize("isolation", LEVELS, indirect=True)
@pytest.mark.parametrize("habit", ["stubborn", "hang_at_exit"])
def test_who_does_not_end_is_ended_at_once(
    isolation: Isolation, ground: Ground, habit: str
) -> None:
    ran = harm(isolation, ground, habit, ends_after="did start")
    assert ran.took_s < 0.9
    assert ran.status == 137
    assert ran.report.detail == "it ran on when it was to end, and was killed"


@pytest.mark.parametrize("isolation", LEVELS + WATCHED, indirect=True)
def test_a_daemon_ends_with_its_program(isolation: Isolation, ground: Ground) -> None:
    ran = harm(isolation, ground, "daemon")
    assert (ran.status, ran.report.left) == (0, 1), ran
    assert ran.report.detail == "1 of its processes still ran when it had ended"


@pytest.mark.parametrize("isolation", LEVELS, indirect=True)
def test_a_listener_ends_with_its_program(isolation: Isolation, ground: Ground) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    ran = harm(isolation, ground, "listen", str(port))
    assert ran.report.left == 1
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", port), timeout=2)


@pytest.mark.parametrize("isolation", LEVELS, indirect=True)
def test_closed_output_is_seen_at_once(isolation: Isolation, ground: Ground) -> None:
    cell = isolation.cell(ground.own, SMALL, number=0)
    with started(cell, ground.argv("close_output")) as process:
        assert process.stdout is not None
        assert process.stdout.read() == b"did start\n"
        assert process.poll() is None
        process.terminate()
        assert process.wait(10) == 137
    assert cell.close() == 0


@pytest.mark.parametrize("isolation", LEVELS, indirect=True)
@pytest.mark.parametrize("file", [1, 2])
def test_output_without_end_is_nobodys_memory(
    isolation: Isolation, ground: Ground, file: int
) -> None:
    cell = isolation.cell(ground.own, SMALL, number=0)
    with started(cell, ground.argv("flood", str(file))) as process:
        pipe = process.stdout if file == 1 else process.stderr
        assert pipe is not None
        assert len(pipe.read(8 << 20)) == 8 << 20
        process.terminate()
        assert process.wait(10) == 137
    assert cell.reports()[0].memory < SMALL.memory
    assert cell.close() == 0


@pytest.mark.parametrize(
    ("isolation", "wish", "outcome"),
    [
        (name, wish, outcomes[number])
        for number, name in enumerate(BARE)
        for wish, outcomes in WANTS.items()
    ],
    indirect=["isolation"],
)
def test_who_wants_more_than_its_own(
    isolation: Isolation, ground: Ground, wish: str, outcome: str
) -> None:
    got = GETS[wish](isolation, ground)
    if outcome == C:
        assert not got
    else:
        assert got
        assert states(isolation, outcome)


def test_users_may_be_offline_too(ground: Ground) -> None:
    users = level("users")
    if not isinstance(users, Users) or not users.is_offline:
        pytest.skip("the network can't be left here")
    assert not connects(users, ground)
    assert not states(users, NETWORK)


@pytest.mark.parametrize("isolation", LEVELS, indirect=True)
def test_nothing_is_inherited(
    isolation: Isolation, ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENGUIN_TOKEN", "a secret")
    reads, writes = os.pipe()
    os.set_inheritable(reads, True)
    ran = harm(isolation, ground, "environment")
    os.close(reads)
    os.close(writes)
    names = {line.partition("=")[0] for line in ran.lines}
    allowed = {"PATH", "HOME", "TMPDIR", "LANG", "PYTHONNOUSERSITE", "PYTHONDONTWRITEBYTECODE"}
    more = {"PYTHONUNBUFFERED", "PYTHONIOENCODING", "PYTHONPATH", "PWD", "LC_CTYPE"}
    assert allowed <= names <= allowed | more


@pytest.mark.parametrize("isolation", LEVELS[:2], indirect=True)
def test_who_kills_all_kills_only_its_own(isolation: Isolation, ground: Ground) -> None:
    ran = harm(isolation, ground, "kill_all")
    assert ran.lines[-1].startswith(("did kill", "failed kill")), ran


@pytest.mark.parametrize("isolation", LEVELS, indirect=True)
def test_a_killed_warden_leaves_nothing(isolation: Isolation, ground: Ground) -> None:
    cell = isolation.cell(ground.own, SMALL, number=0)
    with started(cell, ground.argv("stubborn")) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"did start\n"
        process.kill()
        process.wait()
        cell.close()
        assert not ground.running()
    (report,) = cell.reports()
    assert (report.status, report.detail) == (None, "its warden was killed")


@pytest.mark.parametrize("isolation", LEVELS, indirect=True)
def test_a_killed_wardens_daemon_is_found(isolation: Isolation, ground: Ground) -> None:
    cell = isolation.cell(ground.own, SMALL, number=0)
    shell = 'setsid "$0" player.py "$1" stubborn & exec "$0" player.py "$1" stubborn'
    python = ground.argv("")[0] if isolation.name != "users" else "/usr/bin/python3"
    if isolation.name == "same-user":
        python = sys.executable
    with started(cell, ["sh", "-c", shell, python, ground.token]) as process:
        assert process.stdout is not None
        for _ in range(2):
            assert process.stdout.readline() == b"did start\n"
        process.kill()
        process.wait()
        cell.close()
        assert not ground.running()


@pytest.mark.timeout(300)
def test_it_holds_for_an_ordinary_user() -> None:
    run_as_ordinary_user("(crosses or wants or daemon) and (memory or sibling or daemon)")


@pytest.mark.full
@pytest.mark.timeout(500)
def test_all_of_it_holds_for_an_ordinary_user() -> None:
    run_as_ordinary_user("isolation or test")


def run_as_ordinary_user(which: str) -> None:
    """Run tests of this file as a user who is not root, by a Python that this one can run."""
    require("root", sys.platform.startswith("linux") and os.geteuid() == 0, "not root")
    user = 61_998
    try:
        python = find_for(user)
    except UserError as problem:
        pytest.skip(str(problem))
    with tempfile.TemporaryDirectory(prefix="croupier-test-") as folder:
        os.chown(folder, user, user)
        done = subprocess.run(
            [
                *(python.path, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
                *("--basetemp", f"{folder}/base", str(Path(__file__))),
                *("-k", f"({which}) and (bubblewrap or same-user) and not users and not ordinary"),
            ],
            cwd=ROOT,
            env={
                "PATH": os.environ["PATH"],
                "HOME": folder,
                "PYTHONPATH": os.pathsep.join(ours().packages),
                "PYTHONDONTWRITEBYTECODE": "1",
                VARIABLE: os.environ.get(VARIABLE, ""),
            },
            user=user,
            group=user,
            extra_groups=(),
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
