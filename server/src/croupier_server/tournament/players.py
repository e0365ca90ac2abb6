"""Who plays in a tournament: their seats, who is out and why, and what an ejection costs."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from croupier_common.messages import Ejection, EjectionParams
from croupier_common.verdict import Fault, Verdict
from croupier_server.gateway.house_seat import HouseSeat
from croupier_server.seats import Seat
from croupier_server.settings import TournamentSettings
from croupier_server.tournament.ledger import Ledger
from croupier_server.tournament.model import Entrant, Field

__all__ = ["Player", "Players", "most_strikes"]


def most_strikes(settings: TournamentSettings) -> float:
    """After how many ejections a player is out of the tournament."""
    cost = settings.ejection
    if isinstance(cost, int):
        return cost
    return 1 if cost == "tournament" else math.inf


@dataclass(slots=True)
class Player:
    """One player, and how it stands.

    Attributes:
        fault: why it is out of the tournament.
        strikes: how often it was ejected from a game.
        is_absent: whether it has not come back after a restart of the server.
        began_anew: whether it is back as a new program, which knows nothing of its games.
    """

    seat: Seat
    entrant: Entrant
    fault: Fault | None = None
    strikes: int = 0
    is_absent: bool = False
    began_anew: bool = False

    def why_not(self) -> Verdict | None:
        """Why it can't play; None if it can."""
        if self.fault is not None:
            return self.fault.verdict if not self.fault.verdict.is_fault else Verdict.DISQUALIFIED
        return Verdict.ABSENT if self.is_absent else None


class Players(Mapping[str, Player]):
    """All who take part, or did, by name and in the tournament's order.

    Args:
        most: after how many ejections one is out: see :func:`most_strikes`.
        told_out: called when somebody is out.
    """

    def __init__(
        self,
        seats: Iterable[Seat],
        most: float,
        ledger: Ledger,
        told_out: Callable[[str, Fault], None],
    ) -> None:
        self._players = {seat.name: Player(seat, _entrant(seat)) for seat in seats}
        self._most = most
        self._ledger = ledger
        self._told_out = told_out
        self._sanctioned: set[tuple[str, str]] = set()
        self._sanctioning = asyncio.Lock()

    def __getitem__(self, name: str) -> Player:
        return self._players[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._players)

    def __len__(self) -> int:
        return len(self._players)

    @property
    def field(self) -> Field:
        """Who takes part, as formats and standings see it."""
        out = frozenset(name for name, player in self.items() if player.fault is not None)
        return Field(tuple(player.entrant for player in self.values()), out)

    @property
    def present(self) -> Field:
        """The same, as if those who are absent were out."""
        out = frozenset(name for name, player in self.items() if player.why_not())
        return Field(tuple(player.entrant for player in self.values()), out)

    @property
    def seats(self) -> Sequence[Seat]:
        """All seats, in order."""
        return [player.seat for player in self.values()]

    @property
    def is_deserted(self) -> bool:
        """Whether all who are not of the house are absent, so that nobody is there to play for."""
        people = [p for p in self.values() if not p.fault and p.seat.kind != "house"]
        return bool(people) and all(player.is_absent for player in people)

    def add(self, seat: Seat) -> None:
        """Somebody comes late."""
        self._players[seat.name] = Player(seat, _entrant(seat))

    def still_in(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of the names who are not out, in order."""
        wanted = set(names)
        return tuple(name for name in self.field.active if name in wanted)

    def unseated(self, names: Iterable[str]) -> dict[str, Verdict]:
        """Why some of these can't sit down to play."""
        whys = {name: self[name].why_not() for name in names}
        return {name: why for name, why in whys.items() if why is not None}

    # -- who goes

    async def sanction(self, name: str, fault: Fault) -> bool:
        """What an ejection from a game costs: whether the player is out of the tournament.

        That is written before anybody is told.
        """
        player = self[name]
        if player.fault is not None:
            return True
        if not fault.verdict.is_fault:
            return False
        player.strikes += 1
        await self._ledger.strikes(name, player.strikes)
        if player.strikes < self._most and await player.seat.pardon():
            return False
        await self.out(name, fault)
        return True

    async def sanction_once(self, game: str, name: str, fault: Fault) -> bool:
        """The same for an ejection that may be told of more than once; it counts once.

        Args:
            game: what its game is called on the wire.
        """
        async with self._sanctioning:
            if (game, name) not in self._sanctioned:
                self._sanctioned.add((game, name))
                return await self.sanction(name, fault)
            if self[name].fault is None:
                await self[name].seat.pardon()
            return self[name].fault is not None

    async def out(self, name: str, fault: Fault) -> None:
        """A player is out, which is written down; its seat is still to be dismissed."""
        self[name].fault = fault
        await self._ledger.out(name, fault)
        self._told_out(name, fault)

    async def dismiss(self, name: str, fault: Fault) -> None:
        """Tell a player that it is out, between games, and let it go."""
        seat = self[name].seat
        await seat.tell(Ejection(params=EjectionParams(game=None, **fault.to_json())))
        seat.dismiss(fault)

    # -- after a restart

    def restore(self, out: Mapping[str, Fault], strikes: Mapping[str, int]) -> None:
        """Take over who was out, and how often each was ejected."""
        for name, fault in out.items():
            self[name].fault = fault
        for name, number in strikes.items():
            self[name].strikes = number

    def found_ejected(self, game: str, name: str, fault: Fault, number: int) -> None:
        """A game tells of an ejection; where that was not written down any more, it counts too.

        Args:
            game: what it is called on the wire.
            number: how many such there are so far.
        """
        player = self[name]
        self._sanctioned.add((game, name))
        player.strikes = max(player.strikes, number)
        if player.fault is None and player.strikes >= self._most:
            player.fault = fault

    def dismiss_out(self) -> None:
        """Let those go who are out; who comes back hears why."""
        for player in self.values():
            if player.fault is not None:
                player.seat.dismiss(player.fault)


def _entrant(seat: Seat) -> Entrant:
    """A player as formats and ratings see it."""
    if isinstance(seat, HouseSeat):
        return Entrant(seat.name, seat.entry.rating, is_house=True)
    return Entrant(seat.name)
