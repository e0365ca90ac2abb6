"""One start of a program under its warden, from its first process to its report."""

# ruff: noqa: PTH105, PTH108, PTH123 - no
# pathlib, without which a warden starts quicker

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Mapping

    from croupier_server.grading.isolation.cgroup import Cgroup
    from croupier_server.grading.isolation.gauge import Gauge
    from croupier_server.grading.isolation.processes import Process
    from croupier_server.grading.isolation.spec import Spec
elif os.name == "posix":
    import _signal as signal  # it lacks only the names in messages, which take their time

_KILL_S = 20.0
"""When to stop trying to kill what the system itself holds on to."""


class Ward:
    """One start of a program."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.program = 0
        self.status: int | None = None
        self.exceeded: str | None = None
        self.is_told = False  # to end
        self.left = 0
        self.heard = b""  # from the first process inside
        self._started = time.monotonic()
        self._wall_s = 0.0
        self._group: Cgroup | None = None
        self._wakes, self._tell = -1, -1
        self._parent = os.getppid()

    def run(self) -> int:
        """Run the program to its end; give the exit status."""
        from croupier_server.grading.isolation import stage
        from croupier_server.grading.isolation.gauge import Gauge

        mark = self._mark()
        stage.become_subreaper()
        self._listen()
        self._group = self._make_group()
        gauge = Gauge(self.spec, self._group)
        self._start()
        try:
            stage.let_go(0, 1, 2)
            self._watch(gauge)
        finally:
            self._end(gauge)
            self._report(gauge)
            os.unlink(mark)
        return self._exit_status()

    # -- its start

    def _mark(self) -> str:
        """Leave a sign that we run, for a sweep; it is gone when our report is there."""
        from croupier_server.grading.isolation import processes

        ours = processes.find(os.getpid())
        path = f"{self.spec['reports']}/{os.getpid()}.running"
        with open(path, "w", encoding="utf-8") as file:
            file.write(str(ours.started if ours else 0))
        return path

    def _listen(self) -> None:
        """Have signals wake us."""
        self._wakes, writes = os.pipe()
        os.set_blocking(self._wakes, False)
        os.set_blocking(writes, False)
        signal.set_wakeup_fd(writes, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._be_told)
        signal.signal(signal.SIGCHLD, self._be_woken)

    def _be_told(self, *_: object) -> None:
        self.is_told = True

    def _be_woken(self, *_: object) -> None:
        """There is a handler for it, so that it is not ignored."""

    def _make_group(self) -> Cgroup | None:
        spec = self.spec
        if not spec["cgroups"]:
            return None
        from croupier_server.grading.isolation.cgroup import Cgroup

        processes = spec["processes"] + spec["around"]
        return Cgroup.make(
            spec["cgroups"], spec["token"], memory=spec["memory"], processes=processes
        )

    def _start(self) -> None:
        self._tell, tell = os.pipe()
        os.set_blocking(self._tell, False)
        warden = os.getpid()
        self.program = os.fork()
        if self.program == 0:
            try:
                self._become(warden, tell)
            except OSError as problem:
                os.write(2, f"can't start {self.spec['program']}: {problem}\n".encode())
                os.write(tell, b"E%d\n" % (problem.errno or 0))
            finally:
                os._exit(127)
        os.close(tell)

    def _become(self, warden: int, tell: int) -> None:
        """In the new process: become the program."""
        from croupier_server.grading.isolation import stage

        spec = self.spec
        signal.set_wakeup_fd(-1)
        # Python ignores these two, and what is ignored stays so in the program
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        if self._group is not None:
            self._group.join()
        if spec["cwd"]:
            os.chdir(spec["cwd"])
        if spec["is_offline"]:
            stage.leave_network()
        stage.set_limits(spec["rlimits"])
        if spec["is_watched"]:
            stage.keep_down()
        if spec["user"] is not None:
            stage.drop_to(spec["user"])
        stage.die_with(warden)
        if spec["is_staged"]:
            tell = _arrange_for_stage(tell)
        else:
            os.dup2(tell, 3, inheritable=False)
            tell = 3
            os.closerange(4, 1 << 16)
        argv, mark = spec["argv"], spec["start_mark"]
        if mark:
            argv = [word.replace(mark, f"{mark}-{warden}") for word in argv]
        stage.become(argv, spec["env"], tell)

    # -- while it runs

    def _watch(self, gauge: Gauge) -> None:
        """Wait until it has ended, we are told to end, or a limit is crossed."""
        deadline = self._started + self.spec["wall_s"]
        while not self.is_told:
            self.is_told = os.getppid() != self._parent  # nobody is there any more to tell us
            self._reap()
            now = time.monotonic()
            if self.status is not None:
                return
            if now >= deadline:
                self.exceeded = "wall"
            elif now >= gauge.next_look:
                self.exceeded = gauge.look()
            if self.exceeded is not None:
                return
            self._wait(min(deadline, gauge.next_look) - time.monotonic())

    def _wait(self, seconds: float) -> None:
        """Wait for a signal, a word from inside, or a time."""
        import select

        files = [file for file in (self._wakes, self._tell) if file >= 0]
        ready = select.select(files, [], [], max(seconds, 0.0))[0]
        if self._wakes in ready:
            os.read(self._wakes, 4096)
        if self._tell in ready:
            self._hear()

    def _hear(self) -> None:
        if self._tell < 0:
            return
        try:
            data = os.read(self._tell, 4096)
        except BlockingIOError:
            return
        self.heard = (self.heard + data)[:4096]
        if not data:
            os.close(self._tell)
            self._tell = -1

    def _reap(self) -> bool:
        """Take note of who has ended; False if nobody is left who could."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.program:
                self.status = self._status_of(os.waitstatus_to_exitcode(status))
                self._wall_s = time.monotonic() - self._started

    def _status_of(self, code: int) -> int:
        """The program's own; bubblewrap has no other way to tell of a signal."""
        return 128 - code if self.spec["is_staged"] and code > 128 else code

    # -- its end

    def _end(self, gauge: Gauge) -> None:
        """Kill all that is left of it, until nothing is."""
        from croupier_server.grading.isolation import processes

        self._wall_s = self._wall_s or time.monotonic() - self._started
        if self.status is None and self.is_told and self.spec["grace_s"] > 0:
            self._ask_to_end()
        has_ended = self.status is not None
        deadline = time.monotonic() + _KILL_S
        while self._reap() and time.monotonic() < deadline:
            there = processes.descendants(os.getpid())
            if has_ended and not self.left and not self.spec["is_staged"]:
                self.left = sum(process.is_alive for process in there)
            self._kill(there)
            self._wait(0.005)
        self._hear()
        if self.exceeded is None and not self.is_told:
            self.exceeded = gauge.crossed_in_the_end(self.status)
        gauge.take_stock()
        self._remove_group()

    def _remove_group(self) -> None:
        deadline = time.monotonic() + _KILL_S
        while self._group is not None and time.monotonic() < deadline:
            if self._group.remove():
                return
            self._group.kill()
            time.sleep(0.002)

    def _ask_to_end(self) -> None:
        """Tell its process group to end, and wait a while."""
        try:
            os.killpg(self.program, 15)
        except (ProcessLookupError, PermissionError):
            return
        deadline = time.monotonic() + self.spec["grace_s"]
        while self._reap() and self.status is None and time.monotonic() < deadline:
            self._wait(deadline - time.monotonic())

    def _kill(self, there: list[Process]) -> None:
        from croupier_server.grading.isolation import processes

        if self.status is None:
            try:  # noqa: SIM105 - contextlib takes its time
                os.killpg(self.program, 9)
            except (ProcessLookupError, PermissionError):
                pass  # it has just ended
        if self._group is not None:
            self._group.kill()
        processes.kill(there)

    def _exit_status(self) -> int:
        if self.status is None:
            return 137
        return self.status if self.status >= 0 else 128 - self.status

    def _report(self, gauge: Gauge) -> None:
        words = self.heard.split(b"\n")
        # a program of our own user can write there too, numbers of any length
        numbers = {word[:1]: word[1:5] for word in words if word[1:].isdigit()}
        found: dict[str, object] = {
            "status": self.status,
            "exceeded": self.exceeded,
            "is_told": self.is_told,
            "is_set_up": not self.spec["is_staged"] or b"S" in words,
            "errno": int(numbers[b"E"]) if b"E" in numbers else None,
            "number": self.spec["number"],
            "wall_s": self._wall_s,
            "cpu_s": gauge.cpu_s,
            "memory": gauge.peak,
            "left": int(numbers.get(b"L", self.left)),
        }
        write_report(self.spec["reports"], found)


def write_report(folder: str, found: Mapping[str, object]) -> None:
    """Write it at once or not at all; names are in the order of the ends."""
    path = f"{folder}/{time.time_ns():020d}-{os.getpid()}"
    with open(f"{path}.tmp", "w", encoding="utf-8") as file:
        fields = ", ".join(f'"{name}": {_json(found[name])}' for name in found)
        file.write(f"{{{fields}}}")
    os.replace(f"{path}.tmp", f"{path}.json")


def _json(value: object) -> str:
    """Numbers, names and their absence; the module for that takes its time."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _arrange_for_stage(tell: int) -> int:
    """Put the pipes where the first process inside takes them from."""
    from croupier_server.grading.isolation import stage

    nothing = os.open(os.devnull, os.O_RDWR)
    kept = [os.dup2(file, 10 + file) for file in (0, 1)] + [os.dup2(tell, 12)]
    for file, place in zip(kept, (stage.STDIN, stage.STDOUT, stage.TELL), strict=True):
        os.dup2(file, place)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.closerange(stage.TELL + 1, 1 << 16)
    return stage.TELL
