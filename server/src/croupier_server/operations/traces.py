"""Traces of games, as far as every process knows of them: whether there are any, and across hops.

What makes and exports them, :mod:`~croupier_server.operations.spans` and
:mod:`~croupier_server.operations.span_export`, needs the extra ``[traces]`` and is imported only
where `operations.traces` is set.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from croupier_server.ending import to_its_end
from croupier_server.errors import UserError

if TYPE_CHECKING:
    from opentelemetry.trace import SpanContext

    from croupier_server.operations.spans import Traces
    from croupier_server.settings import OperationsSettings

__all__ = ["continued", "current_traceparent", "entered", "traced"]

_CURRENT: Final[ContextVar[SpanContext | None]] = ContextVar("croupier_span", default=None)
"""The span that what runs now belongs to; a task has that of the task that made it."""

_PACKAGES: Final = ("opentelemetry", "google", "requests")
"""What the extra brings."""


def current_traceparent() -> str | None:
    """The span that this runs in, as W3C Trace Context writes it; None if nothing is traced.

    In a seat's ``ask`` it is the croupier's ``ask``; while a game starts or ends, it is the game.
    """
    span = _CURRENT.get()
    if span is None:
        return None
    return f"00-{span.trace_id:032x}-{span.span_id:016x}-{span.trace_flags:02x}"


@contextmanager
def continued(traces: Traces | None, traceparent: object, seat: str) -> Generator[None]:
    """Be, for as long as this is entered, the far side of a call that is traced elsewhere.

    Without a parent nothing is traced: the caller has decided that for the whole game.

    Args:
        traces: this process' own; None if it makes none.
        traceparent: what came with the call, be it anything.
        seat: by what the player came.
    """
    if traces is None or not isinstance(traceparent, str):
        yield
        return
    with traces.continued(traceparent, seat):
        yield


@contextmanager
def entered(span: SpanContext) -> Generator[None]:
    """Have what runs meanwhile, and the tasks that it makes, belong to a span."""
    token = _CURRENT.set(span)
    try:
        yield
    finally:
        _CURRENT.reset(token)


@asynccontextmanager
async def traced(settings: OperationsSettings) -> AsyncGenerator[Traces | None]:
    """The traces that the settings ask for, if they do; what waits to be exported goes at the end.

    Raises:
        UserError: the extra is not installed.
    """
    if settings.traces is None:
        yield None
        return
    try:
        from croupier_server.operations.span_export import traces_to  # heavy, and an extra
    except ModuleNotFoundError as missing:
        if not (missing.name or "").startswith(_PACKAGES):
            raise
        raise UserError(
            "operations.traces: traces need the extra [traces]: "
            "pip install 'croupier-server[traces]', or leave the setting out"
        ) from None
    traces = traces_to(settings.traces, settings.traces_share)
    try:
        yield traces
    finally:
        await to_its_end(traces.close())
