"""A gateway's answers for one player that it holds, to workers and to other gateways.

Whatever is asked may come twice or late, since who sent it may not have heard that it arrived. So
a request has an id, a note a number, and a game an epoch; none of them is taken twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import structlog

from croupier_server.cluster.hand_over import state_to
from croupier_server.cluster.link import Link, LinkDown, NoOneThere, NoReply, Served
from croupier_server.cluster.remote_seat import seat_subject
from croupier_server.cluster.wire import (
    Message,
    WireError,
    answer_to,
    fault_from_json,
    whole_from_json,
)
from croupier_server.gateway.player import WebSocketSeat
from croupier_server.gateway.seat_state import Asked, SeatState
from croupier_server.operations.traces import continued
from croupier_server.seats import Answer, NoAnswer

if TYPE_CHECKING:
    from croupier_server.operations.spans import Traces

__all__ = ["RawCall", "SeatService"]

log = structlog.get_logger(__name__)

_PING_S: Final = 1.0
_REMEMBERED: Final = 256
"""Of how many games the epochs, and of how many senders the last notes are known."""

_OK: Final = Message({"re": "ok"})
_STALE: Final = Message({"re": "stale"})
_MOVED: Final = Message({"re": "moved"})


@dataclass(frozen=True, slots=True)
class RawCall:
    """A request that another process made, as it is sent."""

    id: str
    METHOD: str
    body: str

    def text(self) -> str:
        """The message as it is sent."""
        return self.body


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
        self.game = _game(call.id)
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


class SeatService:
    """Serves one player's subject from :meth:`start` until the player is another gateway's.

    Args:
        seat: holds the player.
        on_gone: told when another gateway has the player; the seat was given up by then.
        traces: follows the requests of games that are traced, if any are.
    """

    def __init__(
        self,
        link: Link,
        seat: WebSocketSeat,
        on_gone: Callable[[WebSocketSeat], None],
        traces: Traces | None = None,
    ) -> None:
        self._link = link
        self._seat = seat
        self._on_gone = on_gone
        self._traces = traces
        self._subject = seat_subject(link.root, seat.session or "")
        self._served: Served | None = None
        self._is_over = False
        self._is_handing_over = False
        self._open: dict[str, _Open] = {}
        self._answers: dict[str, tuple[str, Answer | NoAnswer]] = {}
        self._epochs: dict[str, int] = {}
        self._reached: dict[str, int] = {}  # by game, the last request's number in this epoch
        self._notes: dict[str, int] = {}
        self._verifying = asyncio.Lock()

    @property
    def seat(self) -> WebSocketSeat:
        """Whom it serves."""
        return self._seat

    async def start(self, state: SeatState | None = None) -> None:
        """Serve.

        Args:
            state: what another gateway handed over; its open requests are asked on from here.
        """
        if state is not None:
            self._answers.update(state.answers)
            self._epochs.update(state.epochs)
            self._notes.update(state.notes)
            for asked in state.asked:
                call = RawCall(asked.id, asked.method, asked.text)
                self._begin(call, asked.budget_ms, asked.epoch)
        await self._serve()

    async def stop(self) -> None:
        """Serve no more, and let whoever waits ask elsewhere; may be called twice."""
        self._is_over = True
        await self._serve_not()
        self._end_all()

    async def verify(self) -> bool:
        """Whether the player is still ours; if another gateway has it, it is given up.

        For a gateway that was cut off, since the player may have come back elsewhere meanwhile.
        """
        async with self._verifying:
            if self._is_over or self._is_handing_over:
                return not self._is_over
            await self._serve_not()
            if await self._is_elsewhere():
                log.info("player is another gateway's", player=self._seat.name)
                self._let_go()
                return False
            await self._serve()
            return True

    # -- serving

    async def _serve(self) -> None:
        if self._served is None:
            self._served = await self._link.serve(self._subject, self._handle)

    async def _serve_not(self) -> None:
        served, self._served = self._served, None
        if served is not None:
            await served.stop()

    async def _is_elsewhere(self) -> bool:
        """Whether anybody else answers for the player.

        A subscriber that is silent may be we ourselves, on a connection that NATS has not yet
        found to be lost.
        """
        try:
            await self._link.request(self._subject, Message({"op": "ping"}), _PING_S)
        except (LinkDown, NoOneThere, NoReply):
            return False
        except WireError:
            return True
        return True

    def _let_go(self) -> None:
        """The player is another's now."""
        self._is_over = True
        self._end_all()
        self._seat.give_up()
        self._on_gone(self._seat)

    def _end_all(self) -> None:
        for request in self._open.values():
            request.end(_MOVED)

    async def _handle(self, message: Message) -> Message | None:
        if self._is_over:
            return _MOVED
        op = message.text("op")
        if op == "ask":
            return await self._ask(message)
        if op == "ping":
            return Message({"re": "here", "is_here": self._seat.connection is not None})
        if op == "hand_over":
            return await self._hand_over()
        if op not in {"tell", "pardon", "dismiss"}:
            raise WireError(f"a player can't be asked to {op!r}")
        if self._is_stale(message.text("game"), message.whole("epoch", 0), ""):
            return _STALE
        if op == "pardon":
            return await self._pardon(message)
        if self._is_new(message):
            self._note(op, message)
        return _OK

    # -- asking

    async def _ask(self, message: Message) -> Message | None:
        request = message.text("id")
        game, epoch = _game(request), message.whole("epoch", 0)
        if self._is_stale(game, epoch, request):
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
        if not answer.cancelled():
            self._keep(asked, answer.result())
            asked.say(answer_to(answer.result()))

    def _keep(self, asked: _Open, answer: Answer | NoAnswer) -> None:
        """Remember an answer, in case it does not arrive."""
        self._answers.pop(asked.game, None)
        self._answers[asked.game] = (asked.call.id, answer)
        _cut(self._answers, self._seat.max_games + 1)

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
            _cut(self._epochs, _REMEMBERED)
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
        _cut(self._reached, _REMEMBERED)
        return False

    def _is_new(self, message: Message) -> bool:
        """Whether a note was not taken before."""
        sender, number = message.text("from"), message.whole("n")
        if number <= self._notes.get(sender, 0):
            return False
        self._notes.pop(sender, None)
        self._notes[sender] = number
        _cut(self._notes, _REMEMBERED)
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

    # -- to another gateway

    async def _hand_over(self) -> Message:
        """Everything that the player is, for another gateway; it is served here no more."""
        if self._is_handing_over:
            return _MOVED
        self._is_handing_over = True
        await self._serve_not()  # so that nothing is told here that the other would not know
        state = replace(
            self._seat.export(),
            asked=tuple(request.asked() for request in self._open.values()),
            answers=dict(self._answers),
            epochs=dict(self._epochs),
            notes=dict(self._notes),
        )
        log.info("player handed over", player=self._seat.name)
        self._let_go()
        return state_to(state, self._link.max_payload)


def _game(request: str) -> str:
    return request.rpartition(":")[0]


def _cut(known: dict[str, Any], most: int) -> None:
    """Forget the oldest."""
    while len(known) > most:
        del known[next(iter(known))]
