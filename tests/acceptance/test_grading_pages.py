"""Reports of grades in a real browser: stepped through, sorted, read aloud, printed, and small."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from croupier_common.verdict import Verdict
from croupier_server.grading.evidence import Built, Mishap, Placing
from croupier_server.grading.results.overview_html import overview_html
from croupier_server.grading.results.report_html import report_html
from support.axe import axe_source, new_page_for_axe, serious_faults
from support.browser import chromium, new_page
from support.graded import (
    HOSTILE,
    a_match,
    a_rubric,
    a_submission,
    graded_by,
    records_of,
)

PAGES = ("report", "overview")
TIMEOUT = Mishap(Verdict.TIMEOUT, "movement", "no answer within 2000 ms", Verdict.TIMEOUT.fix)
LONG = "W" * 200


@pytest.fixture(scope="module")
def browser() -> Generator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def axe() -> str:
    """The source of axe-core."""
    return axe_source()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The addresses of a report and an overview, as files."""
    folder = tmp_path_factory.mktemp("out")
    rubric = a_rubric(folder)
    matches = [a_match("Pingu", "random", 3, mishaps=[TIMEOUT]), a_match("Pingu", "greedy", 4)]
    ada = a_submission(
        "ada",
        player="Pingu",
        matches=[replace(matches[0], cut=LONG), matches[1]],
        failing=["ids"],
        built=Built("ok", "", "$ make\n" + LONG + "\n", 1.0),
        placing=Placing(1, 3, 0.5, 8),
    )
    graded = [
        graded_by(rubric, ada),
        graded_by(rubric, a_submission("ben", matches=[a_match("ben", "random", 1)])),
        graded_by(rubric, a_submission(LONG, player=HOSTILE, problem=f"{HOSTILE} {LONG}")),
    ]
    pages = {
        "report": report_html(
            graded[0].grade,
            ada,
            records=records_of(ada),
            log=f"{HOSTILE}\n{LONG}\n" * 40,
            isolation="in a sandbox",
        ),
        "overview": overview_html(
            "Fish 101", graded, isolation="none", not_contained=["It can read the rubric."]
        ),
    }
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: (folder / f"{name}.html").as_uri() for name in pages}


def is_at(page: Page, ply: int) -> None:
    expect(page.locator("details[open] .where")).to_contain_text(f"{ply} / ")


def test_game_is_stepped_through_inside_the_report(browser: Browser, site: dict[str, str]) -> None:
    with new_page(browser) as page:
        page.goto(site["report"])
        expect(page.locator(".board")).to_have_count(0)
        page.locator("details.game summary").first.click()
        expect(page.locator(".board")).to_have_count(1)
        page.get_by_role("button", name="First position").click()
        is_at(page, 0)
        page.keyboard.press("ArrowRight")
        is_at(page, 1)


def test_game_with_a_verdict_opens_at_it(browser: Browser, site: dict[str, str]) -> None:
    with new_page(browser) as page:
        page.goto(site["report"])
        page.locator("details.game summary").first.click()
        expect(page.locator(".plies [aria-current]")).to_contain_text("is out: timeout")


def test_one_game_is_open_at_a_time(browser: Browser, site: dict[str, str]) -> None:
    with new_page(browser) as page:
        page.goto(site["report"])
        summaries = page.locator("details.game summary")
        summaries.nth(0).click()
        page.get_by_role("button", name="First position").click()
        summaries.nth(1).click()
        expect(page.locator("details.game[open]")).to_have_count(1)
        expect(page.locator(".board")).to_have_count(1)
        # and it begins at its own end, not where the other one was left
        expect(page.locator("details[open] .where")).not_to_contain_text("0 / ")
        assert page.url.endswith("#game-2")


def test_keys_outside_of_a_game_are_the_page_s(browser: Browser, site: dict[str, str]) -> None:
    with new_page(browser) as page:
        page.goto(site["report"])
        page.locator("details.game summary").first.click()
        page.get_by_role("button", name="First position").click()
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("End")
        expect(page.locator("footer")).to_be_in_viewport()
        is_at(page, 0)


def test_link_to_a_game_opens_it(browser: Browser, site: dict[str, str]) -> None:
    with new_page(browser) as page:
        page.goto(site["report"] + "#game-2")
        expect(page.locator("#game-2 .board")).to_have_count(1)


def names_in(page: Page) -> list[str]:
    return [name[:3] for name in page.locator(".sortable tbody th").all_inner_texts()]


def test_table_is_sorted_by_its_titles(browser: Browser, site: dict[str, str]) -> None:
    with new_page(browser) as page:
        page.goto(site["overview"])
        assert names_in(page) == ["ada", "ben", "WWW"]
        page.get_by_role("button", name="Points").click()
        assert page.locator("[aria-sort=descending]").inner_text().startswith("Points")
        points = page.locator(".sortable tbody td:nth-child(3)").all_inner_texts()
        assert points == sorted(points, key=float, reverse=True)
        page.get_by_role("button", name="Submission").focus()
        page.keyboard.press("Enter")
        assert names_in(page) == ["ada", "ben", "WWW"]
        page.keyboard.press("Enter")
        assert names_in(page) == ["WWW", "ben", "ada"]
        # who has no place comes last either way
        for _ in range(2):
            page.get_by_role("button", name="Place").click()
            assert names_in(page)[0] == "ada"
        expect(page.locator("[aria-sort]")).to_have_count(1)


def test_pages_say_all_without_scripts(browser: Browser, site: dict[str, str]) -> None:
    with new_page(browser, scripts=False) as page:
        page.goto(site["overview"])
        assert names_in(page) == ["ada", "ben", "WWW"]
        expect(page.locator(".sortable button")).to_have_count(0)
        page.goto(site["report"])
        page.locator("details.game summary").first.click()
        expect(page.get_by_text("The board needs JavaScript").first).to_be_visible()
        expect(page.locator("details[open] .fix")).to_contain_text("Answer within")


@pytest.mark.parametrize("width", [320, 360, 1366, 1920])
def test_nothing_is_wider_than_the_screen(
    browser: Browser, site: dict[str, str], width: int
) -> None:
    for name in PAGES:
        with new_page(browser, width, 900, scheme="dark") as page:
            page.goto(site[name])
            for summary in page.locator("summary").all():
                summary.click()
            assert page.evaluate("document.documentElement.scrollWidth") <= width, name
            assert "\u202e" not in page.locator("body").inner_text()


def test_report_is_printed_without_what_paper_can_t_do(
    browser: Browser, site: dict[str, str]
) -> None:
    with new_page(browser, scheme="dark") as page:
        page.goto(site["report"])
        page.locator("details.game summary").first.click()
        expect(page.locator(".board")).to_be_visible()
        page.emulate_media(media="print")
        expect(page.locator(".board")).to_be_hidden()
        expect(page.get_by_text("no answer within 2000 ms").first).to_be_visible()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == (
            "rgb(255, 255, 255)"
        )


@pytest.mark.timeout(120)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_serious(
    name: str,
    scheme: Literal["light", "dark"],
    browser: Browser,
    axe: str,
    site: dict[str, str],
) -> None:
    page = new_page_for_axe(browser, color_scheme=scheme)
    page.goto(site[name])
    for summary in page.locator("summary").all():
        summary.click()
    assert serious_faults(page, axe) == []
