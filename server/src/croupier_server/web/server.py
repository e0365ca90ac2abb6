"""The pages' own port: uvicorn in the loop that is there, started and stopped with the rest."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any, Final

import structlog
import uvicorn

from croupier_server.errors import UserError
from croupier_server.web.desk import Desk
from croupier_server.web.reader import Reader
from croupier_server.web.site import Doors, build_site
from croupier_server.web.streams import StreamProtocol

if TYPE_CHECKING:
    from croupier_server.settings import Settings
    from croupier_server.spectators import Spectators
    from croupier_server.storage.database import Database

__all__ = ["WebServer"]

log = structlog.get_logger(__name__)

GRACE_S: Final = 1
"""How long answers that are on their way may take once it stops."""

KEEP_S: Final = 15
HEAD_BYTES: Final = 16 * 1024
BACKLOG: Final = 2_048


class _Uvicorn(uvicorn.Server):
    """Leaves the signals to the application, which knows what to do with them."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


class WebServer:
    """Shows the pages; :meth:`start`, then :meth:`stop`.

    Args:
        database: the one that is played on; looked at beside it, unless it is in memory.
        doors: where players connect, if they can.
        services: see :func:`~croupier_server.web.site.build_site`.
    """

    def __init__(
        self,
        settings: Settings,
        database: Database | None = None,
        *,
        doors: Doors | None = None,
        services: Mapping[str, Any] | None = None,
    ) -> None:
        self._settings = settings
        self._database = database
        self._doors = doors
        self._services = services
        self._stopping = asyncio.Event()
        self._reader: Reader | None = None
        self._spectators: Spectators | None = None
        self._server: _Uvicorn | None = None
        self._task: asyncio.Task[None] | None = None
        self.host = settings.web.host or settings.server.host
        self.port = settings.web.port or 0

    @property
    def url(self) -> str:
        """Where the pages are, once it has started."""
        scheme = "http" if self._settings.server.tls_certificate is None else "https"
        return f"{scheme}://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}/"

    @property
    def viewers(self) -> int:
        """How many watch games live."""
        return 0 if self._spectators is None else self._spectators.viewers

    async def start(self) -> None:
        """Open the database and listen.

        Raises:
            UserError: there is no database, or the address can't be listened on.
        """
        where = self._settings.storage.where
        desk: Desk | None = None
        if where is None:
            self._reader = Reader(None, self._database)
        else:
            desk = Desk(where)
            self._reader = await Reader.open(where, desk)
        listener = _listener(self.host, self.port)
        self.port = listener.getsockname()[1]
        app = build_site(
            self._reader,
            self._settings,
            doors=self._doors,
            services=self._services,
            stopping=self._stopping,
        )
        self._spectators = app.state.site.services.get("spectators")
        if desk is not None:
            desk.warm()
        self._server = _Uvicorn(self._config(app))
        self._task = asyncio.create_task(self._serve(self._server, listener), name="pages")

    async def stop(self) -> None:
        """Close what is open; may be called twice, or before the start."""
        self._stopping.set()
        if self._server is not None:
            self._server.should_exit = True
        if self._task is not None:
            await asyncio.wait({self._task})
            self._task = None
        if self._spectators is not None:  # whom no answer has waited for
            await self._spectators.close()
        if self._reader is not None:
            await self._reader.close()
            self._reader = None

    async def _serve(self, server: _Uvicorn, listener: socket.socket) -> None:
        """Serve to the end; if that fails, the games go on without pages."""
        try:
            await server.serve(sockets=[listener])
        except Exception:
            log.exception("the pages stopped for a fault of ours")
        finally:
            listener.close()

    def _config(self, app: Any) -> uvicorn.Config:
        tls = self._settings.server
        return uvicorn.Config(
            app,
            http=StreamProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",  # what breaks is logged by the guard, with its path
            access_log=False,
            server_header=False,
            proxy_headers=False,
            backlog=BACKLOG,
            limit_concurrency=self._settings.web.max_connections,
            timeout_keep_alive=KEEP_S,
            timeout_graceful_shutdown=GRACE_S,
            h11_max_incomplete_event_size=HEAD_BYTES,
            ssl_certfile=tls.tls_certificate,
            ssl_keyfile=tls.tls_key,
        )


def _listener(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Raises:
        UserError: that can't be.
    """
    try:
        found = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        family, *_, address = found[0]
        listener = socket.create_server(
            (str(address[0]), port), family=family, backlog=BACKLOG, reuse_port=False
        )
    except OSError as problem:
        raise UserError(
            f"can't show the pages on {host} port {port}: "
            f"{(problem.strerror or str(problem)).lower()}"
        ) from None
    listener.setblocking(False)
    return listener
