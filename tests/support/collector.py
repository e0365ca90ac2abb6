"""A collector of spans that speaks OTLP over HTTP, and as badly as a test tells it to."""

from __future__ import annotations

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

__all__ = ["Collector", "collecting", "hanging"]


class Collector(ThreadingHTTPServer):
    """Keeps what it is sent; answers with the `status` that it has."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status = 200
        self.paths: list[str] = []
        self.resources: list[dict[str, str]] = []
        self.spans: list[Span] = []

    @property
    def url(self) -> str:
        """Its address, without a path."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def take(self, path: str, body: bytes) -> None:
        """Keep what a request brings."""
        self.paths.append(path)
        for part in ExportTraceServiceRequest.FromString(body).resource_spans:
            attributes = part.resource.attributes
            self.resources.append({one.key: one.value.string_value for one in attributes})
            for scope in part.scope_spans:
                self.spans += scope.spans


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        """Take a batch."""
        collector = self.server
        assert isinstance(collector, Collector)
        body = self.rfile.read(int(self.headers["content-length"]))
        if collector.status == 200:
            collector.take(self.path, body)
        self.send_response(collector.status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class' name
        """Say nothing."""


@contextmanager
def collecting() -> Generator[Collector]:
    """A collector, for as long as this is entered."""
    collector = Collector()
    thread = threading.Thread(target=collector.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield collector
    finally:
        collector.shutdown()
        thread.join()
        collector.server_close()


@contextmanager
def hanging() -> Generator[str]:
    """The address of one that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
