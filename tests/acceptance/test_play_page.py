"""A person's seat in a real browser: games by mouse, keyboard and touch, and by link."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, WebSocketRoute, expect

from croupier_server.settings import Settings
from croupier_server.web.pages.play import PlayPage
from croupier_server.web.site import Doors
from support.browser import PATIENCE_MS, chromium, new_page

HOSTILE = "<b>Ada</b>"
MAY_CHOOSE = "#seat-board .legal, #after:not([hidden])"


@contextmanager
def served(*options: str) -> Generator[str]:
    """A server that people can practise on; the address of its pages."""
    command = [sys.executable, "-m", "croupier_server", "serve", "--data", "", "--port", "0"]
    server = subprocess.Popen(
        [*command, "--web-port", "0", *options], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        said = [line for _, line in zip(range(2), server.stdout, strict=False)]
        (address,) = re.findall(r"pages on (\S+?)/?\s", "".join(said))
        yield address
    finally:
        server.terminate()
        server.communicate()


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with served("--practice", "--board", "4x4,fish=1-3") as address:
        yield address


def state(page: Page) -> str:
    return page.inner_text("#state")


def begin(page: Page, address: str, *players: str, name: str = "Ada", **choices: str) -> None:
    """Fill in the form, and press Play."""
    page.goto(address if "/play" in address else f"{address}/play")
    page.fill("[name=name]", name)
    for seat, player in enumerate(players):
        page.locator("[name=player]").nth(seat).select_option(player)
    for field, value in choices.items():
        page.select_option(f"[name={field}]", value)
    page.click("button[type=submit]")


def by_mouse(page: Page) -> None:
    page.locator("#seat-board .legal").first.click()
    if page.locator("#seat-board .origin").count():
        page.locator("#seat-board .legal").last.click()


def by_touch(page: Page) -> None:
    page.locator("#seat-board .legal").first.tap()
    if page.locator("#seat-board .origin").count():
        page.locator("#seat-board .legal").last.tap()


def by_keyboard(page: Page) -> None:
    page.keyboard.press("ArrowDown")  # to some tile, if the focus is on none
    page.keyboard.press("Enter")
    if page.locator("#seat-board .origin").count():
        page.keyboard.press("Enter")


def play_on(page: Page, choose: Callable[[Page], None] = by_mouse, *, most: int = 100) -> None:
    """Choose whenever there is something to choose, until the game is over, or so often."""
    for _ in range(most):
        page.wait_for_selector(MAY_CHOOSE)
        if page.is_visible("#after"):
            return
        lines = page.locator("#log li").count()
        choose(page)
        expect(page.locator("#log li")).not_to_have_count(lines)
    assert most < 100, "the game does not end"


def test_whole_game_by_mouse_and_another_one(chrome: Browser, site: str) -> None:
    with new_page(chrome) as page:
        begin(page, site, "greedy", name=HOSTILE)
        play_on(page)
        expect(page.locator("#state")).to_contain_text("The game is over")
        assert page.locator("#state b").count() == 0
        expect(page.locator("#players th").first).to_have_text(re.compile("Ada|greedy"))
        page.click("#look")
        page.wait_for_selector("#replay .controls")
        page.click("#again")
        page.wait_for_selector("#seat-board .legal")
        assert page.locator("#replay *").count() == 0


@pytest.mark.parametrize("rules", ["fish", "classic"])
def test_whole_game_by_keyboard_alone(rules: str, chrome: Browser, site: str) -> None:
    with new_page(chrome) as page:
        page.goto(f"{site}/play")
        page.keyboard.type("Ada")  # the focus is there already
        page.select_option("[name=board]", "8x4,holes=2,fish=1-4")
        page.select_option("[name=rules]", rules)
        page.focus("[name=name]")
        page.keyboard.press("Enter")
        page.wait_for_selector("#seat-board .legal")
        page.focus("#seat-board .legal >> nth=0")
        play_on(page, by_keyboard)
        expect(page.locator("#state")).to_contain_text("The game is over")
        expect(page.locator("#again")).to_be_focused()


def test_arrows_go_from_tile_to_tile_and_escape_takes_a_choice_back(
    chrome: Browser, site: str
) -> None:
    with new_page(chrome) as page:
        begin(page, site, "first", board="12x5,holes=4,fish=1-5")
        play_on(page, most=4)
        page.wait_for_selector("#seat-board .legal")
        page.focus("#seat-board .legal >> nth=0")
        page.keyboard.press("Enter")
        expect(page.locator("#state")).to_contain_text("choose where it goes")
        expect(page.locator("#undo")).to_be_enabled()
        page.keyboard.press("Escape")
        expect(page.locator("#seat-board .origin")).to_have_count(0)
        expect(page.locator("#undo")).to_be_disabled()
        expect(page.locator("#seat-board [data-at]:focus")).to_have_count(1)
        before = page.locator("#seat-board [data-at]:focus").get_attribute("data-at")
        for key in ("ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp"):
            page.keyboard.press(key)
        after = page.locator("#seat-board [data-at]:focus")
        expect(after).to_have_class(re.compile("legal"))
        assert before is not None


def test_whole_game_by_touch_on_a_phone(chrome: Browser, site: str) -> None:
    context = chrome.new_context(
        viewport={"width": 360, "height": 640}, has_touch=True, is_mobile=True
    )
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    begin(page, site, "greedy", "random", board="8x4,holes=2,fish=1-4")
    play_on(page, by_touch)
    expect(page.locator("#state")).to_contain_text("The game is over")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    context.close()


def test_people_meet_by_a_link_and_again_for_another_game(chrome: Browser, site: str) -> None:
    with new_page(chrome) as host, new_page(chrome, 800, 600, scheme="dark") as guest:
        begin(host, site, "human", "greedy", board="8x4,holes=2,fish=1-4", name="Host")
        link = host.locator("#link")
        expect(link).to_be_visible()
        begin(guest, link.input_value(), name="Guest")
        for _ in range(2):
            for page in (host, guest):
                expect(page.locator("#players tr")).to_have_count(3)
            while not (host.is_visible("#after") and guest.is_visible("#after")):
                for page in (host, guest):
                    if page.locator("#seat-board .legal").count():
                        play_on(page, most=1)
            assert state(host).removeprefix("You win. ") == state(guest).removeprefix("You win. ")
            host.click("#again")
            expect(host.locator("#waiting")).to_be_visible()
            guest.click("#again")


def test_invited_twice_under_one_name_is_told_what_to_do(chrome: Browser, site: str) -> None:
    with new_page(chrome) as host, new_page(chrome) as guest:
        begin(host, site, "human")
        expect(host.locator("#link")).to_be_visible()
        begin(guest, host.locator("#link").input_value())
        expect(guest.locator("#problem")).to_contain_text("take another name")
        host.click("#cancel")
        expect(host.locator("#wish")).to_be_visible()


def test_reload_and_a_lost_connection_go_on_where_they_were(chrome: Browser, site: str) -> None:
    sockets: list[WebSocketRoute] = []

    def through(socket: WebSocketRoute) -> None:
        socket.connect_to_server()
        sockets.append(socket)

    with new_page(chrome) as page:
        page.route_web_socket(re.compile("^ws:"), through)
        begin(page, site, "greedy", board="8x4,holes=2,fish=1-4")
        play_on(page, most=3)
        page.wait_for_selector("#seat-board .legal")
        lines = page.locator("#log li").count()
        page.reload()
        page.wait_for_selector("#seat-board .legal")
        assert page.locator("#log li").count() == lines
        assert len(sockets) == 2
        sockets[-1].close(code=3000, reason="lost on the way")
        play_on(page, most=1)
        assert len(sockets) == 3
        play_on(page)
        expect(page.locator("#state")).to_contain_text("The game is over")


def test_giving_up_asks_first(chrome: Browser, site: str) -> None:
    with new_page(chrome) as page:
        begin(page, site, "greedy")
        page.wait_for_selector("#seat-board .legal")
        page.click("#resign")
        expect(page.locator("#no")).to_be_focused()
        page.click("#no")
        expect(page.locator("#sure")).to_be_hidden()
        page.click("#resign")
        page.click("#yes")
        expect(page.locator("#state")).to_have_text("You gave up.")
        page.click("#change")
        expect(page.locator("#wish")).to_be_visible()


def test_what_can_not_be_had_is_told_in_the_servers_words(chrome: Browser, site: str) -> None:
    with new_page(chrome) as page:
        page.goto(f"{site}/play")
        page.fill("[name=name]", "Ada")
        page.select_option("[name=board]", "other")
        page.fill("[name=other]", "30x30; clock=1")
        page.click("button[type=submit]")
        expect(page.locator("#problem")).to_contain_text("clock")
        page.fill("[name=other]", "30x30")
        page.click("button[type=submit]")
        expect(page.locator("#problem")).to_contain_text("at most 120 tiles are allowed")
        expect(page.locator("#wish")).to_be_visible()


def test_too_slow_is_told_with_what_to_do(chrome: Browser) -> None:
    with served("--practice", "--move-time", "1") as address, new_page(chrome) as page:
        page.goto(f"{address}/play")
        page.fill("[name=name]", "Ada")
        page.check("[name=clock]")
        page.click("button[type=submit]")
        expect(page.locator("#clock")).to_have_text(re.compile(r"\d s left"))
        expect(page.locator("#state")).to_contain_text("You are out (timeout)")
        expect(page.locator("#problem")).to_contain_text("Answer within")


def test_page_says_how_to_open_the_room(chrome: Browser) -> None:
    with served() as address, new_page(chrome) as page:
        page.goto(f"{address}/play")
        expect(page.locator("main")).to_contain_text("croupier serve --practice")
    assert not PlayPage.of(Settings(), None).is_open
    assert not PlayPage.of(Settings(), Doors("127.0.0.1", 8000)).is_open


def test_without_scripts_the_page_says_so(chrome: Browser, site: str) -> None:
    with new_page(chrome, scripts=False) as page:
        page.goto(f"{site}/play")
        assert "allow scripts" in page.inner_text("main")
