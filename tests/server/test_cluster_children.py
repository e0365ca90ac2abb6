"""Processes that are kept alive together: new starts, the leader's end, and nothing left over."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from croupier_server.cluster.children import Allowance, ChildFailed, Part, Supervisor
from croupier_server.errors import UserError
from support.processes import all_gone

HOLD_ON = "from croupier_server.cluster.lifeline import hold_on; hold_on()"
WAITS = "import time; print('ready', flush=True); time.sleep(60)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {WAITS}"


class Told:
    """What a supervisor tells."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []
        self.is_ready = asyncio.Event()

    def log(self, name: str, line: str) -> None:
        self.lines.append((name, line))

    def text(self, name: str) -> str:
        return "\n".join(line for one, line in self.lines if one == name)


def part(name: str, code: str, **more: Any) -> Part:
    """A process that runs some Python."""
    return Part(name=name, command=lambda: [sys.executable, "-c", code], **more)


def supervisor(
    told: Told, *parts: Part, times: int = 2, env: Mapping[str, str] | None = None
) -> Supervisor:
    def allowance() -> Allowance:
        return Allowance(times, 60.0, (0.01,))

    return Supervisor(parts, env=env, ready=told.is_ready.set, log=told.log, allowance=allowance)


def once(path: Path, first: str, then: str) -> str:
    """Code that does one thing in its first life and another in those after it."""
    return (
        f"import pathlib, sys, time\npath = pathlib.Path({str(path)!r})\n"
        f"if path.exists():\n    {then}\nelse:\n    path.touch()\n    {first}\n"
    )


def until(path: Path, then: str = "") -> str:
    """Code of a process that is ready, and ends once a file is there."""
    return (
        f"import pathlib, time\nprint('ready', flush=True)\n"
        f"while not pathlib.Path({str(path)!r}).exists():\n    time.sleep(0.01)\n{then}"
    )


async def stop(running: asyncio.Task[int]) -> None:
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_good_end_of_the_leader_is_the_end_of_all(tmp_path: Path) -> None:
    told = Told()
    heard: list[str] = []
    leader = until(tmp_path / "over", "print('Standings')")
    group = supervisor(
        told, part("manager", leader, leads=True, heard=heard.append), part("worker", WAITS)
    )
    running = asyncio.create_task(group.run())
    await told.is_ready.wait()
    pids = list(group.pids.values())
    assert len(pids) == 2
    (tmp_path / "over").touch()
    assert await running == 0
    assert heard == ["ready", "Standings"]
    assert await all_gone(pids) == []


async def test_process_that_crashes_is_started_again(tmp_path: Path) -> None:
    told = Told()
    code = once(
        tmp_path / "lived",
        "print('out of luck', file=sys.stderr); sys.exit(70)",
        "print('ready', flush=True); time.sleep(60)",
    )
    group = supervisor(told, part("manager", WAITS, leads=True), part("worker", code))
    running = asyncio.create_task(group.run())
    await told.is_ready.wait()
    assert "ended with exit status 70 (out of luck); it is started again" in told.text("worker")
    await stop(running)


async def test_process_that_keeps_dying_ends_all_with_its_last_line() -> None:
    told = Told()
    code = "import sys; sys.exit('no luck today')"
    group = supervisor(told, part("manager", WAITS, leads=True), part("worker", code), times=2)
    with pytest.raises(ChildFailed, match=r"^worker ended with exit status 1 \(no luck today\)"):
        await group.run()
    assert told.text("worker").count("started again in") == 2
    assert group.pids == {}


async def test_users_mistake_ends_all_at_once_in_its_own_words() -> None:
    told = Told()
    code = "import sys; print('croupier: no such port', file=sys.stderr); sys.exit(2)"
    group = supervisor(told, part("manager", WAITS, leads=True), part("gateway", code))
    with pytest.raises(UserError, match=r"^no such port$"):
        await group.run()
    assert "no such port" not in told.text("gateway")  # it is said once, by whoever catches it


async def test_mistake_that_was_none_at_first_is_a_crash(tmp_path: Path) -> None:
    """A database that is away when a worker comes back must not end the tournament."""
    told = Told()
    lives = tmp_path / "lives"
    code = (
        f"import pathlib, sys, time\npath = pathlib.Path({str(lives)!r})\n"
        "life = len(path.read_text()) if path.exists() else 0\n"
        "path.write_text('x' * (life + 1))\n"
        "if life == 1:\n"
        "    print('croupier: the database is away', file=sys.stderr); sys.exit(2)\n"
        "print('ready', flush=True)\n"
        "time.sleep(60 if life == 2 else 0)\n"
    )
    lived = asyncio.Event()

    def heard(_: str) -> None:
        if lives.read_text() == "xxx":
            lived.set()

    worker = part("worker", code, heard=heard)
    group = supervisor(told, part("manager", WAITS, leads=True), worker, times=5)
    running = asyncio.create_task(group.run())
    await lived.wait()
    assert "the database is away" in told.text("worker")
    await stop(running)


async def test_leader_that_gives_up_is_not_started_again() -> None:
    told = Told()
    code = "import sys; print('croupier: only 1 player', file=sys.stderr); sys.exit(1)"
    group = supervisor(told, part("manager", code, leads=True), part("worker", WAITS))
    with pytest.raises(ChildFailed, match=r"^only 1 player$"):
        await group.run()
    assert "started again" not in told.text("manager")


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
async def test_leader_that_is_killed_is_started_again(tmp_path: Path) -> None:
    told = Told()
    code = once(
        tmp_path / "lived", "import os; os.kill(os.getpid(), 9)", "print('done', flush=True)"
    )
    group = supervisor(told, part("manager", code, leads=True), part("worker", WAITS))
    assert await group.run() == 0
    assert "was ended by signal SIGKILL" in told.text("manager")


async def test_followers_start_only_when_the_leader_is_ready(tmp_path: Path) -> None:
    told = Told()
    tables = tmp_path / "tables"
    leader = (
        f"import pathlib, time; time.sleep(0.2); pathlib.Path({str(tables)!r}).touch();"
        "print('starting', flush=True); print('active', flush=True); time.sleep(60)"
    )
    follower = f"import pathlib; assert pathlib.Path({str(tables)!r}).exists(); {WAITS}"
    group = supervisor(
        told,
        part("manager", leader, leads=True, is_ready="active".__eq__),
        part("worker", follower, follows=True),
        times=0,
    )
    running = asyncio.create_task(group.run())
    await told.is_ready.wait()
    await stop(running)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
async def test_stop_ends_the_leader_first_and_kills_who_does_not_obey(tmp_path: Path) -> None:
    told = Told()
    order = tmp_path / "order"
    obeys = (
        "import signal, sys, time\n"
        "def end(*_):\n"
        "    time.sleep({delay})\n"
        f"    open({str(order)!r}, 'a').write('{{name}} ')\n"
        "    sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, end)\n" + WAITS
    )
    group = supervisor(
        told,
        part("manager", obeys.format(name="manager", delay=0.3), leads=True),
        part("gateway", obeys.format(name="gateway", delay=0)),
        part("worker", STUBBORN, patience_s=0.5),
    )
    running = asyncio.create_task(group.run())
    await told.is_ready.wait()
    pids = list(group.pids.values())
    await stop(running)
    assert order.read_text() == "manager gateway "
    assert "is killed" in told.text("worker")
    assert await all_gone(pids, 0) == []


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
async def test_drain_lets_the_others_run_until_the_leader_has_ended(tmp_path: Path) -> None:
    told = Told()
    leader = (
        "import os, signal, sys, time\n"
        "def end(*_):\n"
        "    print('last game', flush=True)\n"
        f"    while not os.path.exists({str(tmp_path / 'heard')!r}): time.sleep(0.01)\n"
        "    sys.exit(143)\n"
        "signal.signal(signal.SIGTERM, end)\n" + WAITS
    )
    alive: list[int] = []

    def heard(line: str) -> None:
        if line == "last game":
            alive.extend(group.pids.values())
            (tmp_path / "heard").touch()

    group = supervisor(
        told, part("manager", leader, leads=True, heard=heard), part("worker", WAITS)
    )
    running = asyncio.create_task(group.run())
    await told.is_ready.wait()
    await group.drain()
    assert len(alive) == 2
    assert await running == 143
    assert await all_gone(alive) == []


async def test_who_stays_does_so_after_the_leaders_end(tmp_path: Path) -> None:
    told = Told()
    leader = until(tmp_path / "over")
    group = supervisor(
        told,
        part("manager", leader, leads=True),
        part("web", WAITS, stays=True),
        part("worker", WAITS),
    )
    running = asyncio.create_task(group.run())
    await told.is_ready.wait()
    gone = [pid for name, pid in group.pids.items() if name != "web"]
    (tmp_path / "over").touch()
    assert await all_gone(gone) == []
    assert list(group.pids) == ["web"]
    await stop(running)
    assert group.pids == {}


PARENT = f"""
import asyncio, sys
from croupier_server.cluster.children import Part, Supervisor

CODE = "{HOLD_ON}; {STUBBORN}"

async def main():
    def command():
        return [sys.executable, "-c", CODE.replace("60", "600")]
    group = Supervisor(
        [Part(name="manager", command=command, leads=True), Part(name="worker", command=command)],
        ready=lambda: print(*group.pids.values(), flush=True),
        log=lambda *_: None,
    )
    await group.run()

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
async def test_nothing_is_left_when_the_parent_is_killed() -> None:
    """Not even children that ignore SIGTERM."""
    code = PARENT.replace("hold_on()", "hold_on(0.3)")
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout is not None
    try:
        pids = [int(pid) for pid in (await parent.stdout.readline()).split()]
        assert len(pids) == 2
    finally:
        parent.kill()
        await parent.wait()
    assert await all_gone(pids) == []


def test_allowance_forgets_what_is_long_ago() -> None:
    allowance = Allowance(2, 60.0, (0.1, 5.0))
    assert [allowance.take(now) for now in (0.0, 1.0, 2.0)] == [0.1, 5.0, None]
    assert allowance.take(60.5) == 5.0
    assert allowance.take(60.6) is None
