"""The seat of a player that is a program of ours, over its standard input and output."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import structlog

from croupier_common.errors import NotAMessage
from croupier_common.hello import Hello, HelloParams, options_from_hello
from croupier_common.lines import BadLine, Flaw, Line, LineSplitter, line_bytes
from croupier_common.messages import PROTOCOL, JoinParams, ServerNotification, load_json
from croupier_common.programs import PATIENCE, PRINT_HINT, Patience, looks_printed
from croupier_common.session import Answered, Misbehaved, Session
from croupier_common.verdict import Fault, Phase, Verdict
from croupier_server.clock import StallMeter, TurnClock
from croupier_server.errors import ProgramFailed, Refused, UserError
from croupier_server.gateway.child import Child, environment
from croupier_server.gateway.open_request import Sendable
from croupier_server.gateway.program import Program
from croupier_server.names import checked_name
from croupier_server.operations.tally import Tally
from croupier_server.seats import Answer, Kind, NoAnswer, out_of_it
from croupier_server.settings import Settings

__all__ = ["StdioSeat"]

log = structlog.get_logger(__name__)

_LAST_LOOK_S: Final = 0.002
"""After the time is over, how long the loop gets to read what already lies in the pipe."""

_AT_ONCE: Final = Patience(0.0, 0.0)


class _Open:
    """A request that waits for its answer."""

    __slots__ = ("answer", "budget_ms", "clock", "timer")

    def __init__(
        self, budget_ms: int | None, clock: TurnClock, answer: asyncio.Future[Answer | NoAnswer]
    ) -> None:
        self.budget_ms = budget_ms
        self.clock = clock
        self.answer = answer
        self.timer: asyncio.TimerHandle | None = None

    def set_timer(self, timer: asyncio.TimerHandle | None) -> None:
        if self.timer is not None:
            self.timer.cancel()
        self.timer = timer


class StdioSeat:
    """A player that is a program of ours; made by :meth:`start`.

    What comes on its standard output is judged as what comes over a player's WebSocket is; a
    program that ends or closes its standard output has hung up.

    Attributes:
        program: what is run.
        joins: what it said of itself, as the params of a join.
        is_here: whether it has not left.
        tally: counts replies that are dropped.
    """

    kind: Kind = "program"

    def __init__(
        self, program: Program, settings: Settings, meter: StallMeter, patience: Patience
    ) -> None:
        self.name = program.name
        self.age = program.age
        self.wants_events = False
        self.wants_legal_actions = False
        self.max_games = 1
        self.session: str | None = None
        self.is_far = False
        self.joins: JoinParams | None = None
        self.program = program
        self._patience = patience
        self._clocks = settings.clocks
        self._limits = settings.limits
        self._meter = meter
        self._loop = asyncio.get_running_loop()
        self._child: Child | None = None
        self._splitter = LineSplitter(settings.limits.max_message)
        self._session = Session()
        self._session.joined()  # the joining is the host's business
        self._open: dict[str, _Open] = {}
        self._kept: NoAnswer | None = None  # a fault out of turn; it decides when next asked
        self._on_gone: Callable[[], object] = lambda: None
        self.is_here = True
        self.tally = Tally()
        self._closing: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        return f"<StdioSeat {self.name!r} {self.program.command!r}>"

    @classmethod
    async def start(
        cls,
        program: Program,
        settings: Settings,
        meter: StallMeter,
        patience: Patience = PATIENCE,
    ) -> StdioSeat:
        """Start a program and greet it, within the time to join; it is to be ended by :meth:`end`.

        Args:
            meter: tells for how long our loop was stalled.
            patience: how long it may take to end.

        Raises:
            UserError: there is no such program, it can't be started, or its name can't be.
            ProgramFailed: it did not answer as it should; nothing of it runs any more.
        """
        seat = cls(program, settings, meter, patience)
        try:
            await seat._greet()
        except BaseException:
            await seat.end()
            raise
        return seat

    # -- for the croupier

    async def ask(self, call: Sendable, budget_ms: int | None) -> Answer | NoAnswer:
        """See :meth:`croupier_server.seats.Seat.ask`."""
        return await self._ask(call.id, call.text(), budget_ms, self._loop.time())

    async def tell(self, message: ServerNotification) -> None:
        """See :meth:`croupier_server.seats.Seat.tell`."""
        self.tell_text(message.text())

    def tell_text(self, text: str) -> None:
        """Send it a notification that is a text already."""
        self._write(text)

    async def pardon(self) -> bool:
        """See :meth:`croupier_server.seats.Seat.pardon`; after a fault nothing is read any more."""
        return self._kept is None

    def dismiss(self, fault: Fault | None) -> None:
        """See :meth:`croupier_server.seats.Seat.dismiss`; :meth:`end` waits for it."""
        if fault is not None:
            self._fault(out_of_it(fault))
        if self._closing is None and self._child is not None:
            ending = self._child.end(self._patience)
            self._closing = self._loop.create_task(ending, name=f"end {self.name}")

    # -- for whoever started it

    async def end(self) -> None:
        """End the program, and wait until nothing of it runs any more.

        If this is cancelled, the program is killed at once.
        """
        self.dismiss(None)
        if self._closing is None or self._child is None:
            return
        try:
            await self._closing
        except asyncio.CancelledError:
            await self._child.end(_AT_ONCE)  # the task may not even have begun
            raise

    def when_gone(self, callback: Callable[[], object]) -> None:
        """Have a function called when the program has ended, or has hung up."""
        self._on_gone = callback
        if self._child is not None and self._child.is_leaving:
            callback()

    # -- for the program

    def received(self, data: bytes) -> None:
        """See :meth:`croupier_server.gateway.child.Listener.received`."""
        arrived = self._loop.time()
        for line in self._splitter.feed(data):
            self._take(line, arrived)
        most = self._limits.max_surplus
        if self._session.dropped + self._splitter.blank > most:
            detail = f"more than {most} lines on its standard output that answer nothing"
            self._fault(NoAnswer(Verdict.FLOOD, detail))

    def gone(self, detail: str) -> None:
        """See :meth:`croupier_server.gateway.child.Listener.gone`."""
        for line in self._splitter.end():
            if _is_json(line):
                self._take(line, self._loop.time())
            else:
                detail += "; the last line on its standard output was cut off"
        self.is_here = False
        log.info("program has left", player=self.name, detail=detail)
        self._fault(NoAnswer(Verdict.DISCONNECTED, detail))
        self._on_gone()

    # -- within

    async def _greet(self) -> None:
        started = self._loop.time()
        program = self.program
        try:
            self.name = checked_name(program.name)
        except Refused as refused:
            raise UserError(f"player {program.name!r:.60}: {refused}") from None
        self._child = await Child.launch(
            program.command,
            self,
            cwd=program.cwd,
            env=environment(program.env),
            log_path=program.log,
        )
        hello = Hello(params=HelloParams(protocol=PROTOCOL, name=self.name))
        answer = await self._ask(hello.id, hello.text(), self._clocks.join_ms, started)
        if isinstance(answer, NoAnswer):
            raise self._failed(answer)
        try:
            self._joined(options_from_hello(answer.result, self.name))
        except NotAMessage as problem:
            shown = f"{answer.result!r:.400}"
            raise self._failed(NoAnswer(Verdict.MALFORMED, str(problem), shown)) from None

    def _joined(self, params: JoinParams) -> None:
        self.joins = params
        self.age = params.age if self.program.age is None else self.program.age
        self.wants_events = params.events
        self.wants_legal_actions = params.legal_actions
        self.max_games = params.max_games

    def _failed(self, answer: NoAnswer) -> ProgramFailed:
        verdict, detail = answer.verdict, answer.detail
        if verdict is Verdict.TIMEOUT:
            verdict = Verdict.NO_START
            detail = f"hello: {detail}; a program must flush what it writes, line by line"
        return ProgramFailed(self.name, Fault(verdict, Phase.JOIN, detail, answer.sent))

    async def _ask(
        self, request_id: str, text: str, budget_ms: int | None, started: float
    ) -> Answer | NoAnswer:
        if self._kept is not None:
            return self._kept
        limit_s = math.inf
        if budget_ms is not None:
            limit_s = (budget_ms + self._clocks.latency_allowance_ms) / 1000
        request = _Open(budget_ms, TurnClock(started, limit_s), self._loop.create_future())
        self._open[request_id] = request
        self._session.asked(request_id)
        self._set_deadline(request, self._loop.time())
        try:
            self._write(text)
            return await request.answer
        finally:
            request.set_timer(None)
            del self._open[request_id]
            self._session.given_up(request_id)

    def _write(self, text: str) -> None:
        """Send a message, unless too much lies unread already; never waits."""
        assert self._child is not None
        unread = self._child.unread
        if unread > self._limits.max_unread:
            detail = f"it does not read its standard input: {unread} bytes are waiting there"
            self._fault(NoAnswer(Verdict.DISCONNECTED, detail))
            return
        self._child.write(line_bytes(text))

    def _take(self, line: Line | BadLine, arrived: float) -> None:
        """Take a line that came; after a fault nothing counts any more."""
        if self._kept is not None:
            return
        if isinstance(line, BadLine):
            verdict = Verdict.OVERSIZE if line.flaw is Flaw.TOO_LONG else Verdict.MALFORMED
            self._fault(NoAnswer(verdict, line.detail + _hint(line.shown), line.shown))
            return
        received = self._session.receive(line.text)
        if isinstance(received, Answered):
            self._answered(self._open[received.id], received, arrived)
        elif isinstance(received, Misbehaved):
            detail = received.detail + _hint(line.text)
            self._fault(NoAnswer(received.verdict, detail, received.raw))
        else:
            self.tally.dropped += 1
            log.info("reply dropped", player=self.name, id=getattr(received, "id", None))

    def _answered(self, request: _Open, received: Answered, arrived: float) -> None:
        error = received.reply.error
        if request.clock.is_late(arrived, self._meter):
            late = self._timed(request, arrived, Verdict.TIMEOUT, self._too_late(request))
            self._settle(request, replace(late, sent=received.raw[:400]))
        elif error is not None:
            detail = f"error {error.code}: {error.message}"[:400]
            wrong = self._timed(request, arrived, Verdict.ERROR_REPLY, detail)
            self._settle(request, replace(wrong, sent=received.raw[:400]))
        else:
            timing = request.clock.timing(arrived, self._meter, None)
            self._settle(request, Answer(received.reply.result, timing.think_ms, timing.stall_ms))

    def _timed(self, request: _Open, now: float, verdict: Verdict, detail: str) -> NoAnswer:
        timing = request.clock.timing(now, self._meter, None)
        return NoAnswer(verdict, detail, None, timing.think_ms, timing.stall_ms)

    def _fault(self, fault: NoAnswer) -> None:
        """A fault that belongs to no request ends every open one, or is kept for the next."""
        if self._kept is None:
            self._kept = fault
            if self._child is not None:
                self._child.ignore()
        for request in list(self._open.values()):
            self._settle(request, self._kept)

    @staticmethod
    def _settle(request: _Open, answer: Answer | NoAnswer) -> None:
        if not request.answer.done():
            request.answer.set_result(answer)

    # -- when the time is over

    def _set_deadline(self, request: _Open, now: float) -> None:
        left = request.clock.left(now, self._meter)
        if left < math.inf:
            request.set_timer(self._loop.call_later(max(left, 0.0), self._expired, request))

    def _expired(self, request: _Open) -> None:
        """The timer fired. That decides nothing: our loop may have been stalled till just now.

        Then the request stays open for as long. Otherwise an answer may still lie in the pipe,
        unread: the loop gets a last look.
        """
        now = self._loop.time()
        if request.clock.left(now, self._meter) > 0:
            self._set_deadline(request, now)
        else:
            request.set_timer(self._loop.call_later(_LAST_LOOK_S, self._give_up, request))

    def _give_up(self, request: _Open) -> None:
        now = self._loop.time()
        if request.clock.left(now, self._meter) > 0:
            self._set_deadline(request, now)
        elif self._child is not None and self._child.is_leaving:
            why = self._child.why_gone()
            self._settle(request, self._timed(request, now, Verdict.DISCONNECTED, why))
        else:
            detail = self._too_late(request)
            if self._splitter.has_begun:
                detail += "; a line was begun, and not ended by a newline"
            self._settle(request, self._timed(request, now, Verdict.TIMEOUT, detail))

    def _too_late(self, request: _Open) -> str:
        allowance = self._clocks.latency_allowance_ms
        return f"no answer within {request.budget_ms} ms (and {allowance} ms for the way)"


def _hint(line: str) -> str:
    return f"; {PRINT_HINT}" if looks_printed(line) else ""


def _is_json(line: Line | BadLine) -> bool:
    if isinstance(line, BadLine):
        return False
    try:
        load_json(line.text)
    except NotAMessage:
        return False
    return True
