"""What has been written of games since somebody looked: the journal, as it is watched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from croupier_server.storage import catalogue, schema

__all__ = ["Ended", "News", "Running", "find_game", "find_place", "look"]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a game came to its end.

    Attributes:
        again: the name of the game in which its pairing is played again, if it is.
        is_last: whether nothing can follow; else it will be played again, and nobody knows yet as
            which game.
    """

    status: str
    again: str | None = None
    is_last: bool = True

    def to_json(self) -> dict[str, str | None]:
        """The end as JSON."""
        return {"status": self.status, "again": self.again}


@dataclass(frozen=True, slots=True)
class News:
    """What is new of a game: lines with their numbers, without newlines; and its end, if any."""

    game: int
    lines: Sequence[tuple[int, str]]
    end: Ended | None


@dataclass(frozen=True, slots=True)
class Running:
    """The names of a tournament's running games by their rows; whether it is over."""

    games: Mapping[int, str]
    is_over: bool


def find_place(connection: Connection, tournament: str) -> int | None:
    """The row of a tournament."""
    row = catalogue.find_tournament(connection, tournament)
    return None if row is None else row.id


def find_game(connection: Connection, tournament: str, game: str) -> tuple[int, str] | None:
    """The row of a game, and its name as it is stored."""
    place = find_place(connection, tournament)
    row = None if place is None else catalogue.game_by_name(connection, place, game)
    return None if row is None else (row.id, row.name)


def look(
    connection: Connection, known: Mapping[int, int], tournaments: Iterable[int]
) -> tuple[Sequence[News], Mapping[int, Running]]:
    """What is new of some games, and which games run in some tournaments.

    Args:
        known: by the game's row, the number of the last line that is known; -1 for none.
    """
    news = [_news(connection, game, seq) for game, seq in known.items()]
    return news, {one: _running(connection, one) for one in tournaments}


def _news(connection: Connection, game: int, known: int) -> News:
    end = _end(connection, game)  # before the lines, of which the last come together with it
    journal = schema.journal.c
    query = select(journal.seq, journal.line).where(journal.game_id == game, journal.seq > known)
    found = connection.execute(query.order_by(journal.seq)).all()
    return News(game, [(seq, line.rstrip("\n")) for seq, line in found], end)


def _end(connection: Connection, game: int) -> Ended | None:
    games = schema.games.c
    query = select(games.status, games.pairing_id, games.attempt).where(games.id == game)
    status, pairing, attempt = connection.execute(query).one()
    if status in {"running", "finished"}:
        return None if status == "running" else Ended(status)
    later = select(games.name).where(games.pairing_id == pairing, games.attempt > attempt)
    again = connection.scalar(later.order_by(games.attempt.desc()).limit(1))
    if again is not None:
        return Ended(status, again)
    return Ended(status, is_last=_is_settled(connection, pairing))


def _is_settled(connection: Connection, pairing: int) -> bool:
    """Whether a pairing is not played any more."""
    results, pairings, tournaments = schema.results.c, schema.pairings, schema.tournaments
    if connection.scalar(select(results.name).where(results.pairing_id == pairing).limit(1)):
        return True
    whole = select(tournaments.c.status).join(
        pairings, pairings.c.tournament_id == tournaments.c.id
    )
    return connection.scalar(whole.where(pairings.c.id == pairing)) == "finished"


def _running(connection: Connection, tournament: int) -> Running:
    games = {row.id: row.name for row in catalogue.running_games(connection, tournament)}
    state = schema.tournaments.c
    status = connection.scalar(select(state.status).where(state.id == tournament))
    return Running(games, is_over=status == "finished" and not games)
