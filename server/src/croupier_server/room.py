"""A room: one tournament on this server, from its sign-ups, or from where it was, to its end."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import structlog

from croupier_common.messages import (
    PROTOCOL,
    Ejection,
    EjectionParams,
    ErrorCode,
    Events,
    EventsParams,
    JoinParams,
)
from croupier_common.record import Record
from croupier_common.session import CloseCode
from croupier_common.verdict import Fault, Phase, Verdict
from croupier_server.config import check_same, kept, settled_by
from croupier_server.errors import (
    NotEnoughPlayers,
    Refused,
    ServerFault,
    StoppedByOrder,
    TournamentOver,
)
from croupier_server.gateway.house_seat import HousePool, HouseSeat
from croupier_server.gateway.player import WebSocketSeat
from croupier_server.gateway.stdio import StdioGateway
from croupier_server.lobby import Lobby, SignUps, check_free
from croupier_server.operations.tally import Tally
from croupier_server.roster import Roster, RosterFile
from croupier_server.seats import Admission, AwaySeat, Seat
from croupier_server.settings import Clocks, Settings
from croupier_server.tournament.games import Games
from croupier_server.tournament.ledger import Begun, Order
from croupier_server.tournament.manager import Manager
from croupier_server.tournament.progress import Progress, TournamentResult

if TYPE_CHECKING:
    from croupier_server.storage.catalogue import EntrantRow
    from croupier_server.storage.database import Database
    from croupier_server.storage.ledger import DatabaseLedger, Kept

__all__ = ["Claim", "Gateway", "House", "Room", "goodbye"]

log = structlog.get_logger(__name__)

T = TypeVar("T")

_LOOK_S: Final = 0.25
"""How often the operator's orders are looked for while players are waited for."""


class Gateway(Protocol):
    """Where players connect, as a room knows it."""

    def restore(
        self, key: str, params: JoinParams, admission: Admission, returned: Callable[[], None]
    ) -> Seat:
        """The seat of a player that had joined before a restart, and may come back.

        Args:
            key: what was kept of its session's token.
            returned: called when it is back.
        """
        ...

    async def here(self, seats: Sequence[Seat]) -> Sequence[str]:
        """The names of those of the restored who are connected all the time."""
        ...


class Seating(Protocol):
    """Lets other processes reach the programs and the course's clients that this one holds."""

    def seat(self, tournament: str, name: str, seat: Seat) -> None:
        """Somebody has signed up, or is back, or is known not to be back after a restart."""
        ...

    async def clear(self, tournament: str) -> None:
        """A tournament's players are about to be let go, and nobody is to hear how they end."""
        ...


@dataclass(frozen=True, slots=True)
class House:
    """What all rooms of a server share.

    Attributes:
        gateway: gives those a way back who took part before a restart.
        logs: a folder for what programs write on standard error, if that is kept.
        tally: counts what happens.
        games: has a tournament's games played; they are played here if None.
        seating: lets other processes reach the players that this one holds; None where all is
            played here.
    """

    database: Database
    gateway: Gateway
    pool: HousePool
    logs: Path | None = None
    tally: Tally = field(default_factory=Tally)
    games: Callable[[DatabaseLedger], Games] | None = None
    seating: Seating | None = None


@dataclass(slots=True)
class Claim:
    """A player whose session goes on at another gateway.

    Attributes:
        fault: why it is out, if it is.
        told: of each running game, the notifications of its events, each with the event's number.
    """

    seat: Seat
    clocks: Clocks
    fault: Fault | None = None
    told: dict[str, Sequence[tuple[int, str]]] = field(
        default_factory=dict[str, Sequence[tuple[int, str]]]
    )


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
        self._programs = StdioGateway(
            settings, self.admit, self.leave, logs=house.logs, tally=house.tally
        )
        self._ledger: DatabaseLedger | None = None
        self._seats: dict[str, Seat] = {}  # after a restart, all who ever took part
        self._was_over = False
        self._is_finished = False
        self._is_held = False
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
    def sign_ups(self) -> SignUps | None:
        """Who has signed up, until the tournament begins."""
        return None if self._manager is not None else self._lobby.sign_ups()

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
        programs = self._settings.lobby.programs
        if self._manager is None:
            for entry in self._settings.lobby.house:
                self._lobby.seat_house(HouseSeat(entry, self.seed, self._house.pool))
            await self._programs.start(programs)
        else:  # only those who still play
            away = self._manager.is_away
            await self._programs.start([one for one in programs if away(one.name)])
            for seat in self._manager.seats:
                if isinstance(seat, AwaySeat):
                    self._seated(seat.name, seat)

    async def run(self) -> TournamentResult:
        """Gather the players and play.

        Raises:
            NotEnoughPlayers: too few signed up in time.
            StoppedByOrder: the operator has stopped it.
            StorageFailed: it can't be written down any more.
        """
        if self._manager is None:
            try:
                seats = await self._gathered()
            except (NotEnoughPlayers, StoppedByOrder):
                self._let_go()
                raise
            self._manager = self._managed(seats)
        try:
            result = await self._manager.run()
        except StoppedByOrder:
            await self._rate(self._manager)
            raise
        self._is_finished = True
        await self._rate(self._manager)
        return result

    def _let_go(self) -> None:
        """Nothing comes of it: who is held by another process need not wait for more."""
        for seat in self._lobby.seats:
            if seat.is_far:
                seat.dismiss(None)

    async def _gathered(self) -> Sequence[Seat]:
        try:
            seats = await self._unless_stopped(self._lobby.gather())
        except NotEnoughPlayers:
            if not self._is_held:
                raise
        else:
            if not self._is_held:
                return seats
        # it begins after the restart, with those who are there then
        waiting: asyncio.Future[Sequence[Seat]] = asyncio.get_running_loop().create_future()
        return await waiting

    def _managed(self, seats: Sequence[Seat], begun: Begun | None = None) -> Manager:
        games = self._house.games
        return Manager(
            self._settings,
            seats,
            self.seed,
            self.ledger,
            self._progress,
            begun=begun,
            tally=self._house.tally,
            games=None if games is None else games(self.ledger),
        )

    async def _unless_stopped(self, waiting: Coroutine[Any, Any, T]) -> T:
        """Wait for players, unless the operator stops the tournament before they are there."""
        task = asyncio.create_task(waiting, name=f"players of {self.name}")
        try:
            while not (await asyncio.wait({task}, timeout=_LOOK_S))[0]:
                for order in await self.ledger.orders():
                    if order.verb == "stop":
                        await self.ledger.answer(order, "done")
                        raise StoppedByOrder("stopped by the operator")
                    if order.verb == "start":
                        await self.ledger.answer(order, self._start())
                    if order.verb == "withdraw" and await self._send_away(order):
                        await self.ledger.answer(order, "done; it can join again until the start")
            return await task
        finally:
            task.cancel()
            await asyncio.wait({task})

    def _start(self) -> str:
        """Begin with the players who are there, if it has not begun; the order's answer."""
        return self._lobby.start()

    async def _send_away(self, order: Order) -> bool:
        """Take somebody out of the lobby; False if it is not in there."""
        seat = self._lobby.remove(order.argument)
        if seat is None:
            return False
        verdict = Verdict.WITHDRAWN
        fault = Fault(verdict, Phase.TOURNAMENT, order.reason or verdict.when)
        await seat.tell(Ejection(params=EjectionParams(game=None, **fault.to_json())))
        seat.dismiss(fault)
        return True

    async def _rate(self, manager: Manager) -> None:
        """Keep everybody's rating; that takes a while, so it is not done in the loop."""
        from croupier_server.storage.rated import rated

        field, history = manager.field, manager.history
        is_running = self._settings.tournament.format == "ladder"
        try:
            rows = await asyncio.to_thread(rated, field, history, self.seed, is_running=is_running)
        except Exception:  # the result stands, whatever comes of the ratings
            log.exception("no ratings could be made", tournament=self.name)
        else:
            await self.ledger.rate(rows)

    async def records(self) -> Mapping[str, Sequence[str]]:
        """The records of all games that were begun, by name; some may have no footer yet."""
        return {} if self._ledger is None else await self._ledger.records()

    @property
    def goes_on(self) -> bool:
        """Whether the tournament is unfinished and can go on later."""
        is_kept = self._settings.storage.where is not None
        return is_kept and self._manager is not None and not self._is_finished

    @property
    def waiting(self) -> int:
        """How many of its games wait to be played."""
        return 0 if self._manager is None else self._manager.waiting

    @property
    def programs(self) -> int:
        """How many programs are connected."""
        return self._programs.connected

    @property
    def is_busy(self) -> bool:
        """See :class:`~croupier_server.operations.drain.Hall`."""
        return self._manager is not None and not self._is_finished and self._manager.is_busy

    def hold(self) -> None:
        """See :class:`~croupier_server.operations.drain.Hall`."""
        self._is_held = True
        if self._manager is not None:
            self._manager.hold()

    def plays(self, seat: Seat) -> bool:
        """See :class:`~croupier_server.operations.drain.Hall`."""
        manager = self._manager
        if manager is None or seat.name not in manager.players:
            return False
        return manager.players[seat.name].seat is seat and manager.plays(seat.name)

    async def close(self) -> None:
        """Let everybody go who is still here; may be called twice."""
        self._lobby.close()
        seats = self._manager.players.seats if self._manager is not None else self._lobby.seats
        for seat in seats:
            if isinstance(seat, WebSocketSeat):
                seat.send_away(*goodbye(self.goes_on))
        if self._house.seating is not None:
            await self._house.seating.clear(self.name)
        await self._programs.stop()

    # -- for the gateways

    def admit(self, params: JoinParams, seat: Seat) -> Admission:
        """See :data:`~croupier_server.seats.Admit`."""
        if self._manager is None:
            admission = self._lobby.admit(params, seat)
        else:
            admission = self._lobby.identify(params)
            if self._may_return(admission.name, seat):
                self._manager.returned(admission.name, seat)
            elif self._settings.lobby.late:
                self._admit_late(self._manager, admission.name, seat)
            else:
                raise Refused("the tournament has started; no more sign-ups", ErrorCode.CLOSED)
        self._seated(admission.name, seat)
        return admission._replace(clocks=self._settings.clocks)

    def _seated(self, name: str, seat: Seat) -> None:
        """Let whoever plays the games reach a player that is held here."""
        if self._house.seating is not None and seat.kind in {"program", "course"}:
            self._house.seating.seat(self.name, name, seat)

    def _may_return(self, name: str, seat: Seat) -> bool:
        """Whether somebody may take its place again without a session.

        A token proves who it is, a program is ours, and from a tournament that was over all have
        been sent away in peace.
        """
        if self._manager is None or not self._manager.is_away(name):
            return False
        return bool(self._roster) or seat.kind == "program" or self._was_over

    def leave(self, seat: Seat) -> bool:
        """See :data:`~croupier_server.seats.Leave`."""
        if self._manager is None:
            return self._lobby.leave(seat) or seat not in self._lobby.seats
        return seat not in self._manager.seats

    def _admit_late(self, manager: Manager, name: str, seat: Seat) -> None:
        check_free(name, manager.names)
        if manager.size >= self._settings.lobby.max_players:
            raise Refused("the tournament is full", ErrorCode.CLOSED)
        manager.enter(name, seat)

    # -- for players that another process holds

    def seat_of(self, session: str) -> Seat | None:
        """The seat of a player that has signed up or takes part, by what is kept of its session."""
        return next((seat for seat in self.seats if seat.session == session), None)

    def seat_named(self, name: str) -> Seat | None:
        """The seat of somebody who takes part."""
        manager = self._manager
        if manager is None or name not in manager.players:
            return None
        return manager.players[name].seat

    @property
    def seats(self) -> Sequence[Seat]:
        """The seats of all who have signed up or take part."""
        return self._lobby.seats if self._manager is None else self._manager.seats

    @property
    def lobby_seats(self) -> Sequence[Seat]:
        """The seats of those who have signed up, until the tournament begins."""
        return () if self._manager is not None else self._lobby.seats

    async def claim(self, session: str) -> Claim | None:
        """Who comes back by a session that nobody holds any more; None if it is not from here."""
        seat = self.seat_of(session)
        if seat is None:
            return None
        claim = Claim(seat, self._settings.clocks)
        if self._manager is not None and seat.name in self._manager.players:
            self._manager.returned(seat.name)
            claim.fault = self._manager.players[seat.name].fault
            if seat.wants_events:
                for game in self._manager.open_games(seat.name):
                    if (record := await self.ledger.running(game)) is not None:
                        claim.told[record.header.game] = event_texts(record)
        return claim

    async def sanction(self, game: str, name: str, fault: Fault) -> bool:
        """See :meth:`~croupier_server.tournament.players.Players.sanction_once`.

        Raises:
            ServerFault: nobody of that name takes part.
        """
        if self._manager is None or name not in self._manager.players:
            raise ServerFault(f"{name!r} takes no part in {self.name}")
        return await self._manager.players.sanction_once(game, name, fault)

    def here(self, seat: Seat) -> None:
        """A player is there, though its gateway may not have been found, and it taken for gone."""
        if self._manager is not None and self._manager.is_away(seat.name):
            self._manager.returned(seat.name)

    def gone(self, name: str) -> None:
        """A player that takes part is held by nobody, and not back yet."""
        if self._manager is not None and name in self._manager.players:
            self._manager.gone(name)

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
            raise TournamentOver(
                f"{self._house.database.place}: tournament {self.name} is over; "
                "give this one another name, or another data directory"
            )
        self._ledger = DatabaseLedger(self._house.database, found.row.id)
        if found.row.status == "gathering":  # nobody has played: with what is asked for now
            tournament = self._settings.tournament
            self.seed = found.row.seed if tournament.seed is None else tournament.seed
            await self._ledger.restart(kept(self._settings), tournament.format, self.seed)
            return
        check_same(found.row.config, self._settings)
        self._settings = settled_by(found.row.config, self._settings)
        self.seed = found.row.seed
        self._was_over = found.row.result is not None
        for entrant in found.entrants:
            self._seats[entrant.name] = self._restored(entrant)
        await self._go_on(found)
        log.info("tournament goes on", tournament=self.name, players=len(found.entrants))

    def _restored(self, entrant: EntrantRow) -> Seat:
        """The seat of somebody who took part before the restart, who may still have to return."""
        if entrant.kind == "house":
            house = {entry.name: entry for entry in self._settings.lobby.house}
            return HouseSeat(house[entrant.name], self.seed, self._house.pool)
        if entrant.kind != "remote" or entrant.session is None:
            return AwaySeat(entrant.name, entrant.kind)
        params = JoinParams(protocol=PROTOCOL, name=entrant.name, **entrant.options)
        admission = Admission(entrant.name, entrant.age, self._settings.clocks)
        return self._house.gateway.restore(
            entrant.session, params, admission, lambda: self._returned(entrant.name)
        )

    def _returned(self, name: str) -> None:
        """Somebody is back, by its session."""
        if self._manager is not None:
            self._manager.returned(name)

    async def _go_on(self, found: Kept) -> None:
        """Have the tournament go on from where it was."""
        begun = await self.ledger.begun(found)
        self._manager = self._managed(list(self._seats.values()), begun)
        away = {row.name: row.kind for row in found.entrants if row.kind != "house"}
        for name, kind in away.items():
            if self._manager.players[name].fault is not None:
                continue
            if kind == "course" and not self._was_over:  # its protocol knows no way back
                self._manager.gone(name)
            else:
                self._manager.wait_for([name])
        for name in await self._house.gateway.here(list(self._seats.values())):
            self._manager.returned(name)
        for record in begun.running.values():
            self._remind(record)

    def _remind(self, record: Record) -> None:
        """Have players that want to hear everything told what they may have missed of a game."""
        told = event_texts(record)
        for player in record.header.players:
            seat = self._seats[player.name]
            if isinstance(seat, WebSocketSeat) and seat.wants_events:
                seat.remember(record.header.game, told)


def goodbye(goes_on: bool) -> tuple[CloseCode, str]:
    """How connections are closed when the server stops, and why.

    Args:
        goes_on: whether a tournament is unfinished, so that players are to come back.
    """
    if goes_on:
        return CloseCode.RESTARTING, "the server stops; the tournament goes on later"
    return CloseCode.STOPPING, "the server stops"


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
    return None if roster is None else RosterFile(roster)
