"""The pages as people with a screen reader or a keyboard meet them: axe finds nothing serious."""

from __future__ import annotations

from collections.abc import Generator
from typing import Literal

import pytest
from playwright.sync_api import Browser

from support.axe import axe_source, new_page_for_axe, serious_faults
from support.browser import chromium, new_page, pages_of
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
    return axe_source()


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
            page = new_page_for_axe(browser, color_scheme=scheme)
            page.goto(site + path, wait_until="load")
            assert serious_faults(page, axe) == []


def test_pages_that_are_tried_are_there(browser: Browser, site: str) -> None:
    for path in PATHS[:-1]:
        with new_page(browser) as page:
            answer = page.goto(site + path)
            assert answer is not None
            assert answer.status == 200, path
