"""Make the pictures in docs/images: what is played is photographed, page by page.

    python tools/pictures.py            # into docs/images
    python tools/pictures.py FOLDER     # elsewhere, to look at

Each page is taken as a phone, a laptop and a projector show it, as much as fits the window. Needs
Chromium, as `chromium` on the PATH. The seed is fixed, so that the games are the same; how far they
are when the picture is taken depends on the machine.
"""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import httpx
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
CROUPIER = (sys.executable, "-m", "croupier_server")
SIZES = {"phone": (360, 740), "": (1366, 768), "projector": (1920, 1080)}
"""How wide and high; a laptop's picture has the page's name alone."""

LATE_S = 4
"""How long the first games go on before their pictures are taken."""

PATIENCE_S = 240
"""How long the demo may take to its end."""


@dataclass(frozen=True, slots=True)
class Shot:
    """A page of a site, in pictures that begin with a name."""

    name: str
    path: str
    scheme: Literal["dark", "light"] = "light"
    rest_s: float = 0.5
    """How long it is open before the picture is taken."""


LIVE = (
    Shot("game", "/t/demo/g/1.2", rest_s=LATE_S),
    Shot("wall", "/t/demo/live?pace=500", rest_s=1),
)
OVER = (
    Shot("home", "/"),
    Shot("tournament", "/t/demo"),
    Shot("games", "/t/demo/games", "dark"),
    Shot("replay", "/t/demo/g/1.2?ply=17", "dark"),
    Shot("player", "/t/demo/p/bo"),
    Shot("downloads", "/t/demo/downloads"),
    Shot("connect", "/connect"),
)

GRADED = (
    Shot("grading-overview", "/index.html"),
    Shot("grading-report", "/illegal_moves/report.html"),
)
FLAWED = ("build_fails", "crashes_in_game", "illegal_moves", "no_player")
"""The broken submissions that are graded beside the good ones."""


class Camera:
    """Takes pictures in one browser, into one folder."""

    def __init__(self, browser: Browser, folder: Path) -> None:
        self.browser = browser
        self.folder = folder

    def take(self, site: str, shots: Sequence[Shot]) -> None:
        """Take pages in all sizes."""
        for shot in shots:
            pages = {size: self.open(size, shot.scheme) for size in SIZES}
            for page in pages.values():
                page.goto(site + shot.path)
            next(iter(pages.values())).wait_for_timeout(shot.rest_s * 1000)
            for size, page in pages.items():
                self.keep(page, shot.name, size)

    def open(self, size: str, scheme: Literal["dark", "light"] = "light") -> Page:
        """A new page in a window of a size."""
        width, height = SIZES[size]
        by_hand = size == "phone"
        return self.browser.new_page(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            is_mobile=by_hand,
            has_touch=by_hand,
        )

    def keep(self, page: Page, name: str, size: str) -> None:
        """Take the picture of a page as it is, and close it."""
        file = self.folder / ("-".join(filter(None, (name, size))) + ".png")
        file.write_bytes(packed(page.screenshot()))
        page.close()


def packed(png: bytes) -> bytes:
    """The same picture, compressed as well as zlib can: browsers are in a hurry."""
    chunks: list[tuple[bytes, bytes]] = []
    at = 8
    while at < len(png):
        length, kind = struct.unpack_from(">I4s", png, at)
        chunks.append((kind, png[at + 8 : at + 8 + length]))
        at += length + 12
    pixels = b"".join(body for kind, body in chunks if kind == b"IDAT")
    smallest = zlib.compress(zlib.decompress(pixels), 9)
    kept = [one for one in chunks if one[0] not in {b"IDAT", b"IEND"}]
    kept += [(b"IDAT", min(smallest, pixels, key=len)), (b"IEND", b"")]
    return png[:8] + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in kept
    )


@contextmanager
def started(*arguments: str) -> Generator[str]:
    """The address of the pages of a command, without a slash, while it runs."""
    with subprocess.Popen(
        [*CROUPIER, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "BROWSER": "true"},
    ) as process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if found := re.search(r"(?:watch it|pages) on (http://[^/\s]+)", line):
                    yield found[1]
                    break
            else:
                sys.exit(f"no pages: croupier {' '.join(arguments)}")
        finally:
            process.terminate()
            process.communicate()


def wait_for_the_end(site: str) -> None:
    """Wait until the demo is over."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if httpx.get(f"{site}/t/demo.json").json()["tournament"]["status"] == "finished":
            return
        time.sleep(1)
    sys.exit("the demo does not end")


def operate(camera: Camera, site: str, data: Path) -> None:
    """Sign in, and take what the operator sees of the demo."""
    made = subprocess.run(
        [*CROUPIER, "operator-token", "--data", str(data)], check=True, capture_output=True
    )
    for size in SIZES:
        page = camera.open(size)
        page.goto(f"{site}/operator")
        page.fill("#token", made.stdout.decode().strip())
        page.click("main form button")
        page.goto(f"{site}/operator/t/demo")
        page.get_by_text("up to date").wait_for()
        camera.keep(page, "operator", size)


def play(camera: Camera, site: str) -> None:
    """Sit down, and take the board when a penguin is chosen that can go somewhere."""
    for size in SIZES:
        page = camera.open(size)
        page.goto(f"{site}/play")
        if size == "":
            camera.keep(page, "play-form", size)
            page = camera.open(size)
            page.goto(f"{site}/play")
        page.fill("[name=name]", "Ada")
        page.locator("[name=player]").nth(1).select_option("random")
        page.click("button[type=submit]")
        for _ in range(6):  # placements, a move or two, and the choice of a penguin
            page.wait_for_selector("#seat-board .legal")
            tiles = page.locator("#seat-board .legal")
            tiles.nth(tiles.count() // 2).click()
        camera.keep(page, "play", size)


def grade(camera: Camera, folder: Path) -> None:
    """Grade the examples, and take the overview and a report; the folder has room for them."""
    examples, handed_in = ROOT / "examples", folder / "submissions"
    shutil.copytree(examples / "submissions", handed_in)
    for name in FLAWED:
        shutil.copytree(examples / "submissions-broken" / name, handed_in / name)
    rubric = ("--rubric", str(examples / "rubric.toml"), "--out", str(folder / "graded"))
    subprocess.run([*CROUPIER, "grade", str(handed_in), *rubric], check=True)
    camera.take((folder / "graded").as_uri(), GRADED)


def main() -> int:
    """Play, and photograph it."""
    images = Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES
    images.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        camera = Camera(browser, images)
        with started("demo", "--web", "--seed", "5", "--records", folder) as site:
            camera.take(site, LIVE)
            operate(camera, site, next(Path(folder).iterdir()))
            wait_for_the_end(site)
            camera.take(site, OVER)
        board = ("--board", "6x6,holes=3,fish=1-4", "--seed", "5")
        with started(
            "serve", "--practice", "--data", "", "--port", "0", "--web-port", "0", *board
        ) as site:
            play(camera, site)
        grade(camera, Path(folder, "grading"))
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
