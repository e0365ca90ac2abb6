"""What a host of a program needs to know, sans I/O: its log, its end, and words for its author."""

from __future__ import annotations

import errno
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from croupier_common.render import printable

__all__ = [
    "PATIENCE",
    "PRINT_HINT",
    "CappedLog",
    "Patience",
    "end_text",
    "friendly_variables",
    "looks_printed",
    "start_problem",
]


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a program may take to end, in seconds.

    Attributes:
        close_s: after its standard input was closed; then it gets SIGTERM.
        term_s: after that; then all that it has started is killed.
    """

    close_s: float = 2.0
    term_s: float = 1.0


PATIENCE: Final = Patience()

PRINT_HINT: Final = (
    "standard output is for replies only; print anything else to standard error instead"
)


def looks_printed(line: str) -> bool:
    """Whether a line is no attempt at a reply, but something that was printed."""
    return not line.lstrip().startswith(("{", "["))


def end_text(status: int) -> str:
    """How a program ended, by its return code: that it "ended with exit status 1", say."""
    if status >= 0:
        return f"ended with exit status {status}"
    try:
        return f"was ended by signal {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"


def start_problem(program: str, problem: OSError) -> str:
    """Why a program could not be started, in one line, with what to do about it."""
    told = problem.strerror or str(problem)
    if problem.errno == errno.EACCES:
        told += "; a program must be executable (chmod +x), or be given to what runs it"
    elif problem.errno == errno.ENOEXEC:
        told += "; its first line must say what runs it, as '#!/usr/bin/env python3' does"
    elif problem.errno == errno.ENOENT:  # the program itself was found before
        told += "; does what its first line (#!) names exist, and does that line end with LF alone?"
    return f"can't start {printable(program, 200)}: {told}"


def friendly_variables(already: Mapping[str, str]) -> dict[str, str]:
    """Variables that have a program in Python write at once, and in UTF-8; it may set them itself.

    Args:
        already: the variables that are set.
    """
    wanted = {"PYTHONUNBUFFERED": "1", "PYTHONIOENCODING": "utf-8"}
    return {name: value for name, value in wanted.items() if name not in already}


class CappedLog:
    """The head and the tail of a stream, with a count of what is left out between them.

    Give it what is read, and write what it gives back; nothing that is fed into it is ever too
    much.

    Args:
        head: how many bytes are written as they come.
        tail: how many of the last ones are kept for the end.

    Attributes:
        total: how many bytes were fed.
    """

    __slots__ = ("_head", "_last", "_tail", "total")

    def __init__(self, head: int = 896 << 10, tail: int = 128 << 10) -> None:
        self.total = 0
        self._head = head
        self._tail = tail
        self._last = b""

    def feed(self, data: bytes) -> bytes:
        """What of it is to be written now."""
        room = max(0, self._head - self.total)
        self.total += len(data)
        self._last = (self._last + data)[-self._tail :]
        return data[:room]

    def end(self) -> bytes:
        """What is to be written at the end."""
        over = self.total - self._head
        if over <= 0:
            return b""
        if over <= self._tail:
            return self._last[-over:]
        return b"\n[%d bytes left out]\n" % (over - self._tail) + self._last

    def last_lines(self, count: int, width: int = 200) -> Sequence[str]:
        """The last lines that have anything in them, cut and made fit to be shown."""
        lines = self._last.decode("utf-8", "replace").splitlines()
        told = [printable(line.rstrip(), width) for line in lines if line.strip()]
        return told[-count:]
