"""What `penguin play` prints: the seats, the moves, the boards, the ranking."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from croupier_client.local import Match
from croupier_common.events import Moved, Placed
from croupier_common.game import Game, NumberedEvent
from croupier_common.outcome import Color, Outcome
from croupier_common.render import event_line, render

__all__ = ["Detail", "Show", "Style"]

Detail = Literal["results", "moves", "boards"]
"""How much of a game is shown: its result; its moves and last board too; all its boards too."""


@dataclass(frozen=True, slots=True)
class Style:
    """What the terminal can do."""

    color: bool = False
    unicode: bool = True


class Show:
    """Shows a match, line by line, and counts its results.

    Args:
        echo: takes the text.
    """

    def __init__(
        self, match: Match, style: Style, detail: Detail, echo: Callable[[str], object]
    ) -> None:
        self._match = match
        self._style = style
        self._detail = detail
        self._echo = echo
        self._game: Game | None = None
        self._plies = 0
        self._games = 0
        self._won: Counter[str] = Counter()
        self._shared: Counter[str] = Counter()
        self._ejected: Counter[str] = Counter()
        self._fish: Counter[str] = Counter()

    def watch(self, game: Game, events: Sequence[NumberedEvent]) -> None:
        """Show what just happened in a game."""
        if self._detail == "results":
            return
        if game is not self._game:
            self._game = game
            self._begin(game)
        for told in events:
            number = ""
            if isinstance(told.event, Placed | Moved):
                self._plies += 1
                number = str(self._plies)
            line = event_line(told.event)
            if line:
                self._echo(f"{number:>3}  {line}")
        if self._detail == "boards":
            self._echo(f"\n{self._board(game)}\n")

    def result(self, game: Game) -> None:
        """Show how a game ended, and count it."""
        outcome = game.outcome
        if outcome is None:
            return
        names = self._names(game)
        self._count(outcome, names)
        if self._detail == "results":
            self._echo(f"game {game.id}: {', '.join(_short(outcome, names))}")
        else:
            if self._detail == "moves":
                self._echo(f"\n{self._board(game)}\n")
            for line in _ranking(outcome, names):
                self._echo(line)
        for color, fault in game.faults.items():
            self._echo(f"{names[color]}: {fault.verdict} ({fault.phase}): {fault.detail}")
            self._echo(f"  what to do: {fault.verdict.fix}")

    def summary(self) -> None:
        """Show the results of all games together, if they are several."""
        if self._games < 2:
            return
        names = [entrant.name for entrant in self._match.entrants]
        width = max(map(len, names))
        self._echo(f"\n{self._games} games")
        self._echo(f"{'player':<{width}}  {'won':>5} {'shared':>6} {'ejected':>7} {'fish/game':>9}")
        for name in sorted(names, key=lambda name: (-self._won[name], -self._shared[name])):
            self._echo(
                f"{name:<{width}}  {self._won[name]:>5} {self._shared[name]:>6} "
                f"{self._ejected[name]:>7} {self._fish[name] / self._games:>9.1f}"
            )

    def winners(self) -> list[str]:
        """Who won most games, alone or not; nobody if none was won."""
        won = self._won + self._shared
        best = max(won.values(), default=0)
        return [
            entrant.name for entrant in self._match.entrants if best and won[entrant.name] == best
        ]

    def ejections(self, name: str) -> int:
        """In how many games a player was ejected."""
        return self._ejected[name]

    def _begin(self, game: Game) -> None:
        self._plies = 0
        players = ", ".join(f"{name} ({color})" for color, name in self._names(game).items())
        size = f"{game.board.rows}x{game.board.columns}"
        self._echo(f"game {game.id} (--seed {game.id}), board {size}: {players}")

    def _names(self, game: Game) -> dict[Color, str]:
        seats = self._match.seats(int(game.id) - self._match.seed)
        return {color: entrant.name for color, entrant in seats.items()}

    def _board(self, game: Game) -> str:
        if game.state is None:
            return ""
        style, names = self._style, self._names(game)
        return render(game.state, color=style.color, unicode=style.unicode, names=names)

    def _count(self, outcome: Outcome, names: Mapping[Color, str]) -> None:
        self._games += 1
        winners = [names[color] for color in outcome.winners]
        (self._won if len(winners) == 1 else self._shared).update(winners)
        self._ejected.update(names[color] for color in outcome.ejected)
        for color, fish in outcome.fish.items():
            self._fish[names[color]] += fish


def _ranking(outcome: Outcome, names: Mapping[Color, str]) -> Iterator[str]:
    width = max(map(len, names.values()))
    for group in outcome.ranking:
        for color in group:
            fish, tiles = outcome.fish[color], outcome.tiles[color]
            place = outcome.place(color)
            yield f"{place}. {names[color]:<{width}}  {color:<5}  {fish:>3} fish  {tiles:>3} tiles"
    for color in outcome.ejected:
        yield f"-  {names[color]:<{width}}  {color:<5}  ejected"


def _short(outcome: Outcome, names: Mapping[Color, str]) -> Iterator[str]:
    for group in outcome.ranking:
        for color in group:
            yield f"{outcome.place(color)}. {names[color]} {outcome.fish[color]}"
    for color in outcome.ejected:
        yield f"{names[color]} ejected"
