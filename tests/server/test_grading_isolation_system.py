"""What isolation reads of the system: control groups, processes, disks, owners."""

import os
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from croupier_server.grading.isolation import disk, ownership, processes, removal, sweep
from croupier_server.grading.isolation.cgroup import Cgroup, find_groups, find_parents
from support.needs import require

LINUX = sys.platform.startswith("linux")


def describe(folder: Path, mounts: str, groups: str) -> dict[str, str]:
    """What is found where the kernel tells this; what is made there is like folders of a disk."""
    for name, text in (("mounts", mounts), ("groups", groups)):
        (folder / name).write_text(text.replace("AT", str(folder)))
    return find_parents(str(folder / "mounts"), str(folder / "groups"))


def test_no_control_groups_no_parents(tmp_path: Path) -> None:
    assert describe(tmp_path, "22 27 0:21 / /proc rw - proc proc rw\n", "0::/\n") == {}
    assert find_parents(str(tmp_path / "none"), str(tmp_path / "none")) == {}


def test_a_folder_that_makes_no_files_is_no_control_group(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    mounts = "35 31 0:32 / AT/memory rw - cgroup cgroup rw,memory\n"
    assert describe(tmp_path, mounts, "4:memory:/\n") == {}
    assert not list((tmp_path / "memory").iterdir())


def test_a_group_holds_to_its_limits_and_is_removed() -> None:
    parents = find_parents()
    if not parents:
        pytest.skip("no control groups can be made here")
    group = Cgroup.make(parents, "unit-test", memory=64 << 20, processes=5)
    assert group is not None
    child = os.fork()
    if child == 0:
        group.join()
        os.kill(os.getpid(), 19)  # wait there
        os._exit(0)
    os.waitpid(child, os.WUNTRACED)
    assert group.members() == [child]
    assert not group.remove()
    (found,) = find_groups(parents, "unit-test")
    assert found.folders == group.folders
    assert found.kill() == 1
    os.waitpid(child, 0)
    assert group.peak > 0
    assert not group.lacked_memory
    assert not group.lacked_processes
    assert group.remove()
    assert find_groups(parents, "unit-test") == []


def test_processes_are_found_by_who_started_them() -> None:
    require("linux", LINUX, "not Linux")
    child = os.fork()
    if child == 0:
        os.kill(os.getpid(), 19)
        os._exit(0)
    os.waitpid(child, os.WUNTRACED)
    assert child in [process.pid for process in processes.descendants(os.getpid())]
    found = processes.find(child)
    assert found is not None
    assert (found.parent, found.state, found.threads) == (os.getpid(), "T", 1)
    assert 0 < processes.exact_memory([found]) <= found.memory
    assert processes.kill([found]) == 1
    os.waitpid(child, 0)
    assert processes.find(child) is None


def test_what_is_written_is_counted_up_to_the_limit(tmp_path: Path) -> None:
    require("posix", sys.platform != "win32", "Windows")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "data").write_bytes(os.urandom(100_000))
    (tmp_path / "etc").symlink_to("/etc")
    (tmp_path / "hole").touch()
    os.truncate(tmp_path / "hole", 1 << 30)
    assert 100_000 <= disk.used([str(tmp_path)], None, 1 << 20) < 200_000
    assert disk.used([str(tmp_path)], None, 50_000) > 50_000


def test_folders_without_end_are_too_much(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d"] * 120)
    deep.mkdir(parents=True)
    assert disk.used([str(tmp_path)], None, 1 << 40) > 1 << 40


def test_owners_and_modes_for_a_user(tmp_path: Path) -> None:
    require("root", LINUX and os.geteuid() == 0, "not root")
    outside = tmp_path / "outside"
    outside.write_text("x")
    outside.chmod(0o600)
    own = tmp_path / "own"
    (own / "in").mkdir(parents=True)
    script = own / "in" / "run.sh"
    script.write_text("x")
    script.chmod(0o6755)
    (own / "link").symlink_to(outside)
    user = 52_345

    ownership.give(own, user, writable=False)
    assert (script.stat().st_uid, script.stat().st_gid) == (0, user)
    assert [path.stat().st_mode & 0o7777 for path in (own, script)] == [0o750, 0o750]
    ownership.give(own, user, writable=True)
    assert script.stat().st_uid == user
    assert [path.stat().st_mode & 0o7777 for path in (own, script)] == [0o700, 0o700]
    ownership.take_back(own)
    assert script.stat().st_uid == 0
    assert script.stat().st_mode & 0o7777 == 0o755
    assert (outside.stat().st_uid, outside.stat().st_mode & 0o777) == (0, 0o600)


def test_only_ones_own_comes_back(tmp_path: Path) -> None:
    require("root", LINUX and os.geteuid() == 0, "not root")
    user = 52_345
    secret = tmp_path / "secret"
    secret.write_text("the seeds")
    built, own = tmp_path / "built", tmp_path / "own"
    (built / "out").mkdir(parents=True)
    (built / "out" / "program").write_text("x")
    (built / "out" / "program").chmod(0o700)
    ownership.give(built, user, writable=True)
    os.link(secret, built / "another-name")
    (built / "link").symlink_to(secret)
    os.lchown(built / "link", user, user)
    os.mkfifo(built / "pipe")
    os.chown(built / "pipe", user, user)
    own.mkdir()
    (own / "old").write_text("x")

    ownership.bring_back(built, own, user, 1 << 20)
    assert sorted(path.name for path in own.iterdir()) == ["link", "out"]
    assert (own / "link").is_symlink()
    assert (own / "out" / "program").stat().st_mode & 0o777 == 0o755


def deep(folder: Path, depth: int) -> None:
    """Folders within each other, more than a path can name, with something in each."""
    opened = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.close(os.open("file", os.O_CREAT, dir_fd=opened))
        os.mkdir("beside", dir_fd=opened)
        os.mkdir("d", dir_fd=opened)
        above, opened = opened, os.open("d", os.O_RDONLY, dir_fd=opened)
        os.close(above)
    os.close(opened)


def test_all_is_removed_however_deep_it_is_and_no_link_followed(tmp_path: Path) -> None:
    require("posix", sys.platform != "win32", "Windows")
    outside, folder = tmp_path / "outside", tmp_path / "folder"
    outside.mkdir()
    (outside / "kept").touch()
    folder.mkdir()
    deep(folder, 1_500)
    (folder / "link").symlink_to(outside)
    os.mkfifo(folder / "pipe")
    (folder / "d").chmod(0)
    (tmp_path / "link").symlink_to(outside)
    removal.remove(folder)
    removal.remove(tmp_path / "link")
    removal.remove(tmp_path / "nothing")
    assert [path.name for path in tmp_path.iterdir()] == ["outside"]
    assert (outside / "kept").exists()


@contextmanager
def swapped(folder: Path, link: Path) -> Generator[None]:
    """A folder and a link that are moved into each other's place all the time, by a process."""
    away = folder.with_name("away")
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        while True:
            for one, other in ((folder, away), (link, folder), (folder, link), (away, folder)):
                with suppress(OSError):
                    one.rename(other)
    try:
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def filled(folder: Path, text: str, user: int) -> Path:
    folder.mkdir(parents=True)
    for number in range(100):
        (folder / f"{number}").write_text(text)
        os.chown(folder / f"{number}", user, user)
    return folder


def test_who_moves_folders_about_has_nobody_elses_files_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require("root", LINUX and os.geteuid() == 0, "not root")
    user, victim = 52_345, filled(tmp_path / "victim", "x", 0)
    for number in range(10):
        public = tmp_path / f"public {number}"
        shared, link = filled(public / "of another", "x", user), public / "link"
        shared.chmod(0o777)
        link.symlink_to(victim)
        monkeypatch.setattr(disk, "PUBLIC_PLACES", (str(public),))
        with swapped(shared, link):
            sweep.remove_files_of(user)
    assert len(list(victim.iterdir())) == 100


def test_who_moves_folders_about_is_brought_nobody_elses_files(tmp_path: Path) -> None:
    require("root", LINUX and os.geteuid() == 0, "not root")
    user, victim = 52_345, filled(tmp_path / "victim", "a secret", 0)
    own = tmp_path / "own"
    own.mkdir()
    for number in range(10):
        built = tmp_path / f"built {number}"
        inner, link = filled(built / "inner", "its own", user), built / "link"
        link.symlink_to(victim)
        ownership.give(built, user, writable=True)
        with swapped(inner, link):
            ownership.bring_back(built, own, user, 1 << 20)
        files = [path for path in own.rglob("*") if path.is_file() and not path.is_symlink()]
        assert "a secret" not in {path.read_text() for path in files}


def test_so_much_comes_back_as_the_disk_may_hold(tmp_path: Path) -> None:
    require("root", LINUX and os.geteuid() == 0, "not root")
    user, most = 52_345, 1 << 20
    built, own = tmp_path / "built", tmp_path / "own"
    built.mkdir()
    own.mkdir()
    (built / "hole").write_bytes(b"x")
    os.truncate(built / "hole", 1 << 34)
    ownership.give(built, user, writable=True)
    ownership.bring_back(built, own, user, most)
    again = tmp_path / "again"
    ownership.copy(own, again)
    assert (again / "hole").stat().st_size == 1 << 34
    assert disk.used([str(again)], None, most) <= most

    for number in range(1_000):
        (built / f"{number}").touch()
    deep(built, 200)
    ownership.give(built, user, writable=True)
    assert disk.used([str(built)], None, most) > most
    ownership.bring_back(built, own, user, most)
    assert len(list(own.rglob("*"))) <= most // 4_096
