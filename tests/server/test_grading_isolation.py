"""The choice of a level, and what does not need a hostile program."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from croupier_server.errors import UserError
from croupier_server.grading.isolation.bubblewrap import find_bubblewrap
from croupier_server.grading.isolation.cell import crossed_text
from croupier_server.grading.isolation.choice import LEVELS, choose, slots
from croupier_server.grading.isolation.ids import Ids
from croupier_server.grading.isolation.model import Cell, Exceeded
from croupier_server.grading.limits import Limits
from support.needs import require

LINUX = sys.platform.startswith("linux")


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    require("posix", sys.platform != "win32", "Windows")
    return choose("same-user").cell(tmp_path, Limits(), number=0)


def run(cell: Cell, *argv: str, told: str = "", **more: bool) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        cell.command(argv, **more),
        input=told,
        capture_output=True,
        encoding="utf-8",
        timeout=20,
        check=False,
    )


@pytest.mark.parametrize(("cores", "found"), [(1, 1), (2, 1), (8, 7)])
def test_one_core_is_left_to_the_grader(cores: int, found: int) -> None:
    assert slots(cores) == found


def test_slots_of_this_machine() -> None:
    assert slots() >= 1


@pytest.mark.parametrize(
    ("wanted", "container", "told"),
    [
        (
            "jail",
            None,
            "isolation 'jail': there is auto, bubblewrap, users, same-user, container",
        ),
        ("container", None, "isolation container: it needs a container command"),
        ("users", ["docker"], "isolation users: a container command is for the level container"),
        ("auto", ["sh"], "the container command: nothing in it is {folder}, the submission's"),
        (
            "auto",
            ["sh", "{folder}", "{ram}"],
            "the container command: {ram}; there may be {folder}, {mode}, {name}, ",
        ),
        ("auto", ["no-engine", "{folder}"], "the container command: no program no-engine"),
    ],
)
def test_what_can_not_be_had_is_said(
    wanted: str, container: Sequence[str] | None, told: str
) -> None:
    with pytest.raises(UserError) as caught:
        choose(wanted, container=container)
    assert str(caught.value).startswith(told)


def test_without_bubblewrap_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UserError, match=r"no program bwrap .*apt install bubblewrap"):
        find_bubblewrap()


def test_auto_finds_a_level() -> None:
    assert choose().name in LEVELS


def test_the_same_user_is_warned_of() -> None:
    level = choose("same-user")
    assert "NOT CONTAINED" in level.title
    assert any("rubric" in sentence for sentence in level.not_contained)


def test_a_program_has_its_own_pipes_and_status(cell: Cell, tmp_path: Path) -> None:
    done = run(cell, "sh", "-c", "pwd; cat; echo oops >&2; exit 7", told="hello\n")
    assert done.stdout == f"{tmp_path}\nhello\n"
    assert (done.stderr, done.returncode) == ("oops\n", 7)
    (report,) = cell.reports()
    assert (report.status, report.exceeded, report.detail) == (7, None, "")
    assert report.wall_s > 0
    assert cell.close() == 0
    assert cell.reports() == [report]


def test_a_signal_is_told_of(cell: Cell) -> None:
    assert run(cell, "sh", "-c", "kill -11 $$").returncode == 128 + 11
    assert cell.reports()[0].status == -11
    cell.close()


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["no-such-program"], "can't start no-such-program: No such file"),
        (["./data.txt"], "can't start ./data.txt: Permission denied; a program must be executable"),
        (["./windows.sh"], "does that line end with LF alone?"),
    ],
)
def test_why_a_program_can_not_be_started(
    cell: Cell, tmp_path: Path, argv: list[str], told: str
) -> None:
    (tmp_path / "data.txt").write_text("no program")
    script = tmp_path / "windows.sh"
    script.write_bytes(b"#!/bin/sh\r\necho x\r\n")
    script.chmod(0o755)
    done = run(cell, *argv)
    assert done.returncode == 127
    assert "can't start" in done.stderr
    (report,) = cell.reports()
    assert report.status is None
    assert told in report.detail
    cell.close()


def test_python_is_the_one_that_sees_the_kit(cell: Cell) -> None:
    done = run(cell, "python3", "-s", "-P", "-c", "import croupier_client; print('seen')")
    assert done.stdout == "seen\n", done.stderr
    cell.close()


def test_closing_a_cell_ends_what_runs(cell: Cell) -> None:
    with subprocess.Popen(
        cell.command(["sh", "-c", "echo here; sleep 30"]), stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"here\n"
        assert cell.close() == 1  # the warden that ran still
        assert process.wait(5) == 137
    assert cell.reports()[0].detail == "it ran on when it was to end, and was killed"


def test_what_a_closed_cell_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require("posix", sys.platform != "win32", "Windows")
    import tempfile

    (tmp_path / "own").mkdir()
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    cell = choose("same-user").cell(tmp_path / "own", Limits(), number=0)
    run(cell, "sh", "-c", 'echo x >"$TMPDIR/x"; echo y >own.txt')
    assert list((tmp_path / "temporary").iterdir())
    cell.close()
    assert not list((tmp_path / "temporary").iterdir())
    assert (tmp_path / "own" / "own.txt").exists()


def test_a_warden_starts_with_little(cell: Cell) -> None:
    """Every start pays for what the warden imports."""
    source = Path(cell.command(["true"])[3]).parents[3]
    code = (
        f"import sys; sys.path.append({str(source)!r})\n"
        "from croupier_server.grading.isolation import warden, ward, stage, gauge, cgroup\n"
        "import select, ctypes\n"
        "print(*sys.modules)"
    )
    command = [sys.executable, "-I", "-S", "-c", code]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    heavy = {
        "typing",
        "dataclasses",
        "pathlib",
        "subprocess",
        "asyncio",
        "socket",
        "json",
        "enum",
        "collections",
    }
    assert not heavy & set(done.stdout.split())
    cell.close()


def test_levels_are_known_on_other_systems() -> None:
    """Windows has none of these modules."""
    code = (
        "import sys; sys.modules.update(dict.fromkeys(('resource', 'pwd', 'grp', 'fcntl')))\n"
        "from croupier_server.grading.isolation.choice import LEVELS; print(*LEVELS)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=False
    )
    assert done.stdout.split() == list(LEVELS), done.stderr


def test_ids_are_claimed_for_one_grading() -> None:
    require("linux", LINUX, "not Linux")
    first, second = Ids.claimed(), Ids.claimed()
    assert first.first != second.first
    assert first.of(1) == first.of(0) + 1
    with pytest.raises(UserError, match="at most 2000 at a time"):
        first.of(2000)


def test_an_id_that_is_somebodys_is_refused() -> None:
    require("posix", sys.platform != "win32", "Windows")
    ids = Ids.claimed()
    root = Ids(0, ids.claim)
    with pytest.raises(UserError, match="user id 0 belongs to somebody"):
        root.of(0)


@pytest.mark.parametrize(
    ("exceeded", "told"),
    [
        ("cpu", "it used more than 600 s of processor time"),
        ("wall", "it ran for longer than 1800 s"),
        ("memory", "it used more than 1024 MiB of memory"),
        ("processes", "it had more than 64 processes and threads at a time"),
        ("disk", "it wrote more than 64 MiB to disk"),
    ],
)
def test_a_limit_in_words(exceeded: Exceeded, told: str) -> None:
    assert crossed_text(exceeded, Limits()) == told
