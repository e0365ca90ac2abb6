"""Make the pictures in docs/images: a demo is played, and its pages are photographed.

    python tools/pictures.py

Needs Chromium, as `chromium` on the PATH. The seed is fixed, so that the games are the same; how
far they are when the picture is taken depends on the machine.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
PHONE, LAPTOP, PROJECTOR = (360, 740), (1366, 768), (1920, 1080)
LATE_S = 12
"""How long a game goes on before the picture is taken."""


def shoot(browser: Browser, url: str, size: tuple[int, int], name: str, seconds: float) -> None:
    """Take a picture of a page, when it has been open for a while."""
    page = browser.new_page(viewport={"width": size[0], "height": size[1]})
    page.goto(url)
    page.wait_for_timeout(seconds * 1000)
    page.screenshot(path=IMAGES / name)
    page.close()


def take_all(site: str) -> None:
    """Take all pictures of a running demo."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        shoot(browser, f"{site}/t/demo/live", PROJECTOR, "wall.png", LATE_S)
        shoot(browser, f"{site}/t/demo/g/1.2", LAPTOP, "game.png", 2)
        shoot(browser, f"{site}/t/demo/g/1.2", PHONE, "game-phone.png", 2)
        shoot(browser, f"{site}/t/demo", LAPTOP, "tournament.png", 1)
        browser.close()


def main() -> int:
    """Run a demo and photograph it."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "croupier_server", "demo", "--web", "--seed", "5"]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            [*command, "--records", folder],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "BROWSER": "true"},
        ) as demo,
    ):
        try:
            assert demo.stdout is not None
            found = None
            while found is None:
                line = demo.stdout.readline()
                if not line:
                    return 1
                found = re.search(r"(http://[^/]+)/", line)
            take_all(found[1])
        finally:
            demo.terminate()
            demo.communicate()
    return 0


if __name__ == "__main__":
    sys.exit(main())
