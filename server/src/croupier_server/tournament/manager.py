"""The tournament manager: has a format's pairings played, from the first to the end.

What a format says next is asked for when it can have changed: when no game is open, when somebody
has come or gone, and after each game of a format that is never done. That, and the operator's
orders, happen one after another: see `decisions`.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import structlog
from structlog.contextvars import bind_contextvars

from croupier_common.messages import (
    ErrorCode,
    TournamentEnd,
    TournamentEndParams,
    TournamentStart,
    TournamentStartParams,
)
from croupier_common.outcome import Color
from croupier_common.record import Record
from croupier_common.verdict import Fault, Phase, Verdict
from croupier_server.croupier import ask_guarded, fault_of_ack
from croupier_server.errors import (
    Refused,
    ServerFault,
    StoppedByOrder,
    StorageFailed,
    first_of,
)
from croupier_server.operations.tally import Tally
from croupier_server.seats import Seat
from croupier_server.settings import Settings
from croupier_server.tournament.booking import book_of
from croupier_server.tournament.formats import FormatOptions, make_format
from croupier_server.tournament.games import Games, GamesHere, Played
from croupier_server.tournament.knockout import Knockout
from croupier_server.tournament.ledger import Begun, Book, Ledger, unplayed
from croupier_server.tournament.model import (
    Field,
    Finished,
    Format,
    History,
    Issue,
    Pairing,
    Result,
)
from croupier_server.tournament.obedience import Obedience
from croupier_server.tournament.order import turn_order
from croupier_server.tournament.players import Players, most_strikes
from croupier_server.tournament.progress import (
    GameOver,
    GameStarts,
    Paused,
    PlayerOut,
    Progress,
    RoundBegins,
    TournamentResult,
)
from croupier_server.tournament.queue import FairQueue
from croupier_server.tournament.standings import standings

__all__ = ["Manager", "format_of"]

log = structlog.get_logger(__name__)


def format_of(settings: Settings, seed: int) -> Format:
    """The format that the settings ask for."""
    tournament = settings.tournament
    options = FormatOptions(
        table=tournament.table,
        rounds=tournament.rounds,
        max_games=tournament.max_games,
        blocks_per_entrant=tournament.blocks_per_entrant,
        seed=seed,
        at_once=tournament.games_at_once,
    )
    return make_format(tournament.format, options)


class Manager:
    """Runs one tournament; use once.

    Args:
        seats: the players, by sign-up; after a restart, all of them, those too who are out.
        seed: decides boards, pairings and what house players draw.
        progress: told what happens, for whoever watches.
        begun: how far it was played before a restart of the server.
        tally: counts games, turns and verdicts.
        games: has the games played; here if None.

    Attributes:
        players: who takes part.
        decisions: held by whatever decides about pairings and results, from its first look at
            them to its last word.
        results: what has a result, by game.
        is_closed: whether the end has been decided, so that nothing changes it any more.
    """

    def __init__(
        self,
        settings: Settings,
        seats: Sequence[Seat],
        seed: int,
        ledger: Ledger,
        progress: Callable[[Progress], None] = lambda _: None,
        *,
        begun: Begun | None = None,
        tally: Tally | None = None,
        games: Games | None = None,
    ) -> None:
        self._settings = settings
        self._seed = seed
        self.ledger = ledger
        name = settings.tournament.name
        self._progress: Callable[[Progress], None] = lambda news: progress(
            replace(news, tournament=name)
        )
        self._format = format_of(settings, seed)
        self._is_new = begun is None
        order = _in_order(seats, settings, begun)
        self.players = Players(order, most_strikes(settings.tournament), ledger, self._told_out)
        self._games = games or GamesHere(
            ledger, settings.clocks, self.players.sanction, tally or Tally()
        )
        self.decisions = asyncio.Lock()
        self.results: dict[str, Result] = {}
        self.is_closed = False
        self._issued: list[Pairing] = []
        self._open: dict[str, Pairing] = {}
        self._attempts: dict[str, int] = {}
        self._records: dict[str, Record] = {}  # of games that go on after a restart
        self._queue = FairQueue(settings.tournament.games_at_once)
        self._running: set[str] = set()
        self._entering: dict[str, Seat] = {}
        self._missing: set[str] = set()
        self._changed = asyncio.Event()
        self._is_due = True  # whether the format has something new to say
        self._round = 0
        self._has_started = False  # whether all have been told that it begins
        self._is_paused = False
        self._is_stopping = False
        self._is_held = False  # the server is about to stop: nothing begins any more
        self._is_asking = False  # whether all are being told that it begins
        self._group: asyncio.TaskGroup | None = None
        if begun is not None:
            self._restore(begun)

    # -- for whoever runs it

    async def run(self) -> TournamentResult:
        """Play the tournament to its end.

        Raises:
            StoppedByOrder: the operator has stopped it.
            StorageFailed: it can't be written down any more.
            UserError: so many players can't play it.
        """
        self._format.plan([player.entrant for player in self.players.values()])
        if self._is_new:
            await self.ledger.start(self.players.seats)
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                watching = group.create_task(Obedience(self).watch(), name="orders")
                await self._gather_again()
                if self._is_held:  # whoever is asked nothing now is blamed for nothing
                    await asyncio.get_running_loop().create_future()
                # after a restart too: who has answered before answers the same again
                if not self._issued and not self._is_stopping:
                    self._is_asking = True
                    await self._tell_start(self.players.present.active)
                    self._is_asking = False
                self._has_started = True
                for name, seat in list(self._entering.items()):
                    group.create_task(self._enter(name, seat), name=f"enter {name}")
                await self._play_all(group)
                async with self.decisions:  # never in the middle of an order
                    watching.cancel()
        except BaseExceptionGroup as several:
            raise first_of(several) from None
        finally:
            self._group = None
        if self._is_stopping:
            raise StoppedByOrder("stopped by the operator")
        return await self._end()

    @property
    def names(self) -> Sequence[str]:
        """Who takes part, or did, or is about to."""
        return [*self.players, *self._entering]

    @property
    def seats(self) -> Sequence[Seat]:
        """The seats of all these."""
        return [*self.players.seats, *self._entering.values()]

    @property
    def size(self) -> int:
        """How many take part now."""
        return len(self.players.field.active) + len(self._entering)

    @property
    def waiting(self) -> int:
        """How many games wait to be played."""
        return len(self._queue)

    @property
    def field(self) -> Field:
        """Who takes part."""
        return self.players.field

    @property
    def history(self) -> History:
        """What has happened so far."""
        return History(tuple(self._issued), dict(self.results))

    def enter(self, name: str, seat: Seat) -> None:
        """A player joins late, and has its name as soon as it has joined.

        Raises:
            Refused: that can't be.
        """
        if not self._format.takes_late or self.is_closed or self._is_stopping:
            raise Refused("the tournament has started; no more sign-ups", ErrorCode.CLOSED)
        self._entering[name] = seat
        if self._group is not None and self._has_started:
            self._group.create_task(self._enter(name, seat), name=f"enter {name}")

    # -- who comes back after a restart

    def wait_for(self, names: Sequence[str]) -> None:
        """Some are away, and play is not to go on before they had time to come back."""
        self._missing.update(names)
        for name in names:
            self.gone(name)

    def gone(self, name: str) -> None:
        """A player is away, and need not be waited for."""
        self.players[name].is_absent = True

    def open_games(self, name: str) -> Sequence[str]:
        """The games that a player is in now, by their pairings."""
        return [game for game in self._running if name in self._open[game].players]

    def is_away(self, name: str) -> bool:
        """Whether a player is not back after a restart."""
        return name in self.players and self.players[name].is_absent

    def returned(self, name: str, seat: Seat | None = None) -> None:
        """A player is back; with another seat, if it began anew."""
        player = self.players[name]
        player.is_absent = False
        if seat is not None:
            player.seat, player.began_anew = seat, True
            if self._group is not None and seat.kind == "remote":
                self._group.create_task(self.ledger.session(name, seat), name=f"session {name}")
        self.look_again()

    async def _gather_again(self) -> None:
        """Wait for those who may come back; who is not there in time is absent for now.

        While nobody at all is there to play for, it goes on waiting; orders are obeyed meanwhile.
        """
        if self._is_awaiting():
            log.warning("waiting for players to come back", missing=len(self._missing))
        while self._is_awaiting():
            try:
                async with asyncio.timeout(self._settings.storage.resume_wait_ms / 1000):
                    while self._is_awaiting():
                        await self._change()
            except TimeoutError:
                if not self.players.is_deserted:
                    break
                while self._is_awaiting() and self.players.is_deserted:
                    await self._change()

    def _is_awaiting(self) -> bool:
        """Whether there is anything to wait with until somebody is back."""
        if self._is_stopping or self._has_ended():
            return False
        return any(self.players[name].why_not() is Verdict.ABSENT for name in self._missing)

    def _has_ended(self) -> bool:
        return isinstance(self._format.following(self.field, self.history), Finished)

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    # -- what is played

    async def _play_all(self, group: asyncio.TaskGroup) -> None:
        async with self.decisions:
            await self._give_byes()  # those that a restart came before
        while True:
            self._changed.clear()
            async with self.decisions:
                is_open = not self._is_stopping and not self._is_held
                if is_open and await self._ask_format():
                    self.is_closed = True
                    return
            if is_open and not self._is_paused and not self._is_held:
                self._start_games(group)
            if self._is_stopping and not self._running:
                return
            await self._changed.wait()

    async def _ask_format(self) -> bool:
        """Have the format say what follows, if it can have changed; whether that is the end."""
        while self._is_due:
            self._is_due = False
            # an endless format pairs anew after each game, and would pair the absent for ever
            field = self.players.present if self._format.is_endless else self.field
            # not `history`: its copy of thousands of results would be made for each one that comes
            history = History(tuple(self._issued), self.results)
            following = self._format.following(field, history)
            if isinstance(following, Finished):
                return True
            if isinstance(following, Issue):
                await self._issue(following.pairings)
        return False

    async def _issue(self, pairings: Sequence[Pairing]) -> None:
        await self.ledger.issue(pairings)
        self._issued += pairings
        self._open.update((pairing.game, pairing) for pairing in pairings)
        games = [pairing for pairing in pairings if not pairing.is_bye]
        if pairings[-1].round != self._round:
            self._round = pairings[-1].round
            self._progress(RoundBegins(self._round, len(games)))
        self._queue.add(games)
        await self._give_byes()

    async def _give_byes(self) -> None:
        for pairing in [pairing for pairing in self._open.values() if pairing.is_bye]:
            await self.settle(unplayed(pairing, {}, "bye"))

    def _start_games(self, group: asyncio.TaskGroup) -> None:
        while (pairing := self._queue.next(self._capacity)) is not None:
            self._queue.started(pairing.game)
            self._running.add(pairing.game)
            group.create_task(self._play(pairing), name=f"game {pairing.game}")

    def _capacity(self, name: str) -> int:
        return self.players[name].seat.max_games

    async def _play(self, pairing: Pairing) -> None:
        """Play a game, once more if it fails for a fault of ours; then it is void."""
        bind_contextvars(tournament=self._settings.tournament.name, game=pairing.game)
        began = time.monotonic()
        await self._leave_what_cannot_go_on(pairing)
        played: Played | None = None
        result: Result | None = None
        for _ in (1, 2):
            unseated = self.players.unseated(pairing.players)
            if len(pairing.players) - len(unseated) < 2 and pairing.game not in self._records:
                result = unplayed(pairing, unseated, "forfeit")
                await self.ledger.settle(result)
                break
            played = await self._attempt(pairing, unseated)
            if played is not None:
                result = played.result
                break
        if result is None:
            result = unplayed(pairing, {}, "void")
            await self.ledger.settle(result)
        self._queue.finished(pairing.game, time.monotonic() - began)
        self._running.discard(pairing.game)
        self._take(result)
        self._progress(GameOver(pairing, result, None if played is None else played.plies))

    async def _attempt(self, pairing: Pairing, unseated: Mapping[str, Verdict]) -> Played | None:
        """Play a game, or go on with it; None if that fails for a fault of ours."""
        begun = self._records.pop(pairing.game, None)
        if begun is None:
            self._attempts[pairing.game] = self._attempts.get(pairing.game, 0) + 1
        book = self._book(pairing, unseated, begun)
        self._progress(GameStarts(pairing, book.table.game))
        try:
            return await self._games.play(book, self._absent(book))
        except StorageFailed:
            raise
        except Exception:
            log.exception("game interrupted by a fault of ours", game=book.table.game)
            await self.ledger.interrupt(pairing.game)
            return None

    def _book(
        self, pairing: Pairing, unseated: Mapping[str, Verdict], begun: Record | None
    ) -> Book:
        attempt = self._attempts[pairing.game]
        return book_of(
            *(pairing, self._settings.game, self._seed, attempt, unseated),
            lambda name: self.players[name].seat,
            begun,
        )

    def _absent(self, book: Book) -> dict[Color, Fault]:
        """Those at the table who can't play: in a game that goes on after a restart."""
        absent: dict[Color, Fault] = {}
        for color, seat in book.table.seats.items():
            why = self.players[seat.name].why_not()
            if why is not None:
                phase = Phase.GAME_START if book.begun is None else Phase.MOVEMENT
                absent[color] = Fault(why, phase, why.when)
        return absent

    async def _leave_what_cannot_go_on(self, pairing: Pairing) -> None:
        """Interrupt a game of before a restart if nobody is back, or somebody began anew."""
        record = self._records.get(pairing.game)
        if record is None:
            return
        ejected = {line.event["color"] for line in record.lines if line.event["kind"] == "eject"}
        playing = [
            player
            for seat in record.header.players
            if seat.color.value not in ejected
            and (player := self.players[seat.name]).why_not() is None
        ]
        if not playing or any(player.began_anew for player in playing):
            del self._records[pairing.game]
            with suppress(ServerFault):  # whoever plays it has ended it meanwhile: so be it
                await self.ledger.interrupt(pairing.game)

    # -- what came of it

    async def settle(self, result: Result) -> None:
        """Write and take a result without a game."""
        await self.ledger.settle(result)
        self._take(result)

    def _take(self, result: Result) -> None:
        self.results[result.game] = result
        self._open.pop(result.game, None)
        if not self._open or self._format.is_endless:
            self._is_due = True
        self._changed.set()

    def look_again(self) -> None:
        """Somebody has come or gone."""
        self._is_due = True
        self._changed.set()

    def _told_out(self, name: str, fault: Fault) -> None:
        self._progress(PlayerOut(name, fault))
        self.look_again()

    # -- for a server that is about to stop

    def hold(self) -> None:
        """Begin nothing any more: no game, no round, not the end; it goes on after a restart."""
        self._is_held = True

    @property
    def is_busy(self) -> bool:
        """Whether there is something that is better brought to its end."""
        return bool(self._running) or self._is_asking or self.is_closed

    def plays(self, name: str) -> bool:
        """Whether a player is in a game, or at the start or the end of all."""
        if self._is_asking or self.is_closed:
            return True
        return bool(self.open_games(name))

    # -- for the operator's orders

    def pause(self, *, is_paused: bool) -> None:
        """Start no games for now, or start them again."""
        self._is_paused = is_paused
        self._progress(Paused(is_paused))
        self._changed.set()

    def stop(self) -> None:
        """End the running games, and stop."""
        self._is_stopping = True
        self._changed.set()

    def pairing(self, game: str) -> Pairing | None:
        """The pairing with that id."""
        return next((pairing for pairing in self._issued if pairing.game == game), None)

    def is_final(self, pairing: Pairing) -> bool:
        """Whether what followed was paired from its result."""
        return isinstance(self._format, Knockout) and pairing.round < self._round

    def is_again(self, game: str) -> bool:
        """Whether a game that was played before is to be played once more."""
        return game in self._open and game not in self._running and game in self._attempts

    async def play_again(self, pairing: Pairing) -> None:
        """Forget a game's result and have it played once more."""
        await self.ledger.reopen(pairing.game)
        del self.results[pairing.game]
        self._open[pairing.game] = pairing
        self._queue.add([pairing])
        self._changed.set()

    # -- start and end

    async def _enter(self, name: str, seat: Seat) -> None:
        """Let a late player in, once it has accepted the start."""
        try:
            call = self._start_call([*self.players, name])
            ack_ms = self._settings.clocks.ack_ms
            answer = await ask_guarded(seat, call, ack_ms, self._settings.clocks)
            fault, is_asked = fault_of_ack(answer, Phase.TOURNAMENT_START), True
        except ServerFault:
            log.exception("a late player could not be let in", player=name)
            fault, is_asked = None, False
        async with self.decisions:
            if fault is not None or not is_asked or self.is_closed:
                del self._entering[name]
                seat.dismiss(fault)
                return
            await self.ledger.enter(seat)
            del self._entering[name]  # its name and its place are taken all the time
            self.players.add(seat)
        self.look_again()

    def _start_call(self, names: Sequence[str]) -> TournamentStart:
        tournament, clocks = self._settings.tournament.name, self._settings.clocks
        params = TournamentStartParams(
            tournament=tournament, players=list(names), budget_ms=clocks.ack_ms
        )
        return TournamentStart(id=f"{tournament}:start", params=params)

    async def _tell_start(self, names: Sequence[str]) -> None:
        call = self._start_call(list(self.players))
        await self._acknowledge(dict.fromkeys(names, call), Phase.TOURNAMENT_START)

    async def _end(self) -> TournamentResult:
        """Tell everybody who is left, those knocked out too; who fails to accept it loses."""
        winners = self._winners()
        clocks, name = self._settings.clocks, self._settings.tournament.name
        calls = {
            player: TournamentEnd(
                id=f"{name}:end",
                params=TournamentEndParams(
                    tournament=name,
                    won=player in winners,
                    winners=list(winners),
                    budget_ms=clocks.ack_ms,
                ),
            )
            for player in self.players.present.active
        }
        await self._acknowledge(calls, Phase.TOURNAMENT_END)
        for player in self.field.active:
            self.players[player].seat.dismiss(None)
        result = self._result(self.players.still_in(winners))
        await self.ledger.finish(result.to_json())
        return result

    def _winners(self) -> tuple[str, ...]:
        """Who has won: who leads the table, or is left in a format that knocks the others out."""
        if isinstance(self._format, Knockout):
            return self._format.winners(self.field, self.history)
        table = standings(self.field, self.history, self._format.tie_breaks)
        return tuple(row.name for row in table.rows if row.place == 1)

    def _result(self, winners: tuple[str, ...]) -> TournamentResult:
        table = standings(self.field, self.history, self._format.tie_breaks)
        return TournamentResult(
            name=self._settings.tournament.name,
            seed=self._seed,
            winners=winners,
            standings=tuple((row.place, row.name) for row in [*table.rows, *table.out]),
            faults={n: p.fault for n, p in self.players.items() if p.fault is not None},
            games=tuple(
                (pairing, self.results[pairing.game])
                for pairing in self._issued
                if pairing.game in self.results
            ),
        )

    async def _acknowledge(
        self, calls: Mapping[str, TournamentStart | TournamentEnd], phase: Phase
    ) -> None:
        """Ask all at once; who does not answer with true is out."""
        async with asyncio.TaskGroup() as group:
            asked = {
                name: group.create_task(self._acked(name, call, phase), name=f"{phase} {name}")
                for name, call in calls.items()
            }
        for name, task in asked.items():
            fault = task.result()
            if fault is not None and fault.verdict is Verdict.ABSENT:
                self.gone(name)  # whoever held its connection is no more, and it is not back yet
            elif fault is not None and self.players[name].fault is None:
                await self.players.out(name, fault)
                await self.players.dismiss(name, fault)

    async def _acked(
        self, name: str, call: TournamentStart | TournamentEnd, phase: Phase
    ) -> Fault | None:
        """What is wrong with a player's answer; nothing, if there is none by a fault of ours."""
        clocks = self._settings.clocks
        try:
            answer = await ask_guarded(self.players[name].seat, call, clocks.ack_ms, clocks)
        except ServerFault:
            log.exception("an acknowledgement could not be waited for", player=name, phase=phase)
            return None
        return fault_of_ack(answer, phase)

    # -- after a restart

    def _restore(self, begun: Begun) -> None:
        """Take over what was played, and have the games go on that were not over."""
        self._issued = list(begun.issued)
        self.results = dict(begun.results)
        self._attempts = dict(begun.attempts)
        self._records = dict(begun.running)
        self._is_paused = begun.is_paused
        self._round = max((pairing.round for pairing in begun.issued), default=0)
        self._open = {p.game: p for p in begun.issued if p.game not in begun.results}
        self.players.restore(begun.out, begun.strikes)
        ejections: Counter[str] = Counter()
        for game, name, fault in begun.ejections():
            ejections[name] += 1
            self.players.found_ejected(game, name, fault, ejections[name])
        self.players.dismiss_out()
        self._queue.add([pairing for pairing in self._open.values() if not pairing.is_bye])


def _in_order(seats: Sequence[Seat], settings: Settings, begun: Begun | None) -> list[Seat]:
    """The seats in the tournament's order: that of age, or the one that it was begun in."""
    if begun is None:
        return turn_order([(seat, seat.age) for seat in seats], settings.game.rules)
    by_name = {seat.name: seat for seat in seats}
    return [by_name[name] for name in begun.order]
