"""The practice room: whoever joins it plays a game, with house players or people that it names.

It is asked for by the room's name in ``join``: ``practice``, or ``practice:minimax:2,greedy`` for
two opponents; :mod:`~croupier_server.practice_wish` has all that can be said. Each visit is a
tournament of one game, unrated and kept nowhere; come again for another.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import structlog

from croupier_common.jsontypes import shown
from croupier_common.messages import Ejection, EjectionParams, ErrorCode, JoinParams
from croupier_common.rng import Draws
from croupier_common.verdict import Fault, Phase, Verdict
from croupier_server.errors import Refused
from croupier_server.gateway.house_entry import HouseEntry
from croupier_server.gateway.house_seat import HousePool, HouseSeat
from croupier_server.gateway.player import WebSocketSeat
from croupier_server.names import checked_name, name_key
from croupier_server.operations.tally import Tally
from croupier_server.practice_wish import HUMAN, Wish, wish_of
from croupier_server.seats import Admission, Seat
from croupier_server.settings import Clocks, Settings, TournamentSettings
from croupier_server.tournament.ledger import NoLedger
from croupier_server.tournament.manager import Manager

__all__ = ["PRACTICE", "PracticeRoom"]

log = structlog.get_logger(__name__)

PRACTICE: Final = "practice"
"""The room's name."""

_MOST_S: Final = 86_400.0
"""A visit ends after a day, the time that a request without a clock shows."""


@dataclass(eq=False, slots=True)
class _Table:
    """Where a game is played once all people are there.

    Attributes:
        names: of the people, by their seats.
        is_full: set once the last one has come.
    """

    wish: Wish
    names: dict[Seat, str] = field(default_factory=dict[Seat, str])
    is_full: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def wants(self) -> str:
        """How many are missing, in words."""
        return f"{len(self.names)} of {self.wish.people} people"


class PracticeRoom:
    """Takes visitors, as many at a time as the settings say.

    Args:
        forget: told of each whose visit is over.
        tally: counts games, turns and verdicts.
    """

    def __init__(
        self,
        settings: Settings,
        pool: HousePool,
        forget: Callable[[Seat], None],
        tally: Tally | None = None,
    ) -> None:
        self._practice = settings.practice
        tournament = TournamentSettings(name=PRACTICE, games_at_once=1)
        self._settings = settings.model_copy(update={"tournament": tournament})
        self._pool = pool
        self._forget = forget
        self._tally = tally
        self._where: dict[Seat, _Table] = {}
        self._waiting: dict[str, _Table] = {}
        self._tasks: dict[_Table, asyncio.Task[None]] = {}
        self._away: dict[Seat, asyncio.TimerHandle] = {}

    def admit(self, params: JoinParams, seat: Seat) -> Admission:
        """See :data:`~croupier_server.seats.Admit`.

        Raises:
            Refused: the room is full, or what is wished for can't be had.
        """
        if len(self._where) >= self._practice.max_visits:
            raise Refused("the practice room is full; try again in a moment", ErrorCode.CLOSED)
        name = checked_name(params.name)
        wish = wish_of(params.room or PRACTICE, self._practice, self._settings.game)
        table = self._table_for(wish, name)
        table.names[seat] = name
        self._where[seat] = table
        if len(table.names) == table.wish.people:
            self._waiting.pop(table.wish.table or "", None)
            table.is_full.set()
        return Admission(name, None, self._clocks(table))

    def leave(self, seat: Seat) -> bool:
        """See :data:`~croupier_server.seats.Leave`: a visitor can come back while it plays."""
        table = self._where.get(seat)
        if table is None:
            return True
        if not table.is_full.is_set():
            self._get_up(seat, table)
            return True
        if not table.wish.has_clock:  # nothing else would end its waiting
            self._forget_timer(seat)
            loop, wait_s = asyncio.get_running_loop(), self._practice.away_ms / 1000
            self._away[seat] = loop.call_later(wait_s, self._stayed_away, seat)
        return False

    async def close(self) -> None:
        """End all visits; may be called twice."""
        for visit in list(self._tasks.values()):
            visit.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks.values())

    # -- for a server that is about to stop

    @property
    def is_busy(self) -> bool:
        """See :class:`~croupier_server.operations.drain.Hall`."""
        return any(table.is_full.is_set() for table in self._tasks)

    def hold(self) -> None:
        """See :class:`~croupier_server.operations.drain.Hall`: who waits at a table is let go."""
        for table, visit in self._tasks.items():
            if not table.is_full.is_set():
                visit.cancel()

    def plays(self, seat: Seat) -> bool:
        """See :class:`~croupier_server.operations.drain.Hall`."""
        table = self._where.get(seat)
        return table is not None and table.is_full.is_set()

    # -- tables

    def _table_for(self, wish: Wish, name: str) -> _Table:
        """The table where somebody waits for this visitor, or a new one."""
        table = self._waiting.get(wish.table or "")
        if table is not None:
            self._check_seat(table, wish, name)
            return table
        if wish.is_open:
            raise Refused(
                f"nobody waits at table {wish.table}: it is not laid yet, or the game has begun; "
                f"the first to come says who plays: practice:{HUMAN};table={wish.table}",
                ErrorCode.INVALID_PARAMS,
            )
        table = _Table(wish)
        if wish.table is not None:
            self._waiting[wish.table] = table
        visit = asyncio.create_task(self._visit(table), name=f"practice of {name}")
        self._tasks[table] = visit
        visit.add_done_callback(lambda _: self._tasks.pop(table, None))
        return table

    @staticmethod
    def _check_seat(table: _Table, wish: Wish, name: str) -> None:
        if not wish.agrees(table.wish):
            raise Refused(
                f"table {wish.table} is laid for another game; to play that, give nothing but "
                f"the table: practice:;table={wish.table}; or take another code",
                ErrorCode.INVALID_PARAMS,
            )
        if name_key(name) in map(name_key, table.names.values()):
            raise Refused(
                f"somebody called {shown(name, 40)} sits at table {wish.table}; take another name",
                ErrorCode.NAME,
            )

    def _get_up(self, seat: Seat, table: _Table) -> None:
        """Somebody goes before the game; the last one takes the table along."""
        del table.names[seat], self._where[seat]
        if not table.names:
            self._waiting.pop(table.wish.table or "", None)
            self._tasks[table].cancel()

    # -- a visit

    async def _visit(self, table: _Table) -> None:
        """All that happens at a table; it ends with the game."""
        try:
            async with asyncio.timeout(_MOST_S):
                if await self._gather(table):
                    await self._play(table)
        except Exception:
            log.exception(
                "a visit to the practice room was broken off", players=[*table.names.values()]
            )
            for seat in table.names:
                seat.dismiss(None)
        finally:
            for seat in table.names:
                self._forget_timer(seat)
                del self._where[seat]
                self._forget(seat)

    async def _gather(self, table: _Table) -> bool:
        """Whether all people came in time; those who did are told if not."""
        wait_s = self._practice.table_wait_ms / 1000
        try:
            async with asyncio.timeout(wait_s):
                await table.is_full.wait()
        except TimeoutError:
            if table.is_full.is_set():
                return True
            self._waiting.pop(table.wish.table or "", None)
            came = f"{table.wants} came to table {table.wish.table} within {wait_s:g} s"
            for seat in list(table.names):
                await _send_away(seat, came, "Agree on a time, and open a new table.")
            return False
        return True

    async def _play(self, table: _Table) -> None:
        seed = secrets.randbits(62)
        seats = [*table.names, *self._house(table, seed)]
        first = Draws(seed, "first").below(len(seats))  # everybody begins now and then
        seats = [*seats[first:], *seats[:first]]
        settings = self._settings.model_copy(
            update={"game": table.wish.game, "clocks": self._clocks(table)}
        )
        await Manager(settings, seats, seed, NoLedger(), tally=self._tally).run()

    def _house(self, table: _Table, seed: int) -> list[Seat]:
        taken = set(map(name_key, table.names.values()))
        seats: list[Seat] = []
        for spec in table.wish.house:
            own, number = spec, 1
            while name_key(own) in taken:
                number += 1
                own = f"{spec} {number}"
            taken.add(name_key(own))
            seats.append(HouseSeat(HouseEntry(own, spec), seed, self._pool))
        return seats

    def _clocks(self, table: _Table) -> Clocks:
        clocks = self._settings.clocks
        if table.wish.has_clock:
            return clocks
        names = (*clocks.no_clock, *table.names.values())
        return clocks.model_copy(
            update={"no_clock": names, "grace_ms": max(clocks.grace_ms, self._practice.away_ms)}
        )

    # -- who is away, without a clock

    def _stayed_away(self, seat: Seat) -> None:
        del self._away[seat]
        if isinstance(seat, WebSocketSeat) and seat.connection is not None:
            return
        away_s = self._practice.away_ms / 1000
        fault = Fault(Verdict.WITHDRAWN, Phase.TOURNAMENT, f"away for more than {away_s:g} s")
        seat.dismiss(fault)

    def _forget_timer(self, seat: Seat) -> None:
        timer = self._away.pop(seat, None)
        if timer is not None:
            timer.cancel()


async def _send_away(seat: Seat, why: str, fix: str) -> None:
    """Let somebody go who has waited in vain."""
    fault = Fault(Verdict.WITHDRAWN, Phase.TOURNAMENT, why)
    told: dict[str, Any] = {**fault.to_json(), "fix": fix}
    await seat.tell(Ejection(params=EjectionParams(game=None, **told)))
    seat.dismiss(fault)
