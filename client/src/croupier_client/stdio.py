"""A Python player as a program that speaks JSON lines over its standard input and output.

Whoever started it (a server, ``penguin bridge``, a grader) asks on standard input, and reads the
replies from standard output. What the player prints goes to standard error, however it is printed,
so that it is never taken for a reply::

    if __name__ == "__main__":
        serve_stdio(MyPlayer)
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import stat
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NoReturn

from croupier_client.connection import Client
from croupier_client.ending import Ending, EndingKind, ejected, ended
from croupier_client.errors import ClientError
from croupier_client.joining import JoinOptions
from croupier_client.loader import Target, target_of
from croupier_client.player import Player
from croupier_client.replies import reply_text
from croupier_client.turns import Answer, Answered, Failed, Vanish, Warn
from croupier_common.hello import OPTIONS, Hello, hello_from_text
from croupier_common.lines import Line, LineSplitter, line_bytes
from croupier_common.messages import PROTOCOL
from croupier_common.render import printable

__all__ = ["StdioClient", "Wires", "run_stdio", "serve_stdio"]

_MAX_RECEIVED: Final = 16 << 20
_END: Final = (b"", 0.0)
_ANSWER_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Wires:
    """The file descriptors of what were standard input and output."""

    reads: int
    writes: int

    @classmethod
    def take(cls) -> Wires:
        """Take them away from the player: it reads nothing, and prints to standard error.

        That holds for programs that it starts and for libraries in C as well.
        """
        wires = cls(os.dup(0), os.dup(1))
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        out: object = sys.stdout
        if isinstance(out, io.TextIOWrapper):
            out.reconfigure(line_buffering=True)  # in order with what goes to standard error
        return wires

    @property
    def patience_s(self) -> float | None:
        """How long an answer may still take when standard input has been read to its end.

        Whoever closes it wants the program to end; a file, of requests to try again, just ends.
        """
        return None if stat.S_ISREG(os.fstat(self.reads).st_mode) else _ANSWER_S


class StdioClient(Client):
    """A player that a host asks over the wires; :meth:`run` gives how that ended.

    Args:
        target: the kind of player.
        options: those that a program chooses are told to the host; the rest is the host's.
        tell: takes lines on how things go.
        warn: takes what the player's author should know.
    """

    def __init__(
        self,
        target: Target,
        wires: Wires,
        options: JoinOptions,
        *,
        tell: Callable[[str], None],
        warn: Warn,
    ) -> None:
        super().__init__("", target, options, tell=tell, warn=warn)
        self._wires = wires
        self._read: asyncio.Queue[tuple[bytes, float]] = asyncio.Queue()

    async def _visit(self) -> Ending:
        """Take what comes until standard input is closed."""
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._work, args=(loop,), name="input", daemon=True).start()
        splitter = LineSplitter(_MAX_RECEIVED)
        while (came := await self._read.get()) != _END:
            data, received = came
            for line in splitter.feed(data):
                if isinstance(line, Line):
                    self._take(line.text, received)
                else:
                    self._warn(f"the host sent {line.detail}: {printable(line.shown)}")
        if self._calls and self._ejection is None:  # what was asked before is still answered
            await asyncio.wait(self._calls, timeout=self._wires.patience_s)
        return self._why_over()

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        """In a thread, since standard input may be a file or a console: read it to its end."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            while data := self._read_some():
                loop.call_soon_threadsafe(self._read.put_nowait, (data, time.monotonic()))
            loop.call_soon_threadsafe(self._read.put_nowait, _END)

    def _read_some(self) -> bytes:
        try:
            return os.read(self._wires.reads, 1 << 16)
        except OSError:
            return b""

    def _take(self, text: str, received: float) -> None:
        hello = hello_from_text(text)
        if hello is None:
            self._receive(text, received)
            return
        reply = reply_text(hello.id, self._answer_hello(hello))
        if reply is not None:
            self._start(self._send(reply), self._calls)

    def _answer_hello(self, hello: Hello) -> Answer:
        version = hello.params.protocol
        if version != PROTOCOL:
            return Failed(f"protocol {version} is not spoken here; this kit speaks {PROTOCOL}")
        self._tell(f"playing as {printable(hello.params.name)}")
        return Answered(self._params.model_dump(include=set(OPTIONS), exclude_defaults=True))

    def _why_over(self) -> Ending:
        if self._end is not None:
            return ended(self._end)
        if self._ejection is not None:
            return ejected(self._ejection)
        return Ending(EndingKind.LOST, "standard input was closed")

    async def _leave(self) -> None:
        """The host closes standard input now."""

    async def _send(self, text: str) -> None:
        left = line_bytes(text)
        try:
            while left:
                left = left[os.write(self._wires.writes, left) :]
        except OSError:  # nobody reads it any more
            self._read.put_nowait(_END)

    def _misbehave(self, answer: Answer) -> None:
        if isinstance(answer, Vanish):
            self._read.put_nowait(_END)


def serve_stdio(
    player: type[Player],
    *,
    age: int | None = None,
    max_games: int = 1,
    events: bool = False,
) -> NoReturn:
    """Be a program that speaks JSON lines over standard input and output, until it is over.

    To be called last, since it ends the process. What was printed before is not diverted any more.

    Args:
        player: its class.
        age: as in join, where the host doesn't know better.
        max_games: how many games it plays at once, each with a player of its own.
        events: whether it is told of everything at once.
    """
    wires = Wires.take()
    options = JoinOptions(name="-", age=age, max_games=max_games, events=events)
    sys.exit(run_stdio(target_of(player), wires, options))


def run_stdio(target: Target, wires: Wires, options: JoinOptions) -> int:
    """Play over the wires until it is over; give the exit code, and tell how it went."""

    def say(text: str) -> None:
        sys.stderr.write(f"{text}\n")

    if os.isatty(wires.reads):
        say("this reads requests from standard input; see 'penguin bridge --help'")
    try:
        ending = asyncio.run(StdioClient(target, wires, options, tell=say, warn=say).run())
    except ClientError as problem:
        say(" ".join(str(problem).split()))
        return 2
    except KeyboardInterrupt:
        say("interrupted")
        return 130
    say(ending.text)
    return ending.exit_code
