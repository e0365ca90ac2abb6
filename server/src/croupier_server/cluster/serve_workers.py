"""``croupier serve --workers``: a whole cluster on one machine, as children of this process."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import click

from croupier_server.app import Stopped, run
from croupier_server.cluster.children import Allowance, Part, Supervisor
from croupier_server.cluster.extra import find_nats_server, require_nats
from croupier_server.cluster.nats_server import NatsFailed, NatsServer
from croupier_server.cluster.scope import check_scope
from croupier_server.settings import Settings

__all__ = ["Wish", "marked", "serve_with_workers", "variables"]

_LISTENS: Final = "listening on "
_SHOWS: Final = "pages on "
_WATCHED: Final = "metrics and health on "
_STOPPED: Final = "stopped by "
_ACTIVE: Final = "active"
_STANDING_BY: Final = "standing by"

_CHILD: Final = (sys.executable, "-P", "-m", "croupier_server.cluster.lifeline")
"""What runs a command of ours; no module of the folder that we are in gets in its way."""

_MANAGER_ENDS_S: Final = 4.0
_GATEWAY_ENDS_S: Final = 5.8  # it waits for others to take its players over; in vain, here
"""Together less than 10 s, within which all are gone."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What the command line asks for.

    Attributes:
        workers: how many processes play games.
        given: the settings that its options give, by section and name.
        config: the file with settings.
        resume: whether unfinished tournaments go on.
        verbose: whether everything is logged.
    """

    workers: int
    given: Mapping[str, Mapping[str, object]] = field(repr=False)
    config: Path | None
    resume: bool
    verbose: bool


def serve_with_workers(settings: Settings, wish: Wish) -> int:
    """Serve a tournament in several processes until it is over; gives the exit code.

    Raises:
        UserError: a cluster can't do what is asked, or one of the processes says so.
        CroupierError: one can't be kept alive.
    """
    check_scope(settings)
    require_nats()
    cluster = _Cluster(settings, wish)
    try:
        status = run(cluster.run(), cluster.drain)
    except Stopped as stopped:
        return _stopped(settings, stopped.signum)
    # who was drained has been told to end by SIGTERM, whatever became of it
    return 0 if status == 0 else _stopped(settings, signal.SIGTERM)


def _stopped(settings: Settings, signum: int) -> int:
    place = settings.storage.place
    click.echo(
        f"{_STOPPED}{Stopped(signum)}; the same command goes on from here, with what {place} has",
        err=True,
    )
    return 128 + signum


class _Cluster:
    """All the processes of one machine."""

    def __init__(self, settings: Settings, wish: Wish) -> None:
        self._settings = settings
        self._wish = wish
        self._port = settings.server.port
        self._lines: list[str] | None = []  # what is told once all are ready
        self._supervisor: Supervisor | None = None

    async def run(self) -> int:
        """Run them to the tournament's end; the manager's exit status."""
        async with AsyncExitStack() as stack:
            nats, url = await self._nats(stack)
            self._supervisor = supervisor = Supervisor(
                self._parts(),
                env=variables(self._settings, self._wish.given, url),
                ready=self._all_ready,
                log=self._log,
            )
            main = asyncio.ensure_future(supervisor.run())
            keeper = asyncio.ensure_future(nats.keep(self._log)) if nats else None
            return await _first(main, keeper)

    async def drain(self) -> None:
        """Have the manager end what it can, as long as the settings let it."""
        if self._supervisor is not None:
            await self._supervisor.drain()

    async def _nats(self, stack: AsyncExitStack) -> tuple[_KeptNats | None, str]:
        """The NATS of the settings, or one of our own."""
        if self._settings.cluster.is_named:
            return None, ",".join(self._settings.cluster.nats)
        find_nats_server()
        server = await stack.enter_async_context(NatsServer())
        return _KeptNats(server), server.url

    def _parts(self) -> Sequence[Part]:
        web = [] if self._settings.web.port is None else [self._web()]
        workers = [self._worker(number) for number in range(1, self._wish.workers + 1)]
        return [self._gateway(), *workers, self._manager(), *web]

    def _gateway(self) -> Part:
        return Part(
            name="gateway",
            command=lambda: self._command("gateway", "--port", str(self._port)),
            env=self._operations(1),
            heard=self._hear_gateway,
            is_ready=lambda line: line.startswith(_LISTENS),
            stays=self._stays,
            patience_s=_GATEWAY_ENDS_S,
        )

    def _worker(self, number: int) -> Part:
        name = f"worker {number}"
        return Part(
            name=name,
            command=lambda: self._command("worker"),
            env=self._operations(1 + number),
            heard=lambda line: self._tell_watched(name, line),
            is_ready=_is_word,
            follows=True,  # the manager makes the tables that it needs
        )

    def _manager(self) -> Part:
        resume = ["--resume"] if self._wish.resume else []
        return Part(
            name="manager",
            command=lambda: self._command("manager", *resume),
            env=self._operations(0),
            heard=self._hear_manager,
            is_ready=lambda line: line == _ACTIVE,
            leads=True,
            patience_s=_MANAGER_ENDS_S + self._settings.server.drain_ms / 1000,
        )

    def _web(self) -> Part:
        verbose = ["-v"] if self._wish.verbose else []
        return Part(
            name="web",
            command=lambda: [*_CHILD, "web", *verbose],
            env=self._operations(2 + self._wish.workers),
            heard=self._hear_web,
            is_ready=lambda line: line.startswith(_SHOWS),
            follows=True,
            stays=self._stays,
        )

    @property
    def _stays(self) -> bool:
        return self._settings.web.port is not None and self._settings.web.stays

    def _command(self, role: str, *more: str) -> Sequence[str]:
        """What starts a role; secrets are not in it."""
        config = [] if self._wish.config is None else ["--config", str(self._wish.config)]
        verbose = ["-v"] if self._wish.verbose else []
        return [*_CHILD, role, *config, *verbose, *more]

    def _operations(self, number: int) -> Mapping[str, str]:
        """Each has an operations port of its own: that of the settings is the manager's."""
        first = self._settings.operations.port
        return {} if not first else {"CROUPIER_OPERATIONS__PORT": str(first + number)}

    def _hear_gateway(self, line: str) -> None:
        if not line.startswith(_LISTENS):
            self._tell_watched("gateway", line)
            return
        port = line.rpartition(":")[2]
        if port.isdecimal():  # a new one has to listen where players look for it
            self._port = int(port)
        if self._lines is not None:  # else it was started again, and nobody has to know
            self._tell(line)

    def _hear_manager(self, line: str) -> None:
        if line == _STANDING_BY:
            self._log("manager", "another one has this database, and is waited for")
        elif line.startswith(_WATCHED):
            self._tell_watched("manager", line)
        elif line != _ACTIVE:
            self._tell(line)

    def _hear_web(self, line: str) -> None:
        if line.startswith(_SHOWS):
            self._tell(line)
        else:
            self._tell_watched("web", line)

    def _tell_watched(self, name: str, line: str) -> None:
        if line.startswith(_WATCHED):
            self._tell(f"{name}: {line}")

    def _tell(self, line: str) -> None:
        """Pass a line on, once players can come."""
        if self._lines is None:
            click.echo(line)
        else:
            self._lines.append(line)

    def _all_ready(self) -> None:
        lines, self._lines = self._lines or [], None
        for line in sorted(lines, key=lambda line: line.startswith(_LISTENS)):
            click.echo(line)

    def _log(self, name: str, line: str) -> None:
        """Pass on a line of a process's log."""
        if not line.startswith(_STOPPED):  # which we say ourselves
            click.echo(marked(name, line), err=True)


class _KeptNats:
    """A NATS server of our own, which is started again when it dies."""

    def __init__(self, server: NatsServer) -> None:
        self._server = server
        self._allowance = Allowance()

    async def keep(self, log: Callable[[str, str], None]) -> None:
        """Start it again, on the same port, whenever it dies.

        Raises:
            NatsFailed: it dies too often.
        """
        while True:
            status = await self._server.wait()
            pause_s = self._allowance.take(time.monotonic())
            if pause_s is None:
                raise NatsFailed(f"the NATS server ended with exit status {status}, too often")
            log("nats", f"ended with exit status {status}; it is started again in {pause_s} s")
            await asyncio.sleep(pause_s)
            await self._server.start()


async def _first(main: asyncio.Future[int], keeper: asyncio.Future[None] | None) -> int:
    """What the first gives, unless the second fails before that; both are over afterwards."""
    both: set[asyncio.Future[Any]] = {main} if keeper is None else {main, keeper}
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if keeper is not None and keeper.done():
            keeper.result()
        return await main
    finally:
        for one in both:
            one.cancel()
        await asyncio.wait(both)


def _is_word(line: str) -> bool:
    """Whether a role has said that it is ready, and not only where it can be watched."""
    return not line.startswith(_WATCHED)


def marked(name: str, line: str) -> str:
    """A line of a process with its name; where it is a JSON object, as the first of its fields."""
    return f'{{"process": "{name}", {line[1:]}' if line.startswith('{"') else f"{name}: {line}"


def variables(
    settings: Settings, given: Mapping[str, Mapping[str, object]], nats: str
) -> Mapping[str, str]:
    """The variables of all processes: ours, and as variables what our options say.

    So these win over the file with settings, as they do here, and who looks at the list of
    processes does not see a password. The pages read no such file, and get its values here.

    Args:
        given: what the options say, by section and name of the setting.
        nats: where NATS is, with its token.
    """
    pages = settings.web.model_dump(mode="json", exclude_none=True)
    secret: Mapping[str, Mapping[str, object]] = {
        "storage": {"url": settings.storage.url},
        "cluster": {"nats": nats},
    }
    said = {
        f"CROUPIER_{section}__{name}".upper(): _text(section, value)
        for source in ({"web": pages}, given, secret)
        for section, values in source.items()
        for name, value in values.items()
        if value is not None
    }
    return {**os.environ, **said}


def _text(section: str, value: object) -> str:
    """A setting as the environment has it: as JSON what can be a table, or is an array."""
    is_json = section == "game" or type(value) in {bool, tuple}
    return json.dumps(value) if is_json else str(value)
