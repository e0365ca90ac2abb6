"""A tournament run from the operator's page in a real browser, from its start to the download."""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys
import zipfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from support.browser import chromium, new_page, pages_of
from support.kept import keep
from support.operating import tokened
from support.results import played

PATIENCE_MS = 40_000

FILE = """
[lobby]
house = ["quick=greedy", "steady=greedy", "plain=first"]
min_players = 3
max_players = 8
wait_ms = 600_000
roster = "roster.toml"
[tournament]
name = "final"
format = "round-robin"
games_at_once = 1
[game]
board = "6x6,fish=1-5"
[practice]
enabled = true
stays = true
[server]
port = 0
[web]
port = 0
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The pages of a data directory without a server, and the operator's token."""
    data = tmp_path_factory.mktemp("data")
    names = ["W" * 32, "<i>italic</i>", *(f"player {at}" for at in range(40))]
    keep(data, [played("1.1.1", "a", "b")], status="running", names=names)
    token = tokened(data)
    with pages_of(data) as site:
        yield site, token


@pytest.fixture(scope="module")
def chrome(place: tuple[str, str]) -> Iterator[Browser]:
    # the browser comes last: its driver leaves a loop running in this thread
    with chromium() as found:
        yield found


@contextmanager
def server(folder: Path) -> Generator[str]:
    """The address of the pages of a server that plays in a folder."""
    (folder / "final.toml").write_text(FILE, encoding="utf-8")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("CROUPIER_")}
    done = subprocess.run(
        [sys.executable, "-m", "croupier_server", "token", "Ada"],
        cwd=folder,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    assert done.returncode == 0
    process = subprocess.Popen(
        [sys.executable, "-m", "croupier_server", "run", "final.toml"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        cwd=folder,
        env=environment,
    )
    assert process.stdout is not None
    try:
        told: list[str] = []
        for line in process.stdout:
            told.append(line)
            if line.startswith("pages on "):
                yield line.removeprefix("pages on ").strip().rstrip("/")
                break
        else:
            raise AssertionError("".join(told))
    finally:
        process.terminate()
        process.communicate(timeout=20)


def sign_in(page: Page, site: str, token: str) -> None:
    page.goto(f"{site}/operator")
    page.get_by_label("Operator's token").fill(token)
    page.get_by_role("button", name="Sign in").click()


def opened(page: Page, title: str) -> None:
    page.locator("summary", has_text=title).click()


def no_wider_than_the_window(page: Page) -> bool:
    found = page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    return bool(found)


def test_tournament_is_run_from_the_page_to_its_download(chrome: Browser, tmp_path: Path) -> None:
    token = tokened(tmp_path / "croupier-data")
    with server(tmp_path) as site, new_page(chrome) as page:
        sign_in(page, site, token)
        page.get_by_role("link", name="final").click()
        expect(page.get_by_text("waiting for players")).to_be_visible()

        opened(page, "Admit an entrant")
        page.get_by_label("Name", exact=True).first.fill("Ben")
        page.get_by_role("button", name="Admit").click()
        expect(page.get_by_role("status").filter(has_text="Ben is in the roster")).to_be_visible()

        page.get_by_role("button", name="Pause").click()  # so that nothing is over too soon
        expect(page.get_by_role("status").filter(has_text="Pause")).to_be_visible()
        page.get_by_role("button", name="Start now").click()
        expect(page.get_by_text("Start: done")).to_be_visible()
        expect(page.locator("#now .badge").first).to_have_text("paused", timeout=PATIENCE_MS)

        opened(page, "Disqualify a player")
        form = page.locator("details", has_text="Disqualify a player")
        form.get_by_label("Player").select_option("plain")
        form.get_by_label("Reason").fill("two <b>accounts</b>")
        form.get_by_role("button", name="Disqualify").click()
        expect(page.get_by_text("Disqualify: done")).to_be_visible()
        row = page.locator("#now tr", has_text="plain").first
        expect(row).to_contain_text("two <b>accounts</b>")

        page.get_by_role("button", name="Resume").click()
        # nobody loads the page again: it sees the end by itself
        expect(page.locator("#now .badge").first).to_have_text("over", timeout=PATIENCE_MS)
        with page.expect_download() as download:
            page.get_by_role("link", name="Tables, records and orders").click()
        archive = zipfile.ZipFile(download.value.path())
        orders = csv.DictReader(io.StringIO(archive.read("orders.csv").decode()))
        assert [(one["verb"], one["by"]) for one in orders] == [
            (verb, "operator (web)") for verb in ("admit", "pause", "start", "disqualify", "resume")
        ]
        assert any(name.startswith("records/") for name in archive.namelist())

        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_label("Operator's token")).to_be_visible()


def test_page_works_without_scripts(chrome: Browser, place: tuple[str, str]) -> None:
    site, token = place
    with new_page(chrome, scripts=False) as page:
        sign_in(page, site, token)
        page.get_by_role("link", name="cup").click()
        expect(page.get_by_text("Load the page again")).to_be_visible()
        opened(page, "Withdraw a player")
        form = page.locator("details", has_text="Withdraw a player")
        form.get_by_label("Player").select_option("a")
        form.get_by_role("button", name="Withdraw").click()
        expect(page.get_by_text("withdraw is noted")).to_be_visible()


@pytest.mark.parametrize(("width", "height"), [(360, 740), (1366, 768), (1920, 1080)])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_fits_the_window(
    chrome: Browser, place: tuple[str, str], width: int, height: int, scheme: str
) -> None:
    site, token = place
    assert scheme in {"light", "dark"}
    with new_page(chrome, width, height, scheme="dark" if scheme == "dark" else "light") as page:
        page.goto(f"{site}/operator")
        assert no_wider_than_the_window(page)
        sign_in(page, site, token)
        page.get_by_role("link", name="cup").click()
        for summary in page.locator("summary").all():
            summary.click()
        expect(page.get_by_text("stays up to date by itself")).to_be_visible()
        assert no_wider_than_the_window(page)
        if folder := os.environ.get("CROUPIER_SCREENSHOTS"):
            page.screenshot(path=f"{folder}/operator-{width}-{scheme}.png", full_page=True)


def test_keyboard_alone_is_enough(chrome: Browser, place: tuple[str, str]) -> None:
    site, token = place
    with new_page(chrome) as page:
        page.goto(f"{site}/operator")
        expect(page.get_by_label("Operator's token")).to_be_focused()
        page.keyboard.type(token)
        page.keyboard.press("Enter")
        page.get_by_role("link", name="cup").focus()
        page.keyboard.press("Enter")
        page.locator("summary", has_text="Void a game").focus()
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        page.keyboard.type("7.7")
        page.keyboard.press("Tab")
        page.keyboard.type("a hitch")
        page.keyboard.press("Enter")
        expect(page.get_by_text("void is noted")).to_be_visible()


def test_signed_out_page_says_so(chrome: Browser, place: tuple[str, str]) -> None:
    site, token = place
    with new_page(chrome) as page:
        sign_in(page, site, token)
        page.get_by_role("link", name="cup").click()
        expect(page.get_by_text("stays up to date by itself")).to_be_visible()
        other = page.context.new_page()
        other.goto(f"{site}/operator")
        other.get_by_role("button", name="Sign out").click()
        expect(
            other.get_by_label("Operator's token")
        ).to_be_visible()  # closed on its way, it hangs
        other.close()
        expect(page.get_by_text("You are signed out")).to_be_visible()
