"""The catalogue: tournaments, who takes part, what was paired and what came of it.

Plain functions over a connection, for :meth:`~croupier_server.storage.database.Database.run`: what
one call of that does together happens together or not at all. Any text can be stored; what a
database can't hold is shown by :func:`~croupier_server.storage.schema.storable`.
"""

from croupier_server.storage.entrants import (
    EntrantKind,
    EntrantRow,
    EntrantStatus,
    add_entrant,
    entrants,
    find_session,
    set_entrant,
)
from croupier_server.storage.games import (
    GameRow,
    GameStatus,
    append_lines,
    begin_game,
    count_attempts,
    finish_game,
    game_by_name,
    games,
    interrupt_game,
    lines,
    running_games,
)
from croupier_server.storage.orders import (
    OrderRow,
    answer_order,
    find_order,
    give_order,
    orders,
    pending_orders,
)
from croupier_server.storage.pairings import PairingRow, find_pairing, issue, pairings
from croupier_server.storage.ratings import RatingRow, ratings, set_ratings
from croupier_server.storage.results import (
    Detail,
    add_result,
    add_results,
    details,
    in_journal_order,
    reopen,
    results,
    void_result,
)
from croupier_server.storage.tournaments import (
    TournamentRow,
    TournamentStatus,
    create_tournament,
    find_tournament,
    set_config,
    set_status,
    tournaments,
)

__all__ = [
    "Detail",
    "EntrantKind",
    "EntrantRow",
    "EntrantStatus",
    "GameRow",
    "GameStatus",
    "OrderRow",
    "PairingRow",
    "RatingRow",
    "TournamentRow",
    "TournamentStatus",
    "add_entrant",
    "add_result",
    "add_results",
    "answer_order",
    "append_lines",
    "begin_game",
    "count_attempts",
    "create_tournament",
    "details",
    "entrants",
    "find_order",
    "find_pairing",
    "find_session",
    "find_tournament",
    "finish_game",
    "game_by_name",
    "games",
    "give_order",
    "in_journal_order",
    "interrupt_game",
    "issue",
    "lines",
    "orders",
    "pairings",
    "pending_orders",
    "ratings",
    "reopen",
    "results",
    "running_games",
    "set_config",
    "set_entrant",
    "set_ratings",
    "set_status",
    "tournaments",
    "void_result",
]
