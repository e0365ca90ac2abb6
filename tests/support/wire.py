"""Servers and tournaments for players that speak the protocol by hand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from croupier_server.app import App
from croupier_server.settings import Settings, load_settings
from croupier_server.tournament.progress import Progress, TournamentResult
from croupier_server.zoo.wire import (
    Call,
    Habit,
    Script,
    Wire,
    answers,
    hangs_up,
    honest,
    results,
    silent,
    thinks,
)

__all__ = [
    "Arena",
    "Call",
    "Habit",
    "Host",
    "Script",
    "Wire",
    "answers",
    "hangs_up",
    "honest",
    "host",
    "play",
    "quick_settings",
    "results",
    "serving",
    "silent",
    "thinks",
]


@dataclass
class Arena:
    """A finished tournament: its result, what each player received, and what was told."""

    result: TournamentResult
    wires: dict[str, Wire]
    progress: list[Progress]


def quick_settings(records: Path | None = None, **sections: Mapping[str, object]) -> Settings:
    """Settings for tests: any free port, short clocks, no waiting for more players."""
    settings: dict[str, dict[str, object]] = {
        "server": {"port": 0},
        "clocks": {
            "join_ms": 2_000,
            "start_ms": 2_000,
            "place_ms": 300,
            "move_ms": 300,
            "ack_ms": 300,
            "latency_allowance_ms": 0,
            "grace_ms": 300,
        },
        "tournament": {"name": "test", "seed": 7},
        "storage": {"data": ""},
        "records": {"folder": records},
    }
    for section, values in sections.items():
        settings.setdefault(section, {}).update(values)
    return load_settings(None, settings)


async def _one_process(
    settings: Settings, listening: Callable[[int], None], progress: Callable[[Progress], None]
) -> TournamentResult:
    return await App(settings, listening=listening, progress=progress).run()


@dataclass
class Host:
    """What runs tournaments here: told where to say on which port players can connect, and what
    happens.
    """

    run: Callable[
        [Settings, Callable[[int], None], Callable[[Progress], None]],
        Coroutine[Any, Any, TournamentResult],
    ]


host = Host(_one_process)
"""One process, unless a test's fixture `anywhere` puts a cluster here."""


async def play(settings: Settings, scripts: Sequence[Script]) -> Arena:
    """Run a tournament of scripted players, who sign up in their order."""
    lobby = settings.lobby.model_copy(
        update={"min_players": len(scripts), "max_players": len(scripts), "wait_ms": 10_000}
    )
    settings = settings.model_copy(update={"lobby": lobby})
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    progress: list[Progress] = []
    async with asyncio.TaskGroup() as group:
        server = group.create_task(host.run(settings, port.set_result, progress.append))
        playing: list[asyncio.Task[Wire]] = []
        for script in scripts:
            joined = asyncio.Event()
            playing.append(group.create_task(script.play(await port, joined)))
            await joined.wait()
    wires = {task.result().name: task.result() for task in playing}
    return Arena(server.result(), wires, progress)


@asynccontextmanager
async def serving(
    settings: Settings,
) -> AsyncGenerator[tuple[int, asyncio.Task[TournamentResult]]]:
    """A server that is waiting for players, and its task."""
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(host.run(settings, port.set_result, lambda _: None))
    try:
        yield await port, task
    finally:
        task.cancel()
        await asyncio.wait({task})
