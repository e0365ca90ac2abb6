"""The spans of a game; this needs the extra ``[traces]``.

::

    game                 from its start until its end is told
    ├── write            what happened is put into the journal, before and between turns
    └── turn             from the request until all is judged, written and told
        ├── ask          until the seat gives an answer, or why there is none
        │   └── gateway ask    the same where the player is connected, if that is elsewhere
        └── write

Names of spans are these and no others; whose they are is in their attributes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeVar

from opentelemetry.context import Context
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import SpanProcessor
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanKind, get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from structlog.contextvars import get_contextvars

from croupier_common.game import Request
from croupier_common.messages import LastAnswer
from croupier_common.verdict import Fault
from croupier_server import __version__
from croupier_server.operations.blocking import done_within
from croupier_server.operations.open_span import Attributes, OpenSpan, Source
from croupier_server.operations.traces import entered

if TYPE_CHECKING:
    from croupier_common.record import Record

__all__ = ["CLOSE_S", "GameTrace", "Traces", "is_chosen"]

T = TypeVar("T")

CLOSE_S: Final = 2.0
"""How long the last spans may take to be exported, once all is over."""

_NO_CONTEXT: Final = Context()
_PROPAGATOR: Final = TraceContextTextMapPropagator()


class Traces:
    """Makes the spans of a process.

    Args:
        processor: takes each span that has ended.
        share: of how many games, from 0 to 1; the others are not traced at all.
        give_up: ends what the processor still tries when the time for that is over.
    """

    def __init__(
        self,
        processor: SpanProcessor,
        share: float = 1.0,
        give_up: Callable[[], None] = lambda: None,
    ) -> None:
        scope = InstrumentationScope("croupier", __version__)
        self._source = Source(_resource(), scope, processor)
        self._share = share
        self._give_up = give_up

    @contextmanager
    def game(
        self, game: str, players: int, begun: Record | None = None
    ) -> Generator[GameTrace | None]:
        """Trace a game for as long as this is entered; None if it is not one of those chosen.

        The tournament is the one that log lines are bound to.

        Args:
            begun: how far it was played before.
        """
        tournament = str(get_contextvars().get("tournament", ""))
        if not is_chosen(tournament, game, self._share):
            yield None
            return
        plies = 0 if begun is None else _plies(begun)
        attributes: Attributes = {
            "croupier.game": game,
            "croupier.tournament": tournament,
            "croupier.players": players,
            "croupier.resumed": begun is not None,
        }
        with OpenSpan(self._source, "game", None, attributes) as span, entered(span.context):
            trace = GameTrace(self._source, span, plies)
            try:
                yield trace
            finally:
                attributes["croupier.plies"] = trace.plies

    @contextmanager
    def continued(self, traceparent: str, seat: str) -> Generator[None]:
        """See :func:`croupier_server.operations.traces.continued`."""
        found = _PROPAGATOR.extract({"traceparent": traceparent}, _NO_CONTEXT)
        parent = get_current_span(found).get_span_context()
        if not parent.is_valid or not parent.trace_flags.sampled:
            yield
            return
        attributes: Attributes = {"croupier.seat": seat}
        with (
            OpenSpan(self._source, "gateway ask", parent, attributes, SpanKind.SERVER) as span,
            entered(span.context),
        ):
            yield

    async def close(self) -> None:
        """Export what waits; what can't be within `CLOSE_S` is lost."""
        if not await done_within(CLOSE_S, "traces", self._source.processor.shutdown):
            self._give_up()


class GameTrace:
    """The spans within one game.

    Attributes:
        plies: how many placements and moves were made, those before a restart too.
    """

    def __init__(self, source: Source, game: OpenSpan, plies: int) -> None:
        self.plies = plies
        self._source = source
        self._game = game
        self._inner = game  # what an `ask` or a `write` is part of: the turn, if there is one

    @contextmanager
    def turn(self, request: Request, player: str) -> Generator[None]:
        """Trace a turn for as long as this is entered; see :meth:`judged`."""
        attributes: Attributes = {
            "croupier.game": request.game,
            "croupier.seq": request.seq,
            "croupier.method": request.method,
            "croupier.player": player,
        }
        with OpenSpan(self._source, "turn", self._game, attributes) as span:
            self._inner = span
            try:
                yield
            finally:
                self._inner = self._game

    def judged(self, last: LastAnswer, fault: Fault | None) -> None:
        """What came of the turn that is traced.

        Args:
            last: what was measured of the answer.
            fault: why its player was ejected, if it was.
        """
        self.plies += fault is None
        attributes = self._inner.attributes
        attributes["croupier.verdict"] = "ok" if fault is None else fault.verdict.value
        attributes["croupier.think_ms"] = last["think_ms"]
        attributes["croupier.stall_ms"] = last.get("stall_ms", 0)
        attributes["croupier.plies"] = self.plies
        if "rtt_ms" in last:
            attributes["croupier.rtt_ms"] = last["rtt_ms"]

    async def asked(self, seat: str, asking: Awaitable[T]) -> T:
        """What a seat answers, traced.

        Args:
            seat: by what the player came.
        """
        attributes: Attributes = {"croupier.seat": seat}
        with (
            OpenSpan(self._source, "ask", self._inner, attributes, SpanKind.CLIENT) as span,
            entered(span.context),
        ):
            return await asking

    async def written(self, writing: Awaitable[None]) -> None:
        """Have something written, traced."""
        with OpenSpan(self._source, "write", self._inner, {}):
            await writing


def is_chosen(tournament: str, game: str, share: float) -> bool:
    """Whether a game is one of those that are traced.

    The same in every process, so that a game that is taken up by another is traced on, or is not.
    """
    digest = hashlib.sha256(f"{tournament}\n{game}".encode()).digest()
    return int.from_bytes(digest[:8], "big") < share * 2**64


def _resource() -> Resource:
    """What the process says of itself; ``OTEL_SERVICE_NAME`` and ``..._ATTRIBUTES`` win."""
    ours = {"service.name": "croupier", "service.version": __version__}
    return Resource.create({**ours, **OTELResourceDetector().detect().attributes})


def _plies(begun: Record) -> int:
    return sum(line.event["kind"] in {"place", "move"} for line in begun.lines[1:])
