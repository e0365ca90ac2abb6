"""A browser for tests, and the pages of a data directory for it to look at."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, expect, sync_playwright

from croupier_server.settings import Settings
from croupier_server.web.server import WebServer
from support.needs import require

__all__ = ["PATIENCE_MS", "chromium", "new_page", "pages_of"]


PATIENCE_MS = 20_000
"""How long a page is waited for."""

expect.set_options(timeout=PATIENCE_MS)


@contextmanager
def chromium() -> Generator[Browser]:
    """The system's Chromium; skips the test where there is none."""
    program = shutil.which("chromium")
    require("chromium", program, "no `chromium` on the PATH")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def new_page(
    browser: Browser,
    width: int = 1366,
    height: int = 768,
    *,
    scheme: Literal["dark", "light"] = "light",
    scripts: bool = True,
) -> Generator[Page]:
    """A page in a context of its own; whatever it complains of fails the test at the end."""
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=scheme,
        java_script_enabled=scripts,
    )
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda problem: complaints.append(str(problem)))
    page.on(
        "console",
        lambda said: complaints.append(said.text) if said.type in {"error", "warning"} else None,
    )
    yield page
    context.close()
    assert complaints == []


@contextmanager
def pages_of(where: Path, port: int = 0) -> Generator[str]:
    """The pages of a data directory, served in a thread; gives their address, without a slash."""
    ready: list[str] = []
    is_up = threading.Event()
    loop = asyncio.new_event_loop()
    done = asyncio.Event()

    async def serve() -> None:
        settings = Settings.model_validate(
            {"storage": {"data": where}, "web": {"port": port, "host": "127.0.0.1"}}
        )
        server = WebServer(settings)
        try:
            await server.start()
            ready.append(server.url.rstrip("/"))
            is_up.set()
            await done.wait()
        finally:
            is_up.set()
            await server.stop()

    def run() -> None:
        try:
            loop.run_until_complete(serve())
        finally:
            loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        is_up.wait()
        assert ready, "the pages did not come up"
        yield ready[0]
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join()
