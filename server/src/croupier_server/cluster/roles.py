"""The roles that are processes of a cluster: each from its start to its end.

A role that loses NATS or the database goes on as soon as they are back; what they don't find at
their start is the user's mistake.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Final

import structlog

from croupier_server.cluster.gateway import ClusterGateway
from croupier_server.cluster.link import Link
from croupier_server.cluster.wire import WIRE
from croupier_server.cluster.worker import Worker
from croupier_server.ending import to_its_end
from croupier_server.errors import NotMade, StorageFailed, UserError
from croupier_server.gateway.house_seat import HousePool
from croupier_server.operations.tally import Gauges
from croupier_server.operations.watch import Watch
from croupier_server.settings import Settings
from croupier_server.storage.database import Database

__all__ = [
    "AGAIN_S",
    "Ready",
    "check_link",
    "database_of",
    "linked",
    "lost",
    "root_of",
    "run_gateway",
    "run_worker",
    "watch_of",
]

log = structlog.get_logger(__name__)

NOT_MADE_S: Final = 0.25

AGAIN_S: Final = 1.0
"""After how long a database is looked for again that was lost."""

Ready = Callable[[str], None]
"""Told a line to print, once there is something to say."""


def root_of(settings: Settings) -> str:
    """What all subjects of a cluster begin with."""
    return f"{settings.cluster.name}.{WIRE}"


@asynccontextmanager
async def linked(settings: Settings, role: str) -> AsyncGenerator[Link]:
    """A role's link to the others.

    Raises:
        UserError: NATS can't be reached.
    """
    name = f"{settings.cluster.name} {role} {os.getpid()}"
    link = await Link.open(settings.cluster.nats, name=name, root=root_of(settings))
    try:
        yield link
    finally:
        await to_its_end(link.close())


def database_of(settings: Settings) -> str:
    """Where a cluster's database is.

    Raises:
        UserError: it has none.
    """
    where = settings.storage.where
    if not isinstance(where, str):
        raise UserError("a cluster needs PostgreSQL: set storage.url to postgresql://...")
    return where


# -- gateway


async def run_gateway(settings: Settings, ready: Ready) -> None:
    """Hold players' connections until this is cancelled.

    Raises:
        UserError: the address can't be listened on, or NATS can't be reached.
    """
    watch = watch_of(settings, ready)
    async with watch.shown(), linked(settings, "gateway") as link:
        gateway = ClusterGateway(settings, link, watch.tally)
        check_link(watch, link)
        watch.look = lambda: Gauges(connections={"websocket": gateway.connections})

        def back() -> None:
            _ = link.hold(gateway.verify())

        link.on_reconnect.append(back)
        await gateway.start()
        try:
            watch.health.phase = "serving"
            scheme = "ws" if settings.server.tls_certificate is None else "wss"
            host = settings.server.host
            ready(f"listening on {scheme}://{f'[{host}]' if ':' in host else host}:{gateway.port}")
            await asyncio.get_running_loop().create_future()
        finally:
            watch.health.phase = "stopping"
            await to_its_end(gateway.leave_to_others())


# -- worker


async def run_worker(settings: Settings, ready: Ready) -> None:
    """Play games until this is cancelled; then, as long as the settings let them, those that run.

    Raises:
        UserError: the database or NATS can't be reached at the start.
    """
    where, watch = database_of(settings), watch_of(settings, ready)
    pool = HousePool()
    is_new = True
    try:
        async with watch.shown(), linked(settings, "worker") as link:
            check_link(watch, link)
            while True:
                try:
                    async with (
                        await Database.join(where, watch.tally.store) as database,
                        watch.over(database, where),
                    ):
                        worker = Worker(settings, link, database, pool, watch.tally)
                        watch.health.phase = "serving"
                        if is_new:
                            ready("ready to play")
                        is_new = False
                        await worker.run()
                except NotMade:  # by a manager, which may be about to start
                    log.info("waiting for a manager to make the database")
                    await asyncio.sleep(NOT_MADE_S)
                except (StorageFailed, UserError) as problem:
                    if is_new:
                        raise
                    await lost(watch, problem)
    finally:
        pool.close()


# -- what they share


def watch_of(settings: Settings, ready: Ready) -> Watch:
    """What an operator can see of a role."""
    return Watch(settings.operations, lambda url: ready(f"metrics and health on {url}"))


def check_link(watch: Watch, link: Link) -> None:
    """Have a role be ready only while its link is up."""

    async def is_linked() -> str | None:
        return None if link.is_connected else "NATS can't be reached"

    watch.health.ready["nats"] = is_linked


async def lost(watch: Watch, problem: Exception) -> None:
    """The database is not there: wait a little before it is looked for again."""
    watch.health.alive.pop("writer", None)
    log.warning("the database can't be used now", reason=str(problem))
    await asyncio.sleep(AGAIN_S)
