"""The gate to the operator's pages: who is signed in, and whether a form comes from these pages."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import structlog
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from croupier_server.errors import UserError
from croupier_server.web.operator.sessions import LASTS_S, Session, Sessions
from croupier_server.web.operator.throttle import Throttle
from croupier_server.web.operator.token import is_token, known_hash

if TYPE_CHECKING:
    from croupier_server.settings import Settings

__all__ = ["Gate", "TooOften", "Visit"]

log = structlog.get_logger(__name__)

SESSION: Final = "croupier_operator"
VISITOR: Final = "croupier_visitor"
"""The cookies: of who is signed in, and of who looks at the form to sign in."""

MAX_FIELDS: Final = 16

OLD_FORM: Final = "This form is out of date. Go back, load the page again, and repeat it."


class TooOften(UserError):
    """Too many wrong tokens; for so many seconds none is looked at."""

    def __init__(self, wait_s: int) -> None:
        super().__init__(f"Too many wrong tokens. Try again in {wait_s} seconds.")
        self.wait_s = wait_s


@dataclass(frozen=True, slots=True)
class Visit:
    """A request by who is signed in.

    Attributes:
        mark: what the forms on the page have in them, to be known again.
    """

    session: Session
    mark: str


class Gate:
    """Lets the operator in.

    Args:
        path: where the operator's pages begin; cookies are sent to no others.
        clock: gives seconds that only grow.
    """

    def __init__(
        self, settings: Settings, path: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings = settings
        self._path = path
        self._sessions = Sessions(clock)
        self._throttle = Throttle(clock)

    async def known(self) -> str | None:
        """The hash of the operator's token; None if none was made. A file may have it."""
        return await asyncio.to_thread(known_hash, self._settings)

    async def visit(self, request: Request) -> Visit | None:
        """Who is signed in, if somebody is."""
        cookie = request.cookies.get(SESSION)
        if cookie is None:
            return None
        session = self._sessions.find(cookie, await self.known())
        return None if session is None else Visit(session, self._sessions.mark(cookie))

    def invite(self, request: Request) -> tuple[str, str]:
        """The cookie of who may sign in, and the mark of the form for that."""
        cookie = request.cookies.get(VISITOR) or secrets.token_urlsafe(24)
        return cookie, self._sessions.mark(cookie)

    async def fields(self, request: Request, cookie_name: str = SESSION) -> Mapping[str, str]:
        """The fields of a form that comes from these pages.

        Raises:
            HTTPException: it comes from elsewhere, or is no form.
        """
        if not _is_ours(request):
            raise HTTPException(403, "This form comes from another site.")
        async with request.form(max_files=0, max_fields=MAX_FIELDS) as form:
            fields = {name: value for name, value in form.items() if isinstance(value, str)}
        cookie = request.cookies.get(cookie_name)
        if cookie is None or not self._sessions.is_mark(fields.pop("mark", ""), cookie):
            raise HTTPException(403, OLD_FORM)
        return fields

    async def sign_in(self, request: Request, token: str) -> str | None:
        """The new session's cookie, if that is the operator's token.

        Raises:
            TooOften: there were too many wrong ones.
        """
        address = "" if request.client is None else request.client.host
        wait_s = self._throttle.wait_s(address)
        if wait_s:
            raise TooOften(wait_s)
        known = await self.known()
        if known is None or not is_token(token.strip(), known):
            self._throttle.failed(address)
            log.warning("a wrong operator's token", address=address)
            return None
        self._throttle.succeeded(address)
        log.info("the operator signed in", address=address)
        return self._sessions.open(known)

    def sign_out(self, request: Request) -> None:
        """End the session, if there is one."""
        self._sessions.close(request.cookies.get(SESSION, ""))

    def give_cookie(self, request: Request, response: Response, name: str, value: str) -> None:
        """Put a cookie into an answer; an empty one is taken away."""
        lasts_s = int(LASTS_S) if name == SESSION else None
        response.set_cookie(
            name,
            value,
            max_age=lasts_s if value else 0,
            path=self._path,
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="strict",
        )


def _is_ours(request: Request) -> bool:
    """Whether a browser says that a request comes from a page of this site, or says nothing."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = request.headers.get("origin")
    if origin is None:
        return True  # no browser, or an old one: the form's mark decides
    return urlsplit(origin).netloc == request.headers.get("host")
