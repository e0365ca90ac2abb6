"""A pairing's table: the same board, seats and seed wherever and however often it is set."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from croupier_common.outcome import Color
from croupier_common.record import Record
from croupier_common.rng import Draws
from croupier_common.verdict import Verdict
from croupier_server.croupier import Table
from croupier_server.seats import Seat
from croupier_server.settings import GameSettings
from croupier_server.tournament.ledger import Book, wire_name
from croupier_server.tournament.model import Pairing

__all__ = ["book_of", "game_seed"]


def game_seed(seed: int, pairing: Pairing) -> int:
    """What decides a game's board, equal for all games of a block.

    Args:
        seed: the tournament's.
    """
    return Draws(seed, "game", pairing.block).bits() >> 1


def book_of(
    pairing: Pairing,
    game: GameSettings,
    seed: int,
    attempt: int,
    unseated: Mapping[str, Verdict],
    seat_of: Callable[[str], Seat],
    begun: Record | None = None,
) -> Book:
    """The table of a game that begins, or goes on.

    Args:
        seed: the tournament's.
        unseated: why some that were paired are not at the table.
        seat_of: gives the seat of a player by its name.
        begun: the record of a game that goes on; it says who sits where.
    """
    own_seed = game_seed(seed, pairing)
    if begun is not None:
        header = begun.header
        seats = {player.color: seat_of(player.name) for player in header.players}
        seated = {player.name for player in header.players}
        unseated = {name: why for name, why in unseated.items() if name not in seated}
        table = Table(header.game, header.board, header.rules, seats)
        return Book(pairing, attempt, table, own_seed, game.board, unseated, begun)
    names = [name for name in pairing.players if name not in unseated]
    board = game.board.build(own_seed, rules=game.rules, players=len(pairing.players))
    seats = {color: seat_of(name) for color, name in zip(Color, names, strict=False)}
    table = Table(wire_name(pairing.game, attempt), board, game.rules, seats)
    return Book(pairing, attempt, table, own_seed, game.board, unseated)
