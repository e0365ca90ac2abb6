"""A span until it ends; this needs the extra ``[traces]``.

It is what OpenTelemetry's SDK exports, but not made by its tracer, which takes 15 to 30 us for a
span where this takes 2 to 5; a turn has three, and takes 130 us by itself. What a tracer has beyond
this, nobody needs here: samplers, limits, links, locks, other threads.
"""

from __future__ import annotations

import random
import time
import traceback
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, SpanProcessor
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags, TraceState

__all__ = ["Attributes", "OpenSpan", "Source"]

Attributes = dict[str, str | int | bool]

_FLAGS: Final = TraceFlags(TraceFlags.SAMPLED)
_NO_STATE: Final = TraceState()
_UNSET: Final = Status()

_draw: Final = random.Random().getrandbits
"""For ids: seeded by the system, whatever becomes of the module's own generator."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where spans come from, and where they go."""

    resource: Resource
    scope: InstrumentationScope
    processor: SpanProcessor


class OpenSpan:
    """A span for as long as this is entered; it is in error if that ends with an exception.

    Args:
        parent: what it is part of; None if it begins a trace.

    Attributes:
        attributes: can be added to until it ends.
        clock_ns: what the monotonic clock is behind the time of day; looked up once for all that is
            part of it in this process, so that a clock that is set makes no span longer.
    """

    __slots__ = (
        "_events",
        "_kind",
        "_name",
        "_parent",
        "_source",
        "_start_ns",
        "_status",
        "attributes",
        "clock_ns",
        "context",
    )

    context: SpanContext
    clock_ns: int

    def __init__(
        self,
        source: Source,
        name: str,
        parent: OpenSpan | SpanContext | None,
        attributes: Attributes,
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> None:
        self._source = source
        self._name = name
        self._kind = kind
        self._status = _UNSET
        self._events: tuple[Event, ...] = ()
        self.attributes = attributes
        if isinstance(parent, OpenSpan):
            self._parent: SpanContext | None = parent.context
            self.clock_ns = parent.clock_ns
        else:
            self._parent = parent
            self.clock_ns = time.time_ns() - time.monotonic_ns()
        trace_id = _draw(128) if self._parent is None else self._parent.trace_id
        self.context = SpanContext(trace_id, _span_id(), False, _FLAGS, _NO_STATE)
        self._start_ns = self.clock_ns + time.monotonic_ns()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        exc_traceback: TracebackType | None,
    ) -> None:
        end_ns = self.clock_ns + time.monotonic_ns()
        if exc_value is not None:
            self._failed(exc_value, end_ns)
        source = self._source
        source.processor.on_end(
            ReadableSpan(
                self._name,
                self.context,
                self._parent,
                source.resource,
                self.attributes,
                self._events,
                kind=self._kind,
                status=self._status,
                start_time=self._start_ns,
                end_time=end_ns,
                instrumentation_scope=source.scope,
            )
        )

    def _failed(self, problem: BaseException, now_ns: int) -> None:
        name = type(problem).__name__
        self._status = Status(StatusCode.ERROR, name)
        if not isinstance(problem, Exception):
            return  # a stop of the server, which has no traceback worth showing
        details = {
            "exception.type": name,
            "exception.message": _sendable(str(problem)),
            "exception.stacktrace": _sendable("".join(traceback.format_exception(problem))),
        }
        self._events = (Event("exception", details, now_ns),)


def _span_id() -> int:
    """Any but 0, which stands for none."""
    return _draw(64) or 1


def _sendable(text: str) -> str:
    """A text as UTF-8 can have it."""
    return text.encode("utf-8", "replace").decode()
