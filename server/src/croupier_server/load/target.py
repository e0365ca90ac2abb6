"""The server that is to be loaded: that its user may do that, and that it is there."""

from __future__ import annotations

from http.client import HTTPConnection, HTTPException, HTTPSConnection
from ipaddress import ip_address
from typing import Final
from urllib.parse import SplitResult, urlsplit

from croupier_server.errors import UserError

__all__ = ["check_reached", "check_url"]

_PATIENCE_S: Final = 10


def check_url(url: str, *, is_mine: bool) -> None:
    """See that a server may be loaded: it is this machine's, or the user says that it is theirs.

    Raises:
        UserError: it may not, or the address is none.
    """
    host = _split(url).hostname or ""
    if not is_mine and not _is_here(host):
        raise UserError(
            f"{host} is not this machine: a load hurts whoever else plays there; load only a "
            "server of your own, and say so with --yes-this-is-my-server"
        )


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        # A name that no system looks up is a UnicodeError, which is a ValueError.
        host = (parts.hostname or "").encode("idna")
        is_address = parts.scheme in {"ws", "wss"} and host and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        raise UserError(f"URL {url!r:.80}: a server's address is ws://HOST:PORT or wss://HOST:PORT")
    return urlsplit(url)


def _is_here(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified  # the latter is what `serve` prints


def check_reached(url: str) -> None:
    """See that something that speaks HTTP listens there, before thousands try.

    Raises:
        UserError: nothing does, or its certificate is not trusted.
    """
    parts = _split(url)
    kind = HTTPSConnection if parts.scheme == "wss" else HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=_PATIENCE_S)
    try:
        connection.request("GET", "/healthz")
        connection.getresponse().read(1)
    except OSError as problem:
        raise UserError(f"can't reach {url}: {problem.strerror or problem}") from None
    except HTTPException as problem:
        raise UserError(f"{url}: what listens there speaks no HTTP: {problem!r:.80}") from None
    finally:
        connection.close()
