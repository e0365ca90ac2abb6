"""Games and their journals, as the database has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from sqlalchemy import Connection, Select, bindparam, func, insert, select, update

from croupier_server.errors import ServerFault
from croupier_server.storage.results import Detail, insert_result
from croupier_server.storage.rows import as_rows, now_ms, select_rows
from croupier_server.storage.schema import games as table
from croupier_server.storage.schema import journal, pairings, storable
from croupier_server.tournament.model import Result

__all__ = [
    "GameRow",
    "GameStatus",
    "append_lines",
    "begin_game",
    "finish_game",
    "game_by_name",
    "games",
    "interrupt_game",
    "lines",
    "running_games",
]

GameStatus = Literal["running", "finished", "interrupted", "void", "superseded"]


@dataclass(frozen=True, slots=True)
class GameRow:
    """An attempt at playing a pairing.

    Attributes:
        attempt: from 1.
        name: what it is called on the wire: ``1.1``, and ``1.1-2`` for a second attempt.
        chain: the last chain of its record, once that has its footer.
        epoch: raised whenever another takes it over.
    """

    id: int
    pairing_id: int
    attempt: int
    name: str
    status: GameStatus
    seed: int
    chain: str | None
    plies: int | None
    started_ms: int
    ended_ms: int | None
    epoch: int


# Made once, since to make a statement takes as long as to execute it, and each game needs these.
_BEGIN: Final = insert(table).returning(table.c.id)
_APPEND: Final = insert(journal)
_END: Final = (
    update(table)
    .where(table.c.id == bindparam("game"), table.c.status == "running")
    .returning(table.c.pairing_id)
)


def begin_game(
    connection: Connection, pairing: int, attempt: int, name: str, seed: int, header_line: str
) -> GameRow:
    """A game that begins, with the first line of its record."""
    values: dict[str, Any] = {
        "pairing_id": pairing,
        "attempt": attempt,
        "name": storable(name),
        "status": "running",
        "seed": seed,
        "chain": None,
        "plies": None,
        "started_ms": now_ms(),
        "ended_ms": None,
        "epoch": 0,
    }
    game: int = connection.execute(_BEGIN, values).scalar_one()
    append_lines(connection, game, [(0, header_line)])
    return GameRow(game, **values)


def append_lines(connection: Connection, game: int, some: Sequence[tuple[int, str]]) -> None:
    """Write lines of a game's record, with what else is written in this transaction."""
    rows = [{"game_id": game, "seq": seq, "line": line} for seq, line in some]
    if rows:
        connection.execute(_APPEND, rows)


def lines(connection: Connection, game: int) -> Sequence[str]:
    """The lines of a game's record, each with its newline."""
    query = select(journal.c.line).where(journal.c.game_id == game).order_by(journal.c.seq)
    return connection.scalars(query).all()


def games(connection: Connection, tournament: int) -> Sequence[GameRow]:
    """All games of a tournament that ever began, by pairing and attempt."""
    return as_rows(connection, _of(tournament), GameRow)


def running_games(connection: Connection, tournament: int) -> Sequence[GameRow]:
    """Those that have begun and not ended, as a server's death leaves them."""
    return as_rows(connection, _of(tournament).where(table.c.status == "running"), GameRow)


def game_by_name(connection: Connection, tournament: int, name: str) -> GameRow | None:
    """The game that is called so."""
    query = _of(tournament).where(table.c.name == name)
    return next(iter(as_rows(connection, query, GameRow)), None)


def finish_game(
    connection: Connection,
    game: int,
    final_lines: Sequence[tuple[int, str]],
    *,
    chain: str,
    plies: int,
    result: Result,
    details: Mapping[str, Detail] | None = None,
) -> None:
    """End a game that was played, with the last lines of its record and its result.

    Args:
        details: by name, what else is known of how a player did.

    Raises:
        ServerFault: it is not running any more, so that its result does not count.
    """
    append_lines(connection, game, final_lines)
    pairing = _end(connection, game, "finished", chain=chain, plies=plies)
    insert_result(connection, pairing, result, game=game, details=details)


def interrupt_game(
    connection: Connection, game: int, final_lines: Sequence[tuple[int, str]] = (), chain: str = ""
) -> None:
    """End a game that can't go on; its pairing is to be played again.

    Raises:
        ServerFault: it is not running any more.
    """
    append_lines(connection, game, final_lines)
    _end(connection, game, "interrupted", chain=chain or None)


def _end(connection: Connection, game: int, status: GameStatus, **values: Any) -> int:
    """End a running game; gives its pairing."""
    changed = {"game": game, "status": status, "ended_ms": now_ms(), **values}
    pairing: int | None = connection.execute(_END, changed).scalar()
    if pairing is None:
        now = connection.scalar(select(table.c.status).where(table.c.id == game))
        raise ServerFault(f"game row {game} can't be {status}: it is {now or 'not there'}")
    return pairing


def _select() -> Select[Any]:
    return select_rows(table, GameRow)


def _of(tournament: int) -> Select[Any]:
    return (
        _select()
        .join(pairings, pairings.c.id == table.c.pairing_id)
        .where(pairings.c.tournament_id == tournament)
        .order_by(pairings.c.number, table.c.attempt)
    )


def count_attempts(connection: Connection, pairing: int) -> int:
    """How many times a pairing has been begun."""
    query = select(func.count()).select_from(table).where(table.c.pairing_id == pairing)
    return connection.scalar(query) or 0
