"""The tournament manager: tells all that it begins, has its rounds played, tells all its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog

from croupier_common.messages import (
    Ejection,
    EjectionParams,
    TournamentEnd,
    TournamentEndParams,
    TournamentStart,
    TournamentStartParams,
)
from croupier_common.outcome import Color
from croupier_common.rng import Draws
from croupier_common.verdict import Fault, Phase
from croupier_server.croupier import Croupier, GameReport, Table, ask_guarded, fault_of_ack
from croupier_server.seats import Seat
from croupier_server.settings import Settings
from croupier_server.storage.records import GameStore
from croupier_server.tournament.knockout import Pairing, Round, knockout
from croupier_server.tournament.order import turn_order

__all__ = ["GameOver", "Manager", "PlayerOut", "Progress", "RoundBegins", "TournamentResult"]

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class RoundBegins:
    """A round is about to be played."""

    round: Round


@dataclass(frozen=True, slots=True)
class GameOver:
    """A game has ended; without a report, it is void for a fault of ours."""

    pairing: Pairing
    report: GameReport | None


@dataclass(frozen=True, slots=True)
class PlayerOut:
    """A player was ejected."""

    name: str
    fault: Fault


Progress = RoundBegins | GameOver | PlayerOut


@dataclass(frozen=True, slots=True)
class TournamentResult:
    """How a tournament ended.

    Attributes:
        winners: who won; nobody when all failed.
        standings: all players' places from 1, the ejected behind all; equals share the better
            place.
        faults: why each ejected player was.
        games: each game's report in the order of rounds and tables; None where it is void.
    """

    name: str
    seed: int
    winners: tuple[str, ...]
    standings: tuple[tuple[int, str], ...]
    faults: Mapping[str, Fault]
    games: tuple[tuple[Pairing, GameReport | None], ...]

    def to_json(self) -> dict[str, Any]:
        """The result as JSON."""
        return {
            "tournament": self.name,
            "seed": self.seed,
            "winners": list(self.winners),
            "standings": [{"place": place, "name": name} for place, name in self.standings],
            "faults": {name: fault.to_json() for name, fault in sorted(self.faults.items())},
            "games": [
                {
                    "game": pairing.game,
                    "players": list(pairing.players),
                    "ranking": None if report is None else [list(g) for g in report.ranking],
                }
                for pairing, report in self.games
            ],
        }


@dataclass(slots=True)
class _Standing:
    """How far a player has come."""

    seat: Seat
    rounds: int = 0
    fault: Fault | None = field(default=None)


class Manager:
    """Runs one knock-out tournament; use once.

    Args:
        seats: the players, by sign-up.
        seed: decides all boards.
        progress: told what happens, for whoever watches.
    """

    def __init__(
        self,
        settings: Settings,
        seats: Sequence[Seat],
        seed: int,
        store: GameStore,
        progress: Callable[[Progress], None] = lambda _: None,
    ) -> None:
        self._settings = settings
        self._seed = seed
        self._store = store
        self._progress = progress
        order = turn_order([(seat, seat.age) for seat in seats], settings.game.rules)
        self._players = {seat.name: _Standing(seat) for seat in order}
        self._games: list[tuple[Pairing, GameReport | None]] = []
        self._slots = asyncio.Semaphore(settings.tournament.games_at_once)

    async def run(self) -> TournamentResult:
        """Play the tournament to its end."""
        await self._tell_start()
        entered = self._still_in(self._players)
        rounds: list[tuple[str, ...]] = []
        while isinstance(following := knockout(entered, rounds), Round):
            rounds.append(await self._play_round(following))
        winners = await self._tell_end(self._still_in(following.winners))
        return TournamentResult(
            name=self._settings.tournament.name,
            seed=self._seed,
            winners=winners,
            standings=self._standings(winners),
            faults={n: p.fault for n, p in self._players.items() if p.fault is not None},
            games=tuple(self._games),
        )

    # -- rounds

    async def _play_round(self, following: Round) -> tuple[str, ...]:
        """The round's winners that are still in the tournament."""
        self._progress(RoundBegins(following))
        async with asyncio.TaskGroup() as group:
            playing = [
                group.create_task(self._play(pairing), name=f"game {pairing.game}")
                for pairing in following.pairings
            ]
        won: list[str] = []
        for pairing, task in zip(following.pairings, playing, strict=True):
            report = task.result()
            self._games.append((pairing, report))
            # of a game that is void for our fault, nobody is knocked out
            won.extend(pairing.players if report is None else report.winners)
        for name in won:
            self._players[name].rounds = following.number
        return self._still_in(won)

    async def _play(self, pairing: Pairing) -> GameReport | None:
        """Play a game, once more if it fails for a fault of ours; None if that fails as well."""
        async with self._slots:
            report = None
            for attempt in (1, 2):
                present = self._still_in(pairing.players)
                if present:
                    report = await self._attempt(pairing, present, attempt)
                if report is not None:
                    break
        if report is not None:
            for name, fault in report.faults.items():
                self._out(name, fault)
        self._progress(GameOver(pairing, report))
        return report

    async def _attempt(
        self, pairing: Pairing, names: Sequence[str], attempt: int
    ) -> GameReport | None:
        game = self._settings.game
        # a player that is asked an old request again answers as before: a new try has its own ids
        game_id = pairing.game if attempt == 1 else f"{pairing.game}-{attempt}"
        seed = Draws(self._seed, "game", pairing.game).bits() >> 1
        board = game.board.build(seed, rules=game.rules, players=len(names))
        seats = {color: self._players[name].seat for color, name in zip(Color, names, strict=False)}
        table = Table(game_id, board, game.rules, seats)
        try:
            with self._store.open(table, seed, game.board) as sink:
                return await Croupier(table, self._settings.clocks, sink).play()
        except Exception:
            log.exception("game interrupted by a fault of ours", game=game_id)
            return None

    # -- start and end

    async def _tell_start(self) -> None:
        clocks = self._settings.clocks
        name = self._settings.tournament.name
        params = TournamentStartParams(
            tournament=name, players=list(self._players), budget_ms=clocks.ack_ms
        )
        call = TournamentStart(id=f"{name}:start", params=params)
        await self._acknowledge(dict.fromkeys(self._players, call), Phase.TOURNAMENT_START)

    async def _tell_end(self, winners: Sequence[str]) -> tuple[str, ...]:
        """Tell everybody who is left, those knocked out too; who fails to accept it loses."""
        clocks = self._settings.clocks
        name = self._settings.tournament.name
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
            for player in self._still_in(self._players)
        }
        await self._acknowledge(calls, Phase.TOURNAMENT_END)
        for player in self._still_in(self._players):
            self._players[player].seat.dismiss(None)
        return self._still_in(winners)

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
            if fault is not None:
                self._out(name, fault)
                await self._dismiss(name, fault)

    async def _dismiss(self, name: str, fault: Fault) -> None:
        seat = self._players[name].seat
        await seat.tell(Ejection(params=EjectionParams(game=None, **fault.to_json())))
        seat.dismiss(fault)

    # -- who is where

    def _out(self, name: str, fault: Fault) -> None:
        self._players[name].fault = fault
        self._progress(PlayerOut(name, fault))

    def _still_in(self, names: Sequence[str] | Mapping[str, object]) -> tuple[str, ...]:
        """Those of the names whose players were not ejected, in turn order."""
        wanted = set(names)
        return tuple(
            name
            for name, player in self._players.items()
            if name in wanted and player.fault is None
        )

    def _standings(self, winners: Sequence[str]) -> tuple[tuple[int, str], ...]:
        def merit(name: str) -> tuple[bool, bool, int]:
            player = self._players[name]
            return (player.fault is None, name in winners, player.rounds)

        ranked = sorted(self._players, key=merit, reverse=True)  # stable: turn order among equals
        merits = [merit(name) for name in ranked]
        return tuple(
            (merits.index(own) + 1, name) for own, name in zip(merits, ranked, strict=True)
        )
