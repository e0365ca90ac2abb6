"""What is done between a process's start and the program in it: limits, user, then the program.

It is also the first process inside of bubblewrap (:func:`main`). That one
starts the program, waits for it, and says how many processes it left; when it ends, the kernel ends
them all. Every start pays for what is imported here.
"""

from __future__ import annotations

import os
import sys

FOLDER = "/player"
STDIN, STDOUT, TELL = 3, 4, 5
"""Files that the first process inside gets; 0 and 1 are nothing, as bubblewrap keeps those open."""

_NO_NEW_PRIVILEGES = 38
_CHILD_SUBREAPER = 36
_PARENT_DEATH_SIGNAL = 1
_NEW_NETWORK, _NEW_IPC = 0x40000000, 0x08000000
_SET_FLAGS, _UP_AND_RUNNING = 0x8914, 0x41


def prctl(option: int, value: int) -> None:
    """Set a property of this process, on Linux; elsewhere, do nothing."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {option}")


def become_subreaper() -> None:
    """Become the parent of every descendant whose own parent has ended."""
    prctl(_CHILD_SUBREAPER, 1)


def die_with(parent: int) -> None:
    """Be killed when the parent ends; that is undone by a change of the user, so do it later."""
    prctl(_PARENT_DEATH_SIGNAL, 9)
    if os.getppid() != parent:
        os._exit(137)


def set_limits(limits: dict[str, int]) -> None:
    """Set limits by their names, no higher than they may be set."""
    import resource  # which Windows has not

    for name, value in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}", None)
        if kind is None:
            continue
        hard = resource.getrlimit(kind)[1]
        wanted = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (wanted, wanted))


def drop_to(user: int) -> None:
    """Become another user, with the group of that number and no other, for good."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def leave_network() -> None:
    """Leave the machine's network, and its shared memory and queues, for ones of our own.

    A loopback is all that there is, and nobody else's. Needs to be root, and to be allowed.
    """
    import _socket  # without what Python has put around it, which takes its time
    import ctypes
    import fcntl
    import struct

    if ctypes.CDLL(None, use_errno=True).unshare(_NEW_NETWORK | _NEW_IPC) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    control = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
    fcntl.ioctl(control.fileno(), _SET_FLAGS, struct.pack("16sH14x", b"lo", _UP_AND_RUNNING))
    control.close()


def keep_down() -> None:
    """No program that is started from now on has more rights than this process."""
    prctl(_NO_NEW_PRIVILEGES, 1)


def become(argv: list[str], env: dict[str, str], tell: int) -> None:
    """Become the program; if that can't be, say so to its author and through `tell`, and end.

    Nothing may be imported any more: the user that we have become need not be able to read it.
    """
    reason = 2  # no such file
    names = [argv[0]] if "/" in argv[0] else [f"{at}/{argv[0]}" for at in env["PATH"].split(":")]
    for name in names:
        try:
            os.execve(name, argv, env)  # noqa: S606 - no shell reads it
        except OSError as problem:
            if problem.errno != 2 or len(names) == 1:
                reason = problem.errno or 0
    os.write(2, f"can't start {argv[0]}: {os.strerror(reason)}\n".encode())
    os.write(tell, b"E%d\n" % reason)
    os._exit(127)


def let_go(*files: int) -> None:
    """Leave files to the program alone, so that its closing them is seen."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for file in files:
        os.dup2(nothing, file)
    os.close(nothing)


def count_left(lines: list[str]) -> int:
    """How many of some processes, each by its line in /proc, are more than a name."""
    return sum(line.rpartition(")")[2].split()[0] not in "ZX" for line in lines)


def main() -> None:
    """Be the first process inside; its arguments: user, processes, program and its arguments."""
    user, processes = map(int, sys.argv[1:3])
    os.write(TELL, b"S\n")
    os.set_inheritable(TELL, False)
    program = os.fork()
    if program == 0:
        try:
            _start(user, processes, sys.argv[3:])
        finally:
            os._exit(127)
    os.close(STDIN)
    os.close(STDOUT)
    let_go(2)
    ended = 0
    while ended != program:
        ended, status = os.wait()
        if ended == program:
            os.write(TELL, b"L%d\n" % count_left(_others()))
            code = os.waitstatus_to_exitcode(status)
            os._exit(128 - code if code < 0 else code)


def _start(user: int, processes: int, argv: list[str]) -> None:
    if processes >= 0:
        set_limits({"NPROC": processes})
    if user >= 0:
        drop_to(user)
    os.chdir(FOLDER)  # before, we need not be let in
    os.dup2(STDIN, 0)
    os.dup2(STDOUT, 1)
    os.close(STDIN)
    os.close(STDOUT)
    become(argv, dict(os.environ), TELL)


def _others() -> list[str]:
    found: list[str] = []
    for name in os.listdir("/proc"):  # noqa: PTH208 - pathlib takes its time
        if name.isdigit() and name != "1":
            try:
                with open(f"/proc/{name}/stat", encoding="latin-1") as file:  # noqa: PTH123 - as above
                    found.append(file.read())
            except OSError:
                continue  # it has ended since
    return found
