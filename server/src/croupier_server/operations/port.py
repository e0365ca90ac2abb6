"""The operator's own port: metrics and health over plain HTTP, apart from players and pages.

It is there before all else and goes last, so that a start and a stop can be watched.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Generator
from typing import Final

import structlog
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from croupier_server.errors import UserError
from croupier_server.operations.health import Health, Report
from croupier_server.operations.metrics import Metrics
from croupier_server.settings import OperationsSettings

__all__ = ["OperationsPort", "operations_app"]

log = structlog.get_logger(__name__)

GRACE_S: Final = 1
"""How long answers that are on their way may take once it stops."""

MAX_CONNECTIONS: Final = 64


class _Uvicorn(uvicorn.Server):
    """Leaves the signals to the application, which knows what to do with them."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


class OperationsPort:
    """Answers whoever watches over the process; :meth:`start`, then :meth:`stop`."""

    def __init__(self, settings: OperationsSettings, metrics: Metrics, health: Health) -> None:
        self.host = settings.host
        self.port = settings.port or 0
        self._app = operations_app(metrics, health)
        self._server: _Uvicorn | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """Where it is, once it has started."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}/"

    async def start(self) -> None:
        """Listen.

        Raises:
            UserError: the address can't be listened on.
        """
        listener = _listener(self.host, self.port)
        self.port = listener.getsockname()[1]
        self._server = _Uvicorn(
            uvicorn.Config(
                self._app,
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="critical",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                limit_concurrency=MAX_CONNECTIONS,
                timeout_graceful_shutdown=GRACE_S,
            )
        )
        self._task = asyncio.create_task(self._serve(self._server, listener), name="operations")

    async def stop(self) -> None:
        """Close what is open; may be called twice, or before the start."""
        if self._server is not None:
            self._server.should_exit = True
        if self._task is not None:
            await asyncio.wait({self._task})
            self._task = None

    async def _serve(self, server: _Uvicorn, listener: socket.socket) -> None:
        """Serve to the end; if that fails, the games go on unwatched."""
        try:
            await server.serve(sockets=[listener])
        except Exception:  # no game stops for it
            log.exception("the operations port stopped for a fault of ours")
        finally:
            listener.close()


def operations_app(metrics: Metrics, health: Health) -> Starlette:
    """What is answered there: ``/metrics``, ``/healthz`` and ``/readyz``."""

    async def measured(request: Request) -> Response:
        text, kind = await metrics.text(request.headers.get("accept", ""))
        return Response(text, headers={"content-type": kind})

    async def healthz(_request: Request) -> Response:
        return _answer(await health.is_alive())

    async def readyz(_request: Request) -> Response:
        return _answer(await health.is_ready())

    return Starlette(
        routes=[
            Route("/metrics", measured),
            Route("/healthz", healthz),
            Route("/readyz", readyz),
        ]
    )


def _answer(report: Report) -> Response:
    headers = {"cache-control": "no-store"}
    return JSONResponse(report.to_json(), 200 if report.is_good else 503, headers)


def _listener(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Raises:
        UserError: that can't be.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, reuse_port=False)
    except OSError as problem:
        raise UserError(
            f"operations.port: can't listen on {host} port {port}: "
            f"{(problem.strerror or str(problem)).lower()}"
        ) from None
    listener.setblocking(False)
    return listener
