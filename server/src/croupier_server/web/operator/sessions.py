"""Who is signed in: sessions on the server, known by a random number in a cookie."""

from __future__ import annotations

import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

__all__ = ["Notice", "Session", "Sessions"]

LASTS_S: Final = 12 * 3600
MAX_SESSIONS: Final = 64
MAX_NOTICES: Final = 8


@dataclass(frozen=True, slots=True)
class Notice:
    """What came of a form, shown once on the next page.

    Attributes:
        secret: a token that is shown with it.
    """

    text: str
    is_problem: bool = False
    secret: str | None = None


@dataclass(slots=True)
class Session:
    """One who is signed in.

    Attributes:
        token_hash: of the operator's token that opened it; with another token, it is void.
        ends: when it ends, by the sessions' clock.
    """

    token_hash: str
    ends: float
    notices: list[Notice] = field(default_factory=list[Notice])

    def tell(self, notice: Notice) -> None:
        """Have something shown on the next page."""
        self.notices = [*self.notices, notice][-MAX_NOTICES:]

    def take_notices(self) -> list[Notice]:
        """What has to be shown, which is not shown again."""
        notices, self.notices = self.notices, []
        return notices


class Sessions:
    """All sessions; they end with the process, after some hours, or with the operator's token.

    Only hashes of the cookies are kept, and a form's mark is made from its cookie by a key that
    never leaves the process: nobody can make a form that another browser would send.

    Args:
        clock: gives seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sessions: OrderedDict[str, Session] = OrderedDict()
        self._key = secrets.token_bytes(32)

    def open(self, token_hash: str) -> str:
        """A new session; what its cookie has."""
        cookie = secrets.token_urlsafe(32)
        self._sessions[_key_of(cookie)] = Session(token_hash, self._clock() + LASTS_S)
        while len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)
        return cookie

    def find(self, cookie: str, token_hash: str | None) -> Session | None:
        """The session of a cookie, if it is still good with the operator's token of now."""
        key = _key_of(cookie)
        session = self._sessions.get(key)
        if session is None:
            return None
        if session.ends <= self._clock() or session.token_hash != token_hash:
            del self._sessions[key]
            return None
        return session

    def close(self, cookie: str) -> None:
        """End a session; again changes nothing."""
        self._sessions.pop(_key_of(cookie), None)

    def mark(self, cookie: str) -> str:
        """What a form has in it that is sent with this cookie."""
        return hmac.new(self._key, cookie.encode("utf-8", "replace"), sha256).hexdigest()

    def is_mark(self, given: str, cookie: str) -> bool:
        """Whether a form was made for this cookie."""
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.mark(cookie).encode())


def _key_of(cookie: str) -> str:
    return sha256(cookie.encode("utf-8", "replace")).hexdigest()
