"""A port that leads each connection on to another place; what place, and how, is a subclass's."""

from __future__ import annotations

import asyncio
import socket
from abc import ABC, abstractmethod
from contextlib import suppress
from types import TracebackType
from typing import Self

from support.tcp_link import Link, Passed, Side, Weather, send_at_once

BACKLOG = 4_096


class Relay(ABC):
    """An open port, in the loop of who enters it; it keeps its number while it is closed.

    Attributes:
        port: its number, known before it is entered.
        connections: how many connections it has taken so far.
        passed: the bytes on the way to each side, "client" and "target".
    """

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.connections = 0
        self.passed: dict[Side, Passed] = {"client": Passed(), "target": Passed()}
        self.weather = Weather()
        self._host = host
        # Bound and never listening: while nobody listens beside it, who connects is refused, and
        # nobody else is given the number.
        self._keeper = _bound(host, 0)
        self.port: int = self._keeper.getsockname()[1]
        self._listening: socket.socket | None = None
        self._links: dict[asyncio.Task[None], Link] = {}

    async def __aenter__(self) -> Self:
        self.accept()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.refuse()
        self._keeper.close()
        tasks = list(self._links)
        for task in tasks:
            task.cancel()
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            if error is None and isinstance(result, Exception):
                raise result  # ours: a link ends in peace, whatever its ends do

    @property
    def links(self) -> list[Link]:
        """The connections that there are."""
        return list(self._links.values())

    @property
    def is_listening(self) -> bool:
        """Whether new connections are taken."""
        return self._listening is not None

    def accept(self) -> None:
        """Take new connections, which is how it starts."""
        if self._listening is None:
            self._listening = _bound(self._host, self.port)
            self._listening.listen(BACKLOG)
            asyncio.get_running_loop().add_reader(self._listening, self._take, self._listening)

    def refuse(self) -> None:
        """Take no new connections: who connects is refused at once. The others go on."""
        if self._listening is not None:
            asyncio.get_running_loop().remove_reader(self._listening)
            self._listening.close()
            self._listening = None

    def reset(self) -> None:
        """Break all connections off: both ends of each get a RST."""
        for link in self.links:
            link.reset()

    @abstractmethod
    async def connect(self) -> socket.socket:
        """Give the connected socket that a new connection is led to, or raise OSError."""

    def _take(self, listening: socket.socket) -> None:
        with suppress(BlockingIOError):
            while True:
                client, _ = listening.accept()
                client.setblocking(False)
                send_at_once(client)
                self._lead(client)

    def _lead(self, client: socket.socket) -> None:
        self.connections += 1
        link = Link(client, self.weather, self.passed)
        task = asyncio.create_task(link.run(self.connect), name=f"link of port {self.port}")
        link.task = task
        self._links[task] = link
        task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._links.pop(task).close()


def _bound(host: str, port: int) -> socket.socket:
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.setblocking(False)
    bound.bind((host, port))
    return bound
