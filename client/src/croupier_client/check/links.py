"""A check's connection to a player, whatever it goes over: one small interface, and two of it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Generator
from typing import Final, Protocol

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from croupier_client.errors import ClientError
from croupier_client.program import Program
from croupier_common.lines import BadLine, Flaw
from croupier_common.programs import PATIENCE, Patience
from croupier_common.render import printable
from croupier_common.verdict import Verdict

__all__ = ["Link", "LinkLost", "ProgramLink", "WebSocketLink"]

_PIECES: Final = 7
_HURRY: Final = Patience(close_s=0.2, term_s=0.5)


class LinkLost(ClientError):
    """The player is not there any more; the message says how it left.

    Attributes:
        verdict: what a server says to that.
        raw: what came last, if that is why.
    """

    def __init__(
        self, told: str, verdict: Verdict = Verdict.DISCONNECTED, raw: bytes = b""
    ) -> None:
        super().__init__(told)
        self.verdict = verdict
        self.raw = raw


class Link(Protocol):
    """A connection to one player."""

    async def send(self, text: str) -> None:
        """Send a message.

        Raises:
            LinkLost: the player has left.
        """
        ...

    async def send_split(self, text: str) -> None:
        """Send a message in several pieces.

        Raises:
            LinkLost: the player has left.
        """
        ...

    async def receive(self) -> str | bytes:
        """The next message, or what came instead of one; may be cancelled.

        Raises:
            LinkLost: the player has left, and nothing more will come.
        """
        ...

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """End the connection in good order."""
        ...

    async def drop(self) -> None:
        """End it without a word."""
        ...


class WebSocketLink:
    """A WebSocket, of which the check is the server's end."""

    def __init__(self, socket: ServerConnection) -> None:
        self.socket = socket

    async def send(self, text: str) -> None:
        """See :class:`Link`."""
        with self._losing():
            await self.socket.send(text)

    async def send_split(self, text: str) -> None:
        """Send it as one message of several frames."""
        size = max(1, len(text) // _PIECES)
        with self._losing():
            await self.socket.send(text[at : at + size] for at in range(0, len(text), size))

    async def receive(self) -> str | bytes:
        """See :class:`Link`."""
        with self._losing():
            return await self.socket.recv()

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """See :class:`Link`."""
        await self.socket.close(code, reason)

    async def drop(self) -> None:
        """See :class:`Link`."""
        self.socket.transport.abort()
        await self.socket.wait_closed()

    async def ping(self, wait_s: float) -> bool:
        """Send a ping; whether the pong came in time.

        Raises:
            LinkLost: the player has left.
        """
        with self._losing():
            pong = await self.socket.ping()
            try:
                async with asyncio.timeout(wait_s):
                    await pong
            except TimeoutError:
                return False
        return True

    @contextlib.contextmanager
    def _losing(self) -> Generator[None]:
        try:
            yield
        except ConnectionClosed as closed:
            raise _lost(closed) from None


class ProgramLink:
    """The standard input and output of a program; its lines are read by a task of its own."""

    def __init__(self, program: Program, patience: Patience = PATIENCE) -> None:
        self.program = program
        self._patience = patience
        self._came: asyncio.Queue[str | BadLine | None] = asyncio.Queue(maxsize=256)
        self._reading = asyncio.create_task(self._read(), name="read a program's lines")

    async def _read(self) -> None:
        async with contextlib.aclosing(self.program.lines()) as lines:
            async for line in lines:
                await self._came.put(line if isinstance(line, BadLine) else line.text)
        await self._came.put(None)

    async def send(self, text: str) -> None:
        """See :class:`Link`."""
        if not self.program.send(text):
            raise LinkLost("it does not read its standard input")

    async def send_split(self, text: str) -> None:
        """A pipe splits what is larger than it; here it goes as any other."""
        await self.send(text)

    async def receive(self) -> str | bytes:
        """See :class:`Link`."""
        line = await self._came.get()
        if line is None:
            self._came.put_nowait(None)
            raise LinkLost(f"the program {await self.program.obituary()}")
        if isinstance(line, BadLine):
            verdict = Verdict.OVERSIZE if line.flaw is Flaw.TOO_LONG else Verdict.MALFORMED
            raise LinkLost(f"it sends what is no reply: {line.detail}", verdict, line.raw)
        return line

    async def close(self, code: int = 1000, reason: str = "") -> None:  # noqa: ARG002 - a Link's
        """Close its standard input, and see to it that it ends."""
        await self._end(self._patience)

    async def drop(self) -> None:
        """End it at once."""
        await self._end(_HURRY)

    async def _end(self, patience: Patience) -> None:
        self._reading.cancel()
        await asyncio.wait({self._reading})
        await self.program.end(patience)


def _lost(closed: ConnectionClosed) -> LinkLost:
    """How a connection was lost, in words and as a server judges it."""
    own, other = closed.sent, closed.rcvd
    if own is not None and own.code in _BROKEN:
        told, verdict = _BROKEN[own.code]
        return LinkLost(f"{told}, and the connection was closed", verdict)
    if other is None:
        return LinkLost("the connection broke")
    said = f", {printable(other.reason, 100)}" if other.reason else ""
    return LinkLost(f"it closed the connection with code {other.code}{said}")


_BROKEN: Final = {
    1009: ("it sent a message that is too large", Verdict.OVERSIZE),
    1002: ("it broke the WebSocket protocol", Verdict.MALFORMED),
    1007: ("it sent a text frame that is not UTF-8", Verdict.MALFORMED),
}
