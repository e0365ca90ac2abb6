"""A program that means harm, with switches: ``hostile.py TOKEN HABIT [ARGUMENT...]``.

It says on standard output what it has managed: ``did WHAT`` or ``failed WHAT: WHY``. It uses
nothing but the standard library, names all that it leaves by TOKEN, and ends itself after 20
seconds, with all that it has started, should nobody else do so.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

GUARD_S = 20
TOKEN, HABIT, *ARGUMENTS = sys.argv[1:]
MIB = 1 << 20


def guard() -> None:
    """End this process after a while; a fork needs its own."""
    signal.alarm(GUARD_S)


def say(text: str) -> None:
    os.write(1, f"{text}\n".encode())


def attempt(what: str, deed: Callable[[], object]) -> None:
    """Do something, and say whether it could be done."""
    try:
        deed()
    except (OSError, MemoryError) as problem:
        say(f"failed {what}: {problem}")
    else:
        say(f"did {what}")


def fork_bomb() -> None:
    for _ in range(100):
        try:
            if os.fork() == 0:
                guard()
        except OSError:
            break
        if os.getpid() % 100 == 0:
            time.sleep(0.001)
    time.sleep(GUARD_S)


def memory() -> None:
    kept: list[bytes] = []
    for _ in range(100):
        kept.append(os.urandom(4096) * 1024)
        time.sleep(0.005)
    time.sleep(GUARD_S)


def many_hold_memory() -> None:
    for _ in range(6):
        if os.fork() == 0:
            guard()
            held = os.urandom(4096) * (40 * 256)
            time.sleep(GUARD_S)
            del held
    time.sleep(GUARD_S)


def loop() -> None:
    while True:
        pass


def many_loop() -> None:
    for _ in range(3):
        if os.fork() == 0:
            guard()
    loop()


def sleep() -> None:
    time.sleep(GUARD_S)


def stubborn() -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    say("did start")
    time.sleep(GUARD_S)


def hang_at_exit() -> None:
    import atexit

    atexit.register(time.sleep, GUARD_S)
    say("did start")


def detach() -> bool:
    """Double fork into a session of its own; True in the process that is left."""
    reads, writes = os.pipe()
    if os.fork() != 0:
        os.close(writes)
        os.read(reads, 1)  # until the grandchild is there
        os.wait()
        return False
    os.setsid()
    if os.fork() != 0:
        os._exit(0)
    guard()
    os.close(reads)
    os.write(writes, b"x")
    return True


def daemon() -> None:
    if detach():
        time.sleep(GUARD_S)


def listen() -> None:
    import socket

    if detach():
        with socket.socket() as server:
            server.bind(("127.0.0.1", int(ARGUMENTS[0])))
            server.listen()
            time.sleep(GUARD_S)
    else:
        time.sleep(0.2)


def fill() -> None:
    def write() -> None:
        folder = Path(os.environ["TMPDIR"] if ARGUMENTS[0] == "TMPDIR" else ARGUMENTS[0])
        for number in range(12):
            (folder / f"{TOKEN}-{number}").write_bytes(bytes(2 * MIB))
        time.sleep(0.8)

    attempt("fill", write)


def long_file() -> None:
    def write() -> None:
        (Path(os.environ["TMPDIR"]) / TOKEN).write_bytes(bytes(6 * MIB))

    attempt("write a long file", write)


def flood() -> None:
    file = int(ARGUMENTS[0])
    line = b"x" * 1023 + b"\n"
    for _ in range(1 << 20):
        os.write(file, line)


def read() -> None:
    attempt("read", lambda: say(Path(ARGUMENTS[0]).read_text(encoding="utf-8")))


def read_by_link() -> None:
    def deed() -> None:
        link = Path(f"link-{TOKEN}")
        link.symlink_to(ARGUMENTS[0])
        say(link.read_text(encoding="utf-8"))

    attempt("read", deed)


def write() -> None:
    attempt("write", lambda: Path(ARGUMENTS[0]).write_text("full marks", encoding="utf-8"))


def environment() -> None:
    for name, value in os.environ.items():
        say(f"{name}={value}")


def look_into() -> None:
    attempt("look", lambda: say(Path(f"/proc/{ARGUMENTS[0]}/environ").read_text()))


def trace() -> None:
    """Take hold of a process as a debugger does, without stopping it."""

    import ctypes

    def deed() -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        seize = 0x4206
        if libc.ptrace(seize, int(ARGUMENTS[0]), None, None) != 0:
            raise OSError(ctypes.get_errno(), "ptrace")

    attempt("trace", deed)


def connect() -> None:
    import socket

    def deed() -> None:
        with socket.create_connection(("127.0.0.1", int(ARGUMENTS[0])), timeout=2) as there:
            there.sendall(b"the seeds, please")

    attempt("connect", deed)


def kill_parent() -> None:
    attempt("kill", lambda: os.kill(os.getppid(), signal.SIGKILL))
    time.sleep(0.3)
    say("did survive")


def kill_all() -> None:
    if os.getuid() == 0:
        sys.exit("never as root: that would be the machine's end, were it not contained")
    attempt("kill", lambda: os.kill(-1, signal.SIGKILL))


def close_output() -> None:
    say("did start")
    os.close(1)
    time.sleep(GUARD_S)


if __name__ == "__main__":
    guard()
    globals()[HABIT]()
