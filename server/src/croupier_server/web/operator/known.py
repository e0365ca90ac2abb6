"""Whether there is an operator to sign in, as all pages know it: their footers lead there."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

from croupier_server.web.operator.token import known_hash

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from croupier_server.settings import Settings

__all__ = ["Known", "LooksForToken"]

FRESH_S: Final = 1.0
"""For how long the file with the token's hash is not looked at again."""


class Known:
    """Whether a token was made; `croupier operator-token` makes one while pages are shown, too."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._seen = time.monotonic()
        self.is_set = known_hash(settings) is not None

    async def look(self) -> None:
        """Look again, if it is time; in a thread, since a file may have it."""
        now = time.monotonic()
        if now - self._seen >= FRESH_S:
            self._seen = now
            self.is_set = await asyncio.to_thread(known_hash, self._settings) is not None


class LooksForToken:
    """Has each request answered by what is known of the token then."""

    def __init__(self, app: ASGIApp, known: Known) -> None:
        self._app = app
        self._known = known

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] == "http":
            await self._known.look()
        await self._app(scope, receive, send)
