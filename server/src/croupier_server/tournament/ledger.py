"""Where a tournament is written down, as its manager sees it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from croupier_common.board_spec import BoardSpec
from croupier_common.game import NumberedEvent
from croupier_common.record import Record
from croupier_common.verdict import Fault, Phase, Verdict
from croupier_server.croupier import EventSink, GameReport, Table
from croupier_server.seats import Seat
from croupier_server.tournament.model import Pairing, Result, ResultKind

__all__ = [
    "Begun",
    "Book",
    "Ledger",
    "NoLedger",
    "Order",
    "Status",
    "result_of",
    "unplayed",
    "wire_name",
]

Status = Literal["gathering", "running", "paused", "finished", "failed"]


@dataclass(frozen=True, slots=True)
class Order:
    """The operator's word: what is to be done, about whom or what."""

    id: int
    verb: str
    argument: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Begun:
    """How far a tournament was played before the server's restart.

    Attributes:
        order: all entrants' names, in the tournament's order.
        issued: all pairings.
        results: what has a result, by game.
        attempts: how often each game was begun.
        running: the records of games that were going on.
        out: why the operator, or a failure between games, put somebody out.
        strikes: how often each was ejected, as far as that was written down.
        is_paused: whether the operator has paused it.
    """

    order: tuple[str, ...]
    issued: tuple[Pairing, ...]
    results: Mapping[str, Result]
    attempts: Mapping[str, int]
    running: Mapping[str, Record]
    out: Mapping[str, Fault]
    strikes: Mapping[str, int] = field(default_factory=dict[str, int])
    is_paused: bool = False

    def ejections(self) -> Iterator[tuple[str, str, Fault]]:
        """Who was ejected by its own fault, in games that are over and in those that go on.

        Each with what the game was called on the wire, the player's name, and the fault.
        """
        for result in self.results.values():
            game = wire_name(result.game, self.attempts.get(result.game, 1))
            for name, verdict in result.verdicts.items():
                if verdict.is_fault:
                    yield game, name, Fault(verdict, Phase.TOURNAMENT, f"in game {result.game}")
        for record in self.running.values():
            names = {seat.color.value: seat.name for seat in record.header.players}
            for line in record.lines:
                if line.event["kind"] == "eject":
                    verdict, phase = Verdict(line.event["verdict"]), Phase(line.event["phase"])
                    fault = Fault(verdict, phase, str(line.obs.get("detail", "")))
                    if verdict.is_fault:
                        yield record.header.game, names[line.event["color"]], fault


@dataclass(frozen=True, slots=True)
class Book:
    """A game that is about to be played.

    Attributes:
        attempt: 1, or more where it is played again.
        unseated: why others that were paired are not at the table.
        begun: its record where it goes on after a restart.
    """

    pairing: Pairing
    attempt: int
    table: Table
    seed: int
    spec: BoardSpec
    unseated: Mapping[str, Verdict]
    begun: Record | None = None


class Ledger(Protocol):
    """Writes a tournament down; what is written is safe when a method returns."""

    async def start(self, seats: Sequence[Seat]) -> None:
        """The tournament begins, with these players, in its order."""
        ...

    async def enter(self, seat: Seat) -> None:
        """One more player takes part."""
        ...

    async def issue(self, pairings: Sequence[Pairing]) -> None:
        """These games are to be played."""
        ...

    async def open(self, book: Book) -> EventSink:
        """A game begins, or goes on; its events go where this says, and its end with the result."""
        ...

    async def interrupt(self, game: str) -> None:
        """The game that is going on under this pairing's id does not count."""
        ...

    async def settle(self, result: Result) -> None:
        """A result without a game; it takes the place of one that there was."""
        ...

    async def reopen(self, game: str) -> None:
        """The game's result counts no more, since it is to be played again."""
        ...

    async def out(self, name: str, fault: Fault) -> None:
        """A player takes part no more."""
        ...

    async def strikes(self, name: str, number: int) -> None:
        """How often a player was ejected from games."""
        ...

    async def session(self, name: str, seat: Seat) -> None:
        """A player is back with another session."""
        ...

    async def status(self, status: Status) -> None:
        """How it stands."""
        ...

    async def finish(self, result: Mapping[str, Any]) -> None:
        """The tournament is over."""
        ...

    async def orders(self) -> Sequence[Order]:
        """What the operator has ordered and was not answered, in order."""
        ...

    async def answer(self, order: Order, outcome: str) -> None:
        """What came of an order."""
        ...


class NoLedger:
    """Keeps nothing."""

    async def start(self, seats: Sequence[Seat]) -> None:
        """See :class:`Ledger`."""

    async def enter(self, seat: Seat) -> None:
        """See :class:`Ledger`."""

    async def issue(self, pairings: Sequence[Pairing]) -> None:
        """See :class:`Ledger`."""

    async def open(self, book: Book) -> EventSink:  # noqa: ARG002 - the protocol's
        """See :class:`Ledger`."""
        return self

    async def write(
        self,
        events: Sequence[tuple[NumberedEvent, Mapping[str, Any]]],
        report: GameReport | None = None,
    ) -> None:
        """See :class:`~croupier_server.croupier.EventSink`."""

    async def interrupt(self, game: str) -> None:
        """See :class:`Ledger`."""

    async def settle(self, result: Result) -> None:
        """See :class:`Ledger`."""

    async def reopen(self, game: str) -> None:
        """See :class:`Ledger`."""

    async def out(self, name: str, fault: Fault) -> None:
        """See :class:`Ledger`."""

    async def strikes(self, name: str, number: int) -> None:
        """See :class:`Ledger`."""

    async def session(self, name: str, seat: Seat) -> None:
        """See :class:`Ledger`."""

    async def status(self, status: Status) -> None:
        """See :class:`Ledger`."""

    async def finish(self, result: Mapping[str, Any]) -> None:
        """See :class:`Ledger`."""

    async def orders(self) -> Sequence[Order]:
        """See :class:`Ledger`."""
        return ()

    async def answer(self, order: Order, outcome: str) -> None:
        """See :class:`Ledger`."""


def wire_name(game: str, attempt: int) -> str:
    """What a pairing's game is called on the wire.

    A player that is asked an old request again answers as before: a new try has ids of its own.
    """
    return game if attempt == 1 else f"{game}-{attempt}"


def result_of(pairing: Pairing, report: GameReport, unseated: Mapping[str, Verdict]) -> Result:
    """What came of a pairing whose game was played.

    Args:
        unseated: why others that were paired were not at the table.
    """
    outcome, names = report.outcome, report.players
    return Result(
        game=pairing.game,
        block=pairing.block,
        round=pairing.round,
        players=pairing.players,
        ranking=report.ranking,
        verdicts={**unseated, **{name: fault.verdict for name, fault in report.faults.items()}},
        fish={names[color]: fish for color, fish in outcome.fish.items()},
        tiles={names[color]: tiles for color, tiles in outcome.tiles.items()},
    )


def unplayed(pairing: Pairing, unseated: Mapping[str, Verdict], kind: ResultKind) -> Result:
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
