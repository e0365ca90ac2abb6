"""Which web pages may have a browser connect: those that are named, and the server's own."""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import SplitResult, urlsplit

from croupier_common.jsontypes import shown
from croupier_server.errors import UserError
from croupier_server.settings import Settings

__all__ = ["Origins", "web_origins"]


class Origins:
    """Knows the pages by their origin, as a browser tells it.

    Attributes:
        site_port: where the server's own pages are; None as long as there are none.
    """

    def __init__(self, named: frozenset[str], site_port: int | None = None) -> None:
        self._named = named
        self.site_port = site_port

    def allows(self, origin: str, host: str) -> bool:
        """Whether a page may connect.

        Args:
            origin: of the page.
            host: where it thinks that it connects to, with or without a port.
        """
        return origin in self._named or self._is_own(_split(origin), _split(f"//{host}"))

    def _is_own(self, page: SplitResult | None, here: SplitResult | None) -> bool:
        """Whether a page is of this very server.

        That is one from the port of our pages, at the name by which the players' port is called
        too. A name that anybody could have pointed at this machine is not taken for ours: it
        must be an address, or what the machine calls itself.
        """
        if self.site_port is None or page is None or here is None:
            return False
        if page.scheme not in {"http", "https"} or page.hostname != here.hostname:
            return False
        port = page.port or (443 if page.scheme == "https" else 80)
        return port == self.site_port and _is_of_machine(page.hostname or "")


def web_origins(settings: Settings) -> Origins:
    """The pages that the settings allow; the port of our own follows once they are served.

    Raises:
        UserError: what the settings have is none that a browser would tell.
    """
    return Origins(frozenset(map(_checked, settings.server.origins)))


def _checked(origin: str) -> str:
    """An origin as a browser writes it: in small letters, without the port that goes unsaid."""
    parts = _split(origin)
    if origin != "null" and (
        parts is None
        or not (parts.scheme and parts.hostname)
        or "@" in parts.netloc
        or origin.partition("://")[2] != parts.netloc
    ):
        raise UserError(
            f"server.origins: {shown(origin, 60)} is no origin; one is like "
            "'https://example.org', with nothing behind it"
        )
    unsaid = {"http": ":80", "https": ":443"}.get(origin.lower().partition(":")[0], "")
    return origin.lower().removesuffix(unsaid)


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        _ = parts.port  # looked at only here
    except ValueError:
        return None
    return parts


def _is_of_machine(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        own = socket.gethostname().lower()
        return name in {"localhost", own, f"{own}.local", own.partition(".")[0]}
    return True
