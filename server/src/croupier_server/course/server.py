"""The course's server: one knock-out for clients of its protocol, on 5x5 boards of 2 fish."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from croupier_server.gateway.course_seat import CourseTimes
from croupier_server.gateway.course_tcp import CourseGateway
from croupier_server.lobby import Lobby
from croupier_server.settings import Settings, load_settings
from croupier_server.tournament.ledger import NoLedger
from croupier_server.tournament.manager import Manager
from croupier_server.tournament.progress import Progress, TournamentResult

__all__ = ["play", "settings"]

_TIMES: Final = CourseTimes()


def settings(host: str, wait_s: float) -> Settings:
    """The settings of the course's tournament.

    Args:
        wait_s: how long each of the two periods of waiting is.
    """
    return load_settings(
        None,
        {
            "server": {"host": host},
            "lobby": {
                "min_players": 5,
                "max_players": 10,
                "wait_ms": round(wait_s * 1000),
                "periods": 2,
                "ages": "sign_up",
            },
            "clocks": _TIMES.clocks().model_dump(),
            "game": {"rules": "fish", "board": "5x5,fish=2"},
            "tournament": {"name": "course", "seed": 0},
        },
    )


async def play(
    given: Settings, port: int, progress: Callable[[Progress], None]
) -> TournamentResult:
    """Wait for clients, from now on, and play the tournament.

    Raises:
        UserError: the address can't be listened on.
        NotEnoughPlayers: too few signed up in time.
    """
    lobby = Lobby(given.lobby)
    gateway = CourseGateway(given, port, lobby.admit, lobby.leave, _TIMES)
    await gateway.start()
    try:
        seats = await lobby.gather(wait_for_first=False)
        return await Manager(given, seats, 0, NoLedger(), progress).run()
    finally:
        await gateway.stop()
