"""The lobby: who has signed up, and when there are enough."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

import structlog

from croupier_common.messages import ErrorCode, JoinParams
from croupier_server.errors import NotEnoughPlayers, Refused
from croupier_server.names import checked_name, name_key
from croupier_server.roster import Roster
from croupier_server.seats import Admission, Kind, Seat
from croupier_server.settings import LobbySettings

__all__ = ["Lobby", "SignUps", "check_free"]

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SignUps:
    """Who has signed up so far.

    Attributes:
        players: each with its name, and by what it came; the first to sign up first.
        least: with how many the tournament can begin; with `most` it begins at once.
    """

    players: tuple[tuple[str, Kind], ...]
    least: int
    most: int


class Lobby:
    """Takes sign-ups until the tournament starts.

    The wait begins with the first sign-up; the last free place ends it at once. Who leaves before
    the start has never been there. With a roster, only those in it are admitted, under their
    names there and with the ages that it gives.
    """

    def __init__(self, settings: LobbySettings, roster: Roster | None = None) -> None:
        self._settings = settings
        self._roster = roster
        self._seats: list[Seat] = []
        self._changed = asyncio.Event()
        self._sent_away: set[Seat] = set()  # until they have gone
        self._open = True
        self._is_called = False  # to begin with whoever is there

    @property
    def seats(self) -> tuple[Seat, ...]:
        """Who has signed up, in that order."""
        return tuple(self._seats)

    def sign_ups(self) -> SignUps | None:
        """Who has signed up, as long as others still can; None afterwards."""
        if not self._open:
            return None
        players: list[tuple[str, Kind]] = [(seat.name, seat.kind) for seat in self._seats]
        return SignUps(tuple(players), self._settings.min_players, self._settings.max_players)

    def admit(self, params: JoinParams, seat: Seat) -> Admission:
        """Sign a player up.

        Returns:
            its name in the form that all see, and its age as far as it counts.

        Raises:
            Refused: the lobby is closed or full, or the name can't be.
        """
        if not self._open:
            raise Refused("the tournament has started; no more sign-ups", ErrorCode.CLOSED)
        if len(self._seats) >= self._settings.max_players:
            raise Refused(
                f"the lobby is full, with {self._settings.max_players} players", ErrorCode.CLOSED
            )
        admission = self.identify(params)
        check_free(admission.name, (other.name for other in self._seats))
        self._sign_up(admission.name, seat)
        return admission

    def seat_house(self, seat: Seat) -> None:
        """Sign a player of the house up.

        Raises:
            Refused: the name is taken.
        """
        check_free(seat.name, (other.name for other in self._seats))
        self._sign_up(seat.name, seat)

    def identify(self, params: JoinParams) -> Admission:
        """Who a player is, wherever it is seated.

        Raises:
            Refused: the name can't be, or it is not in the roster with that token.
        """
        name = checked_name(params.name)
        if self._roster is not None:
            entrant = self._roster.admit(name, params.token)
            return Admission(entrant.name, entrant.age)
        return Admission(name, params.age if self._settings.ages == "declared" else None)

    def _sign_up(self, name: str, seat: Seat) -> None:
        self._seats.append(seat)
        log.info("player joined", player=name, players=len(self._seats))
        self._changed.set()

    def leave(self, seat: Seat) -> bool:
        """A player is away; before the start, that frees its place, and True is given."""
        if seat in self._sent_away:
            self._sent_away.discard(seat)
            return True
        if not self._open or seat not in self._seats:
            return False
        self._seats.remove(seat)
        log.info("player left", player=seat.name, players=len(self._seats))
        self._changed.set()
        return True

    def remove(self, name: str) -> Seat | None:
        """Take a player out as if it had left; its seat is still to be dismissed.

        None if there is none of that name, or the lobby is closed.
        """
        found = next((seat for seat in self._seats if seat.name == name), None)
        if found is None or not self.leave(found):
            return None
        self._sent_away.add(found)
        return found

    def start(self) -> str:
        """Wait for nobody else, as the operator wants it; what comes of that, in words."""
        there, least = len(self._seats), self._settings.min_players
        if there < least:
            return f"refused: {there} of at least {least} players are there"
        self._is_called = True
        self._changed.set()
        return "done"

    def close(self) -> None:
        """No more sign-ups."""
        self._open = False

    async def gather(self, *, wait_for_first: bool = True) -> tuple[Seat, ...]:
        """Wait for players and close the lobby.

        Args:
            wait_for_first: whether the wait begins with the first sign-up, and not now.

        Returns:
            the seats, by sign-up.

        Raises:
            NotEnoughPlayers: after all periods of waiting there are too few.
        """
        settings = self._settings
        if wait_for_first:
            await self._until(1)
        for period in range(settings.periods):
            try:
                async with asyncio.timeout(settings.wait_ms / 1000):
                    await self._until(settings.max_players)
            except TimeoutError:
                log.info("lobby waited", period=period + 1, players=len(self._seats))
            if len(self._seats) >= settings.min_players:
                self._open = False
                return self.seats
            self._is_called = False  # somebody has left since
        self._open = False
        raise NotEnoughPlayers(
            f"{len(self._seats)} of at least {settings.min_players} players signed up within "
            f"{settings.periods} x {settings.wait_ms} ms"
        )

    async def _until(self, players: int) -> None:
        while len(self._seats) < players and not self._is_called:
            self._changed.clear()
            await self._changed.wait()


def check_free(name: str, taken: Iterable[str]) -> None:
    """Check that nobody has that name.

    Raises:
        Refused: somebody has.
    """
    if name_key(name) in {name_key(other) for other in taken}:
        raise Refused(f"the name {name!r} is taken", ErrorCode.NAME)
