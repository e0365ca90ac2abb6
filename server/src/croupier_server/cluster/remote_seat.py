"""The seat of a player that another process holds: what a worker's croupier asks and tells."""

from __future__ import annotations

import asyncio
import math
import random
import secrets
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any, Final, Self

import structlog

from croupier_common.messages import ServerNotification
from croupier_common.verdict import Fault, Verdict
from croupier_server.clock import MAX_STALL_MS
from croupier_server.cluster.link import Link, LinkDown, NoOneThere, NoReply
from croupier_server.cluster.wire import Message, WireError, answer_from, fault_to_json
from croupier_server.errors import Fenced, ServerFault
from croupier_server.gateway.told import about
from croupier_server.operations.traces import current_traceparent
from croupier_server.seats import Answer, Call, Kind, NoAnswer
from croupier_server.settings import Settings

__all__ = ["BeganAnew", "Patience", "RemoteSeat", "seat_subject"]

log = structlog.get_logger(__name__)

SLICE_S: Final = 2.0
"""After so long without a reply, the same is asked again: the request or the reply may be lost."""

_AGAIN_S: Final = (0.1, 0.5)
"""How long to wait before asking again where nobody is."""

_SLACK_S: Final = 5.0 + MAX_STALL_MS / 1000
"""How much longer than its clocks a seat may take before that is a fault of ours."""

_PARDON_S: Final = 1.0
_KEPT: Final = 256
"""How many notifications wait for a player that nobody holds."""


class BeganAnew(ServerFault):
    """A player does not know a game that goes on, since it was started anew with its manager."""


def seat_subject(root: str, key: str) -> str:
    """Where the gateway that holds a player is asked; `key` is what is kept of its session."""
    return f"{root}.seat.{key}"


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for a player.

    Attributes:
        resume_wait_s: in one go while nobody holds it; then it is absent.
        allowance_s: what its clock gets for the network.
        grace_s: how long its requests wait for it in a game.
        missing: told its name when it is found to be absent.
    """

    resume_wait_s: float = 60.0
    allowance_s: float = 0.1
    grace_s: float = 10.0
    missing: Callable[[str], None] | None = None

    @classmethod
    def of(cls, settings: Settings, missing: Callable[[str], None] | None = None) -> Self:
        """As the settings have it."""
        clocks = settings.clocks
        return cls(
            settings.storage.resume_wait_ms / 1000,
            clocks.latency_allowance_ms / 1000,
            clocks.grace_ms / 1000,
            missing,
        )


class RemoteSeat:
    """A player that some gateway holds, or will again; a gateway's seat owns the clock.

    What it is told and asked keeps its order. Whatever is lost between here and there is said
    again; each request has an id and each note a number by which the other side knows it. One is
    made for each game that is played.

    Args:
        key: what is kept of its session.
        epoch: of the game that it is asked for; who has taken that over has a higher one.
    """

    is_far = True

    def __init__(
        self,
        link: Link,
        name: str,
        key: str,
        *,
        kind: Kind = "remote",
        age: int | None = None,
        wants_events: bool = False,
        wants_legal_actions: bool = False,
        max_games: int = 1,
        epoch: int = 0,
        patience: Patience | None = None,
    ) -> None:
        self.name = name
        self.kind: Kind = kind
        self.session: str | None = key
        self.age = age
        self.wants_events = wants_events
        self.wants_legal_actions = wants_legal_actions
        self.max_games = max_games
        self._link = link
        self._subject = seat_subject(link.root, key)
        self._epoch = epoch
        self._patience = patience or Patience()
        self._me = secrets.token_hex(8)
        self._numbers = count(1)
        self._game = ""  # the last that it was asked or told about
        self._outbox: deque[Message | asyncio.Future[bool]] = deque()  # a request's turn
        self._telling: asyncio.Task[None] | None = None
        self._is_dropping = False  # some of it
        self._alone_s = 0.0  # how long nobody has held it by now

    def __repr__(self) -> str:
        return f"<RemoteSeat {self.name!r}>"

    # -- a seat

    async def ask(self, call: Call, budget_ms: int | None) -> Answer | NoAnswer:
        """See :meth:`croupier_server.seats.Seat.ask`.

        Raises:
            Fenced: another has taken the game over.
            BeganAnew: the player knows nothing of the game any more.
            ServerFault: there is a gateway, and it does not answer.
        """
        game, _, number = call.id.rpartition(":")
        self._game = game if number.isdecimal() else ""  # a tournament is not fenced, as games are
        head = self._head("ask", id=call.id, method=call.METHOD, budget_ms=budget_ms)
        if (parent := current_traceparent()) is not None:
            head["traceparent"] = parent
        most_s = math.inf if budget_ms is None else self._guard_s(budget_ms)
        reply = None
        if await self._is_its_turn():
            reply = await self._say(Message(head, call.text()), most_s)
        if reply is None:
            return NoAnswer(Verdict.ABSENT, Verdict.ABSENT.when)
        try:
            return answer_from(reply)
        except WireError as problem:
            raise ServerFault(f"the gateway of {self.name} does not answer: {problem}") from None

    async def tell(self, message: ServerNotification) -> None:
        """See :meth:`croupier_server.seats.Seat.tell`."""
        game, last = about(message)
        self._game = game
        head = self._head("tell", n=next(self._numbers), method=message.METHOD, last=last)
        self._note(Message(head, message.text()))

    async def pardon(self) -> bool:
        """See :meth:`croupier_server.seats.Seat.pardon`."""
        message = Message(self._head("pardon", n=next(self._numbers)))
        reply = await self._say(message, _SLACK_S, self._alone_s + _PARDON_S)
        return reply is None or reply.head.get("plays_on") is not False

    def dismiss(self, fault: Fault | None) -> None:
        """See :meth:`croupier_server.seats.Seat.dismiss`."""
        head = self._head("dismiss", n=next(self._numbers))
        self._note(Message({**head, "fault": None if fault is None else fault_to_json(fault)}))

    # -- for who plays with it

    async def drained(self, timeout_s: float) -> bool:
        """Wait until all that it was told has arrived; whether it has."""
        self._tell_on()
        if self._telling is not None:
            await asyncio.wait({self._telling}, timeout=timeout_s)
        return not self._outbox

    def give_up(self) -> None:
        """Tell it nothing more: nobody may ever be there for it."""
        self._outbox.clear()
        if self._telling is not None:
            self._telling.cancel()

    async def is_here(self) -> bool:
        """Whether some gateway holds it, and its player is connected."""
        try:
            reply = await self._link.request(self._subject, Message({"op": "ping"}), SLICE_S)
        except (NoOneThere, NoReply, WireError):
            return False
        return reply.head.get("is_here") is True

    # -- saying

    def _head(self, op: str, **fields: object) -> dict[str, Any]:
        return {"op": op, "from": self._me, "game": self._game, "epoch": self._epoch, **fields}

    def _guard_s(self, budget_ms: int) -> float:
        patience = self._patience
        return budget_ms / 1000 + patience.allowance_s + patience.grace_s + _SLACK_S

    async def _say(
        self, message: Message, most_s: float, alone_s: float | None = None
    ) -> Message | None:
        """What is answered; None once nobody has been there for `alone_s`, or our patience.

        Raises:
            Fenced: another has taken the game over.
            ServerFault: somebody is there and does not answer for as long as `most_s`.
        """
        silent_s = 0.0
        until = self._patience.resume_wait_s if alone_s is None else alone_s
        while True:
            begun = asyncio.get_running_loop().time()
            try:
                reply = await self._link.request(self._subject, message, SLICE_S)
            except LinkDown:
                await self._link.connected()
            except NoOneThere:
                if not await self._is_awaited(until):
                    return None
            except NoReply:
                silent_s += asyncio.get_running_loop().time() - begun
                if silent_s > most_s:
                    raise ServerFault(
                        f"the gateway of {self.name} has not answered for {silent_s:.0f} s"
                    ) from None
            except WireError as problem:
                raise ServerFault(f"the gateway of {self.name}: {problem}") from None
            else:
                self._alone_s = 0.0
                if not self._is_moved(reply):
                    return reply

    def _is_moved(self, reply: Message) -> bool:
        """Whether the player has gone to another gateway meanwhile, so that it is asked there."""
        kind = reply.head.get("re")
        if kind == "stale":
            raise Fenced(f"game {self._game} was taken over from epoch {self._epoch}")
        if kind == "anew":
            raise BeganAnew(f"{self.name} was started anew, and does not know game {self._game}")
        if kind == "error":
            raise ServerFault(f"the gateway of {self.name}: {reply.head.get('detail')}")
        return kind == "moved"

    async def _is_awaited(self, until: float) -> bool:
        """Wait a moment for somebody to hold it; False if that was long enough."""
        left = until - self._alone_s
        if left <= 0:
            return False
        pause = min(left, random.uniform(*_AGAIN_S))
        await asyncio.sleep(pause)
        if self._link.is_connected:  # else nobody could have been found
            self._count_alone(pause)
        return True

    def _count_alone(self, seconds: float) -> None:
        most_s, missing = self._patience.resume_wait_s, self._patience.missing
        before, self._alone_s = self._alone_s, self._alone_s + seconds
        if before < most_s <= self._alone_s and missing is not None:
            missing(self.name)

    # -- telling

    def _note(self, note: Message) -> None:
        if len(self._outbox) >= _KEPT:
            if not self._is_dropping:
                log.warning("notes dropped: too many wait", player=self.name)
            self._is_dropping = True
            self._outbox.remove(next(kept for kept in self._outbox if isinstance(kept, Message)))
        self._outbox.append(note)
        self._tell_on()

    def _tell_on(self) -> None:
        if self._outbox and (self._telling is None or self._telling.done()):
            self._is_dropping = False
            self._telling = self._link.hold(self._tell_all())

    async def _is_its_turn(self) -> bool:
        """Wait until what was told before has arrived; False if nobody is there for it."""
        if not self._outbox:
            return True
        turn: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._outbox.append(turn)
        self._tell_on()
        try:
            return await turn
        finally:
            turn.cancel()

    async def _tell_all(self) -> None:
        """Tell what waits, one by one; what nobody is there for waits on."""
        while self._outbox:
            first = self._outbox[0]
            if isinstance(first, Message):
                if not await self._is_told(first):
                    self._turn_away()
                    return
                if self._outbox and self._outbox[0] is first:
                    self._outbox.popleft()
                continue
            self._outbox.popleft()
            if not first.done():
                first.set_result(True)
                await asyncio.sleep(0)  # the request is sent now, before what is told after it

    async def _is_told(self, note: Message) -> bool:
        """Tell it; False if nobody is there."""
        try:
            return await self._say(note, _SLACK_S) is not None
        except ServerFault as problem:  # the next request will meet with it, if it lasts
            log.warning("note not told", player=self.name, problem=str(problem))
            return True

    def _turn_away(self) -> None:
        """Nobody is there: requests do not wait for that any longer."""
        for turn in [turn for turn in self._outbox if not isinstance(turn, Message)]:
            self._outbox.remove(turn)
            if not turn.done():
                turn.set_result(False)
