"""What can put a player out: one enum for the wire, the record, the page and the grade."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

__all__ = ["Fault", "Phase", "Verdict"]


class Phase(StrEnum):
    """When something happened."""

    JOIN = "join"
    TOURNAMENT_START = "tournament_start"
    GAME_START = "game_start"
    PLACEMENT = "placement"
    MOVEMENT = "movement"
    TOURNAMENT_END = "tournament_end"
    TOURNAMENT = "tournament"


class Verdict(StrEnum):
    """Why a player is out. The last five are nobody's fault."""

    ILLEGAL_ACTION = "illegal_action"
    MALFORMED = "malformed"
    TIMEOUT = "timeout"
    DISCONNECTED = "disconnected"
    OVERSIZE = "oversize"
    FLOOD = "flood"
    ERROR_REPLY = "error_reply"
    NO_START = "no_start"
    NO_ROOM = "no_room"
    RESIGNED = "resigned"
    WITHDRAWN = "withdrawn"
    DISQUALIFIED = "disqualified"
    ABSENT = "absent"
    VOID_SERVER_FAULT = "void_server_fault"
    INTERRUPTED = "interrupted"

    @property
    def is_fault(self) -> bool:
        """Whether it is the player's own doing."""
        return self not in _NO_FAULTS

    @property
    def when(self) -> str:
        """When it is given, in words for who it hits."""
        return _WHEN[self]

    @property
    def phases(self) -> tuple[Phase, ...]:
        """The phases that it can be given in; none while it is reserved for later."""
        return _PHASES.get(self, ())

    @property
    def fix(self) -> str:
        """One sentence on what to do about it."""
        return _FIXES[self]

    @property
    def link(self) -> str:
        """Where the documents say more, from the project's root."""
        return f"protocol.md#{self.value}"


_NO_FAULTS: Final = frozenset(
    {
        Verdict.WITHDRAWN,
        Verdict.DISQUALIFIED,
        Verdict.ABSENT,
        Verdict.VOID_SERVER_FAULT,
        Verdict.INTERRUPTED,
    }
)

_CALLS: Final = (
    Phase.TOURNAMENT_START,
    Phase.GAME_START,
    Phase.PLACEMENT,
    Phase.MOVEMENT,
    Phase.TOURNAMENT_END,
)
_TURNS: Final = (Phase.PLACEMENT, Phase.MOVEMENT)

_PHASES: Final[dict[Verdict, tuple[Phase, ...]]] = {
    Verdict.ILLEGAL_ACTION: _TURNS,
    Verdict.MALFORMED: _CALLS,
    Verdict.TIMEOUT: (*_TURNS, Phase.TOURNAMENT_END),
    Verdict.DISCONNECTED: _CALLS,
    Verdict.OVERSIZE: _CALLS,
    Verdict.FLOOD: _CALLS,
    Verdict.ERROR_REPLY: _CALLS,
    Verdict.NO_START: (Phase.TOURNAMENT_START, Phase.GAME_START),
    Verdict.NO_ROOM: (Phase.PLACEMENT,),
    Verdict.WITHDRAWN: (*_TURNS, Phase.TOURNAMENT),
    Verdict.DISQUALIFIED: (*_TURNS, Phase.TOURNAMENT),
    Verdict.ABSENT: (Phase.GAME_START, *_TURNS),
}

_WHEN: Final[dict[Verdict, str]] = {
    Verdict.ILLEGAL_ACTION: (
        "The answer to `place` or `move` has the right form, but the rules do not allow it in "
        "that state: a hole, a tile that is taken, a move off the straight line, another "
        "player's penguin."
    ),
    Verdict.MALFORMED: (
        "A message is no reply at all (not JSON, a batch, a binary frame, a missing or unknown "
        "field, a second `join`), or its result has not the form that the request asks for: "
        '`true`, `1.0` and `"1"` are no whole numbers.'
    ),
    Verdict.TIMEOUT: (
        "There is no answer to `place`, `move` or `tournament_end` within the request's budget "
        "and the latency allowance."
    ),
    Verdict.DISCONNECTED: (
        "The connection is lost, or the player closed it, and an answer is wanted that did not "
        "come before."
    ),
    Verdict.OVERSIZE: (
        "A message is larger than `max_message`. The server closes the connection at once, "
        "with code 1009."
    ),
    Verdict.FLOOD: "A player sends far more than it is asked for.",
    Verdict.ERROR_REPLY: "The player answers a request with a JSON-RPC error.",
    Verdict.NO_START: (
        "There is no answer to `tournament_start` or `game_start` within the request's budget "
        "and the latency allowance."
    ),
    Verdict.NO_ROOM: (
        "It is the player's turn to place a penguin, and no tile is left for it. A server sees to "
        "the room beforehand, so this comes up only in games that begin from a given state."
    ),
    Verdict.RESIGNED: "The player gives up.",
    Verdict.WITHDRAWN: "The player's owner or its operator takes it out.",
    Verdict.DISQUALIFIED: (
        "The operator of the tournament puts the player out; or it was ejected in another game, "
        "and that costs the tournament."
    ),
    Verdict.ABSENT: "The player does not come back in time after a restart of the server.",
    Verdict.VOID_SERVER_FAULT: "The server failed twice in this game, which does not count.",
    Verdict.INTERRUPTED: "The server stopped in the middle of this game.",
}

_FIXES: Final[dict[Verdict, str]] = {
    Verdict.ILLEGAL_ACTION: (
        "Answer with one of the request's legal actions; ask for them at join with "
        '"legal_actions": true.'
    ),
    Verdict.MALFORMED: (
        "Send one JSON-RPC 2.0 reply with the request's id, and as its result [row, column] for "
        "a placement, [[row, column], [row, column]] for a move, true for the rest."
    ),
    Verdict.TIMEOUT: (
        "Answer within the request's budget_ms: stop your search earlier and do your loading at "
        "game_start."
    ),
    Verdict.DISCONNECTED: (
        "Keep the connection open until tournament_end has been answered; look in your own log "
        "for what ended your program."
    ),
    Verdict.OVERSIZE: "Keep each message within the limit that join's result states.",
    Verdict.FLOOD: "Send only replies to requests, one for each.",
    Verdict.ERROR_REPLY: (
        "Your program answered with an error: look in its own log for the exception, which the "
        "reply's message names."
    ),
    Verdict.NO_START: "Answer tournament_start and game_start with true, within their budget_ms.",
    Verdict.NO_ROOM: "Nothing: there was no tile left to place a penguin on.",
    Verdict.RESIGNED: "Nothing: your program chose to give up.",
    Verdict.WITHDRAWN: "Nothing: your withdrawal was asked for.",
    Verdict.DISQUALIFIED: "Ask the operator of the tournament.",
    Verdict.ABSENT: "Nothing: you were not back in time after the server's restart.",
    Verdict.VOID_SERVER_FAULT: "Nothing: the game is void for a fault of the server.",
    Verdict.INTERRUPTED: "Nothing: the game was interrupted and does not count.",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """A verdict on one player, with what the offender is told.

    Attributes:
        detail: one line: what was wrong, where, and what would have been allowed.
        sent: what the player sent, cut to 400 characters, if anything.
    """

    verdict: Verdict
    phase: Phase
    detail: str
    sent: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The fault as the offender gets it."""
        told: dict[str, Any] = {
            "verdict": self.verdict.value,
            "phase": self.phase.value,
            "detail": self.detail,
            "fix": self.verdict.fix,
            "link": self.verdict.link,
        }
        if self.sent is not None:
            told["sent"] = self.sent[:400]
        return told
