"""What hostile programs want, each as a function that tells whether it got it at a level."""

import os
import socket
import subprocess
import threading
from pathlib import Path

from croupier_server.grading.isolation.model import Isolation
from croupier_server.grading.limits import Limits
from support.hostile_cells import SMALL, Ground, Ran, run, started


def repeats(program: "subprocess.Popen[bytes]", word: bytes) -> bool:
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdin.write(word)
    program.stdin.flush()
    return program.stdout.readline() == word


def harm(
    isolation: Isolation,
    ground: Ground,
    habit: str,
    *arguments: str,
    limits: Limits = SMALL,
    ends_after: str | None = None,
    writable: bool = False,
) -> Ran:
    """Run a hostile program beside a good one, which must not notice; nothing may run then."""
    good = Ground.made(ground.folder / "good")
    beside = isolation.cell(good.own, SMALL, number=1)
    cell = isolation.cell(ground.own, limits, number=0, writable=writable)
    with started(beside, ["cat"]) as other:
        assert repeats(other, b"before\n")
        ran = run(cell, ground.argv(habit, *arguments), ends_after=ends_after)
        assert repeats(other, b"after\n")
        other.communicate(timeout=10)
        assert other.returncode == 0
    assert beside.close() == 0
    assert not ground.running()
    assert cell.close() == 0
    assert beside.reports()[0].exceeded is None
    return ran


def tries(
    isolation: Isolation, ground: Ground, habit: str, *arguments: str, writable: bool = False
) -> Ran:
    """Have it tried: a program that did not come to it would show nothing."""
    ran = harm(isolation, ground, habit, *arguments, writable=writable)
    assert ran.lines, ran
    assert ran.lines[-1].startswith(("did ", "failed ")), ran
    return ran


def reads(isolation: Isolation, ground: Ground, path: Path, text: str) -> bool:
    return text in tries(isolation, ground, "read", str(path)).said


def reads_by_link(isolation: Isolation, ground: Ground) -> bool:
    before = ground.rubric.stat()
    ran = tries(isolation, ground, "read_by_link", str(ground.rubric), writable=True)
    after = ground.rubric.stat()
    assert (after.st_uid, after.st_mode) == (before.st_uid, before.st_mode)
    assert ground.rubric.read_text(encoding="utf-8") == "the rubric's"
    return "the rubric's" in ran.said


def reads_passwd(isolation: Isolation, ground: Ground) -> bool:
    last = Path("/etc/passwd").read_text(encoding="utf-8").splitlines()[-1]
    return reads(isolation, ground, Path("/etc/passwd"), last)


def writes(isolation: Isolation, ground: Ground, path: Path) -> bool:
    tries(isolation, ground, "write", str(path))
    return path.read_text(encoding="utf-8") == "full marks"


def leaves_files(isolation: Isolation, ground: Ground) -> bool:
    places = ("/tmp", "/var/tmp", "/dev/shm")
    cell = isolation.cell(ground.own, SMALL, number=0)
    with started(cell, ["sh", "-c", LEAVE, ground.token, *places]) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"left\n"
        got = len(ground.left()) == len(places)
        process.terminate()
        process.wait(10)
    cell.close()
    if isolation.name == "same-user":
        assert ground.left()
        ground.clean()
    assert not ground.left()
    return got


LEAVE = 'for at; do echo x >"$at/$0"; done; echo left; exec sleep 5'


def connects(isolation: Isolation, ground: Ground) -> bool:
    seen: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(6)

        def accept() -> None:
            try:
                client, _ = server.accept()
            except OSError:
                return
            with client:
                seen.append(client.recv(100))

        listening = threading.Thread(target=accept)
        listening.start()
        port = server.getsockname()[1]
        tries(isolation, ground, "connect", str(port))
        if not seen:
            server.shutdown(socket.SHUT_RDWR)
        listening.join()
    return seen == [b"the seeds, please"]


def looks_into(isolation: Isolation, ground: Ground) -> bool:
    return "did look" in tries(isolation, ground, "look_into", str(os.getpid())).said


def traces(isolation: Isolation, ground: Ground) -> bool:
    return "did trace" in tries(isolation, ground, "trace", str(os.getpid())).said


def kills_parent(isolation: Isolation, ground: Ground) -> bool:
    ran = harm(isolation, ground, "kill_parent")
    assert ran.report.status == (0 if "did survive" in ran.said else None)
    return "did survive" not in ran.said


def reads_sibling(isolation: Isolation, ground: Ground) -> bool:
    return reads(isolation, ground, ground.sibling / "player.py", "the sibling's")


def reads_rubric(isolation: Isolation, ground: Ground) -> bool:
    return reads(isolation, ground, ground.rubric, "the rubric's")


def writes_to_sibling(isolation: Isolation, ground: Ground) -> bool:
    return writes(isolation, ground, ground.sibling / "player.py")


def writes_results(isolation: Isolation, ground: Ground) -> bool:
    return writes(isolation, ground, ground.results / "results.json")


GETS = {
    "read the sibling": reads_sibling,
    "read the rubric": reads_rubric,
    "read the rubric by a link": reads_by_link,
    "read the machine's passwd": reads_passwd,
    "write to the sibling": writes_to_sibling,
    "write the results": writes_results,
    "leave files": leaves_files,
    "connect": connects,
    "look into the grader": looks_into,
    "trace the grader": traces,
    "kill the parent": kills_parent,
}


def states(isolation: Isolation, wanted: str) -> bool:
    """Whether the level itself says that a program can do that."""
    said = " ".join(isolation.not_contained)
    return any(words in said for words in wanted.split("|"))
