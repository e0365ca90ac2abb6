"""Several machines on one: network namespaces on a common switch, whose cables can be pulled.

    with Net() as net:
        a, b = net.host("a"), net.host("b")
        a.popen([sys.executable, "-m", "http.server", "--bind", a.address])
        b.run(["curl", a.address])
        a.cut()    # as if its cable were pulled: nobody is told, nothing arrives
        a.join()

They share the file system, so that Unix sockets reach from one to the other whatever is cut. What
talks over a cut has to use `address`; `net.here()` gives the test's own process one too.
"""

from __future__ import annotations

import itertools
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from signal import SIGKILL
from types import TracebackType
from typing import Any, Final, Self

from support.needs import require

PREFIX: Final = "croupier-test"
NAMESPACES: Final = Path("/run/netns")
RUN_S: Final = 30.0

_NAME: Final = re.compile(rf"{PREFIX}-(\d+)-(\d+)-.+")
_numbers = itertools.count()


def require_netns() -> None:
    """Skip the test where there can't be network namespaces."""
    require("netns", is_possible(), "root, and ip with network namespaces and bridges, are needed")


@cache
def is_possible() -> bool:
    """Whether this process may make network namespaces and run programs in them."""
    name = _prefix() + "-probe"
    try:
        _ip("netns", "add", name)
        try:
            _ip("-n", name, "link", "add", "switch", "type", "bridge")
            _ip("netns", "exec", name, "true")
        finally:
            _ip("netns", "del", name)
    except (OSError, RuntimeError):
        return False
    return True


class Host:
    """A network namespace with an address on the switch; made by :meth:`Net.host`.

    Attributes:
        address: its address, the same while it is cut off.
    """

    def __init__(self, name: str, namespace: str, switch: str, address: str) -> None:
        self.name = name
        self.address = address
        self._namespace = namespace
        self._switch = switch
        self._started: list[subprocess.Popen[Any]] = []

    def __repr__(self) -> str:
        return f"<Host {self.name} {self.address}>"

    def inside(self, argv: Sequence[str]) -> list[str]:
        """Give the command that runs a command in it, as the very process that is started."""
        return ["ip", "netns", "exec", self._namespace, *argv]

    def run(
        self,
        argv: Sequence[str],
        env: Mapping[str, str] | None = None,
        *,
        timeout: float = RUN_S,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end, with more environment variables; it may fail."""
        return subprocess.run(
            self.inside(argv),
            env={**os.environ, **(env or {})},
            capture_output=True,
            encoding="utf-8",
            timeout=timeout,
            check=False,
        )

    def popen(
        self, argv: Sequence[str], env: Mapping[str, str] | None = None, **options: Any
    ) -> subprocess.Popen[str]:
        """Start a command; it is killed at the end if it still runs.

        Args:
            options: what `subprocess.Popen` takes besides.
        """
        started = subprocess.Popen(
            self.inside(argv), env={**os.environ, **(env or {})}, encoding="utf-8", **options
        )
        self._started.append(started)
        return started

    def cut(self) -> None:
        """Pull its cable: what it sends and what is sent to it is lost, and TCP tries again later.

        It is the switch's end that goes down. With its own end down a program would be told at once
        that there is no network, which is not what happens when a switch or a router fails.
        """
        _ip("-n", self._switch, "link", "set", "dev", self.name, "down")

    def join(self) -> None:
        """Put the cable back. Where TCP has tried for n seconds it may wait n more."""
        _ip("-n", self._switch, "link", "set", "dev", self.name, "up")

    def end(self) -> None:
        """Kill what runs in it, and wait for what was started here."""
        _kill_all_in(self._namespace)
        for process in self._started:
            with process:  # closes its pipes, and waits
                process.kill()


class Net:
    """A switch with hosts, for as long as it is entered; all is gone afterwards."""

    def __init__(self) -> None:
        self._number = number = next(_numbers)
        self._prefix = f"{_prefix()}-{number}"
        self._switch = f"{self._prefix}-switch"
        self._subnet = f"10.{128 + number % 64}.{os.getpid() % 256}"
        self._hosts: dict[str, Host] = {}
        self._here: str | None = None
        self._ends = ExitStack()

    def __enter__(self) -> Self:
        require_netns()
        remove_stale()
        with ExitStack() as ends:
            _make_namespace(self._switch, ends)
            _ip("-n", self._switch, "link", "add", "switch", "type", "bridge", "forward_delay", "0")
            _ip("-n", self._switch, "link", "set", "switch", "up")
            self._ends = ends.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ends.close()

    def host(self, name: str) -> Host:
        """Add a host; the name is at most 15 letters, digits, and hyphens."""
        if name in self._hosts or name == "switch":
            raise ValueError(f"there is a {name!r} already")
        namespace = f"{self._prefix}-{name}"
        address = self._next_address()
        _make_namespace(namespace, self._ends)
        host = Host(name, namespace, self._switch, address)
        self._ends.callback(host.end)
        self._plug(name, "eth0", namespace)
        _ip("-n", namespace, "addr", "add", f"{address}/24", "dev", "eth0")
        _ip("-n", namespace, "link", "set", "eth0", "up")
        self._hosts[name] = host
        return host

    def here(self) -> str:
        """Plug in this process's own network, and give its address on the switch."""
        if self._here is None:
            self._here = address = self._next_address()
            interface = f"ct{os.getpid()}-{self._number}"
            self._plug("here", interface, str(os.getpid()))
            self._ends.callback(_try_ip, "link", "del", interface)
            _ip("addr", "add", f"{address}/24", "dev", interface)
            _ip("link", "set", "dev", interface, "up")
        return self._here

    def _next_address(self) -> str:
        number = 1 + len(self._hosts) + (self._here is not None)
        return f"{self._subnet}.{number}"

    def _plug(self, port: str, interface: str, where: str) -> None:
        """Lay a cable from a port of the switch to an interface in a namespace."""
        near = ("name", port, "type", "veth")
        far = ("peer", "name", interface, "netns", where)
        _ip("-n", self._switch, "link", "add", *near, *far)
        _ip("-n", self._switch, "link", "set", "dev", port, "master", "switch", "up")


def remove_stale() -> None:
    """Remove the namespaces of test runs that died, and kill what runs in them."""
    for path in NAMESPACES.glob(f"{PREFIX}-*"):
        found = _NAME.fullmatch(path.name)
        if found and _started_at(int(found[1])) != int(found[2]):
            _remove_namespace(path.name)


def _prefix() -> str:
    """Give a name that no other process has or had, even one with the same number."""
    return f"{PREFIX}-{os.getpid()}-{_started_at(os.getpid())}"


def _started_at(pid: int) -> int | None:
    """Give when a process started, in the kernel's ticks; None if it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return int(stat.rpartition(")")[2].split()[19])


def _make_namespace(name: str, ends: ExitStack) -> None:
    _ip("netns", "add", name)
    ends.callback(_remove_namespace, name)
    _ip("-n", name, "link", "set", "lo", "up")


def _remove_namespace(name: str) -> None:
    _kill_all_in(name)
    _try_ip("netns", "del", name)


def _kill_all_in(name: str) -> None:
    """Kill the processes in a namespace, those too that they start meanwhile."""
    while pids := _try_ip("netns", "pids", name).split():
        for pid in map(int, pids):
            if _is_running(pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, SIGKILL)
        if not any(_is_running(int(pid)) for pid in pids):
            break


def _is_running(pid: int) -> bool:
    """Whether a process is there, and is no dead one that nobody has waited for."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def _ip(*arguments: str) -> str:
    done = subprocess.run(
        ["ip", *arguments], capture_output=True, encoding="utf-8", timeout=RUN_S, check=False
    )
    if done.returncode:
        raise RuntimeError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def _try_ip(*arguments: str) -> str:
    try:
        return _ip(*arguments)
    except RuntimeError:
        return ""
