"""Short ways to have something in a database."""

from collections.abc import Sequence

from sqlalchemy import Connection, select

from croupier_server.storage import catalogue
from croupier_server.storage.database import Database
from croupier_server.storage.schema import journal
from croupier_server.tournament.model import Pairing

NAMES = ("ada", "ben", "cy", "dot")


def pairings(count: int, names: Sequence[str] = NAMES) -> list[Pairing]:
    """Give pairings of one round."""
    return [Pairing(f"1.{at}", tuple(names), 1, f"1.{at}") for at in range(1, count + 1)]


def begin(connection: Connection, count: int, name: str = "cup") -> list[catalogue.GameRow]:
    """Begin games of a new tournament."""
    tournament = catalogue.create_tournament(connection, name, "knockout", 7, {}).id
    return [
        catalogue.begin_game(connection, row.id, 1, row.game, 2**64 - 1, "header\n")
        for row in catalogue.issue(connection, tournament, pairings(count))
    ]


async def begin_games(database: Database, count: int) -> list[int]:
    """Begin games of a new tournament; give their rows' ids."""
    rows = await database.run(lambda connection: begin(connection, count))
    return [row.id for row in rows]


async def stored_lines(database: Database, game: int) -> dict[int, str]:
    """Give a game's lines by number, without its header, in the order in which they came."""

    def work(connection: Connection) -> dict[int, str]:
        query = select(journal.c.seq, journal.c.line).where(
            journal.c.game_id == game, journal.c.seq > 0
        )
        found = connection.execute(query.order_by(journal.c.position))
        return {seq: line for seq, line in found}  # noqa: C416 - rows are not pairs to the checkers

    return await database.run(work)
