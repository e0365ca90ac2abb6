"""The pages as people with a screen reader or a keyboard meet them: axe finds nothing serious."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser

from support.browser import PATIENCE_MS, chromium, new_page, pages_of
from support.needs import require
from support.node import VARIABLE
from support.recorded import CLASSIC_BOARD, keep_games, recorded

PATHS = (
    "/",
    "/connect",
    "/play",
    "/replay",
    "/operator",
    "/t/cup",
    "/t/cup/games",
    "/t/cup/g/1.1",
    "/t/cup/p/Ada",
    "/t/cup/downloads",
    "/t/cup/live",
    "/t/nothing",
)


@pytest.fixture(scope="module")
def browser() -> Generator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def axe() -> str:
    """The source of axe-core."""
    places = [Path(__file__).parent.parent / "node" / "node_modules"]
    if named := os.environ.get(VARIABLE):
        places.append(Path(named))
    found = [file for place in places if (file := place / "axe-core" / "axe.min.js").exists()]
    require("node-packages", found, f"axe-core: not in what {VARIABLE} names")
    return found[0].read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    where = tmp_path_factory.mktemp("data")
    keep_games(where, recorded(1, CLASSIC_BOARD), recorded(2, CLASSIC_BOARD, 4, ejections=0.05))
    with pages_of(where) as address:
        yield address


@pytest.mark.timeout(180)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(
    scheme: Literal["light", "dark"],
    browser: Browser,
    axe: str,
    site: str,
    subtests: pytest.Subtests,
) -> None:
    for path in PATHS:
        with subtests.test(path):
            # colours that are on their way to others would be judged half-way
            context = browser.new_context(
                color_scheme=scheme, bypass_csp=True, reduced_motion="reduce"
            )
            context.set_default_timeout(PATIENCE_MS)
            page = context.new_page()
            page.goto(site + path, wait_until="load")
            page.add_script_tag(content=axe)
            found: dict[str, Any] = page.evaluate("() => axe.run()")
            context.close()
            serious = [
                (wrong["id"], wrong["help"], [node["target"] for node in wrong["nodes"]][:3])
                for wrong in found["violations"]
                if wrong["impact"] in {"serious", "critical"}
            ]
            assert serious == []
            assert found["passes"]


def test_pages_that_are_tried_are_there(browser: Browser, site: str) -> None:
    for path in PATHS[:-1]:
        with new_page(browser) as page:
            answer = page.goto(site + path)
            assert answer is not None
            assert answer.status == 200, path
