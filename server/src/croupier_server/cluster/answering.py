"""A player's answers to those who play its games elsewhere, whatever holds the player.

Whatever is asked may come twice or late, since who sent it may not have heard that it arrived. So
a request has an id, a note a number, and a game an epoch; none of them is taken twice.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Protocol

import structlog

from croupier_server.cluster.wire import (
    Message,
    WireError,
    answer_to,
    fault_from_json,
    whole_from_json,
)
from croupier_server.gateway.seat_state import Asked, SeatState
from croupier_server.operations.traces import continued

if TYPE_CHECKING:
    from croupier_common.verdict import Fault
    from croupier_server.operations.spans import Traces
    from croupier_server.seats import Answer, Kind, NoAnswer

__all__ = ["MOVED", "REMEMBERED", "Answering", "Held", "RawCall", "cut", "game_of"]

log = structlog.get_logger(__name__)

REMEMBERED: Final = 256
"""Of how many games the epochs, and of how many senders the last notes are known."""

MOVED: Final = Message({"re": "moved"})
"""What is answered where the player is held no more: ask again, whoever holds it now."""

_OK: Final = Message({"re": "ok"})
_STALE: Final = Message({"re": "stale"})


@dataclass(frozen=True, slots=True)
class RawCall:
    """A request that another process made, as it is sent."""

    id: str
    METHOD: str
    body: str

    def text(self) -> str:
        """The message as it is sent."""
        return self.body


class Held(Protocol):
    """A player that is held here."""

    @property
    def kind(self) -> Kind:
        """By what it came."""
        ...

    @property
    def max_games(self) -> int:
        """How many games it can play at once."""
        ...

    @property
    def is_flooding(self) -> bool:
        """Whether nothing more is read from it, so that it can't be pardoned."""
        ...

    def put(self, call: RawCall, budget_ms: int | None) -> asyncio.Future[Answer | NoAnswer]:
        """Send it a request at once; given up if the future is cancelled."""
        ...

    def tell_text(self, game: str, last: int | None, text: str) -> None:
        """Send it a notification."""
        ...

    async def pardon(self) -> bool:
        """See :meth:`croupier_server.seats.Seat.pardon`."""
        ...

    def dismiss(self, fault: Fault | None) -> None:
        """See :meth:`croupier_server.seats.Seat.dismiss`."""
        ...


class _Open:
    """A request that the player is asked, and who waits for the answer.

    Attributes:
        waiting: by sender; whoever asks again has given up the last time.
    """

    __slots__ = ("answer", "budget_ms", "call", "epoch", "game", "waiting")

    def __init__(self, call: RawCall, budget_ms: int | None, epoch: int) -> None:
        self.call = call
        self.budget_ms = budget_ms
        self.epoch = epoch
        self.game = game_of(call.id)
        self.waiting: dict[str, asyncio.Future[Message | None]] = {}
        self.answer: asyncio.Future[Answer | NoAnswer] | None = None

    async def answer_for(self, sender: str) -> Message | None:
        """What it comes to; None if its sender asks again first."""
        before = self.waiting.get(sender)
        if before is not None and not before.done():
            before.set_result(None)
        reply: asyncio.Future[Message | None] = asyncio.get_running_loop().create_future()
        self.waiting[sender] = reply
        return await reply

    def say(self, message: Message) -> None:
        """Tell all who wait."""
        for reply in self.waiting.values():
            if not reply.done():
                reply.set_result(message)
        self.waiting.clear()

    def end(self, message: Message) -> None:
        """Ask no more."""
        self.say(message)
        if self.answer is not None:
            self.answer.cancel()

    def asked(self) -> Asked:
        return Asked(self.call.id, self.call.METHOD, self.call.text(), self.budget_ms, self.epoch)


class Answering:
    """Has a player asked and told what comes from other processes, each of it once.

    Args:
        traces: follows the requests of games that are traced, if any are.
    """

    def __init__(self, seat: Held, traces: Traces | None = None) -> None:
        self._seat = seat
        self._traces = traces
        self._open: dict[str, _Open] = {}
        self._answers: dict[str, tuple[str, Answer | NoAnswer]] = {}
        self._epochs: dict[str, int] = {}
        self._reached: dict[str, int] = {}  # by game, the last request's number in this epoch
        self._notes: dict[str, int] = {}

    async def answer(self, message: Message) -> Message | None:
        """The answer to a message; None if its sender has asked the same again meanwhile.

        Raises:
            WireError: it is nothing that a player can be asked.
        """
        op = message.text("op")
        if op == "ask":
            return await self._ask(message)
        if op not in {"tell", "pardon", "dismiss"}:
            raise WireError(f"a player can't be asked to {op!r}")
        if self._is_stale(message.text("game"), message.whole("epoch", 0), ""):
            return _STALE
        if op == "pardon":
            return await self._pardon(message)
        if self._is_new(message):
            self._note(op, message)
        return _OK

    def end(self) -> None:
        """Ask nothing any more, and let whoever waits ask elsewhere."""
        for request in self._open.values():
            request.end(MOVED)

    # -- from one process to another

    def onto(self, state: SeatState) -> SeatState:
        """The state of the player, with what is kept of it here."""
        return replace(
            state,
            asked=tuple(request.asked() for request in self._open.values()),
            answers=dict(self._answers),
            epochs=dict(self._epochs),
            notes=dict(self._notes),
        )

    def go_on(self, state: SeatState) -> None:
        """Go on with what another process has kept; its open requests are asked on from here."""
        self._answers.update(state.answers)
        self._epochs.update(state.epochs)
        self._notes.update(state.notes)
        for asked in state.asked:
            call = RawCall(asked.id, asked.method, asked.text)
            self._begin(call, asked.budget_ms, asked.epoch)

    # -- asking

    async def _ask(self, message: Message) -> Message | None:
        request = message.text("id")
        game, epoch = game_of(request), message.whole("epoch", 0)
        is_of_game = request.rpartition(":")[2].isdecimal()  # which a tournament is not
        if self._is_stale(game if is_of_game else "", epoch, request):
            return _STALE
        answered = self._answers.get(game)
        if answered is not None and answered[0] == request:
            return answer_to(answered[1])
        if self._is_past(game, request):
            return _STALE
        asked = self._open.get(request)
        if asked is None:
            budget_ms = whole_from_json(message.head.get("budget_ms"), "budget_ms")
            call = RawCall(request, message.text("method"), message.body)
            asked = self._begin(call, budget_ms, epoch)
        with continued(self._traces, message.head.get("traceparent"), self._seat.kind):
            return await asked.answer_for(message.text("from"))

    def _begin(self, call: RawCall, budget_ms: int | None, epoch: int) -> _Open:
        """Send it to the player, before anything that came after it."""
        asked = self._open[call.id] = _Open(call, budget_ms, epoch)
        asked.answer = self._seat.put(call, budget_ms)
        asked.answer.add_done_callback(lambda answer: self._answered(asked, answer))
        return asked

    def _answered(self, asked: _Open, answer: asyncio.Future[Answer | NoAnswer]) -> None:
        if self._open.get(asked.call.id) is asked:
            del self._open[asked.call.id]
        if answer.cancelled():
            return
        problem = answer.exception()
        if problem is not None:  # a fault of ours, since no player has us raise anything
            log.error("request not asked", id=asked.call.id, exc_info=problem)
            asked.say(Message({"re": "error", "detail": "internal error"}))
            return
        self._keep(asked, answer.result())
        asked.say(answer_to(answer.result()))

    def _keep(self, asked: _Open, answer: Answer | NoAnswer) -> None:
        """Remember an answer, in case it does not arrive."""
        self._answers.pop(asked.game, None)
        self._answers[asked.game] = (asked.call.id, answer)
        cut(self._answers, self._seat.max_games + 1)

    # -- what is out of date

    def _is_stale(self, game: str, epoch: int, request: str) -> bool:
        """Whether another has taken the game over from whoever sends this.

        What an earlier one has asked is ended, but for a request that is asked again.
        """
        if not game:
            return False
        known = self._epochs.get(game)
        if known is not None and epoch < known:
            return True
        if known is None or epoch > known:
            self._epochs[game] = epoch
            cut(self._epochs, REMEMBERED)
            self._reached.pop(game, None)
            self._end_earlier(game, epoch, request)
        return False

    def _end_earlier(self, game: str, epoch: int, request: str) -> None:
        for asked in [asked for asked in self._open.values() if asked.game == game]:
            if asked.epoch == epoch:
                continue
            if request and asked.call.id != request:
                asked.end(_STALE)
            else:
                asked.say(_STALE)
                asked.epoch = epoch

    def _is_past(self, game: str, request: str) -> bool:
        """Whether a later request of the game was asked: then nobody waits for this one."""
        number = request.rpartition(":")[2]
        if not number.isdecimal() or len(number) > 9:
            return False
        if int(number) < self._reached.get(game, 0):
            return True
        self._reached[game] = int(number)
        cut(self._reached, REMEMBERED)
        return False

    def _is_new(self, message: Message) -> bool:
        """Whether a note was not taken before."""
        sender, number = message.text("from"), message.whole("n")
        if number <= self._notes.get(sender, 0):
            return False
        self._notes.pop(sender, None)
        self._notes[sender] = number
        cut(self._notes, REMEMBERED)
        return True

    # -- telling

    def _note(self, op: str, message: Message) -> None:
        if op == "tell":
            last = whole_from_json(message.head.get("last"), "last")
            self._seat.tell_text(message.text("game"), last, message.body)
            return
        fault = message.head.get("fault")
        self._seat.dismiss(None if fault is None else fault_from_json(fault))

    async def _pardon(self, message: Message) -> Message:
        if self._is_new(message):
            plays_on = await self._seat.pardon()
        else:
            plays_on = not self._seat.is_flooding
        return Message({"re": "ok", "plays_on": plays_on})


def game_of(request: str) -> str:
    """The game that a request is about, by its id."""
    return request.rpartition(":")[0]


def cut(known: dict[str, Any], most: int) -> None:
    """Forget the oldest."""
    while len(known) > most:
        del known[next(iter(known))]
