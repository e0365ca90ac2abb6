"""A relay: a player that speaks WebSocket, as a program that speaks over standard input and output.

It is the other direction of the bridge. The relay listens on a port of this machine's loopback,
starts the player with that address, and joins the two ends: the host's ``hello`` is answered with
what the player's ``join`` says, and from then on messages pass as they are, of which it understands
only so much as it needs for a player that comes back:

- A request stays open until its reply has passed, and is sent again to a player that has come back
  to its session. What came while it was away is sent then, and ``game_end`` if it did not see it.
- A frame that is no line (binary, or far too long) becomes a line that is judged the same.
- When the player ends, so does the relay, with its exit status; when the host closes standard
  input, the connection is closed with the code that a server would use, and the player is ended.

Where one user runs several players at once, each could reach the others' ports. On Linux only
processes of our own user are let in.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from croupier_client import __version__
from croupier_client.backlog import Backlog
from croupier_client.outbox import Outbox
from croupier_client.program import Program, Sink
from croupier_client.stdio import Wires
from croupier_client.turns import Warn
from croupier_common.hello import HELLO_ID, OPTIONS, Hello, hello_from_text
from croupier_common.lines import MAX_LINE, Line, LineSplitter
from croupier_common.messages import (
    MAX_MESSAGE,
    PROTOCOL,
    ErrorCode,
    Joined,
    JoinResult,
    Refusal,
    RefusalBody,
    Rejected,
)
from croupier_common.programs import Patience
from croupier_common.render import printable
from croupier_common.session import CloseCode, JoinAsked, Misbehaved, Session

__all__ = ["BUDGETS_MS", "URL", "VARIABLE", "Relay"]

URL: Final = "{url}"
"""In a command, what stands for the address to connect to."""

VARIABLE: Final = "CROUPIER_URL"
"""What has that address in the program's environment."""

BUDGETS_MS: Final[Mapping[str, int]] = {
    "tournament_start": 3_000,
    "game_start": 30_000,
    "place": 10_000,
    "move": 10_000,
    "tournament_end": 3_000,
}
"""What a player is told of budgets when it joins: the usual ones. Those that count are in each
request, and the host says no others."""

PATIENCE: Final = Patience(close_s=1.0, term_s=0.3)
"""Less than a host has for us, so that the player's end is ours to bring about."""

_LOOPBACK: Final = "127.0.0.1"
_MAX_RECEIVED: Final = 16 << 20
_MAX_SENT: Final = 1 << 20
_JOIN_S: Final = 10.0
_CLOSING_S: Final = 0.5
_LAST_WORDS_S: Final = 0.5
_SOCKETS: Final = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))


class Relay:
    """A program, its connection and its host; :meth:`run` gives the exit status.

    Args:
        command: the program and its arguments, with :data:`URL` for the address.
        wires: to the host.
        stderr: takes all that the program writes.
        warn: takes what its author should know.
    """

    def __init__(
        self,
        command: Sequence[str],
        wires: Wires,
        *,
        stderr: Sink,
        warn: Warn,
        patience: Patience = PATIENCE,
    ) -> None:
        self._command = command
        self._wires = wires
        self._stderr = stderr
        self._warn = warn
        self._patience = patience
        self._session = secrets.token_urlsafe(16)
        self._backlog = Backlog()
        self._host_left = asyncio.Event()
        self._outbox = Outbox(wires.writes, self._host_left)
        self._hello: asyncio.Future[Hello] = asyncio.get_running_loop().create_future()
        self._has_joined = False
        self._socket: ServerConnection | None = None
        self._away = asyncio.Event()
        self._away.set()
        self._sends = asyncio.Lock()  # nothing comes between what a player is sent on its return
        self._to_player: asyncio.Queue[str] = asyncio.Queue()

    async def run(self) -> int:
        """Start the program, pass on messages, and end it.

        Raises:
            ProgramError: it can't be started.
        """
        server = await serve(
            self._handle,
            _LOOPBACK,
            0,
            compression=None,
            max_size=_MAX_SENT,
            ping_interval=None,
            close_timeout=_CLOSING_S,
        )
        try:
            url = f"ws://{_LOOPBACK}:{next(iter(server.sockets)).getsockname()[1]}"
            command = [part.replace(URL, url) for part in self._command]
            program = await Program.start(command, self._stderr, {VARIABLE: url})
            return await self._run(program)
        finally:
            for connection in list(server.connections):
                connection.transport.abort()
            server.close()
            await server.wait_closed()

    async def _run(self, program: Program) -> int:
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._read_host, args=(loop,), name="input", daemon=True).start()
        tasks = [
            asyncio.create_task(self._read_output(program), name="standard output"),
            asyncio.create_task(self._send_on(), name="messages to the player"),
        ]
        try:
            await _first_of(program.exited, self._host_left)
            if program.exited.is_set():
                return await self._buried(program)
            tasks.append(asyncio.create_task(self._close(), name="close the connection"))
            return 0
        finally:
            await program.end(self._patience)
            await self._outbox.close()
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def _buried(self, program: Program) -> int:
        """The exit status of a program that has ended; its last words may be on their way yet."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_WORDS_S):
                await self._away.wait()
        if not self._has_joined:
            self._warn(f"your program {await program.obituary()}, and had not joined")
        status = program.status
        if status is None:
            return 1
        return status if status >= 0 else 128 - status

    async def _close(self) -> None:
        """Close the connection as a server does, once all has been sent."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CLOSING_S):
                await self._to_player.join()
        if self._socket is not None:
            await self._socket.close(*self._backlog.closing)

    async def _read_output(self, program: Program) -> None:
        """Whatever it prints goes to standard error: replies go over the WebSocket."""
        async with contextlib.aclosing(program.lines()) as lines:
            async for line in lines:
                raw = line.text.encode() if isinstance(line, Line) else line.raw
                self._stderr.feed(raw + b"\n")

    # -- from the host to the player

    def _read_host(self, loop: asyncio.AbstractEventLoop) -> None:
        """In a thread, since standard input may be a file: read it to its end."""
        splitter = LineSplitter(_MAX_RECEIVED)
        with contextlib.suppress(RuntimeError, OSError):  # the loop is closed; the pipe is broken
            while data := os.read(self._wires.reads, 1 << 16):
                for line in splitter.feed(data):
                    if isinstance(line, Line):
                        loop.call_soon_threadsafe(self._take, line.text)
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(self._host_left.set)

    def _take(self, text: str) -> None:
        hello = None if self._hello.done() else hello_from_text(text)
        if hello is None:
            self._to_player.put_nowait(text)
        else:
            self._hello.set_result(hello)

    async def _send_on(self) -> None:
        while True:
            text = await self._to_player.get()
            async with self._sends:
                self._backlog.note(text)
                if self._socket is None or not await _is_sent(self._socket, text):
                    self._backlog.missed(text)
            self._to_player.task_done()

    # -- the player's connections

    async def _handle(self, socket: ServerConnection) -> None:
        """One connection: it joins, then its messages are passed on."""
        if not _is_of_our_user(socket):
            socket.transport.abort()
            return
        join = await self._asked_to_join(socket)
        if join is None or not await self._let_join(socket, join):
            return
        try:
            while self._socket is socket:
                await self._pass_on(await socket.recv())
        except ConnectionClosed as closed:
            await self._tell_lost(socket, closed)
        finally:
            if self._socket is socket:
                self._socket = None
                self._away.set()

    async def _tell_lost(self, socket: ServerConnection, closed: ConnectionClosed) -> None:
        own, other = closed.sent, closed.rcvd
        if self._socket is not socket:
            return
        if own is not None and own.code == CloseCode.TOO_LARGE:
            await self._outbox.put("x" * (MAX_LINE + 1))  # which is judged as what it stands for
        elif self._backlog.is_asked and not self._host_left.is_set():
            how = "broke" if other is None else f"was closed with code {other.code}"
            self._warn(f"your program's connection {how} while it was asked; it may come back")

    async def _asked_to_join(self, socket: ServerConnection) -> JoinAsked | None:
        """What a new connection says first, if that may join; else it is refused."""
        reason = f"no message within {_JOIN_S:g} s; the first one is join"
        refusal = Rejected(reason, ErrorCode.INVALID_REQUEST)
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_JOIN_S):
                    received = Session().receive(await socket.recv())
                if isinstance(received, JoinAsked):
                    problem = self._not_to_join(received)
                    if problem is None:
                        return received
                    refusal = problem
                elif isinstance(received, Misbehaved):
                    refusal = received.rejected
            await self._refuse(socket, refusal)
        except ConnectionClosed:
            pass
        return None

    def _not_to_join(self, join: JoinAsked) -> Rejected | None:
        """Why a join that is right in itself can't be."""
        if join.params.session is not None:
            if self._has_joined and secrets.compare_digest(
                join.params.session.encode(), self._session.encode()
            ):
                return None
            return Rejected("there is no such session", ErrorCode.SESSION, join.id)
        if self._has_joined and (self._socket is not None or self._backlog.has_begun):
            reason = "the player has joined already; its session is wanted to come back"
            return Rejected(reason, ErrorCode.CLOSED, join.id)
        return None

    async def _refuse(self, socket: ServerConnection, problem: Rejected) -> None:
        """Refuse a join; the host is told as well, unless another one may follow."""
        self._warn(f"your program's join was refused: {printable(str(problem), 300)}")
        error = RefusalBody(code=problem.code, message=str(problem), data=problem.data)
        await socket.send(Refusal(id=problem.id, error=error).model_dump_json())
        await socket.close(CloseCode.REFUSED)
        if problem.code != ErrorCode.SESSION and not self._has_joined:
            await asyncio.shield(self._hello)
            await self._outbox.put(
                _reply_text(error={"code": problem.code, "message": f"join: {problem}"})
            )

    async def _let_join(self, socket: ServerConnection, join: JoinAsked) -> bool:
        """Answer a join, and send what has waited for it; the newest connection counts."""
        hello = await asyncio.shield(self._hello)
        older, self._socket = self._socket, None
        if older is not None:
            await older.close(CloseCode.REPLACED)
        result = JoinResult(
            protocol=PROTOCOL,
            server=f"croupier relay {__version__}",
            session=self._session,
            name=hello.params.name,
            max_message=MAX_MESSAGE,
            budgets_ms=dict(BUDGETS_MS),
        )
        async with self._sends:
            answer = Joined(id=join.id, result=result).model_dump_json()
            waiting = self._backlog.waiting(join.params.last_event or {})
            for text in [answer, *waiting]:
                if not await _is_sent(socket, text):
                    return False
            self._socket = socket
            self._away.clear()
        if not self._has_joined:
            self._has_joined = True
            said = join.params.model_dump(include=set(OPTIONS), exclude_defaults=True)
            await self._outbox.put(_reply_text(result=said))
        return True

    # -- from the player to the host

    async def _pass_on(self, frame: str | bytes) -> None:
        if isinstance(frame, bytes):
            text = f'{{"a binary frame": "of {len(frame)} bytes; messages are text"}}'
        else:
            self._backlog.replied(frame)
            text = frame if frame.strip() else "{}"  # an empty line would be passed over
        await self._outbox.put(text)


async def _first_of(*events: asyncio.Event) -> None:
    waits = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


async def _is_sent(socket: ServerConnection, text: str) -> bool:
    """Whether a message could be sent."""
    try:
        await socket.send(text)
    except ConnectionClosed:
        return False
    return True


def _is_of_our_user(socket: ServerConnection) -> bool:
    """Whether the other end of a connection is a process of our own user, as far as can be seen."""
    if sys.platform != "linux":
        return True
    theirs, ours = (
        f":{address[1]:04X}" for address in (socket.remote_address, socket.local_address)
    )
    for table in _SOCKETS:
        with contextlib.suppress(OSError):
            for line in table.read_text(encoding="ascii").splitlines()[1:]:
                fields = line.split()
                if fields[1].endswith(theirs) and fields[2].endswith(ours):
                    return int(fields[7]) == os.getuid()
    return True


def _reply_text(**answer: object) -> str:
    """The answer to hello."""
    return json.dumps({"jsonrpc": "2.0", "id": HELLO_ID, **answer})
