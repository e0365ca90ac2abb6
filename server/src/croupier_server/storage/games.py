"""Games and their journals, as the database has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, Literal

from sqlalchemy import Connection, Select, bindparam, exists, func, insert, select, update

from croupier_server.errors import Fenced, ServerFault
from croupier_server.storage.pairings import lock_pairing
from croupier_server.storage.results import Detail, insert_result
from croupier_server.storage.rows import as_rows, now_ms, select_rows
from croupier_server.storage.schema import games as table
from croupier_server.storage.schema import journal, pairings, results, storable
from croupier_server.tournament.model import Result

__all__ = [
    "GameRow",
    "GameStatus",
    "Taken",
    "append_lines",
    "begin_game",
    "finish_game",
    "game_by_name",
    "games",
    "interrupt_game",
    "lines",
    "running_games",
    "take_game",
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


@dataclass(frozen=True, slots=True)
class Taken:
    """A game that is now this taker's to play, until another raises its epoch.

    Attributes:
        lines: its record so far, each line with its newline.
        is_new: whether it begins with this; else it goes on.
    """

    row: GameRow
    lines: Sequence[str]
    is_new: bool


# Made once, since to make a statement takes as long as to execute it, and each game needs these.
_BEGIN: Final = insert(table).returning(table.c.id)
_APPEND: Final = insert(journal)
_END: Final = (
    update(table)
    .where(table.c.id == bindparam("game"), table.c.status == "running")
    .returning(table.c.pairing_id)
)
_END_HELD: Final = _END.where(table.c.epoch == bindparam("held"))
_RAISE: Final = (
    update(table)
    .where(table.c.id == bindparam("game"), table.c.status == "running")
    .values(epoch=table.c.epoch + 1)
    .returning(*(table.c[field.name] for field in fields(GameRow)))
)
_LATEST: Final = (
    select_rows(table, GameRow)
    .where(table.c.pairing_id == bindparam("pairing"))
    .order_by(table.c.attempt.desc())
    .limit(1)
)
_HAS_RESULT: Final = select(exists().where(results.c.pairing_id == bindparam("pairing")))


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


def take_game(
    connection: Connection, pairing: int, *, attempt: int, name: str, seed: int, header_line: str
) -> Taken | None:
    """Take a pairing to play it: begin its game, or go on with the one that is running.

    Whoever played that before is fenced off: what it has in flight is waited for and is among the
    lines, and what it writes later is refused.

    Args:
        attempt: which attempt at the pairing is asked for; with what a new game has.

    Returns:
        None if there is nothing to play: the pairing has a result, or that attempt has failed.

    Raises:
        ServerFault: there is no such pairing.
    """
    lock_pairing(connection, pairing)  # of two takers one comes first
    while not connection.scalar(_HAS_RESULT, {"pairing": pairing}):
        latest = next(iter(as_rows(connection, _LATEST, GameRow, {"pairing": pairing})), None)
        if latest is not None and latest.status == "running":
            if (taken := _take_over(connection, latest.id)) is not None:
                return taken
            continue  # it ended while that waited for it: look again
        if latest is not None and latest.attempt >= attempt:
            return None
        row = begin_game(connection, pairing, attempt, name, seed, header_line)
        return Taken(row, (header_line,), is_new=True)
    return None


def _take_over(connection: Connection, game: int) -> Taken | None:
    """Raise a running game's epoch, and only then read its lines; None if it has ended."""
    found = as_rows(connection, _RAISE, GameRow, {"game": game})
    return Taken(found[0], lines(connection, game), is_new=False) if found else None


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
    epoch: int | None = None,
) -> None:
    """End a game that was played, with the last lines of its record and its result.

    Args:
        details: by name, what else is known of how a player did.
        epoch: the game's, when it was taken; None where nobody else could take it.

    Raises:
        Fenced: the game has another epoch, since another took it over.
        ServerFault: it is not running any more, so that its result does not count.
    """
    pairing = _end(connection, game, "finished", epoch, chain=chain, plies=plies)
    append_lines(connection, game, final_lines)
    insert_result(connection, pairing, result, game=game, details=details)


def interrupt_game(
    connection: Connection,
    game: int,
    final_lines: Sequence[tuple[int, str]] = (),
    chain: str = "",
    *,
    epoch: int | None = None,
) -> None:
    """End a game that can't go on; its pairing is to be played again.

    Raises:
        Fenced: the game has another epoch, since another took it over.
        ServerFault: it is not running any more.
    """
    _end(connection, game, "interrupted", epoch, chain=chain or None)
    append_lines(connection, game, final_lines)


def _end(
    connection: Connection, game: int, status: GameStatus, epoch: int | None, **values: Any
) -> int:
    """End a running game; gives its pairing.

    It comes before the lines: those of who was fenced off would collide with its successor's.
    """
    changed = {"game": game, "status": status, "ended_ms": now_ms(), **values}
    if epoch is None:
        pairing: int | None = connection.execute(_END, changed).scalar()
    else:
        pairing = connection.execute(_END_HELD, {**changed, "held": epoch}).scalar()
    if pairing is None:
        raise _not_ended(connection, game, status, epoch)
    return pairing


def _not_ended(
    connection: Connection, game: int, status: GameStatus, epoch: int | None
) -> ServerFault:
    """Why a game could not be ended."""
    query = select(table.c.status, table.c.epoch).where(table.c.id == game)
    found = connection.execute(query).first()
    if found is not None and epoch not in {None, found.epoch}:
        return Fenced(f"game row {game} can't be {status}: another took it over")
    now = "not there" if found is None else found.status
    return ServerFault(f"game row {game} can't be {status}: it is {now}")


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
