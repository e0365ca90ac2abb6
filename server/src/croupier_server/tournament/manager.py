"""The tournament manager: has a format's pairings played, and keeps account of who is still in.

What a format says next is asked for when it can have changed: when no game is open, when somebody
has come or gone, and after each game of a format that is never done.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import structlog

from croupier_common.messages import (
    Ejection,
    EjectionParams,
    ErrorCode,
    TournamentEnd,
    TournamentEndParams,
    TournamentStart,
    TournamentStartParams,
)
from croupier_common.outcome import Color
from croupier_common.record import Record
from croupier_common.rng import Draws
from croupier_common.verdict import Fault, Phase, Verdict
from croupier_server.croupier import Croupier, GameReport, Table, ask_guarded, fault_of_ack
from croupier_server.errors import Refused, StoppedByOrder, StorageFailed, first_of
from croupier_server.gateway.house_seat import HouseSeat
from croupier_server.seats import Seat
from croupier_server.settings import Settings
from croupier_server.tournament.formats import FormatOptions, make_format
from croupier_server.tournament.knockout import Knockout
from croupier_server.tournament.ledger import Begun, Book, Ledger, Order, result_of
from croupier_server.tournament.model import (
    Entrant,
    Field,
    Finished,
    Format,
    History,
    Issue,
    Pairing,
    Result,
    ResultKind,
)
from croupier_server.tournament.order import turn_order
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

_LOOK_S: Final = 0.25
"""How often the operator's orders are looked for."""


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


@dataclass(slots=True)
class _Player:
    """One player, and how it stands.

    Attributes:
        fault: why it is out of the tournament.
        strikes: how often it was ejected from a game.
        is_absent: whether it has not come back after a restart of the server.
    """

    seat: Seat
    entrant: Entrant
    fault: Fault | None = None
    strikes: int = 0
    is_absent: bool = False

    def why_not(self) -> Verdict | None:
        """Why it can't play; None if it can."""
        if self.fault is not None:
            return self.fault.verdict if not self.fault.verdict.is_fault else Verdict.DISQUALIFIED
        return Verdict.ABSENT if self.is_absent else None


class Manager:
    """Runs one tournament; use once.

    Args:
        seats: the players, by sign-up; after a restart, all of them, those too who are out.
        seed: decides boards, pairings and what house players draw.
        progress: told what happens, for whoever watches.
        begun: how far it was played before a restart of the server.
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
    ) -> None:
        self._settings = settings
        self._seed = seed
        self._ledger = ledger
        name = settings.tournament.name
        self._progress: Callable[[Progress], None] = lambda news: progress(
            replace(news, tournament=name)
        )
        self._format = format_of(settings, seed)
        self._begun = begun
        order = _in_order(seats, settings, begun)
        self._players = {seat.name: _Player(seat, entrant_of(seat)) for seat in order}
        self._issued: list[Pairing] = []
        self._results: dict[str, Result] = {}
        self._open: dict[str, Pairing] = {}
        self._attempts: dict[str, int] = {}
        self._records: dict[str, Record] = {}
        self._queue = FairQueue(settings.tournament.games_at_once)
        self._running: set[str] = set()
        self._entering: set[str] = set()
        self._written_out: set[str] = set()
        self._changed = asyncio.Event()
        self._is_due = True  # whether the format has something new to say
        self._round = 0
        self._is_paused = False
        self._is_stopping = False
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
        self._format.plan([player.entrant for player in self._players.values()])
        if self._begun is None:
            await self._ledger.start([player.seat for player in self._players.values()])
        if not self._issued:  # after a restart too: who has answered answers that again
            await self._tell_start([name for name, p in self._players.items() if not p.why_not()])
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                watching = group.create_task(self._watch_orders(), name="orders")
                await self._play_all(group)
                watching.cancel()
        except BaseExceptionGroup as several:
            raise first_of(several) from None
        finally:
            self._group = None
        if self._is_stopping:
            raise StoppedByOrder("stopped by the operator")
        return await self._end()

    def enter(self, name: str, seat: Seat) -> None:
        """A player joins late, and has its name as soon as it has joined.

        Raises:
            Refused: that can't be.
        """
        if not self._format.takes_late or self._group is None:
            raise Refused("the tournament has started; no more sign-ups", ErrorCode.CLOSED)
        self._entering.add(name)
        self._group.create_task(self._enter(seat), name=f"enter {name}")

    def reseat(self, name: str, seat: Seat) -> None:
        """A player that was absent has a new seat."""
        self._players[name].seat = seat

    def miss(self, name: str) -> None:
        """A player has not come back after a restart."""
        self._players[name].is_absent = True

    def returned(self, name: str) -> None:
        """A player that was absent after a restart is back."""
        if self._players[name].is_absent:
            self._players[name].is_absent = False
            self._look_again()

    @property
    def is_over(self) -> bool:
        """Whether all is played, so that only the end is left to be told."""
        return isinstance(self._format.following(self.field, self.history), Finished)

    @property
    def names(self) -> Sequence[str]:
        """Who takes part, or did."""
        return [*self._players, *self._entering]

    @property
    def field(self) -> Field:
        """Who takes part."""
        out = frozenset(n for n, player in self._players.items() if player.fault is not None)
        return Field(tuple(player.entrant for player in self._players.values()), out)

    @property
    def history(self) -> History:
        """What has happened so far."""
        return History(tuple(self._issued), dict(self._results))

    # -- what is played

    async def _play_all(self, group: asyncio.TaskGroup) -> None:
        await self._give_byes()  # those that a restart came before
        while True:
            self._changed.clear()
            if not self._is_stopping and await self._ask_format():
                return
            if not self._is_paused and not self._is_stopping:
                self._start_games(group)
            if self._is_stopping and not self._running:
                return
            await self._changed.wait()

    async def _ask_format(self) -> bool:
        """Have the format say what follows, if it can have changed; whether that is the end."""
        while self._is_due:
            self._is_due = False
            following = self._format.following(self.field, self.history)
            if isinstance(following, Finished):
                return True
            if isinstance(following, Issue):
                await self._issue(following.pairings)
        return False

    async def _issue(self, pairings: Sequence[Pairing]) -> None:
        await self._ledger.issue(pairings)
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
            await self._settled(_unplayed(pairing, {}, "bye"))

    def _start_games(self, group: asyncio.TaskGroup) -> None:
        while (pairing := self._queue.next(self._capacity)) is not None:
            self._queue.started(pairing.game)
            self._running.add(pairing.game)
            group.create_task(self._play(pairing), name=f"game {pairing.game}")

    def _capacity(self, name: str) -> int:
        return self._players[name].seat.max_games

    async def _play(self, pairing: Pairing) -> None:
        """Play a game, once more if it fails for a fault of ours; then it is void."""
        began = time.monotonic()
        report: GameReport | None = None
        result: Result | None = None
        for _ in (1, 2):
            unseated = self._unseated(pairing)
            if len(pairing.players) - len(unseated) < 2 and pairing.game not in self._records:
                result = _unplayed(pairing, unseated, "forfeit")
                await self._ledger.settle(result)
                break
            report = await self._attempt(pairing, unseated)
            if report is not None:
                result = result_of(pairing, report, unseated)
                break
        if result is None:
            result = _unplayed(pairing, {}, "void")
            await self._ledger.settle(result)
        self._queue.finished(pairing.game, time.monotonic() - began)
        self._running.discard(pairing.game)
        await self._write_out(pairing.players)
        self._take(result)
        self._progress(GameOver(pairing, result, report))

    def _unseated(self, pairing: Pairing) -> dict[str, Verdict]:
        """Why some of those paired are not there to play."""
        whys = {name: self._players[name].why_not() for name in pairing.players}
        return {name: why for name, why in whys.items() if why is not None}

    async def _attempt(
        self, pairing: Pairing, unseated: Mapping[str, Verdict]
    ) -> GameReport | None:
        """Play a game, or go on with it; None if that fails for a fault of ours."""
        begun = self._records.pop(pairing.game, None)
        if begun is None:
            self._attempts[pairing.game] = self._attempts.get(pairing.game, 0) + 1
        book = self._book(pairing, unseated, begun)
        absent = self._absent(book)
        self._progress(GameStarts(pairing, book.table.game))
        try:
            sink = await self._ledger.open(book)
            croupier = Croupier(book.table, self._settings.clocks, sink, self._sanction)
            return await croupier.play(begun, absent)
        except StorageFailed:
            raise
        except Exception:
            log.exception("game interrupted by a fault of ours", game=book.table.game)
            await self._ledger.interrupt(pairing.game)
            return None

    def _book(
        self, pairing: Pairing, unseated: Mapping[str, Verdict], begun: Record | None
    ) -> Book:
        game, attempt = self._settings.game, self._attempts[pairing.game]
        # a player that is asked an old request again answers as before: a new try has its own ids
        game_id = pairing.game if attempt == 1 else f"{pairing.game}-{attempt}"
        seed = Draws(self._seed, "game", pairing.block).bits() >> 1
        if begun is not None:
            header = begun.header
            seats = {seat.color: self._players[seat.name].seat for seat in header.players}
            seated = {seat.name for seat in header.players}
            unseated = {name: why for name, why in unseated.items() if name not in seated}
            table = Table(header.game, header.board, header.rules, seats)
            return Book(pairing, attempt, table, seed, game.board, unseated, begun)
        names = [name for name in pairing.players if name not in unseated]
        board = game.board.build(seed, rules=game.rules, players=len(pairing.players))
        seats = {color: self._players[name].seat for color, name in zip(Color, names, strict=False)}
        return Book(
            pairing, attempt, Table(game_id, board, game.rules, seats), seed, game.board, unseated
        )

    def _absent(self, book: Book) -> dict[Color, Fault]:
        """Those at the table who can't play: in a game that goes on after a restart."""
        absent: dict[Color, Fault] = {}
        for color, seat in book.table.seats.items():
            why = self._players[seat.name].why_not()
            if why is not None:
                phase = Phase.GAME_START if book.begun is None else Phase.MOVEMENT
                absent[color] = Fault(why, phase, why.when)
        return absent

    # -- what came of it

    async def _settled(self, result: Result) -> None:
        await self._ledger.settle(result)
        self._take(result)

    def _take(self, result: Result) -> None:
        self._results[result.game] = result
        self._open.pop(result.game, None)
        if not self._open or self._format.is_endless:
            self._is_due = True
        self._changed.set()

    def _look_again(self) -> None:
        """Somebody has come or gone."""
        self._is_due = True
        self._changed.set()

    def _sanction(self, name: str, fault: Fault) -> bool:
        """What an ejection costs: whether the player is out of the tournament."""
        player = self._players[name]
        if player.fault is not None:
            return True
        if not fault.verdict.is_fault:
            return False
        player.strikes += 1
        if player.strikes < self._most_strikes and player.seat.pardon():
            return False
        self._out(name, fault)
        return True

    @property
    def _most_strikes(self) -> float:
        """After how many ejections a player is out."""
        cost = self._settings.tournament.ejection
        if isinstance(cost, int):
            return cost
        return 1 if cost == "tournament" else math.inf

    def _out(self, name: str, fault: Fault) -> None:
        self._players[name].fault = fault
        self._progress(PlayerOut(name, fault))
        self._look_again()

    # -- players

    async def _enter(self, seat: Seat) -> None:
        await self._ledger.enter(seat)
        self._players[seat.name] = _Player(seat, entrant_of(seat))
        self._entering.discard(seat.name)
        await self._tell_start([seat.name])
        self._look_again()

    async def _put_out(self, name: str, verdict: Verdict, reason: str) -> None:
        """By the operator's word."""
        fault = Fault(verdict, Phase.TOURNAMENT, reason or verdict.when)
        self._out(name, fault)
        await self._write_out([name])
        await self._dismiss(name, fault)

    async def _write_out(self, names: Sequence[str]) -> None:
        """Write down who of these is out; of those ejected in games, the results say it too."""
        for name in names:
            fault = self._players[name].fault
            if fault is not None and name not in self._written_out:
                self._written_out.add(name)
                await self._ledger.out(name, fault)

    async def _dismiss(self, name: str, fault: Fault) -> None:
        seat = self._players[name].seat
        await seat.tell(Ejection(params=EjectionParams(game=None, **fault.to_json())))
        seat.dismiss(fault)

    def _still_in(self, names: Sequence[str]) -> tuple[str, ...]:
        """Those of the names whose players are not out, in the tournament's order."""
        wanted = set(names)
        return tuple(name for name in self.field.active if name in wanted)

    # -- start and end

    async def _tell_start(self, names: Sequence[str]) -> None:
        tournament, clocks = self._settings.tournament.name, self._settings.clocks
        params = TournamentStartParams(
            tournament=tournament, players=list(self._players), budget_ms=clocks.ack_ms
        )
        call = TournamentStart(id=f"{tournament}:start", params=params)
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
            for player in self.field.active
            if not self._players[player].is_absent
        }
        await self._acknowledge(calls, Phase.TOURNAMENT_END)
        for player in self.field.active:
            self._players[player].seat.dismiss(None)
        result = self._result(self._still_in(winners))
        await self._ledger.finish(result.to_json())
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
            faults={n: p.fault for n, p in self._players.items() if p.fault is not None},
            games=tuple(
                (pairing, self._results[pairing.game])
                for pairing in self._issued
                if pairing.game in self._results
            ),
        )

    async def _acknowledge(
        self, calls: Mapping[str, TournamentStart | TournamentEnd], phase: Phase
    ) -> None:
        """Ask all at once; who does not answer with true is out."""
        clocks = self._settings.clocks
        async with asyncio.TaskGroup() as group:
            asked = {
                name: group.create_task(
                    ask_guarded(self._players[name].seat, call, clocks.ack_ms, clocks),
                    name=f"{phase} {name}",
                )
                for name, call in calls.items()
            }
        for name, task in asked.items():
            fault = fault_of_ack(task.result(), phase)
            if fault is not None and self._players[name].fault is None:
                self._out(name, fault)
                await self._write_out([name])
                await self._dismiss(name, fault)

    # -- after a restart

    def _restore(self, begun: Begun) -> None:
        """Take over what was played, and have the games go on that were not over."""
        for name, fault in begun.out.items():
            self._players[name].fault = fault
            self._written_out.add(name)
        self._issued = list(begun.issued)
        self._results = dict(begun.results)
        self._attempts = dict(begun.attempts)
        self._is_paused = begun.is_paused
        self._round = max((pairing.round for pairing in begun.issued), default=0)
        self._open = {p.game: p for p in begun.issued if p.game not in begun.results}
        for result in begun.results.values():
            for name, verdict in result.verdicts.items():
                self._strike(name, Fault(verdict, Phase.TOURNAMENT, f"in game {result.game}"))
        for game, record in begun.running.items():
            self._records[game] = record
            self._strike_again(record)
        self._queue.add([pairing for pairing in self._open.values() if not pairing.is_bye])
        for player in self._players.values():
            if player.fault is not None:
                player.seat.dismiss(player.fault)

    def _strike_again(self, record: Record) -> None:
        names = {seat.color.value: seat.name for seat in record.header.players}
        for line in record.lines:
            if line.event["kind"] == "eject":
                verdict, phase = Verdict(line.event["verdict"]), Phase(line.event["phase"])
                detail = str(line.obs.get("detail", ""))
                self._strike(names[line.event["color"]], Fault(verdict, phase, detail))

    def _strike(self, name: str, fault: Fault) -> None:
        """Count an ejection from before the restart."""
        player = self._players[name]
        if player.fault is None and fault.verdict.is_fault:
            player.strikes += 1
            if player.strikes >= self._most_strikes:
                player.fault = fault

    # -- the operator

    async def _watch_orders(self) -> None:
        while True:
            for order in await self._ledger.orders():
                outcome = await self._obey(order)
                log.info("order", verb=order.verb, argument=order.argument, outcome=outcome)
                await self._ledger.answer(order, outcome)
            await asyncio.sleep(_LOOK_S)

    async def _obey(self, order: Order) -> str:
        """Carry an order out; what came of it, in words."""
        match order.verb:
            case "pause" | "resume":
                self._is_paused = order.verb == "pause"
                await self._ledger.status("paused" if self._is_paused else "running")
                self._progress(Paused(self._is_paused))
            case "stop":
                self._is_stopping = True
            case "withdraw" | "disqualify":
                return await self._obey_out(order)
            case "void" | "replay":
                return await self._obey_game(order)
            case _:
                return f"refused: no order {order.verb!r}"
        self._changed.set()
        return "done"

    async def _obey_out(self, order: Order) -> str:
        player = self._players.get(order.argument)
        if player is None:
            return f"refused: no player {order.argument!r}"
        if player.fault is not None:
            return f"refused: {order.argument} is out already: {player.fault.verdict}"
        verdict = Verdict.WITHDRAWN if order.verb == "withdraw" else Verdict.DISQUALIFIED
        await self._put_out(order.argument, verdict, order.reason)
        return "done"

    async def _obey_game(self, order: Order) -> str:
        """Void a game, or have it played again."""
        game = order.argument
        pairing = next((p for p in self._issued if p.game == game), None)
        if pairing is None or game not in self._results:
            return f"refused: game {game} is not over" if pairing else f"refused: no game {game}"
        if isinstance(self._format, Knockout) and pairing.round < self._round:
            return f"refused: round {self._round} was paired from the result of {game}"
        if order.verb == "void":
            await self._settled(_unplayed(pairing, {}, "void"))
            return "done"
        if pairing.is_bye:
            return f"refused: {game} is a bye, with no game to play again"
        await self._ledger.reopen(game)
        del self._results[game]
        self._open[game] = pairing
        self._queue.add([pairing])
        self._changed.set()
        return "done; it is played again"


def entrant_of(seat: Seat) -> Entrant:
    """A player as formats and ratings see it."""
    if isinstance(seat, HouseSeat):
        return Entrant(seat.name, seat.entry.rating, is_house=True)
    return Entrant(seat.name)


def _in_order(seats: Sequence[Seat], settings: Settings, begun: Begun | None) -> list[Seat]:
    """The seats in the tournament's order: that of age, or the one that it was begun in."""
    if begun is None:
        return turn_order([(seat, seat.age) for seat in seats], settings.game.rules)
    by_name = {seat.name: seat for seat in seats}
    return [by_name[name] for name in begun.order]


def _unplayed(pairing: Pairing, unseated: Mapping[str, Verdict], kind: ResultKind) -> Result:
    """The result of a pairing without a game: who is there has won it, if anybody is."""
    there = tuple(name for name in pairing.players if name not in unseated)
    return Result(
        game=pairing.game,
        block=pairing.block,
        round=pairing.round,
        players=pairing.players,
        kind=kind,
        ranking=(there,) if there and kind != "void" else (),
        verdicts=unseated,
    )
