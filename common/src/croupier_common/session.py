"""The server's side of one player's connection, sans I/O: who may send what, and when.

Feed it what arrives, ask it what that means; it reads no socket and no clock. The table
:data:`TABLE` is the whole truth about who may send what, and :class:`CloseCode` about how a
connection ends; ``protocol.md`` shows both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Final, NamedTuple

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
    "CloseCode",
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


class CloseCode(IntEnum):
    """The WebSocket codes with which the server closes a connection."""

    DONE = 1000
    STOPPING = 1001
    NOT_WEBSOCKET = 1002
    NOT_UNICODE = 1007
    TOO_LARGE = 1009
    INTERNAL = 1011
    RESTARTING = 1012
    EJECTED = 4000
    REFUSED = 4001
    REPLACED = 4002

    @property
    def meaning(self) -> str:
        """What it means, in words for a player's author."""
        return _CLOSE_MEANINGS[self]


_CLOSE_MEANINGS: Final[Mapping[CloseCode, str]] = {
    CloseCode.DONE: "The tournament is over, and nothing is wrong.",
    CloseCode.STOPPING: "The server stops. It is not the player's fault.",
    CloseCode.NOT_WEBSOCKET: "The player broke the WebSocket protocol.",
    CloseCode.NOT_UNICODE: "A text frame was not UTF-8.",
    CloseCode.TOO_LARGE: "A message was larger than `max_message`.",
    CloseCode.INTERNAL: "Something is wrong with the server. It is not the player's fault.",
    CloseCode.RESTARTING: (
        "The server stops, and the tournament is to go on later: come back to the session."
    ),
    CloseCode.EJECTED: "The player was ejected; the close reason is the verdict.",
    CloseCode.REPLACED: "The player joined this session again; its newest connection counts.",
    CloseCode.REFUSED: "The player did not join; the error that was sent before says why.",
}


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


_OUT_OF_TURN: Final[Mapping[ConnectionState, str]] = {
    ConnectionState.CONNECTED: "a reply before the join; the first message is join",
    ConnectionState.JOINED: "a second join on one connection",
    ConnectionState.CLOSED: "a message on a closed connection",
}


@dataclass(frozen=True, slots=True)
class JoinAsked:
    """The player asks to join; answer with :meth:`Session.joined` or close."""

    id: str | int
    params: JoinParams


class Answered(NamedTuple):  # each turn makes one, and a dataclass takes three times as long
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
        if message.id in self.open and isinstance(message, Reply):  # then we are joined
            self.open.remove(message.id)
            return Answered(message.id, message, raw)
        kind = "join" if isinstance(message, Join) else "reply"
        if kind not in TABLE[self.state]["player"]:
            return self._misbehaved(_OUT_OF_TURN[self.state], raw)
        if isinstance(message, Join):
            return JoinAsked(message.id, message.params)
        self.dropped += 1
        return Dropped(shown(message.id, 60))

    @staticmethod
    def _misbehaved(detail: str, raw: str) -> Misbehaved:
        rejected = Rejected(detail, ErrorCode.INVALID_REQUEST)
        return Misbehaved(Verdict.MALFORMED, detail, raw[:400], rejected)
