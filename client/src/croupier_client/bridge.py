"""A bridge: a program's standard input and output, connected to a server over WebSocket.

The bridge starts the program, asks it hello, and joins for it; from then on it passes on messages
as they are, and understands only so much of them as to tell how the visit ended. So the server
judges what it would judge had the program spoken WebSocket itself:

- A line that is no message goes out as it stands, in a text frame: *malformed*. So does one that is
  not UTF-8.
- Of a line that is too long, so much goes out that it is too long for the server: *oversize*.
- When the program ends, crashes, or closes its standard output, the connection is closed:
  *disconnected*, unless it has answered before. A last line without its newline goes out if it is a
  whole JSON value, as a frame that was cut off would not.
- A program that reads nothing until a megabyte waits for it loses the connection, as it would at
  the server.

Each time the program's author is told in words what has happened.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import replace
from typing import Final, NoReturn

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from croupier_client.connection import Client
from croupier_client.ending import Ending, EndingKind
from croupier_client.errors import ProgramError
from croupier_client.joining import JoinOptions
from croupier_client.loader import Target
from croupier_client.program import Program, Sink
from croupier_client.turns import Warn
from croupier_common.errors import NotAMessage
from croupier_common.hello import HELLO_ID, Hello, HelloParams, options_from_hello
from croupier_common.lines import BadLine, Line
from croupier_common.messages import (
    PROTOCOL,
    Ejection,
    Events,
    GameEnd,
    JoinParams,
    JoinResult,
    Reply,
    ServerCall,
    TournamentEnd,
    load_json,
    parse_from_player,
    parse_from_server,
)
from croupier_common.programs import PATIENCE, PRINT_HINT, Patience, looks_printed
from croupier_common.render import printable

__all__ = ["Bridge"]

_HELLO_S: Final = 30.0
_LAST_LINES: Final = 20
_COMPLAINTS: Final = 5
_CLOSING_S: Final = 5.0
_GOING_AWAY: Final = 1001

Lines = AsyncGenerator[Line | BadLine]


class Bridge:
    """Takes a program to a server once; :meth:`run` gives how that ended.

    Args:
        command: the program and its arguments.
        options: what is said at join; the program adds what it chooses itself.
        stderr: takes what the program writes on standard error.
        tell: takes lines on how things go.
        warn: takes what the program's author should know.
        patience: how long the program may take to end.
    """

    def __init__(
        self,
        url: str,
        command: Sequence[str],
        options: JoinOptions,
        *,
        stderr: Sink,
        tell: Callable[[str], None],
        warn: Warn,
        patience: Patience = PATIENCE,
    ) -> None:
        options.params()  # what can't be is refused before anything is started
        self._url = url
        self._command = command
        self._options = options
        self._stderr = stderr
        self._tell = tell
        self._warn = warn
        self._patience = patience

    async def run(self) -> Ending:
        """Start the program, join, relay, and end the program.

        Raises:
            ProgramError: the program can't be started, or did not answer hello; nothing was sent.
        """
        program = await Program.start(self._command, self._stderr)
        try:
            async with contextlib.aclosing(program.lines()) as lines:
                said = await self._greet(program, lines)
                relay = _Relay(
                    self._url,
                    program,
                    lines,
                    _completed(self._options, said),
                    tell=self._tell,
                    warn=self._warn,
                )
                return await relay.run()
        finally:
            await program.end(self._patience)

    async def _greet(self, program: Program, lines: Lines) -> JoinParams:
        hello = Hello(params=HelloParams(protocol=PROTOCOL, name=self._options.name))
        program.send(hello.text())
        try:
            async with asyncio.timeout(_HELLO_S):
                line = await anext(lines, None)
        except TimeoutError:
            raise ProgramError(
                f"the program did not answer hello within {_HELLO_S:g} s; it must end its answer "
                f"with a newline, and flush what it writes"
            ) from None
        if line is None:
            for told in _last_words(program):
                self._warn(told)
            raise ProgramError(
                f"the program {await program.obituary()} before it had answered hello"
            )
        try:
            return options_from_hello(_hello_result(line), self._options.name)
        except NotAMessage as problem:
            raise ProgramError(
                f"the program's first line is no answer to hello: {problem}"
            ) from None


class _Relay(Client):
    """The visit, whose player is a program that has said hello."""

    def __init__(
        self,
        url: str,
        program: Program,
        lines: Lines,
        options: JoinOptions,
        *,
        tell: Callable[[str], None],
        warn: Warn,
    ) -> None:
        super().__init__(url, Target("program", _no_player), options, tell=tell, warn=warn)
        self._program = program
        self._lines = lines
        self._ready = asyncio.Event()  # the server has let the program join
        self._last: TournamentEnd | None = None
        self._complaints = 0

    async def run(self) -> Ending:
        """Visit the server, until that or the program ends it."""
        async with asyncio.TaskGroup() as self._group:
            visiting = self._group.create_task(self._visit(), name="visit")
            relaying = self._group.create_task(self._relay(), name="relay")
            await asyncio.wait({visiting, relaying}, return_when=asyncio.FIRST_COMPLETED)
            if self._end is not None or self._ejection is not None:  # the server closes it now
                await asyncio.wait({visiting}, timeout=_CLOSING_S)
            ended_there = visiting.done()
            if not ended_there and self._socket is not None:
                self._has_vanished = True
                await self._socket.close(_GOING_AWAY, "the program has left")
            for task in {visiting, relaying} | self._calls:
                task.cancel()
        return visiting.result() if ended_there else await self._why_left()

    # -- what the server sends

    async def _join(self, socket: ClientConnection, before: JoinResult | None) -> Ending | None:
        refused = await super()._join(socket, before)
        if refused is None:
            if self._joined is not None:
                self._program.splitter.max_bytes = self._joined.max_message
            self._ready.set()
        return refused

    def _receive(self, raw: str | bytes, received: float) -> None:  # noqa: ARG002 - the kit's
        """Pass on what came, unless it is asked again after a reconnect."""
        call_id = self._note(raw)
        if call_id in self._asked:
            return  # the program is at it
        if call_id in self._replies:
            self._start(self._send(self._replies[call_id]), self._calls)
            return
        if call_id is not None:
            self._asked.add(call_id)
        if not self._program.send(raw if isinstance(raw, str) else raw.decode("utf-8", "replace")):
            self._warn("your program does not read its standard input; the connection is closed")
            self._has_vanished = True
            if self._socket is not None:
                self._socket.transport.abort()

    def _note(self, raw: str | bytes) -> str | None:
        """Note what coming back and the end depend on; give the message's id if it is a request."""
        try:
            message = parse_from_server(raw)
        except NotAMessage:
            return None
        if isinstance(message, ServerCall):
            self._note_turn(message)
            if isinstance(message, TournamentEnd):
                self._last = message
            return message.id
        if isinstance(message, Ejection):
            if not message.params.plays_on:
                self._ejection = message.params
        elif isinstance(message, GameEnd):
            self._seen.pop(message.params.game, None)
        elif isinstance(message, Events) and message.params.events:
            self._seen[message.params.game] = message.params.events[-1]["seq"]
        return None

    # -- what the program writes

    async def _relay(self) -> None:
        """Pass on its lines until it leaves; before the server has let it join, none is due."""
        joined = asyncio.ensure_future(self._ready.wait())
        left = asyncio.ensure_future(self._program.left.wait())
        try:
            await asyncio.wait({joined, left}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            joined.cancel()
            left.cancel()
        if self._ready.is_set():
            async for line in self._lines:
                await self._pass_on(line)

    async def _pass_on(self, line: Line | BadLine) -> None:
        if isinstance(line, BadLine):
            self._complain(f"your program wrote {line.detail}", line.shown)
            await self._send_frame(line.raw)
            return
        reply = _reply(line.text)
        if reply is None:
            if not line.whole and not _is_json(line.text):
                self._complain("your program's last line was cut off", line.text)
                return
            self._complain("your program wrote a line that is no reply", line.text)
        elif reply.id in self._asked:
            self._asked.discard(reply.id)
            self._remember(reply.id, line.text)
            if self._last is not None and reply.id == self._last.id:
                self._end = self._last.params
                self._start(self._leave(), self._calls)
        await self._send(line.text)

    async def _send_frame(self, raw: bytes) -> None:
        if self._socket is not None:
            with contextlib.suppress(ConnectionClosed):
                await self._socket.send(raw, text=True)

    def _complain(self, what: str, line: str) -> None:
        self._complaints += 1
        if self._complaints <= _COMPLAINTS:
            hint = f"; {PRINT_HINT}" if looks_printed(line) else ""
            self._warn(f"{what}: {printable(line, 200)}{hint}")

    async def _why_left(self) -> Ending:
        when = "" if self._ready.is_set() else " before it had joined"
        how = f"your program {await self._program.obituary()}{when}, and the connection was closed"
        return Ending(EndingKind.LOST, "\n".join([how, *_last_words(self._program)]))


def _completed(options: JoinOptions, said: JoinParams) -> JoinOptions:
    """The options of join, with those that the program has chosen."""
    return replace(
        options,
        age=said.age if options.age is None else options.age,
        max_games=said.max_games,
        legal_actions=said.legal_actions,
        events=said.events,
    )


def _last_words(program: Program) -> list[str]:
    """What the program last wrote on standard error, unless its author has just seen it."""
    if not program.stderr.where:
        return []
    lines = program.stderr.last_lines(_LAST_LINES)
    told = "it wrote nothing on standard error"
    if lines:
        told = f"the last lines of its standard error, which is in {program.stderr.where}:"
    return [told, *(f"  {line}" for line in lines)]


def _hello_result(line: Line | BadLine) -> object:
    """The result in the answer to hello.

    Raises:
        NotAMessage: it is no answer, or an error.
    """
    if isinstance(line, BadLine):
        raise NotAMessage(f"{line.detail}: {printable(line.shown, 100)}")
    try:
        message = parse_from_player(line.text)
    except NotAMessage as problem:
        hint = f"; {PRINT_HINT}" if looks_printed(line.text) else ""
        raise NotAMessage(f"{printable(line.text, 100)}: {problem}{hint}") from None
    if not isinstance(message, Reply) or message.id != HELLO_ID:
        raise NotAMessage(f"{printable(line.text, 100)}: its id is not {HELLO_ID!r}")
    if message.error is not None:
        raise NotAMessage(f"error {message.error.code}: {printable(message.error.message, 400)}")
    return message.result


def _reply(text: str) -> Reply | None:
    try:
        message = parse_from_player(text)
    except NotAMessage:
        return None
    return message if isinstance(message, Reply) else None


def _is_json(text: str) -> bool:
    try:
        load_json(text)
    except NotAMessage:
        return False
    return True


def _no_player() -> NoReturn:
    raise RuntimeError("the player is a program")
