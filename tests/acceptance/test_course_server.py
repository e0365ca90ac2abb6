"""`croupier course xserver` and `xclients` as the course runs them: real processes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from support.course import course_folder, require_course_folder
from support.course_wire import CourseScript, Habit, hangs_up, honest, says
from support.needs import require

PATIENCE_S = 40

WAIT_S = 1.5
"""How long servers wait here for clients; all who are to come do so as soon as they can."""


def free_ports(count: int) -> list[int]:
    """Ports that were free just now, all different."""
    taken = [socket.socket() for _ in range(count)]
    for one in taken:
        one.bind(("127.0.0.1", 0))
    ports = [int(one.getsockname()[1]) for one in taken]
    for one in taken:
        one.close()
    return ports


def command(program: str, *args: object) -> list[str]:
    return [sys.executable, "-m", "croupier_server", "course", program, *map(str, args)]


@dataclass
class Done:
    """What a server wrote, and its exit code."""

    code: int | None
    out: str
    err: str


async def served(port: int, scripts: Sequence[CourseScript], wait_s: float = WAIT_S) -> Done:
    """Run a server for scripted clients, who sign up in their order."""
    server = await asyncio.create_subprocess_exec(
        *command("xserver", port, "--wait", wait_s, "--verbose"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert server.stdout is not None
    assert server.stderr is not None
    told: list[str] = []

    async def until_told(what: str) -> None:
        assert server.stderr is not None
        async for line in server.stderr:
            told.append(line.decode())
            if what in told[-1]:
                return
        raise AssertionError(f"the server ended without saying {what!r}:\n{''.join(told)}")

    try:
        async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
            await until_told("listening")
            for script in scripts:
                wire = await script.connect(port)
                group.create_task(script.answer_all(wire))
                if script.signs_up:
                    await until_told("player joined")
            out, err = await asyncio.gather(server.stdout.read(), server.stderr.read())
            code = await server.wait()
    finally:
        if server.returncode is None:
            server.kill()
            await server.wait()
    return Done(code, out.decode(), "".join(told) + err.decode())


# -- the course's own scenarios


HABITS: dict[str, Habit] = {
    "good": honest,
    "invalid-json-position": says("setup", "[1,0,0]"),
    "ill-formed-json": says("setup", "[0,,1]"),
    "fails-end(a)": hangs_up("end"),
    "fails-end": says("end", "false"),
    "fails-playing-as": hangs_up("playing-as"),
    "fails-playing-with": says("playing-with", '"who?"'),
    "illegal-turn": says("take-turn", "[[0,0],[0,0]]"),
}


@dataclass(frozen=True)
class Scenario:
    """One of the course's scenarios at one depth."""

    name: str
    players: tuple[str, ...]
    depth: int
    accepted: tuple[Any, ...]

    def scripts(self) -> list[CourseScript]:
        """Its clients, in the order of sign-up."""
        return [
            CourseScript("silent", sign_up=[], signs_up=False)
            if kind == "nameless"
            else CourseScript("abcdefghijkl"[at], HABITS[kind], self.depth)
            for at, kind in enumerate(self.players)
        ]


def scenarios() -> list[Scenario]:
    """All scenarios; none where the course's cases are not to be had."""
    folder = course_folder()
    path = None if folder is None else folder / "xserver.json"
    if path is None or not path.exists():
        return []
    found: list[Scenario] = []
    for case in json.loads(path.read_text(encoding="utf-8"))["scenarios"]:
        for depth, field in ((1, "expected"), (2, "expected_depth2")):
            if field in case:
                name, players = f"{case['what']}, depth {depth}", tuple(case["players"])
                found.append(Scenario(name, players, depth, tuple(case[field])))
    return found


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Done]:
    """How each scenario ended. They run at the same time, since servers mostly wait."""
    folder = require_course_folder()
    require("course-cases", scenarios(), f"no xserver.json in {folder}")
    at_once = asyncio.Semaphore(5)

    async def run(scenario: Scenario, port: int) -> tuple[str, Done]:
        async with at_once:
            return scenario.name, await served(port, scenario.scripts())

    async def run_all() -> dict[str, Done]:
        found = scenarios()
        ports = free_ports(len(found))
        runs = [run(scenario, port) for scenario, port in zip(found, ports, strict=True)]
        return dict(await asyncio.gather(*runs))

    return asyncio.run(run_all())


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "scenario",
    [pytest.param(one, id=one.name) for one in scenarios()] or [pytest.param(None, id="no-cases")],
)
def test_scenario_of_the_course(scenario: Scenario | None, outcomes: dict[str, Done]) -> None:
    assert scenario is not None
    done = outcomes[scenario.name]
    assert done.code == 0, done.err
    result = json.loads(done.out)
    assert result in scenario.accepted, done.err
    assert done.err.count(" is out: ") == result[1]


# -- server and clients together


def run(program: str, *args: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(program, *args), capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


def start(program: str, *args: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(program, *args), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.timeout(120)
def test_tenth_client_ends_the_wait_at_once() -> None:
    (port,) = free_ports(1)
    began = time.monotonic()
    with start("xserver", port, "--wait", 600) as server:
        try:
            clients = run("xclients", 10, port, "127.0.0.1", "--depth", 2)  # may be there first
            assert (clients.returncode, clients.stdout, clients.stderr) == (0, "", "")
            out, err = server.communicate(timeout=PATIENCE_S)
        finally:
            server.kill()
    assert (server.returncode, json.loads(out), err) == (0, [1, 0], "")
    assert time.monotonic() - began < PATIENCE_S


@pytest.mark.timeout(120)
def test_too_few_clients_for_two_periods_give_exit_code_1_and_no_result() -> None:
    (port,) = free_ports(1)
    with start("xserver", port, "--wait", 0.4) as server:
        try:
            clients = run("xclients", 4, port)
            out, err = server.communicate(timeout=PATIENCE_S)
        finally:
            server.kill()
    assert (server.returncode, out) == (1, "")
    assert err == "croupier: 4 of at least 5 players signed up within 2 x 400 ms\n"
    assert clients.returncode == 0
    assert sorted(clients.stderr.splitlines()) == [
        f"{name}: the server closed the connection before the end" for name in "abcd"
    ]


def test_signal_ends_the_wait_and_gives_no_result() -> None:
    require("posix", os.name == "posix", "signals are sent to processes")
    (port,) = free_ports(1)
    with start("xserver", port, "--verbose") as server:
        try:
            assert server.stderr is not None
            assert "listening" in server.stderr.readline()
            server.send_signal(signal.SIGTERM)
            out, err = server.communicate(timeout=PATIENCE_S)
        finally:
            server.kill()
    assert (server.returncode, out, err) == (128 + signal.SIGTERM, "", "stopped by SIGTERM\n")


def test_nobody_at_all_gives_exit_code_1_and_no_result() -> None:
    (port,) = free_ports(1)
    done = run("xserver", port, "--wait", 0.05)
    assert (done.returncode, done.stdout) == (1, "")
    assert "0 of at least 5" in done.stderr


@pytest.mark.timeout(120)
async def test_why_players_are_out_is_told_on_stderr() -> None:
    (port,) = free_ports(1)
    scripts = [
        CourseScript("ann", says("take-turn", "[[0,0],[0,0]]")),
        *[CourseScript(name) for name in ("ann", "b", "c", "d", "e", "f", "g", "h", "i")],
    ]
    done = await served(port, scripts)
    assert (done.code, json.loads(done.out)[1]) == (0, 1)
    assert "ann is out: illegal_action in movement: [[0,0],[0,0]] is not legal" in done.err
    assert "player=ann#2" in done.err


@pytest.mark.timeout(120)
def test_serve_lets_clients_of_the_course_play_beside_others() -> None:
    serve = [sys.executable, "-m", "croupier_server", "serve", "--port", "0", "--course-port", "0"]
    with subprocess.Popen(
        [*serve, "--data", "", "--min-players", "4", "--max-players", "4", "--wait", "60"],
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        try:
            assert server.stdout is not None
            course_port = server.stdout.readline().split()[-1]
            url = server.stdout.readline().split()[-1]
            join = [sys.executable, "-m", "croupier_client", "join", url, "greedy", "--name", "web"]
            with subprocess.Popen(join, stdout=subprocess.DEVNULL) as other:
                clients = run("xclients", 3, course_port)
                assert other.wait(PATIENCE_S) == 0
            told, _ = server.communicate(timeout=PATIENCE_S)
        finally:
            server.kill()
    assert (clients.returncode, clients.stderr, server.returncode) == (0, "", 0)
    standings = told[told.index("Standings") :].split()
    assert {"a", "b", "c", "web"} < set(standings)
    assert "Ejected" not in told


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("xserver", 0), "PORT"),
        (("xserver", 65_536), "PORT"),
        (("xserver", "here"), "PORT"),
        (("xserver",), "PORT"),
        (("xserver", 4_000, "--wait", 0), "--wait"),
        (("xserver", 4_000, "--host", "203.0.113.1"), "can't listen on 203.0.113.1 port 4000"),
        (("xclients", 0, 4_000), "'N'"),
        (("xclients", 1, 0), "PORT"),
        (("xclients", 1, 4_000, "nowhere.invalid"), "no connection to nowhere.invalid port 4000"),
        (("xclients", 1, 4_000, "127.0.0.1", "--depth", 0), "--depth"),
    ],
)
def test_mistake_gives_one_clear_line_and_exit_code_2(args: tuple[Any, ...], told: str) -> None:
    done = run(*args)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_port_in_use_says_so() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run("xserver", port)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"croupier: can't listen on 127.0.0.1 port {port}: ")
    assert "in use" in done.stderr
    assert len(done.stderr.splitlines()) == 1
