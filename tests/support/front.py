"""One address in front of several servers that come and go: the smallest load balancer."""

from __future__ import annotations

import asyncio
import socket

from support.tcp_link import connected
from support.tcp_relay import Relay

CONNECT_S = 2.0
"""How long a target may take: a host that is cut off says nothing."""

_LOST = {"TCP_KEEPIDLE": 1, "TCP_KEEPINTVL": 1, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 3_000}
"""A target that says nothing for so long is gone, as a load balancer's checks would find."""


class Front(Relay):
    """A port whose new connections go round robin to those targets that accept.

    A connection stays where it is until one of its ends closes it; how it ends is passed on, an end
    as an end and a break as a break. Where no target accepts, the client's connection is broken
    off.
    """

    def __init__(self, host: str = "127.0.0.1") -> None:
        super().__init__(host)
        self._targets: list[tuple[str, int]] = []

    @property
    def targets(self) -> list[tuple[str, int]]:
        """Where new connections go, the next one's first."""
        return list(self._targets)

    def add(self, host: str, port: int) -> None:
        """Have new connections go there too; again changes nothing."""
        if (host, port) not in self._targets:
            self._targets.append((host, port))

    def remove(self, host: str, port: int) -> None:
        """Send no new connections there; those that are there stay.

        Raises:
            ValueError: it is no target.
        """
        self._targets.remove((host, port))

    async def connect(self) -> socket.socket:
        """Connect to the first target in turn that accepts.

        Raises:
            ConnectionRefusedError: none does.
        """
        for target in self.targets:
            self._pass_turn(target)
            try:
                async with asyncio.timeout(CONNECT_S):
                    return _watched(await connected(*target))
            except OSError:
                continue  # it is gone, or not there yet
        raise ConnectionRefusedError(f"none of {self._targets} accepts")

    def _pass_turn(self, target: tuple[str, int]) -> None:
        if target in self._targets:  # it may have been removed while another was tried
            self._targets.remove(target)
            self._targets.append(target)


def _watched(end: socket.socket) -> socket.socket:
    """Have the system break a connection off whose target is cut off, where it can."""
    end.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _LOST.items():
        option = getattr(socket, name, None)
        if option is not None:
            end.setsockopt(socket.IPPROTO_TCP, option, value)
    return end
