"""A browser for pages without a socket, and what is put into the database beside it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import httpx

from croupier_server.settings import load_settings
from croupier_server.storage.once import own_once
from croupier_server.web.reader import FRESH_S, Reader
from croupier_server.web.site import Doors, build_site
from support import kept

__all__ = ["beside", "browser", "change", "fresh", "keep"]


@asynccontextmanager
async def browser(data: Path, doors: Doors | None = None) -> AsyncGenerator[httpx.AsyncClient]:
    """A browser that sees the pages of a data directory."""
    reader = await Reader.open(data)
    app = build_site(reader, load_settings(None, {"storage": {"data": data}}), doors=doors)
    transport = httpx.ASGITransport(app)
    try:
        async with httpx.AsyncClient(transport=transport, base_url="http://here:8080") as client:
            yield client
    finally:
        await reader.close()


def beside(work: Callable[..., Any], *args: Any, **options: Any) -> None:
    """Do in a thread what brings a loop of its own, as a server beside the pages would."""
    thread = Thread(target=work, args=args, kwargs=options)
    thread.start()
    thread.join()


def keep(data: Path, *args: Any, **options: Any) -> None:
    """See :func:`support.kept.keep`."""
    beside(kept.keep, data, *args, **options)


def change(data: Path, work: Callable[..., Any]) -> None:
    """Change a database."""
    beside(own_once, data, work)


async def fresh() -> None:
    """Wait until no page is shown again without a look at the database."""
    await asyncio.sleep(FRESH_S)
