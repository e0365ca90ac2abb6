"""How spans leave the process, by OTLP over HTTP; this needs the extra ``[traces]``.

A thread of OpenTelemetry's sends them in batches. A turn only puts its spans into a queue, and what
finds no room there is dropped: a collector that is down, or slow, holds up nobody.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

import structlog
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from croupier_server.operations.spans import Traces

__all__ = ["Bounded", "Exporter", "address_of", "traces_to"]

log = structlog.get_logger(__name__)

PATH: Final = "/v1/traces"
"""Where OTLP has collectors take spans, if an address says nothing else."""

QUEUE: Final = 8_192
"""How many spans may wait: those of the turns of about half a second, when a server is busiest."""

BATCH: Final = 512
DELAY_MS: Final = 1_000


def traces_to(endpoint: str, share: float) -> Traces:
    """Traces that are exported to a collector.

    Its headers, certificates and time limits are those of the usual ``OTEL_EXPORTER_OTLP_...``.

    Args:
        endpoint: its address; without a path, `PATH` is added.
        share: of how many games.
    """
    exporter = Exporter(address_of(endpoint))
    return Traces(Bounded(exporter), share, exporter.shutdown)


def address_of(endpoint: str) -> str:
    """The very address that spans are sent to."""
    return endpoint if urlsplit(endpoint).path.strip("/") else endpoint.rstrip("/") + PATH


class Bounded(SpanProcessor):
    """Hands spans to the library's thread while there is room; others are dropped.

    The library would look for room too, but would log each span that it drops, which takes longer
    than all else that is done for it.
    """

    def __init__(self, exporter: Exporter) -> None:
        self._exporter = exporter
        self._batches: SpanProcessor = BatchSpanProcessor(
            exporter,
            max_queue_size=QUEUE + BATCH,  # it never gets there
            schedule_delay_millis=DELAY_MS,
            max_export_batch_size=BATCH,
        )
        self._queued = 0
        self._has_dropped = False

    def on_end(self, span: ReadableSpan) -> None:
        """Take a span, in the loop."""
        if self._queued - self._exporter.done < QUEUE:
            self._queued += 1
            self._batches.on_end(span)
        elif not self._has_dropped:
            self._has_dropped = True
            log.warning("spans are dropped: the collector takes fewer than the games make")

    def shutdown(self) -> None:
        """Send what waits; this may take as long as the library likes."""
        self._batches.shutdown()


class Exporter(SpanExporter):
    """Sends spans; says once that a collector takes none, and once that it does again.

    Attributes:
        done: how many spans are sent, or given up.
    """

    def __init__(self, address: str) -> None:
        self.done = 0
        self._heard = _Heard(address)
        library = logging.getLogger("opentelemetry")
        library.addHandler(self._heard)
        library.propagate = False
        self._exporter: SpanExporter = OTLPSpanExporter(endpoint=address)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send a batch, again and again for some seconds if need be; in the library's thread."""
        if self._heard.is_over:
            return SpanExportResult.FAILURE
        self._heard.thread = threading.get_ident()
        try:
            result = self._exporter.export(spans)
        except OSError as problem:  # older versions raise what the network does
            self._heard.refused(str(problem))
            result = SpanExportResult.FAILURE
        self.done += len(spans)
        if result is SpanExportResult.SUCCESS:
            self._heard.taken()
        return result

    def shutdown(self) -> None:
        """Send no more, not even what is being tried again; may be called twice."""
        if not self._heard.is_over:
            self._heard.is_over = True
            self._exporter.shutdown()


class _Heard(logging.Handler):
    """What the library says, as lines of our own: the same at most once.

    It stays for good: what is still being sent when all is over has words of its own, which nobody
    needs to read.

    Attributes:
        thread: the one that exports, and whose words about that are about this collector.
        is_over: whether nothing is said any more.
    """

    def __init__(self, address: str) -> None:
        super().__init__(logging.WARNING)
        self.thread = 0
        self.is_over = False
        self._address = address
        self._is_down = False
        self._said: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        if self.is_over:
            return
        if record.name.startswith("opentelemetry.exporter"):
            if record.thread == self.thread:
                self.refused(record.getMessage())
        elif record.msg not in self._said:
            self._said.add(record.msg)
            log.warning("traces", reason=record.getMessage(), exc_info=record.exc_info)

    def refused(self, reason: str) -> None:
        """The collector has not taken a batch, at least not yet."""
        if not self._is_down and not self.is_over:
            self._is_down = True
            log.warning(
                "traces can't be exported; games go on, spans are lost",
                collector=self._address,
                reason=reason,
            )

    def taken(self) -> None:
        """The collector has taken a batch."""
        if self._is_down:
            self._is_down = False
            log.warning("traces are exported again", collector=self._address)
