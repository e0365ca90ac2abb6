"""What an operator can see of a process, in any role, from its start to its end."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from croupier_server.ending import to_its_end
from croupier_server.operations.health import Health, WriteProbe
from croupier_server.operations.tally import Gauges, Tally
from croupier_server.operations.traces import traced
from croupier_server.settings import OperationsSettings

if TYPE_CHECKING:
    from croupier_server.storage.database import Database

__all__ = ["Watch"]


class Watch:
    """Counts and checks, and the port that shows them if there is to be one.

    Args:
        listening: told where the port is.

    Attributes:
        tally: what has happened.
        health: how the process is.
        look: gives what stands at a number now; set by who knows.
    """

    def __init__(
        self, settings: OperationsSettings, listening: Callable[[str], None] = lambda _: None
    ) -> None:
        self.tally = Tally()
        self.health = Health()
        self.look: Callable[[], Gauges] = Gauges
        self._settings = settings
        self._listening = listening

    @asynccontextmanager
    async def shown(self) -> AsyncGenerator[None]:
        """Trace games, and have the port open, for as long as this is entered.

        That is before the rest, and after it.

        Raises:
            UserError: the address can't be listened on, or the extra for traces is missing.
        """
        async with traced(self._settings) as self.tally.traces, self._port_open():
            yield

    @asynccontextmanager
    async def _port_open(self) -> AsyncGenerator[None]:
        if self._settings.port is None:
            yield
            return
        from croupier_server.operations.metrics import Metrics  # heavy
        from croupier_server.operations.port import OperationsPort

        metrics = Metrics(self.tally, self._looked)
        port = OperationsPort(self._settings, metrics, self.health)
        try:
            await port.start()
            self._listening(port.url)
            yield
        finally:
            await to_its_end(port.stop())

    @asynccontextmanager
    async def over(self, database: Database, where: Path | str | None) -> AsyncGenerator[None]:
        """Watch over a database for as long as this is entered; afterwards, the process stops."""
        probe = WriteProbe(database, where)
        self.health.alive["writer"] = probe.is_alive
        self.health.ready["database"] = probe.is_written
        try:
            yield
        finally:
            self.health.phase = "stopping"
            await to_its_end(probe.close())

    def _looked(self) -> Gauges:
        return self.look()
