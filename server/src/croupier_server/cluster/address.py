"""Where NATS is: the URLs that the settings have, and how they are shown without their secrets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast
from urllib.parse import SplitResult, urlsplit

from croupier_common.jsontypes import is_array

__all__ = ["DEFAULT_NATS", "nats_from_settings", "shown_nats"]

DEFAULT_NATS: Final = "nats://127.0.0.1:4222"

_SCHEMES: Final = ("nats", "tls")
_FORM: Final = "a NATS server is nats://HOST:PORT or nats://TOKEN@HOST:PORT (tls:// for TLS)"


def nats_from_settings(value: object) -> tuple[str, ...]:
    """URLs of NATS servers, from an array or from text with commas; what is wrong is not quoted.

    Raises:
        ValueError: there are none, or one can't be.
    """
    if isinstance(value, str):
        value = value.split(",")
    if not is_array(value) and not isinstance(value, tuple):
        raise ValueError(f"a URL, or an array of them; {_FORM}")
    urls = tuple(_checked(item) for item in cast("Sequence[object]", value))
    if not urls:
        raise ValueError(f"one URL at least; {_FORM}")
    return urls


def shown_nats(urls: Sequence[str]) -> str:
    """The servers as people may see them: without users, passwords and tokens."""
    return ", ".join(_place(urlsplit(url)) for url in urls)


def _checked(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(_FORM)  # no text, hence no URL; it may still hold a secret
    url = value.strip()
    if not _is_server(url):
        raise ValueError(_FORM)
    return url


def _is_server(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in _SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:  # its message would quote the URL
        return False


def _place(parts: SplitResult) -> str:
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
