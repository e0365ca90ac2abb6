"""A room: one tournament on this server, from its sign-ups, or from where it was, to its end."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import structlog

from croupier_common.messages import PROTOCOL, ErrorCode, Events, EventsParams, JoinParams
from croupier_common.record import Record
from croupier_server.config import check_same, kept, settled_by
from croupier_server.errors import Refused, StoppedByOrder, UserError
from croupier_server.gateway.house_seat import HousePool, HouseSeat
from croupier_server.gateway.player import WebSocketSeat
from croupier_server.gateway.stdio import StdioGateway
from croupier_server.gateway.websocket import WebSocketGateway
from croupier_server.lobby import Lobby, check_free
from croupier_server.roster import Roster
from croupier_server.seats import Admission, AwaySeat, Seat
from croupier_server.settings import Settings
from croupier_server.tournament.ledger import Begun
from croupier_server.tournament.manager import Manager
from croupier_server.tournament.progress import Progress, TournamentResult

if TYPE_CHECKING:
    from croupier_server.storage.catalogue import EntrantRow
    from croupier_server.storage.database import Database
    from croupier_server.storage.ledger import DatabaseLedger, Kept

__all__ = ["House", "Room"]

log = structlog.get_logger(__name__)

T = TypeVar("T")

_LOOK_S: Final = 0.25
"""How often the operator's orders are looked for while players are waited for."""


@dataclass(frozen=True, slots=True)
class House:
    """What all rooms of a server share.

    Attributes:
        logs: a folder for what programs write on standard error, if that is kept.
    """

    database: Database
    gateway: WebSocketGateway
    pool: HousePool
    logs: Path | None = None


class Room:
    """One tournament; use once: :meth:`prepare`, then :meth:`run`.

    Args:
        progress: told what happens.
        is_new: whether a finished tournament of that name is left as it is, and this one gets
            another name, with a number.
    """

    def __init__(
        self,
        settings: Settings,
        house: House,
        progress: Callable[[Progress], None],
        *,
        is_new: bool = False,
    ) -> None:
        self._settings = settings
        self._house = house
        self._progress = progress
        self._is_new = is_new
        self._roster = _roster(settings)
        self._lobby = Lobby(settings.lobby, self._roster)
        self._programs = StdioGateway(settings, self.admit, self.leave, logs=house.logs)
        self._ledger: DatabaseLedger | None = None
        self._kept: Kept | None = None
        self._seats: dict[str, Seat] = {}  # after a restart, all who ever took part
        self._missing: set[str] = set()  # those of them who may still come back
        self._came_back = asyncio.Event()
        self._manager: Manager | None = None
        self.seed = 0

    @property
    def name(self) -> str:
        """The tournament's name, by which players can ask for it."""
        return self._settings.tournament.name

    @property
    def settings(self) -> Settings:
        """What it is played by."""
        return self._settings

    @property
    def ledger(self) -> DatabaseLedger:
        """Where it is written down."""
        assert self._ledger is not None
        return self._ledger

    # -- for the server

    async def prepare(self) -> None:
        """Find out whether it is new or goes on, and seat whom the server brings itself.

        Raises:
            UserError: it is over, or was begun as another one; a program can't be started.
        """
        found = await self._find()
        if found is None:
            await self._create()
        else:
            await self._take_up(found)
        if self._kept is None:
            for entry in self._settings.lobby.house:
                self._lobby.seat_house(HouseSeat(entry, self.seed, self._house.pool))
        await self._programs.start(self._settings.lobby.programs)

    async def run(self) -> TournamentResult:
        """Gather the players and play.

        Raises:
            NotEnoughPlayers: too few signed up in time.
            StoppedByOrder: the operator has stopped it.
            StorageFailed: it can't be written down any more.
        """
        if self._kept is None:
            self._manager = self._managed(await self._unless_stopped(self._lobby.gather()))
        else:
            self._manager = await self._go_on(self._kept)
        try:
            result = await self._manager.run()
        except StoppedByOrder:
            await self._rate(self._manager)
            raise
        await self._rate(self._manager)
        return result

    def _managed(self, seats: Sequence[Seat], begun: Begun | None = None) -> Manager:
        return Manager(self._settings, seats, self.seed, self.ledger, self._progress, begun=begun)

    async def _unless_stopped(self, waiting: Coroutine[Any, Any, T]) -> T:
        """Wait for players, unless the operator stops the tournament before they are there."""
        task = asyncio.create_task(waiting, name=f"players of {self.name}")
        try:
            while not (await asyncio.wait({task}, timeout=_LOOK_S))[0]:
                for order in await self.ledger.orders():
                    if order.verb == "stop":
                        await self.ledger.answer(order, "done")
                        raise StoppedByOrder("stopped by the operator")
            return await task
        finally:
            task.cancel()
            await asyncio.wait({task})

    async def _rate(self, manager: Manager) -> None:
        """Keep everybody's rating; that takes a while, so it is not done in the loop."""
        from croupier_server.storage.rated import rated

        field, history = manager.field, manager.history
        rows = await asyncio.to_thread(
            rated,
            field,
            history,
            self.seed,
            is_running=self._settings.tournament.format == "ladder",
        )
        await self.ledger.rate(rows)

    async def records(self) -> Mapping[str, Sequence[str]]:
        """The records of all games that were begun, by name; some may have no footer yet."""
        return {} if self._ledger is None else await self._ledger.records()

    async def close(self) -> None:
        """End the programs that play here; may be called twice."""
        await self._programs.stop()

    # -- for the gateways

    def admit(self, params: JoinParams, seat: Seat) -> Admission:
        """See :data:`~croupier_server.seats.Admit`."""
        if self._kept is not None:
            admission = self._lobby.identify(params)
            if admission.name in self._missing and (self._roster or seat.kind == "program"):
                return self._take_back(admission, seat)
        if self._manager is not None and self._settings.lobby.late:
            admission = self._admit_late(params)
            self._manager.enter(admission.name, seat)
        elif self._kept is not None:
            raise Refused("the tournament has started; no more sign-ups", ErrorCode.CLOSED)
        else:
            admission = self._lobby.admit(params, seat)
        return admission._replace(clocks=self._settings.clocks)

    def leave(self, seat: Seat) -> bool:
        """See :data:`~croupier_server.seats.Leave`."""
        return self._kept is None and self._lobby.leave(seat)

    def _admit_late(self, params: JoinParams) -> Admission:
        assert self._manager is not None
        admission = self._lobby.identify(params)
        check_free(admission.name, self._manager.names)
        if len(self._manager.names) >= self._settings.lobby.max_players:
            raise Refused("the tournament is full", ErrorCode.CLOSED)
        return admission

    # -- before the start

    async def _find(self) -> Kept | None:
        """The tournament of that name, if there is one already."""
        from croupier_server.storage.ledger import DatabaseLedger  # for whoever plays only: heavy

        base, number = self.name, 1
        while True:
            found = await DatabaseLedger.find(self._house.database, self.name)
            if found is None or found.row.status != "finished" or not self._is_new:
                return found
            number += 1
            tournament = self._settings.tournament.model_copy(update={"name": f"{base}-{number}"})
            self._settings = self._settings.model_copy(update={"tournament": tournament})

    async def _create(self) -> None:
        from croupier_server.storage.ledger import DatabaseLedger

        tournament = self._settings.tournament
        self.seed = secrets.randbits(62) if tournament.seed is None else tournament.seed
        self._ledger = await DatabaseLedger.create(
            self._house.database, self.name, tournament.format, self.seed, kept(self._settings)
        )

    # -- after a restart

    async def _take_up(self, found: Kept) -> None:
        """Go on with a tournament."""
        from croupier_server.storage.ledger import DatabaseLedger

        if found.row.status == "finished":
            raise UserError(
                f"{self._house.database.place}: tournament {self.name} is over; "
                "give this one another name, or another data directory"
            )
        check_same(found.row.config, self._settings)
        self._settings = settled_by(found.row.config, self._settings)
        self._ledger = DatabaseLedger(self._house.database, found.row.id)
        self.seed = found.row.seed
        if found.row.status == "gathering":
            return  # nobody has played; players sign up anew
        self._kept = found
        for entrant in found.entrants:
            self._seats[entrant.name] = self._restored(entrant)
        for record in await self._ledger.unfinished():
            self._remind(record)
        log.info("tournament goes on", tournament=self.name, players=len(found.entrants))

    def _restored(self, entrant: EntrantRow) -> Seat:
        """The seat of somebody who took part before the restart, who may still have to return."""
        if entrant.kind == "house":
            house = {entry.name: entry for entry in self._settings.lobby.house}
            return HouseSeat(house[entrant.name], self.seed, self._house.pool)
        if entrant.status == "in":
            self._missing.add(entrant.name)
        if entrant.kind != "remote" or entrant.session is None:
            return AwaySeat(entrant.name, entrant.kind)
        params = JoinParams(protocol=PROTOCOL, name=entrant.name, **entrant.options)
        admission = Admission(entrant.name, entrant.age, self._settings.clocks)
        return self._house.gateway.restore(
            entrant.session, params, admission, lambda: self._returned(entrant.name)
        )

    def _returned(self, name: str) -> None:
        """Somebody is back."""
        self._missing.discard(name)
        self._came_back.set()
        if self._manager is not None:
            self._manager.returned(name)

    def _take_back(self, admission: Admission, seat: Seat) -> Admission:
        """Somebody is back without a session, whom we know by other means."""
        self._seats[admission.name] = seat
        if self._manager is not None:
            self._manager.reseat(admission.name, seat)
        self._returned(admission.name)
        return admission._replace(clocks=self._settings.clocks)

    async def _go_on(self, found: Kept) -> Manager:
        """The manager of a tournament that goes on, once players are back."""
        manager = self._managed(*await self._so_far(found, lambda _: True))
        if not manager.is_over and self._missing:
            await self._unless_stopped(self._wait_for_return())
        manager = self._managed(*await self._so_far(found, self._can_go_on))
        for name in self._missing:
            manager.miss(name)
        return manager

    async def _so_far(
        self, found: Kept, can_go_on: Callable[[Record], bool]
    ) -> tuple[Sequence[Seat], Begun]:
        begun = await self.ledger.begun(found, can_go_on)
        return list(self._seats.values()), begun

    async def _wait_for_return(self) -> None:
        """Wait for those who may come back: for the first of them, then a while for the rest."""
        log.warning("waiting for players to come back", missing=len(self._missing))
        if not any(seat.kind == "house" for seat in self._seats.values()):
            await self._came_back.wait()
        try:
            async with asyncio.timeout(self._settings.storage.resume_wait_ms / 1000):
                while self._missing:
                    self._came_back.clear()
                    await self._came_back.wait()
        except TimeoutError:
            log.warning("players are absent", players=sorted(self._missing))

    def _can_go_on(self, record: Record) -> bool:
        """Whether a game can go on: somebody is back, and nobody plays whose program began anew."""
        out = {line.event["color"] for line in record.lines if line.event["kind"] == "eject"}
        playing = [
            self._seats[seat.name]
            for seat in record.header.players
            if seat.color.value not in out and seat.name not in self._missing
        ]
        return bool(playing) and not any(seat.kind == "program" for seat in playing)

    def _remind(self, record: Record) -> None:
        """Have players that want to hear everything told what they may have missed of a game."""
        told = event_texts(record)
        for player in record.header.players:
            seat = self._seats[player.name]
            if isinstance(seat, WebSocketSeat) and seat.wants_events:
                seat.remember(record.header.game, told)


def event_texts(record: Record) -> list[tuple[int, str]]:
    """The notifications of a game's events, each with the event's number."""
    return [
        (
            line.seq,
            Events(
                params=EventsParams(
                    game=record.header.game, events=[{"seq": line.seq, "event": dict(line.event)}]
                )
            ).text(),
        )
        for line in record.lines[1:]
    ]


def _roster(settings: Settings) -> Roster | None:
    roster = settings.lobby.roster
    return None if roster is None else Roster.read(roster)
