"""What several pages look for in a tournament."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import Connection
from starlette.exceptions import HTTPException

from croupier_common.render import printable
from croupier_server.commands.csv_files import moment
from croupier_server.commands.progress_of import left
from croupier_server.commands.view import View

if TYPE_CHECKING:
    from croupier_server.storage.catalogue import GameRow
    from croupier_server.storage.pairings import PairingRow
    from croupier_server.tournament.model import Result

__all__ = ["Finder", "GameLine", "Heading", "found_view", "game_lines", "no_record"]


@dataclass(frozen=True, slots=True)
class Heading:
    """What stands above all pages of a tournament.

    Attributes:
        finished: how many games are over; `running` and `waiting` likewise; `to_come` are those
            that are not paired yet, None where nobody knows.
        seconds: how long the rest may take, if it can be told.
    """

    name: str
    format: str
    status: str
    winners: tuple[str, ...]
    players: int
    finished: int
    running: int
    waiting: int
    to_come: int | None
    seconds: float | None
    started_ms: int | None
    ended_ms: int | None

    @classmethod
    def of(cls, view: View) -> Heading:
        """Of a tournament as it is."""
        remaining, row = left(view), view.row
        games = remaining.games
        return cls(
            row.name,
            row.format,
            row.status,
            view.winners(),
            len(view.entrants),
            games["finished"] or 0,
            games["running"] or 0,
            games["open"] or 0,
            games["to_come"],
            remaining.seconds,
            row.started_ms,
            row.ended_ms,
        )

    def to_json(self) -> dict[str, Any]:
        """The heading as JSON."""
        return {
            "name": self.name,
            "format": self.format,
            "status": self.status,
            "winners": list(self.winners),
            "players": self.players,
            "games": {
                "finished": self.finished,
                "running": self.running,
                "open": self.waiting,
                "to_come": self.to_come,
            },
            "left_s": self.seconds,
            "started": moment(self.started_ms) or None,
            "ended": moment(self.ended_ms) or None,
        }


@dataclass(frozen=True, slots=True)
class GameLine:
    """A pairing in a list of games.

    Attributes:
        game: the name of its last attempt, by which its page is found; None if none began.
        status: ``open``, ``running``, ``finished``, ``interrupted``, ``bye``, ``forfeit``,
            ``void``.
        attempts: the names of all attempts.
    """

    pairing: str
    round: int
    players: tuple[str, ...]
    status: str
    game: str | None
    winners: tuple[str, ...]
    fish: Mapping[str, int]
    verdicts: Mapping[str, str]
    plies: int | None
    attempts: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The line as JSON."""
        return {
            "pairing": self.pairing,
            "round": self.round,
            "players": list(self.players),
            "status": self.status,
            "game": self.game,
            "winners": list(self.winners),
            "fish": dict(self.fish),
            "verdicts": dict(self.verdicts),
            "plies": self.plies,
            "attempts": list(self.attempts),
        }


class Finder(Protocol):
    """What knows tournaments by their names."""

    def view(self, connection: Connection, name: str) -> View | None:
        """The tournament of that name, if there is one."""
        ...


def found_view(finder: Finder, connection: Connection, tournament: str) -> View:
    """The tournament of that name.

    Raises:
        HTTPException: there is none.
    """
    view = finder.view(connection, tournament)
    if view is None:
        raise HTTPException(404, f"There is no tournament {printable(tournament)} here.")
    return view


def no_record(game: str, keep_days: int | None) -> HTTPException:
    """What is answered for a game whose record was let go.

    Args:
        keep_days: for how long records are kept, where that is known.
    """
    kept = "is kept no longer" if keep_days is None else f"was kept for {keep_days} days"
    return HTTPException(
        404, f"The record of game {printable(game)} {kept}; its result is in the tables."
    )


def game_lines(view: View, pairings: Sequence[PairingRow]) -> list[GameLine]:
    """Lines for some of a tournament's pairings."""
    wanted = {pairing.id for pairing in pairings}
    attempts: dict[int, list[GameRow]] = {}
    for game in view.games:
        if game.pairing_id in wanted:
            attempts.setdefault(game.pairing_id, []).append(game)
    return [
        _line(pairing, view.results.get(pairing.game), attempts.get(pairing.id, []))
        for pairing in pairings
    ]


def _line(pairing: PairingRow, result: Result | None, attempts: Sequence[GameRow]) -> GameLine:
    last = attempts[-1] if attempts else None
    return GameLine(
        pairing.game,
        pairing.round,
        pairing.players,
        status_of(result, last),
        None if last is None else last.name,
        () if result is None else result.winners,
        {} if result is None else result.fish,
        {} if result is None else {name: one.value for name, one in result.verdicts.items()},
        None if last is None else last.plies,
        tuple(game.name for game in attempts),
    )


def status_of(result: Result | None, last: GameRow | None) -> str:
    """How a pairing stands: by its result, or by its last attempt."""
    if result is not None:
        return "finished" if result.kind == "played" else result.kind
    if last is None or last.status == "superseded":
        return "open"
    return last.status
