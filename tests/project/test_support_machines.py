"""Machines that can be cut off, clocks that jump, and a disk that is slow are what they say."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from croupier_server.storage.database import Database
from croupier_server.storage.postgresql import Postgresql
from croupier_server.storage.sqlite import SqliteFile
from support import netns
from support.databases import where
from support.faketime import SetClock, remove_stale, require_faketime
from support.netns import Host, Net
from support.slow_disk import delay_s, slow_down
from support.storage import begin_games

__all__ = ["where"]

TESTS = Path(__file__).resolve().parent.parent
PORT = 4000

ECHO = """
import socket, sys
server = socket.create_server((sys.argv[1], int(sys.argv[2])))
print("ready", flush=True)
while True:
    client, _ = server.accept()
    while data := client.recv(100):
        client.sendall(data)
"""

TALK = """
import socket, sys
place, timeout_s = (sys.argv[1], int(sys.argv[2])), float(sys.argv[3])
with socket.create_connection(place, timeout=timeout_s) as client:
    for line in sys.stdin:
        client.sendall(line.encode())
        print(client.recv(100).decode(), end="", flush=True)
"""

CLOCKS = """
import asyncio, sys, threading, time
for line in sys.stdin:
    asyncio.run(asyncio.sleep(0.01))
    threading.Event().wait(0.01)
    print(time.time(), time.monotonic(), flush=True)
"""


def line_of(process: subprocess.Popen[str], told: str = "") -> str:
    """Tell a process a line, if one is given, and give the line that it prints."""
    if told:
        assert process.stdin is not None
        process.stdin.write(told)
        process.stdin.flush()
    assert process.stdout is not None
    return process.stdout.readline()


# -- machines


@pytest.fixture
def net() -> Iterator[Net]:
    with Net() as made:
        yield made


def echo_on(host: Host) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", ECHO, host.address, str(PORT)]
    server = host.popen(arguments, stdout=subprocess.PIPE)
    assert line_of(server) == "ready\n"
    return server


def talk_to(address: str, port: int = PORT, timeout_s: float = 10) -> list[str]:
    return [sys.executable, "-c", TALK, address, str(port), str(timeout_s)]


def talk(host: Host, to: Host) -> subprocess.Popen[str]:
    return host.popen(talk_to(to.address), stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def test_connection_between_hosts_waits_while_one_is_cut_off_and_goes_on(net: Net) -> None:
    a, b, c = net.host("a"), net.host("b"), net.host("c")
    for host in (a, c):
        echo_on(host)
    cut_off, other = talk(b, a), talk(b, c)
    assert line_of(cut_off, "one\n") == "one\n"
    assert line_of(other, "one\n") == "one\n"
    a.cut()
    assert cut_off.stdin is not None
    cut_off.stdin.write("two\n")
    cut_off.stdin.flush()
    assert line_of(other, "two\n") == "two\n"  # the others are as before
    unanswered = b.run(talk_to(a.address, timeout_s=0.3))
    assert "timed out" in unanswered.stderr
    assert cut_off.poll() is None
    a.join()
    assert line_of(cut_off) == "two\n"


def test_host_has_a_network_of_its_own_with_a_loopback(net: Net) -> None:
    a, b = net.host("a"), net.host("b")
    for host in (a, b):  # the same address and port, in each
        local = Host("local", host.inside([])[3], "", "127.0.0.1")
        echo_on(local)
        piped = ["sh", "-c", 'echo $TOLD | "$0" "$@"', *talk_to("127.0.0.1")]
        done = host.run(piped, {"TOLD": host.name})
        local.end()
        assert done.stdout == f"{host.name}\n", done.stderr


def test_here_reaches_hosts_and_is_reached(net: Net) -> None:
    a, here = net.host("a"), net.here()
    echo_on(a)
    with socket.create_connection((a.address, PORT), timeout=10) as client:
        client.sendall(b"hello")
        assert client.recv(100) == b"hello"
        assert client.getsockname()[0] == here
    with socket.create_server((here, 0)) as server:
        server.settimeout(10)
        port = server.getsockname()[1]
        a.popen(talk_to(here, port), stdin=subprocess.DEVNULL).wait(10)
        taken, (address, _) = server.accept()
        taken.close()
        assert address == a.address


def test_net_leaves_nothing_even_after_a_failure() -> None:
    with ExitStack() as stack:
        net = stack.enter_context(Net())
        host = net.host("a")
        net.here()
        shell = host.popen(["sh", "-c", "sleep 1000 & echo $!; wait"], stdout=subprocess.PIPE)
        grandchild = int(line_of(shell))
        assert len(namespaces()) == 2
        assert len(interfaces()) == 1
        stack.pop_all().__exit__(KeyError, KeyError("of the test"), None)
    assert shell.returncode == -9
    assert not namespaces()
    assert not is_running(grandchild)
    assert not interfaces()


def test_net_that_fails_half_way_leaves_nothing() -> None:
    netns.require_netns()
    with Net() as net, pytest.raises(RuntimeError, match="much-too-long"):
        net.host("much-too-long-a-name")
    assert not namespaces()


def namespaces() -> list[str]:
    """Give the namespaces of this process."""
    return [path.name for path in netns.NAMESPACES.glob(f"{netns.PREFIX}-{os.getpid()}-*")]


def interfaces() -> list[str]:
    """Give the interfaces that this process has plugged in here."""
    return [name for _, name in socket.if_nameindex() if name.startswith(f"ct{os.getpid()}-")]


def is_running(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def test_what_a_killed_test_run_leaves_is_removed() -> None:
    netns.require_netns()
    script = (
        "import subprocess, sys\n"
        "from support.netns import Net\n"
        "net = Net().__enter__()\n"
        "host = net.host('left')\n"
        "print(host.inside([])[3], host.popen(['sleep', '1000']).pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    run = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=TESTS,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    with run:
        name, pid = line_of(run).split()
        with Net():
            assert (netns.NAMESPACES / name).exists()  # its run is alive
        run.kill()
    assert is_running(int(pid))
    with Net():
        assert not (netns.NAMESPACES / name).exists()
        assert not is_running(int(pid))


def test_three_hosts_are_ready_within_a_second() -> None:
    netns.require_netns()
    started = time.monotonic()
    with Net() as net:
        for name in "abc":
            net.host(name)
        assert time.monotonic() - started < 1


# -- clocks


def test_clock_jumps_while_a_program_runs_and_its_monotonic_clock_does_not(tmp_path: Path) -> None:
    with (
        SetClock(tmp_path, 100) as clock,
        subprocess.Popen(
            [sys.executable, "-c", CLOCKS],
            env={**os.environ, **clock.environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        ) as program,
    ):
        for jump, ahead_s in ((0, 100), (7200, 7300), (-14400, -7100)):
            clock.jump(jump)
            before = time.time(), time.monotonic()
            told, monotonic = map(float, line_of(program, "now\n").split())
            assert before[0] - 0.01 <= told - ahead_s <= time.time() + 0.01
            assert before[1] <= monotonic <= time.monotonic()
            assert clock.offset_s == ahead_s
        assert program.stdin is not None
        program.stdin.close()


def test_killed_program_with_a_clock_leaves_no_shared_memory(tmp_path: Path) -> None:
    require_faketime()

    def left(pid: int) -> list[Path]:
        return list(Path("/dev/shm").glob(f"*faketime_*_{pid}"))

    with SetClock(tmp_path) as clock:
        program = subprocess.Popen(
            [sys.executable, "-c", CLOCKS],
            env={**os.environ, **clock.environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        with program:
            line_of(program, "now\n")
            remove_stale()
            assert left(program.pid)  # it is in use
            program.kill()
        assert left(program.pid)
    assert not left(program.pid)


# -- a disk


async def test_commit_on_a_slow_disk_takes_longer(
    where: Path | str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in (SqliteFile, Postgresql):
        monkeypatch.setattr(kind, "commit", kind.commit)  # so that it is put back
    told = tmp_path / "delay"
    slow_down(str(told))
    async with await Database.open(where) as database:
        [game] = await begin_games(database, 1)
        told.write_text("300", encoding="ascii")
        started = time.monotonic()
        append = asyncio.create_task(database.append(game, [(1, "line\n")]))
        async with asyncio.timeout(0.2):  # the loop goes on
            await asyncio.sleep(0.01)
        await append
        assert time.monotonic() - started >= 0.3
        told.write_text("0", encoding="ascii")


def test_delay_of_a_slow_disk_is_a_number_or_a_file(tmp_path: Path) -> None:
    assert delay_s("250") == 0.25
    assert delay_s(str(tmp_path / "not there")) == 0


def test_croupier_runs_on_a_slow_disk() -> None:
    for arguments, code, said in ((["--version"], 0, "croupier "), (["status", "-x"], 2, "")):
        done = subprocess.run(
            [sys.executable, "-m", "support.slow_disk", "5", *arguments],
            cwd=TESTS,
            capture_output=True,
            encoding="utf-8",
            timeout=20,
            check=False,
        )
        assert done.returncode == code, done.stderr
        assert done.stdout.startswith(said)
