"""The practice room: whoever joins it plays a game at once, with house players that it names.

It is asked for by the room's name in ``join``: ``practice``, or ``practice:minimax:2,greedy`` for
two opponents. Each visit is a tournament of one game, unrated and kept nowhere; come again for
another.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from typing import Final

import structlog

from croupier_common.jsontypes import shown
from croupier_common.messages import ErrorCode, JoinParams
from croupier_common.rng import Draws
from croupier_common.rules import MAX_PLAYERS
from croupier_server.errors import Refused
from croupier_server.gateway.house_entry import HouseEntry
from croupier_server.gateway.house_seat import HousePool, HouseSeat
from croupier_server.names import checked_name, name_key
from croupier_server.seats import Admission, Seat
from croupier_server.settings import Settings, TournamentSettings
from croupier_server.tournament.ledger import NoLedger
from croupier_server.tournament.manager import Manager

__all__ = ["PRACTICE", "PracticeRoom"]

log = structlog.get_logger(__name__)

PRACTICE: Final = "practice"
"""The room's name."""


class PracticeRoom:
    """Takes visitors, as many at a time as the settings say.

    Args:
        forget: told of each whose visit is over.
    """

    def __init__(self, settings: Settings, pool: HousePool, forget: Callable[[Seat], None]) -> None:
        self._practice = settings.practice
        tournament = TournamentSettings(name=PRACTICE, games_at_once=1)
        self._settings = settings.model_copy(update={"tournament": tournament})
        self._pool = pool
        self._forget = forget
        self._visits: dict[Seat, asyncio.Task[None]] = {}

    def admit(self, params: JoinParams, seat: Seat) -> Admission:
        """See :data:`~croupier_server.seats.Admit`.

        Raises:
            Refused: the room is full, or has no such house player.
        """
        if len(self._visits) >= self._practice.max_visits:
            raise Refused("the practice room is full; try again in a moment", ErrorCode.CLOSED)
        name = checked_name(params.name)
        specs = self._asked_for(params.room or PRACTICE)
        visit = self._visit(name, seat, specs)
        self._visits[seat] = asyncio.create_task(visit, name=f"practice of {name}")
        return Admission(name, None, self._settings.clocks)

    def leave(self, seat: Seat) -> bool:
        """See :data:`~croupier_server.seats.Leave`: a visitor can come back while it plays."""
        return seat not in self._visits

    async def close(self) -> None:
        """End all visits; may be called twice."""
        for visit in list(self._visits.values()):
            visit.cancel()
        if self._visits:
            await asyncio.wait(self._visits.values())

    def _asked_for(self, room: str) -> Sequence[str]:
        """The strategies that a room's name asks for."""
        _, _, listed = room.partition(":")
        specs = [spec.strip() for spec in listed.split(",")] if listed else []
        allowed = self._practice.house
        for spec in specs:
            if spec not in allowed:
                raise Refused(
                    f"no house player {shown(spec, 40)} in the practice room; "
                    f"there are {', '.join(allowed)}",
                    ErrorCode.INVALID_PARAMS,
                )
        if len(specs) >= MAX_PLAYERS:
            raise Refused(
                f"{len(specs)} opponents; a game has {MAX_PLAYERS} players at most",
                ErrorCode.INVALID_PARAMS,
            )
        return specs or allowed[:1]

    async def _visit(self, name: str, seat: Seat, specs: Sequence[str]) -> None:
        """One visit; it ends with the game."""
        try:
            seed = secrets.randbits(62)
            seats = [seat, *self._opponents(name, specs, seed)]
            first = Draws(seed, "first").below(len(seats))  # everybody begins now and then
            seats = [*seats[first:], *seats[:first]]
            await Manager(self._settings, seats, seed, NoLedger()).run()
        except Exception:
            log.exception("a visit to the practice room failed for a fault of ours", player=name)
            seat.dismiss(None)
        finally:
            del self._visits[seat]
            self._forget(seat)

    def _opponents(self, name: str, specs: Sequence[str], seed: int) -> list[Seat]:
        taken = {name_key(name)}
        seats: list[Seat] = []
        for spec in specs:
            own, number = spec, 1
            while name_key(own) in taken:
                number += 1
                own = f"{spec} {number}"
            taken.add(name_key(own))
            seats.append(HouseSeat(HouseEntry(own, spec), seed, self._pool))
        return seats
