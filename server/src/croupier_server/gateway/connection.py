"""One connection of a player over WebSocket, and what its end says of the player."""

from __future__ import annotations

import asyncio
from collections import deque
from hashlib import sha256
from typing import Final

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from croupier_common.session import CloseCode, Session
from croupier_common.verdict import Verdict
from croupier_server.seats import NoAnswer

__all__ = ["Connection", "session_key", "why_closed"]

_ROUND_TRIPS: Final = 5
"""The least of so many last round trips is the one that counts."""


def session_key(token: str) -> str:
    """What is kept of a session's token: a hash, with which nobody can come back."""
    return sha256(token.encode()).hexdigest()


class Connection:
    """One WebSocket connection, and what its player may send on it.

    ``is_flooded`` once nothing more is to be read from it; ``dropped`` says why, if it was by us.
    """

    __slots__ = ("closing", "dropped", "is_flooded", "round_trips", "session", "socket")

    def __init__(self, socket: ServerConnection) -> None:
        self.socket = socket
        self.session = Session()
        self.closing: asyncio.Task[None] | None = None
        self.is_flooded = False
        self.dropped = ""
        self.round_trips: deque[float] = deque(maxlen=_ROUND_TRIPS)

    def close(self, code: CloseCode, reason: str) -> None:
        """Begin to close it; :meth:`closed` waits until that is done."""
        if self.closing is None:
            self.closing = asyncio.get_running_loop().create_task(
                self.socket.close(code, reason), name=f"close connection ({reason})"
            )

    async def closed(self) -> None:
        """Wait until a closing of ours has ended."""
        if self.closing is not None:
            await self.closing


def why_closed(closed: ConnectionClosed) -> NoAnswer:
    """What a closed connection says of the player, by the close code that we sent, if any."""
    sent = None if closed.rcvd_then_sent else closed.sent
    if sent is not None and sent.code == CloseCode.TOO_LARGE:
        return NoAnswer(Verdict.OVERSIZE, f"a message over the limit: {sent.reason}")
    if sent is not None and sent.code in {CloseCode.NOT_WEBSOCKET, CloseCode.NOT_UNICODE}:
        return NoAnswer(Verdict.MALFORMED, f"not WebSocket, or not UTF-8: {sent.reason}")
    if closed.rcvd is not None:
        detail = f"the connection was closed by the player (code {closed.rcvd.code})"
    else:
        detail = "the connection was lost"
    return NoAnswer(Verdict.DISCONNECTED, detail)
