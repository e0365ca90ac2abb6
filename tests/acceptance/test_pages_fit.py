"""The pages on a phone, a laptop and a projector: nothing overlaps and nothing is cut.

The names are as long and as wide as a hostile player can make them.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page

from croupier_common.board_spec import BoardSpec
from croupier_common.verdict import Verdict
from croupier_server.tournament.model import Result
from support.browser import chromium, new_page, pages_of
from support.kept import keep
from support.operating import tokened
from support.recorded import CLASSIC_BOARD, keep_games, recorded

SIZES = {"phone": (360, 740), "laptop": (1366, 768), "projector": (1920, 1080)}
LONG, WIDE, WORDS, SCRIPT = 60 * "W", 40 * "企鵝", 12 * "word ", "<script>" + 52 * "m"
NAMES = (LONG, WIDE, WORDS.strip(), SCRIPT)
CUP, BRACKET = "C" + 59 * "W", 40 * "企"

FINDER = (Path(__file__).parent.parent / "support" / "misfits.js").read_text(encoding="utf-8")

OPENER = "for (const one of document.querySelectorAll('details')) one.open = true"


@dataclass(frozen=True, slots=True)
class Place:
    """Where the pages are, and the token of who may operate."""

    site: str
    token: str


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Generator[Place]:
    where = tmp_path_factory.mktemp("data")
    keep_games(
        where,
        recorded(1, CLASSIC_BOARD, names=NAMES),
        recorded(2, BoardSpec.from_text("5x5"), 4, names=NAMES, ejections=0.1),
        recorded(3, BoardSpec.from_text("6x4,fish=1-5"), 4, names=NAMES, plies=9, finish=False),
        recorded(4, BoardSpec.from_text("5x5"), names=NAMES[2:], plies=9, finish=False),
        name=CUP,
    )
    keep(where, bracket(), name=BRACKET, form="knockout", names=[f"{n} {LONG}" for n in range(9)])
    token = tokened(where)
    with pages_of(where) as site:
        yield Place(site, token)


def bracket() -> list[Result]:
    """Two games and the final of their winners; somebody is thrown out of each."""
    games = (("1.1", LONG, WIDE), ("1.2", WORDS.strip(), SCRIPT), ("2.1", LONG, SCRIPT))
    return [
        Result(
            game,
            game,
            int(game[0]),
            (one, other),
            ranking=((one,),),
            verdicts={other: Verdict.ILLEGAL_ACTION},
            fish={one: 123_456},
            tiles={one: 30},
        )
        for game, one, other in games
    ]


@pytest.fixture(scope="module")
def chrome(place: Place) -> Generator[Browser]:
    # the browser comes last: its driver leaves a loop running in this thread
    with chromium() as found:
        yield found


def paths() -> dict[str, str]:
    """The pages, each with what is there when it is drawn."""
    cup, bracket = (f"/t/{quote(name)}" for name in (CUP, BRACKET))
    return {
        "/": "main table",
        "/connect": "h1",
        "/play": "h1",
        "/replay": "#record-file",
        cup: ".standings",
        f"{cup}/games": "main table",
        f"{cup}/g/1.2?ply=7": ".replay .controls",
        f"{cup}/g/1.3": ".replay .controls",
        f"{cup}/p/{quote(LONG)}": ".facts",
        f"{cup}/downloads": "main table",
        f"{cup}/live": ".wall .board",
        bracket: ".bracket",
        f"{bracket}/p/{quote(SCRIPT, safe='')}": ".outs",
        "/operator": "main table",
        f"/operator{cup}": "#now table",
        f"/operator{bracket}": "#now table",
    }


def misfits(page: Page) -> list[str]:
    """What is cut, what overlaps and what is outside of the page as it is now, in words."""
    found: list[str] = page.evaluate(FINDER)
    return found


def sign_in(page: Page, place: Place) -> None:
    page.goto(f"{place.site}/operator")
    assert misfits(page) == []
    page.fill("#token", place.token)
    page.click("main form button")


@pytest.mark.parametrize("size", SIZES)
def test_page_fits_the_window(
    chrome: Browser, place: Place, size: str, subtests: pytest.Subtests
) -> None:
    with new_page(chrome, *SIZES[size]) as page:
        sign_in(page, place)
        for path, drawn in paths().items():
            with subtests.test(path):
                page.goto(place.site + path)
                page.wait_for_selector(drawn)
                page.evaluate(
                    "for (const one of document.querySelectorAll('details')) one.open = 1"
                )
                assert misfits(page) == []


@pytest.mark.parametrize("size", SIZES)
def test_game_by_hand_fits_the_window(chrome: Browser, tables: str, size: str) -> None:
    with new_page(chrome, *SIZES[size]) as page:
        page.goto(f"{tables}/play")
        page.wait_for_selector("#wish:not([hidden])")
        assert misfits(page) == []
        page.fill("[name=name]", 16 * "企鵝")
        page.locator("[name=player]").nth(1).select_option("greedy")
        page.locator("[name=player]").nth(2).select_option("greedy")
        page.click("button[type=submit]")
        page.wait_for_selector("#seat-board .legal")
        page.click("#resign")
        assert misfits(page) == []
        page.click("#yes")
        page.wait_for_selector("#after:not([hidden])")
        assert misfits(page) == []


@pytest.fixture(scope="module")
def tables() -> Generator[str]:
    with practice() as site:
        yield site


@contextmanager
def practice() -> Generator[str]:
    """A server that people can practise on; the address of its pages."""
    command = [sys.executable, "-m", "croupier_server", "serve", "--practice", "--data", ""]
    with subprocess.Popen(
        [*command, "--port", "0", "--web-port", "0", "--board", "8x5"],
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        try:
            assert server.stdout is not None
            told = next(line for line in server.stdout if line.startswith("pages on "))
            yield told.split()[2].rstrip("/")
        finally:
            server.terminate()
            server.communicate()


MISFITS = (
    ('<div style="width: 150vw">.</div>', "the page is"),
    ('<p style="width: 4em; overflow: hidden; white-space: nowrap">a long text</p>', "cut"),
    ('<p style="height: 1em; overflow: hidden; line-height: 2em">some text</p>', "cut"),
    ('<p style="width: 3em; border: solid; white-space: nowrap">a long text</p>', "sticks out"),
    ('<button>one</button><button style="margin-left: -2em">two</button>', "overlap"),
    ('<p style="margin-left: -2em">left</p>', "outside"),
)
FINE = (
    '<div style="overflow-x: auto"><p style="width: 200vw">it scrolls</p></div>',
    '<p style="width: 2em; overflow: hidden; text-overflow: ellipsis">WWWWWWWW</p>',
    "<button>one</button><button>two</button>",
)


def test_misfits_are_found_and_nothing_else(chrome: Browser) -> None:
    with new_page(chrome) as page:
        for html, said in MISFITS:
            page.set_content(html)
            assert any(said in one for one in misfits(page)), html
        for html in FINE:
            page.set_content(html)
            assert misfits(page) == [], html
