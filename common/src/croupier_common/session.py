"""The server's side of one player's connection, sans I/O: who may send what, and when.

Feed it what arrives, ask it what that means; it reads no socket and no clock. The table
:data:`TABLE` is the whole truth about who may send what; ``protocol.md`` shows it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from croupier_common.jsontypes import shown
from croupier_common.messages import (
    ErrorCode,
    Join,
    JoinParams,
    Rejected,
    Reply,
    parse_from_player,
)
from croupier_common.verdict import Verdict

__all__ = [
    "TABLE",
    "Answered",
    "ConnectionState",
    "Dropped",
    "JoinAsked",
    "Misbehaved",
    "Received",
    "Session",
]


class ConnectionState(StrEnum):
    """How far a connection is."""

    CONNECTED = "connected"
    JOINED = "joined"
    CLOSED = "closed"


TABLE: Final[Mapping[ConnectionState, Mapping[str, frozenset[str]]]] = {
    ConnectionState.CONNECTED: {
        "player": frozenset({"join"}),
        "server": frozenset({"join result", "error"}),
    },
    ConnectionState.JOINED: {
        "player": frozenset({"reply"}),
        "server": frozenset(
            {
                "tournament_start",
                "game_start",
                "place",
                "move",
                "events",
                "ejected",
                "game_end",
                "tournament_end",
            }
        ),
    },
    ConnectionState.CLOSED: {"player": frozenset(), "server": frozenset()},
}
"""By state of the connection and by sender, what may be sent."""


@dataclass(frozen=True, slots=True)
class JoinAsked:
    """The player asks to join; answer with :meth:`Session.joined` or close."""

    id: str | int
    params: JoinParams


@dataclass(frozen=True, slots=True)
class Answered:
    """The reply to an open request, which is closed with it."""

    id: str
    reply: Reply
    raw: str


@dataclass(frozen=True, slots=True)
class Dropped:
    """A reply to nothing that is open: stale, foreign or surplus. Counted, never judged."""

    id: str


@dataclass(frozen=True, slots=True)
class Misbehaved:
    """Something that may not be sent now, or is no message at all.

    While a request is open, it stands for its answer; before the join, the connection is closed
    with ``rejected``; otherwise it is kept and decides when the player is asked next.
    """

    verdict: Verdict
    detail: str
    raw: str
    rejected: Rejected


Received = JoinAsked | Answered | Dropped | Misbehaved


class Session:
    """What a connection has said and may say.

    Attributes:
        state: how far it is.
        open: the ids of the requests that wait for an answer.
        dropped: how many replies were dropped.
    """

    __slots__ = ("dropped", "open", "state")

    def __init__(self) -> None:
        self.state = ConnectionState.CONNECTED
        self.open: set[str] = set()
        self.dropped = 0

    def joined(self) -> None:
        """The server has accepted the join."""
        self.state = ConnectionState.JOINED

    def closed(self) -> None:
        """The connection is gone."""
        self.state = ConnectionState.CLOSED
        self.open.clear()

    def asked(self, request_id: str) -> None:
        """A request is on its way to the player."""
        self.open.add(request_id)

    def given_up(self, request_id: str) -> None:
        """Nobody waits for that answer any more; it will be dropped when it comes."""
        self.open.discard(request_id)

    def receive(self, raw: str | bytes) -> Received:
        """What a message from the player means."""
        if isinstance(raw, bytes):
            return self._misbehaved("a binary frame; messages are text", "")
        try:
            message = parse_from_player(raw)
        except Rejected as rejected:
            return Misbehaved(Verdict.MALFORMED, str(rejected), raw[:400], rejected)
        if isinstance(message, Join):
            if "join" not in TABLE[self.state]["player"]:
                return self._misbehaved("a second join on one connection", raw)
            return JoinAsked(message.id, message.params)
        if "reply" not in TABLE[self.state]["player"]:
            return self._misbehaved("a reply before the join; the first message is join", raw)
        if message.id not in self.open:
            self.dropped += 1
            return Dropped(shown(message.id, 60))
        self.open.remove(message.id)
        return Answered(message.id, message, raw)

    @staticmethod
    def _misbehaved(detail: str, raw: str) -> Misbehaved:
        rejected = Rejected(detail, ErrorCode.INVALID_REQUEST)
        return Misbehaved(Verdict.MALFORMED, detail, raw[:400], rejected)
