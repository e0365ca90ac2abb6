"""Where players to check come from: the kit in this process, a port, or a program's pipes."""

from __future__ import annotations

import asyncio
import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Final

from websockets.asyncio.server import Server, ServerConnection, serve

from croupier_client.check.links import Link, ProgramLink, WebSocketLink
from croupier_client.check.results import Log
from croupier_client.connection import Client
from croupier_client.ending import Ending
from croupier_client.errors import ClientError
from croupier_client.joining import JoinOptions
from croupier_client.loader import Target
from croupier_client.program import Program, Sink
from croupier_common.messages import MAX_MESSAGE
from croupier_common.programs import PATIENCE, Patience

__all__ = ["URL", "Host", "KitHost", "NoPlayer", "PortHost", "ProgramHost"]

URL: Final = "{url}"
"""In a command, what stands for the address to connect to."""

_LOOPBACK: Final = "127.0.0.1"
_LAST_LINES: Final = 10
_HURRY: Final = Patience(close_s=0.2, term_s=0.5)


class NoPlayer(ClientError):
    """No player has come; the message says what was waited for."""


class Host(ABC):
    """Gives connections to players of one kind.

    Attributes:
        kind: ``kit``, ``websocket`` or ``stdio``.
    """

    kind: str

    async def open(self) -> None:  # noqa: B027 - not all have anything to do
        """Get ready.

        Raises:
            NoPlayer: nobody could come, since the port is taken, say.
        """

    async def close(self) -> None:  # noqa: B027
        """End all that was begun."""

    @abstractmethod
    async def fresh(self) -> Link:
        """A connection to a player that knows nothing of those before it.

        Raises:
            NoPlayer: there is none.
        """

    async def back(self, wait_s: float) -> Link:
        """The next connection of the same player.

        Raises:
            NoPlayer: it did not come back in time.
        """
        raise NoPlayer(f"it did not come back within {wait_s:g} s")

    async def left(self, wait_s: float) -> str:
        """How the player ended, in words; empty if it goes on."""
        await asyncio.sleep(min(wait_s, 0.3))
        return "it went"

    def last_words(self) -> Sequence[str]:
        """What the player's end has written for its author, where that is known."""
        return ()


class _WebSocketHost(Host):
    """A port of ours to which players connect."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._server: Server | None = None
        self._came: asyncio.Queue[ServerConnection] = asyncio.Queue()

    async def open(self) -> None:
        """Listen."""
        try:
            self._server = await serve(
                self._handle,
                _LOOPBACK,
                self.port,
                compression=None,
                max_size=MAX_MESSAGE,
                ping_interval=None,
                close_timeout=2,
            )
        except OSError as problem:
            told = problem.strerror or str(problem)
            raise NoPlayer(f"can't listen on port {self.port}: {told}") from None
        self.port = next(iter(self._server.sockets)).getsockname()[1]

    async def close(self) -> None:
        """Close every connection, and the port."""
        if self._server is not None:
            for connection in list(self._server.connections):
                connection.transport.abort()
            self._server.close()
            await self._server.wait_closed()

    @property
    def url(self) -> str:
        """Where players connect."""
        return f"ws://{_LOOPBACK}:{self.port}"

    async def back(self, wait_s: float) -> Link:
        """See :class:`Host`."""
        try:
            async with asyncio.timeout(wait_s):
                return WebSocketLink(await self._came.get())
        except TimeoutError:
            raise NoPlayer(f"it did not connect again within {wait_s:g} s") from None

    def forget(self) -> None:
        """Drop connections that nobody has asked for."""
        while not self._came.empty():
            self._came.get_nowait().transport.abort()

    async def _handle(self, connection: ServerConnection) -> None:
        self._came.put_nowait(connection)
        await connection.wait_closed()


class KitHost(_WebSocketHost):
    """Players of the kit, in this process, over a loopback WebSocket.

    Args:
        log: takes what the kit tells the player's author.
    """

    kind = "kit"

    def __init__(self, target: Target, log: Log) -> None:
        super().__init__(0)
        self._target = target
        self._log = log
        self._visit: asyncio.Task[Ending] | None = None

    async def fresh(self) -> Link:
        """See :class:`Host`."""
        await self._end()
        self.forget()
        options = JoinOptions(name="Check", max_games=2, events=True, retry_s=2.0)
        client = Client(self.url, self._target, options, tell=_ignore, warn=self._log.say)
        self._visit = asyncio.create_task(client.run(), name="the checked player")
        coming = asyncio.ensure_future(self._came.get())
        await asyncio.wait({coming, self._visit}, return_when=asyncio.FIRST_COMPLETED)
        if not coming.done():
            coming.cancel()
            problem = self._visit.exception()
            raise NoPlayer(str(problem or self._visit.result().text))
        return WebSocketLink(coming.result())

    async def close(self) -> None:
        """End the player, then the port."""
        await self._end()
        await super().close()

    async def left(self, wait_s: float) -> str:
        """See :class:`Host`."""
        if self._visit is None:
            return "it went"
        await asyncio.wait({self._visit}, timeout=wait_s)
        if not self._visit.done():
            return ""
        problem = self._visit.exception()
        return str(problem) if problem else self._visit.result().text.partition("\n")[0]

    async def _end(self) -> None:
        if self._visit is not None:
            self._visit.cancel()
            await asyncio.wait({self._visit})
            self._visit = None


class PortHost(_WebSocketHost):
    """Players from outside, that connect to a port.

    Args:
        command: what starts one, with :data:`URL` for the port's address; without it, they are
            waited for.
        wait_s: how long to wait for the first one.
        again_s: how long to wait for another one.
        tell: takes a line on what is waited for.
    """

    kind = "websocket"

    def __init__(
        self,
        port: int,
        command: Sequence[str],
        *,
        wait_s: float,
        again_s: float,
        tell: Callable[[str], None],
    ) -> None:
        super().__init__(port)
        self._command = command
        self._wait_s = wait_s
        self._again_s = again_s
        self._tell = tell
        self._program: Program | None = None
        self._reading: asyncio.Task[None] | None = None
        self._sink = Sink()

    async def fresh(self) -> Link:
        """See :class:`Host`."""
        await self._end()
        self.forget()
        wait_s, self._wait_s = self._wait_s, self._again_s
        if self._command:
            self._sink = Sink()
            command = [part.replace(URL, self.url) for part in self._command]
            self._program = await Program.start(command, self._sink)
            self._reading = asyncio.create_task(_read_all(self._program), name="standard output")
        else:
            self._tell(f"waiting {wait_s:g} s for a player at {self.url}")
        if await self._within(wait_s):
            return WebSocketLink(self._came.get_nowait())
        if self._program is not None and self._program.left.is_set():
            how = await self._program.obituary()
            raise NoPlayer(f"the program {how}, and had not connected to {self.url}")
        raise NoPlayer(f"no player connected to {self.url} within {wait_s:g} s")

    async def close(self) -> None:
        """End the program, then the port."""
        await self._end()
        await super().close()

    async def left(self, wait_s: float) -> str:
        """See :class:`Host`."""
        if self._program is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._program.left.wait()
            return f"it {await self._program.obituary()}" if self._program.left.is_set() else ""
        try:
            async with asyncio.timeout(min(wait_s, 1.0)):
                self._came.put_nowait(await self._came.get())
        except TimeoutError:
            return "it went"
        return ""

    def last_words(self) -> Sequence[str]:
        """See :class:`Host`."""
        return self._sink.last_lines(_LAST_LINES)

    async def _within(self, wait_s: float) -> bool:
        """Whether somebody connects in time, and before our program ends."""
        coming = asyncio.ensure_future(self._came.get())
        awaited: set[asyncio.Future[Any]] = {coming}
        if self._program is not None:
            awaited.add(asyncio.ensure_future(self._program.left.wait()))
        await asyncio.wait(awaited, timeout=wait_s, return_when=asyncio.FIRST_COMPLETED)
        for one in awaited:
            one.cancel()
        if not coming.done() or coming.cancelled():
            return False
        self._came.put_nowait(coming.result())
        return True

    async def _end(self) -> None:
        if self._program is not None and self._reading is not None:
            self._reading.cancel()
            await asyncio.wait({self._reading})
            await self._program.end(_HURRY)
            self._program = None


class ProgramHost(Host):
    """Programs that are started here, and speak over their standard input and output.

    Args:
        patience: how long one may take to end.
    """

    kind = "stdio"

    def __init__(self, command: Sequence[str], patience: Patience = PATIENCE) -> None:
        self._command = command
        self._patience = patience
        self._sink = Sink()
        self._link: ProgramLink | None = None

    async def fresh(self) -> Link:
        """See :class:`Host`."""
        await self.close()
        self._sink = Sink()
        self._link = ProgramLink(await Program.start(self._command, self._sink), self._patience)
        return self._link

    async def close(self) -> None:
        """End the program."""
        if self._link is not None:
            await self._link.drop()
            self._link = None

    async def left(self, wait_s: float) -> str:
        """See :class:`Host`; it has been ended by now, in good order or not."""
        if self._link is None:
            return "it went"
        until = time.monotonic() + wait_s
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(asyncio.get_running_loop().time() + wait_s):
                await self._link.program.left.wait()
        told = await self._link.program.obituary() if time.monotonic() <= until else ""
        return "" if "signal" in told or not told else f"it {told}"

    def last_words(self) -> Sequence[str]:
        """See :class:`Host`."""
        return self._sink.last_lines(_LAST_LINES)


async def _read_all(program: Program) -> None:
    async with contextlib.aclosing(program.lines()) as lines:
        async for _ in lines:
            pass


def _ignore(_text: str) -> None:
    """Tell nobody."""
