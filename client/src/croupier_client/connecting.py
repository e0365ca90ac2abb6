"""Getting through to a server: the address checked, and tried again for a bounded time."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidHandshake, InvalidMessage, InvalidStatus

from croupier_client.errors import BadURL, ClientError

__all__ = ["Unreachable", "check_url", "open_connection"]

_FIRST_WAIT_S: Final = 0.1
_LONGEST_WAIT_S: Final = 1.0
_ATTEMPT_S: Final = 10.0
_KEEP_ALIVE: Final = (
    ("TCP_KEEPIDLE", 5),
    ("TCP_KEEPALIVE", 5),  # what macOS calls it
    ("TCP_KEEPINTVL", 3),
    ("TCP_KEEPCNT", 3),
    ("TCP_USER_TIMEOUT", 14_000),
)
"""After how many seconds of silence the other side is asked, how often, and for how long."""

_MAX_RECEIVED: Final = 16 << 20


class Unreachable(ClientError):
    """No connection came about: to what, why, and after how long."""


def check_url(url: str) -> str:
    """The address, if a server can have it.

    Raises:
        BadURL: it can't, with what would be right.
    """
    wanted = "an address is ws://HOST:PORT, or wss://HOST:PORT for an encrypted connection"
    try:
        parts = urlsplit(url)
        port = parts.port
        (parts.hostname or "").encode("idna")  # what no system looks up is a UnicodeError
    except ValueError as problem:
        raise BadURL(f"bad URL {url!r:.100}: {problem}; {wanted}") from None
    if parts.scheme not in {"ws", "wss"}:
        raise BadURL(
            f"bad URL {url!r:.100}: it begins neither with ws:// nor with wss://; {wanted}"
        )
    if not parts.hostname or port == 0 or any(char.isspace() for char in url):
        raise BadURL(f"bad URL {url!r:.100}: it names no host and port; {wanted}")
    if parts.fragment:
        raise BadURL(f"bad URL {url!r:.100}: it has a '#'; {wanted}")
    return url


async def open_connection(
    url: str, *, retry_s: float, tell: Callable[[str], None]
) -> ClientConnection:
    """A connection to a server that answers now or within `retry_s`.

    Args:
        tell: is told, at the first failure and whenever the reason changes, what is tried and for
            how long it will go on.

    Raises:
        Unreachable: there was none, or trying again would not help.
    """
    began = time.monotonic()
    wait = _FIRST_WAIT_S
    told = ""
    while True:
        left = began + retry_s - time.monotonic()
        try:
            return await _attempt(url, min(_ATTEMPT_S, max(left, 1.0)))
        except (OSError, InvalidHandshake, ImportError) as problem:
            reason, hopeless = _reason(problem), not _may_pass(problem)
        left = began + retry_s - time.monotonic()
        if hopeless or left <= 0:
            tried = "" if hopeless or not retry_s else f" within {retry_s:g} s"
            raise Unreachable(f"no connection to {url}{tried}: {reason}")
        if reason != told:
            told = reason
            tell(f"no connection to {url} yet: {reason}; trying for {_seconds(left)} s more")
        await asyncio.sleep(min(wait, left))
        wait = min(wait * 2, _LONGEST_WAIT_S)


async def _attempt(url: str, timeout_s: float) -> ClientConnection:
    # Pings are the server's; a player that thinks long is not to be dropped by its own end.
    connection = await connect(
        url,
        compression=None,
        max_size=_MAX_RECEIVED,
        open_timeout=timeout_s,
        close_timeout=2,
        ping_interval=None,
        ping_timeout=None,
        # No proxy could find this machine.
        proxy=None if _is_loopback(urlsplit(url).hostname or "") else True,
    )
    _keep_alive(connection)
    return connection


def _keep_alive(connection: ClientConnection) -> None:
    """Have the system find out about a server whose machine is gone, within a quarter of a minute.

    A player waits for requests and sends nothing by itself, so that it would wait for ever.
    """
    raw: socket.socket | None = connection.transport.get_extra_info("socket")
    if raw is None:
        return
    with suppress(OSError):  # a system that has none of it keeps its own times
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _KEEP_ALIVE:
            if hasattr(socket, name):
                raw.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _seconds(left: float) -> str:
    return f"{left:.0f}" if left >= 1 else f"{left:.1f}"


def _may_pass(problem: Exception) -> bool:
    """Whether the same attempt may succeed later."""
    if isinstance(problem, InvalidStatus):
        return problem.response.status_code >= 500
    if isinstance(problem, InvalidMessage):  # closed before it said anything: it may be starting
        return isinstance(problem.__cause__, EOFError | OSError)
    return isinstance(problem, OSError) and not isinstance(problem, ssl.SSLError)


def _reason(problem: Exception) -> str:
    if isinstance(problem, InvalidStatus):
        return f"it answered with HTTP status {problem.response.status_code}"
    if isinstance(problem, InvalidMessage):
        return "what answers there is no WebSocket server"
    if isinstance(problem, ConnectionRefusedError):
        return "connection refused; is a server running there?"
    if isinstance(problem, TimeoutError):
        return "no answer"
    text = getattr(problem, "strerror", None) or str(problem) or type(problem).__name__
    return " ".join(str(text).split())[:200]
