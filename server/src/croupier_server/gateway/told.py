"""What a player has been told, and what of that it may not have heard."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Final

from croupier_common.messages import Events, GameEnd, JoinParams, ServerNotification

__all__ = ["GAME_OVER", "Told", "about"]

_MISSED: Final = 256
"""How many notifications are kept for a player that is away."""

GAME_OVER: Final = 1 << 62
"""The number of a game's end, which nothing follows."""


def about(message: ServerNotification) -> tuple[str, int | None]:
    """The game that a notification is about, and the last event that it tells of, if any."""
    if isinstance(message, Events):
        return message.params.game, message.params.events[-1]["seq"]
    return message.params.game or "", GAME_OVER if isinstance(message, GameEnd) else None


class Told:
    """The notifications of running games, and those that came while the player was away.

    Attributes:
        missed: what came while nobody was there to hear it.
        games: by game, the texts that can be told again, each with the number of its last event.
    """

    __slots__ = ("games", "missed")

    def __init__(self) -> None:
        self.missed: deque[str] = deque(maxlen=_MISSED)
        self.games: dict[str, list[tuple[int, str]]] = {}

    def add(self, game: str, last: int | None, text: str, most: int) -> None:
        """Keep what a running game's player may have lost on the way with its connection.

        Args:
            most: how many games are kept, the newest.
        """
        if last is None:
            return
        self.games.setdefault(game, []).append((last, text))
        while len(self.games) > most:
            del self.games[next(iter(self.games))]

    def restore(
        self, missed: Sequence[str], games: Mapping[str, Sequence[tuple[int, str]]]
    ) -> None:
        """Take over what another has kept."""
        self.missed.extend(missed)
        self.games.update({game: list(told) for game, told in games.items()})

    def take_missed(self, params: JoinParams) -> list[str]:
        """What the player has not heard, by its own word or since nobody was there to hear it."""
        missed = list(self.missed)
        self.missed.clear()
        for game, seen in (params.last_event or {}).items():
            told = self.games.get(game, [])
            known = {text for _, text in told}
            missed = [text for text in missed if text not in known]
            missed += [text for last, text in told if last > seen]
        return missed
