"""A bad network between two programs: a port that leads on to another one, with switches.

    async with ChaosProxy("127.0.0.1", port) as proxy:
        ...  # a program that is told proxy.port
        proxy.delay_ms = 200   each way; the order is kept, and nothing is lost
        proxy.hold()           nothing passes and nothing is lost: a cable that is pulled
        proxy.release()        and is put back
        proxy.drop()           all that is sent is read and thrown away, ends and breaks too
        proxy.reset()          all connections break off, with a RST at both ends
        proxy.half_close("client")   the client is told that the target sends no more
        proxy.refuse()         new connections are refused
        proxy.heal()           as at the start

Each switch acts at once, on the connections that there are and on new ones.

After `drop()` a connection has a hole in it, and no TCP stream goes on with a hole. So `heal()`
breaks off those that have lost something, as a peer does that knows nothing of them any more; until
then both ends believe that the other is there. While it drops, new connections are taken and never
led on.
"""

from __future__ import annotations

import socket

from support.tcp_link import Side, connected
from support.tcp_relay import Relay


class ChaosProxy(Relay):
    """A port whose connections go to a target, as well as its switches allow.

    Args:
        target_host: a name, an address, or the path of a Unix socket.
        target_port: unused with a path.
        host: the address that it listens at.
    """

    def __init__(self, target_host: str, target_port: int = 0, *, host: str = "127.0.0.1") -> None:
        super().__init__(host)
        self.target = (target_host, target_port)

    @property
    def delay_ms(self) -> float:
        """How much later each byte arrives, each way."""
        return self.weather.delay_s * 1000

    @delay_ms.setter
    def delay_ms(self, delay_ms: float) -> None:
        self.weather.delay_s = delay_ms / 1000
        self._look()

    @property
    def to_target(self) -> int:
        """How many bytes the target was given."""
        return self.passed["target"].delivered

    @property
    def to_client(self) -> int:
        """How many bytes clients were given."""
        return self.passed["client"].delivered

    @property
    def lost(self) -> int:
        """How many bytes of both directions were thrown away."""
        return sum(passed.lost for passed in self.passed.values())

    @property
    def waiting(self) -> int:
        """How many bytes of both directions are on their way."""
        return sum(link.waiting for link in self.links)

    def hold(self) -> None:
        """Let nothing pass, and lose nothing: bytes, ends and breaks wait for `release`.

        Senders notice nothing until their buffers are full; who connects is let wait.
        """
        self.weather.is_held = True
        self._look()

    def release(self) -> None:
        """Let pass what `hold` has kept."""
        self.weather.is_held = False
        self._look()

    def drop(self) -> None:
        """Read and throw away all that is sent from now on, and what is on its way."""
        self.weather.is_lossy = True
        for link in self.links:
            link.lose()

    def half_close(self, side: Side) -> None:
        """Tell one side of each connection that the other sends no more.

        What this side sends still passes; what the other goes on to send is thrown away.
        """
        for link in self.links:
            link.half_close(side)

    def heal(self) -> None:
        """Take all switches back; connections that have lost something break off."""
        self.weather.delay_s = 0.0
        self.weather.is_held = self.weather.is_lossy = False
        for link in self.links:
            if link.has_hole:
                link.reset()
        self._look()
        self.accept()

    async def connect(self) -> socket.socket:
        """Connect to the target."""
        return await connected(*self.target)

    def _look(self) -> None:
        for link in self.links:
            link.look()
