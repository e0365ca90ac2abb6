"""What a player is still to be told, sans I/O: open requests, and what came while it was away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from croupier_common.errors import NotAMessage
from croupier_common.jsontypes import is_object
from croupier_common.messages import load_json
from croupier_common.render import printable
from croupier_common.session import CloseCode

__all__ = ["Backlog", "object_in"]

_REMEMBERED: Final = 64


class Backlog:
    """Messages that a player has to get, or may have missed.

    Attributes:
        has_begun: whether it has been asked anything.
    """

    def __init__(self) -> None:
        self.has_begun = False
        self._open: dict[str, tuple[str, str]] = {}  # by id: the game, and the request
        self._missed: list[str] = []
        self._game_ends: dict[str, str] = {}
        self._verdict = ""
        self._is_over = False

    @property
    def is_asked(self) -> bool:
        """Whether a request is open."""
        return bool(self._open)

    @property
    def closing(self) -> tuple[CloseCode, str]:
        """With which code a server would close the connection now, and for what reason."""
        if self._verdict:
            return CloseCode.EJECTED, self._verdict
        if self._is_over:
            return CloseCode.DONE, ""
        return CloseCode.STOPPING, "the host has closed standard input"

    def note(self, text: str) -> None:
        """Note a message that is about to be sent."""
        message = object_in(text)
        method, call_id, params = message.get("method"), message.get("id"), message.get("params")
        params = params if is_object(params) else {}
        game = str(params.get("game", ""))
        if isinstance(call_id, str):
            self.has_begun = True
            self._open[call_id] = game, text
            self._is_over = method == "tournament_end"
        elif method == "game_end":
            self._game_ends[game] = text
            while len(self._game_ends) > _REMEMBERED:
                del self._game_ends[next(iter(self._game_ends))]
            self._give_up(game)
        elif method == "ejected":
            self._give_up(game)
            if not params.get("plays_on"):
                self._verdict = printable(str(params.get("verdict", "")), 100)

    def missed(self, text: str) -> None:
        """Note that a message could not be sent; requests and ends of games are noted anyway."""
        message = object_in(text)
        if "id" not in message and message.get("method") != "game_end":
            self._missed.append(text)
            del self._missed[:-_REMEMBERED]

    def replied(self, text: str) -> None:
        """Note a message of the player's."""
        call_id = object_in(text).get("id")
        if isinstance(call_id, str):
            self._open.pop(call_id, None)

    def waiting(self, last_event: Mapping[str, int]) -> Sequence[str]:
        """What to send to the player when it has come back.

        Args:
            last_event: by game that has not ended as far as it knows, the last event it has seen.
        """
        ends = [text for game, text in self._game_ends.items() if game in last_event]
        missed, self._missed = self._missed, []
        return [*missed, *ends, *(text for _, text in self._open.values())]

    def _give_up(self, game: str) -> None:
        """Nobody waits for answers in that game any more."""
        self._open = {call: one for call, one in self._open.items() if one[0] != game}


def object_in(text: str) -> Mapping[str, object]:
    """The JSON object in a text; an empty one if there is none."""
    try:
        message = load_json(text)
    except NotAMessage:
        return {}
    return message if is_object(message) else {}
